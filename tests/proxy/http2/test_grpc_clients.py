"""grpcio and curl through a proxy, over real sockets. The server starts once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import closing, contextmanager
from typing import Any

import pytest

from faultkit.base.address import Endpoint
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.http2.goaway import Goaway
from faultkit.faults.http2.grpc_deadline import GrpcDeadline
from faultkit.faults.http2.grpc_status import GrpcStatus
from faultkit.faults.http2.lost_trailers import LostTrailers
from faultkit.faults.http2.stream_reset import StreamReset
from faultkit.faults.http2.withheld_window import WithheldWindow
from faultkit.plan import Match, Rule, Trigger
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane_events import Injected
from tests.proxy.origin import serving
from tests.proxy.proxied_http import ANY_PORT, client_of, get, inline, proxied, troubles
from tests.proxy.wires import LOOPBACK, PATIENCE_S

grpc: Any = pytest.importorskip("grpc")

METHODS: dict[str, Any] = {
    "Unary": (grpc.unary_unary_rpc_method_handler, lambda request, _: b"re:" + request),
    "Server": (grpc.unary_stream_rpc_method_handler, lambda request, _: (b"%d" % n for n in range(5))),
    "Client": (grpc.stream_unary_rpc_method_handler, lambda requests, _: b"|".join(requests)),
    "Bidi": (grpc.stream_stream_rpc_method_handler, lambda requests, _: (b"<" + each for each in requests)),
}


class Handlers(grpc.GenericRpcHandler):  # type: ignore[misc] # grpcio has no types
    def service(self, details: Any) -> Any:
        kind, answer = METHODS[details.method.rpartition("/")[2]]
        return kind(answer)


@pytest.fixture(scope="module")
def origin() -> Iterator[Endpoint]:
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((Handlers(),))
    port = server.add_insecure_port(f"{LOOPBACK}:0")
    server.start()
    yield Endpoint(LOOPBACK, port)
    server.stop(None).wait()


@contextmanager
def channel(origin: Endpoint, *rules: Rule) -> Iterator[tuple[Any, Callable[[], list[str]]]]:
    spec = ProxySpec("rpc", ANY_PORT, origin, speaks="http")
    with proxied(spec, *rules) as (plane, proxy), grpc.insecure_channel(f"{LOOPBACK}:{proxy.port}") as opened:
        yield (
            opened,
            lambda: [event.effect for event in plane.take_events() if isinstance(event, Injected)],
        )


def ask(opened: Any, method: str, timeout_s: float = PATIENCE_S) -> tuple[list[bytes], str]:
    """Call a method, and return the messages and the status."""
    path, got = f"/t.S/{method}", []
    many = iter((b"a", b"b"))
    try:
        if method == "Unary":
            got.append(opened.unary_unary(path)(b"hi", timeout=timeout_s))
        elif method == "Client":
            got.append(opened.stream_unary(path)(many, timeout=timeout_s))
        else:
            call = opened.unary_stream(path)(b"", timeout=timeout_s)
            if method == "Bidi":
                call = opened.stream_stream(path)(many, timeout=timeout_s)
            got.extend(call)
    except grpc.RpcError as error:
        return got, error.code().name
    return got, "OK"


HONEST = {
    "Unary": [b"re:hi"],
    "Server": [b"0", b"1", b"2", b"3", b"4"],
    "Client": [b"a|b"],
    "Bidi": [b"<a", b"<b"],
}


@pytest.mark.parametrize("method", METHODS)
def test_calls_of_all_kinds_pass_where_no_rule_acts(origin: Endpoint, method: str) -> None:
    with channel(origin, Rule("other", GrpcStatus(), Match(path="/other/*"))) as (opened, effects):
        assert ask(opened, method) == (HONEST[method], "OK")
        assert effects() == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("fault", "status", "effect"),
    [
        (GrpcStatus(code="RESOURCE_EXHAUSTED"), "RESOURCE_EXHAUSTED", "status"),
        (GrpcStatus(code="INTERNAL", call_upstream=True), "INTERNAL", "status"),
        (StreamReset(code="CANCEL"), "CANCELLED", "reset"),
        (StreamReset(code="REFUSED_STREAM", after_bytes=0), "UNAVAILABLE", "reset"),
        (HttpError(status=503), "UNAVAILABLE", "status"),
        (LostTrailers(), "UNKNOWN", "trailers_lost"),
        (GrpcDeadline(after_ms=1), "DEADLINE_EXCEEDED", "unanswered"),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_a_fault_is_seen_by_calls_of_all_kinds(
    origin: Endpoint, method: str, fault: Fault, status: str, effect: str
) -> None:
    with channel(origin, Rule("broken", fault, Match(path=f"/t.S/{method}"))) as (opened, effects):
        assert ask(opened, method)[1] == status
        assert set(effects()) == {effect}


@pytest.mark.parametrize("fault", [GrpcDeadline(), LostTrailers(hang=True), WithheldWindow(after_bytes=0)])
def test_a_call_that_is_not_finished_ends_at_the_clients_deadline(origin: Endpoint, fault: Fault) -> None:
    with channel(origin, Rule("stuck", fault)) as (opened, effects):
        assert ask(opened, "Unary", timeout_s=0.2) == ([], "DEADLINE_EXCEEDED")
        assert len(effects()) == 1


def test_a_stream_ends_with_a_status_behind_two_messages(origin: Endpoint) -> None:
    rule = Rule("breaks", GrpcStatus(code="ABORTED", after_messages=2), trigger=Trigger(first=1))
    with channel(origin, rule) as (opened, _):
        assert ask(opened, "Server") == ([b"0", b"1"], "ABORTED")
        assert ask(opened, "Server") == (HONEST["Server"], "OK")


def test_calls_go_on_over_another_connection_after_goaway(origin: Endpoint) -> None:
    rule = Rule("away", Goaway(answered=True), trigger=Trigger(every=2))
    with channel(origin, rule) as (opened, effects):
        assert [ask(opened, "Unary") for _ in range(4)] == [([b"re:hi"], "OK")] * 4
        assert effects() == ["goaway", "goaway"]


def test_megabytes_pass_both_ways(origin: Endpoint) -> None:
    with channel(origin, Rule("late", HttpDelay(delay_ms=1))) as (opened, _):
        sent = bytes(range(256)) * 12_000
        assert opened.unary_unary("/t.S/Unary")(sent, timeout=PATIENCE_S) == b"re:" + sent


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_sees_a_status_over_http_2(origin: Endpoint) -> None:
    spec = ProxySpec("web", ANY_PORT, origin, speaks="http")
    with proxied(spec, Rule("broken", HttpError(status=418, body="short"))) as (_, proxy):
        command = ["curl", "-sS", "--http2-prior-knowledge", "-w", " %{http_version} %{http_code}"]
        url = f"http://{LOOPBACK}:{proxy.port}/"
        done = subprocess.run([*command, url], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        assert done.stdout == "short 2 418"


def test_a_fault_of_http_2_does_nothing_to_http_1_and_says_so() -> None:
    with serving() as origin, proxied(inline(origin), Rule("reset", StreamReset())) as (plane, proxy):
        with closing(client_of(proxy)) as client:
            assert get(client, "/")[0] == 200
        assert troubles(plane) == ["reset acts on HTTP/2 only: HTTP/1.1 passes"]
