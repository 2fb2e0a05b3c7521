"""What each fault does to a stream, exactly, and that it does nothing to the others."""

from __future__ import annotations

import math

import pytest

from faultkit.faults.events import Close, Eof, Reset
from faultkit.faults.http2.goaway import Goaway
from faultkit.faults.http2.grpc_deadline import GrpcDeadline
from faultkit.faults.http2.grpc_status import GrpcStatus
from faultkit.faults.http2.lost_trailers import LostTrailers
from faultkit.faults.http2.stream_reset import StreamReset
from faultkit.faults.http2.withheld_window import WithheldWindow
from faultkit.faults.http2_fault import Http2Fault
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http2 import Judged, RequestFields
from tests.proxy.http2.peers import OK, Field, Layered, Seen, call, get, message

GRPC_OK: list[Field] = [(b":status", b"200"), (b"content-type", b"application/grpc")]
DONE: list[Field] = [(b"grpc-status", b"0")]
ERROR: list[Field] = [
    (b":status", b"503"),
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"content-length", b"4"),
    (b"x-fault-injected", b"http_error"),
]


class World(Layered):
    """A client and a server with rules between them: one fault for each path, and an honest answer."""

    def __init__(self, **by_path: Http2Fault | HttpVerdict) -> None:
        self.by_path = {f"/{name.replace('_', '/')}": given for name, given in by_path.items()}
        self.noted: list[tuple[str, float]] = []
        super().__init__(self._judged)
        self.server.on_stream = self.answer
        self.run()

    def _judged(self, request: RequestFields) -> Judged:
        given = self.by_path.get(request.target)
        if given is None:
            return Judged()
        if isinstance(given, HttpVerdict):
            return Judged(given, {"rule": given.delay_s})
        return Judged(effect=given.effect(), rule="rule", note=lambda *what: self.noted.append(what))

    def answer(self, stream_id: int) -> None:
        """Answer as an honest server: a call by three messages and a status."""
        request = RequestFields(self.server.seen[stream_id].heads[0])
        if request.is_grpc:
            self.server.h2.send_headers(stream_id, GRPC_OK)
            self.server.h2.send_data(stream_id, b"".join(map(message, (b"one", b"", b"three"))))
            self.server.h2.send_headers(stream_id, DONE, end_stream=True)
        else:
            self.server.h2.send_headers(stream_id, OK)
            self.server.send_body(stream_id, b"0123456789")

    def ask(self, *heads: list[Field], ends: bool = True) -> None:
        """Send requests at once."""
        for fields in heads:
            stream_id = self.client.h2.get_next_available_stream_id()
            self.client.h2.send_headers(stream_id, fields, end_stream=ends)
        self.run()


HONEST = Seen([OK], b"0123456789", ended=True)
CALLED = Seen([GRPC_OK, DONE], b"".join(map(message, (b"one", b"", b"three"))), ended=True)


def test_a_delay_holds_up_one_stream_and_no_other() -> None:
    world = World(slow=HttpVerdict(delay_s=2.0))
    world.ask(get("/slow"), get("/fast"))
    assert world.client.seen == {3: HONEST}
    assert [seen.heads[0][3] for seen in world.server.seen.values()] == [(b":path", b"/fast")]
    world.run(until=1.99)
    assert 1 not in world.client.seen
    world.run(until=2.0)
    assert world.client.seen == {1: HONEST, 3: HONEST}


def test_a_delay_ends_with_its_rule() -> None:
    world = World(slow=HttpVerdict(delay_s=9.0))
    world.ask(get("/slow"))
    world.end_rules({"rule"})
    world.run()
    assert not world.client.seen
    world.end_rules(set())
    world.run()
    assert world.client.seen == {1: HONEST}


def test_a_request_that_is_cancelled_while_it_waits_never_reaches_the_upstream() -> None:
    world = World(slow=HttpVerdict(delay_s=2.0))
    world.ask(get("/slow"))
    world.client.h2.reset_stream(1, 8)
    world.run(until=3.0)
    assert not world.server.seen
    assert not world.layer._by_client


def test_an_error_is_answered_here_in_its_own_time() -> None:
    world = World(bad=HttpVerdict(delay_s=1.0, status=503, body="down"))
    world.ask(get("/bad"), get("/good"))
    assert world.client.seen == {3: HONEST}
    world.run(until=1.0)
    assert world.client.seen[1] == Seen([ERROR], b"down", ended=True)
    assert len(world.server.seen) == 1


def test_an_error_waits_for_the_end_of_an_upload_but_not_of_a_call() -> None:
    world = World(bad=HttpVerdict(status=503, body="down"))
    world.ask(get("/bad"), [*call("/bad")], ends=False)
    assert world.client.seen == {3: Seen([ERROR], b"down", ended=True, reset=0)}
    world.client.send_body(1, b"x" * 3_000_000)
    world.run()
    assert world.client.seen[1] == Seen([ERROR], b"down", ended=True)


def test_an_error_may_come_after_the_upstream_has_done_its_work() -> None:
    world = World(bad=HttpVerdict(status=503, body="down", call_upstream=True))
    world.ask(get("/bad"))
    assert world.client.seen[1] == Seen([ERROR], b"down", ended=True)
    assert world.server.seen[1].ended


@pytest.mark.parametrize(
    ("code", "number"), [("CANCEL", 8), ("refused-stream", 7), ("4294967295", 2**32 - 1)]
)
def test_a_stream_is_reset_with_any_code_before_the_upstream_sees_it(code: str, number: int) -> None:
    world = World(x=StreamReset(code=code))
    world.ask(get("/x"), get("/y"))
    assert world.client.seen == {1: Seen(reset=number), 3: HONEST}
    assert len(world.server.seen) == 1
    assert world.noted == [("reset", number)]


@pytest.mark.parametrize(("after", "body"), [(0, b""), (4, b"0123"), (10, b"0123456789")])
def test_a_stream_is_reset_behind_a_part_of_its_answer(after: int, body: bytes) -> None:
    world = World(x=StreamReset(after_bytes=after))
    world.ask(get("/x"), get("/y"))
    assert world.client.seen == {1: Seen([OK], body, reset=2), 3: HONEST}


def test_an_answer_that_is_shorter_is_not_reset() -> None:
    world = World(x=StreamReset(after_bytes=11), y=StreamReset(after_messages=4))
    world.ask(get("/x"), call("/y"))
    assert world.client.seen == {1: HONEST, 3: CALLED}
    assert not world.noted


def test_a_call_is_reset_behind_some_messages() -> None:
    world = World(x=StreamReset(after_messages=2))
    world.ask(call("/x"))
    assert world.client.seen == {1: Seen([GRPC_OK], message(b"one") + message(b""), reset=2)}


def status(code: int, text: str, fault: str = "grpc_status") -> Seen:
    """Return an answer in the form Trailers-Only."""
    fields = [(b"grpc-status", b"%d" % code), (b"grpc-message", text.encode())]
    return Seen([[*GRPC_OK, *fields, (b"x-fault-injected", fault.encode())]], ended=True)


def test_a_call_ends_with_a_status_and_the_upstream_does_not_see_it() -> None:
    world = World(x=GrpcStatus(code="RESOURCE_EXHAUSTED", message="voll: 100 %, é\n"))
    world.ask(call("/x"), call("/y"))
    assert world.client.seen == {1: status(8, "voll: 100 %25, %C3%A9%0A"), 3: CALLED}
    assert len(world.server.seen) == 1
    assert world.noted == [("status", 8)]


def test_a_call_that_streams_ends_with_a_status_at_once() -> None:
    world = World(x=GrpcStatus(code="14", message=""))
    world.ask(call("/x"), ends=False)
    seen = world.client.seen[1]
    assert (seen.ended, seen.reset, (b"grpc-status", b"14") in seen.heads[0]) == (True, 0, True)


def test_a_call_ends_with_a_status_behind_some_messages() -> None:
    world = World(x=GrpcStatus(code="ABORTED", message="enough", after_messages=1))
    world.ask(call("/x"))
    end = [(b"grpc-status", b"10"), (b"grpc-message", b"enough")]
    assert world.client.seen == {1: Seen([GRPC_OK, end], message(b"one"), ended=True)}


def test_a_call_ends_with_a_status_after_the_upstream_has_done_its_work() -> None:
    world = World(x=GrpcStatus(message="lost", call_upstream=True))
    world.ask(call("/x"))
    assert world.client.seen == {1: status(14, "lost")}
    assert world.server.seen[1].ended


def test_a_call_without_an_answer_waits_until_its_rule_ends() -> None:
    world = World(x=GrpcDeadline())
    world.ask(call("/x"), call("/y"))
    world.run(until=1e9)
    assert world.client.seen == {3: CALLED}
    assert len(world.server.seen) == 1
    assert world.noted == [("unanswered", 1.0)]
    assert world.layer.wake_at == math.inf
    world.end_rules(set())
    world.run()
    assert world.client.seen == {1: CALLED, 3: CALLED}


@pytest.mark.parametrize(("timeout", "at"), [("200m", 0.2), ("2S", 0.5), ("1H", 0.5), ("soon", 0.5)])
def test_the_deadline_of_a_call_comes_first_if_it_is_earlier(timeout: str, at: float) -> None:
    world = World(x=GrpcDeadline(after_ms=500))
    world.ask(call("/x", grpc_timeout=timeout))
    world.run(until=at - 0.001)
    assert not world.client.seen
    world.run(until=at)
    assert world.client.seen == {1: status(4, "Deadline exceeded", "grpc_deadline")}


def test_the_upstream_may_do_its_work_for_a_call_that_exceeds_its_deadline() -> None:
    world = World(x=GrpcDeadline(after_ms=500, call_upstream=True), y=GrpcDeadline(call_upstream=True))
    world.ask(call("/x"), call("/y"))
    assert not world.client.seen
    assert all(seen.ended for seen in world.server.seen.values())
    world.run(until=1e9)
    assert world.client.seen == {1: status(4, "Deadline exceeded", "grpc_deadline")}


def test_a_stream_ends_without_its_trailers() -> None:
    world = World(x=LostTrailers(), y=LostTrailers(hang=True), z=LostTrailers())
    world.ask(call("/x"), call("/y"), get("/z"))
    assert world.client.seen == {
        1: Seen([GRPC_OK], CALLED.body, ended=True),
        3: Seen([GRPC_OK], CALLED.body, ended=False),
        5: HONEST,
    }
    assert world.noted == [("trailers_lost", 1.0)] * 2


def test_a_status_without_messages_is_lost_with_its_fields() -> None:
    world = World(x=LostTrailers())
    world.server.on_stream = lambda at: world.server.h2.send_headers(at, GRPC_OK + DONE, end_stream=True)
    world.ask(call("/x"))
    assert world.client.seen == {1: Seen([GRPC_OK], ended=True)}


def test_an_answer_stalls_and_others_go_on_until_the_rule_ends() -> None:
    world = World(x=WithheldWindow(after_bytes=7))

    def answer(at: int) -> None:
        world.server.h2.send_headers(at, OK)
        world.server.send_body(at, b"x" * 3_000_000)

    world.server.on_stream = answer
    world.ask(get("/x"), get("/y"))
    assert len(world.client.seen[1].body) == 7
    assert not world.client.seen[1].ended
    assert len(world.client.seen[3].body) == 3_000_000
    assert world.client.seen[3].ended
    assert 0 < world.layer._upstream._held <= 1 << 20
    assert world.noted == [("withheld_after_bytes", 7)]
    world.end_rules(set())
    world.run()
    assert len(world.client.seen[1].body) == 3_000_000
    assert world.client.seen[1].ended


def test_an_upload_stalls() -> None:
    world = World(x=WithheldWindow(way="upload", after_bytes=100_000))
    world.ask(get("/x"), ends=False)
    world.client.send_body(1, b"x" * 2_000_000)
    world.run()
    assert len(world.server.seen[1].body) == 100_000
    assert world.client.h2.local_flow_control_window(1) == 0


def test_goaway_refuses_a_request_and_closes_when_earlier_ones_are_answered() -> None:
    world = World(x=Goaway(code="ENHANCE_YOUR_CALM", debug="too_many_pings"), slow=HttpVerdict(delay_s=1.0))
    world.ask(get("/slow"), get("/x"))
    assert world.client.goaway == (1, 11, b"too_many_pings")
    assert not world.client.ended
    assert world.noted == [("goaway", 11)]
    world.client.h2.state_machine.state = type(world.client.h2.state_machine.state).CLIENT_OPEN
    world.run(until=1.0)
    assert world.client.seen[1] == HONEST
    assert world.client.ended == [Close]
    assert len(world.server.seen) == 1


def test_goaway_may_let_the_request_be_answered() -> None:
    world = World(x=Goaway(answered=True))
    frames = world.client.h2
    frames.send_headers(1, get("/x"), end_stream=True)
    world.server.on_stream = None
    world.run()
    assert world.client.goaway == (1, 0, b"")
    assert not world.client.ended
    assert world.server.seen[1].ended


def test_ends_and_resets_of_the_connection_pass() -> None:
    world = World(slow=HttpVerdict(delay_s=1.0))
    world.ask(get("/slow"))
    world.end(Eof(world.now), of_client=True)
    assert not world.server.ended  # The request that waits goes first.
    world.run(until=1.0)
    assert world.server.ended == [Eof]
    assert world.client.seen[1] == HONEST
    world.end(Reset(world.now), of_client=False)
    assert world.client.ended == [Reset]


def test_a_client_that_leaves_does_not_wait_for_what_a_rule_never_sends() -> None:
    world = World(x=GrpcDeadline())
    world.ask(call("/x"))
    world.end(Eof(world.now), of_client=True)
    assert world.server.ended == [Eof]


def test_an_upstream_that_ends_lets_own_answers_be_sent_first() -> None:
    world = World(bad=HttpVerdict(status=503, body="down", call_upstream=True))
    world.server.on_stream = None
    world.ask(get("/bad"), get("/open"))
    world.end(Eof(world.now), of_client=False)
    world.run()
    assert world.client.seen == {1: Seen([ERROR], b"down", ended=True)}
    assert world.client.ended == [Eof]


@pytest.mark.parametrize(
    ("own_port", "given", "expected"),
    [(None, "a.example", "up:1"), (8080, "127.0.0.1:8080", "up:1"), (8080, "b.example", "b.example")],
)
def test_the_authority_becomes_that_of_the_upstream(own_port: int | None, given: str, expected: str) -> None:
    peers = Layered(host="up:1", own_port=own_port)
    fields = [(name, given.encode() if name == b":authority" else value) for name, value in get()]
    peers.client.h2.send_headers(1, fields, end_stream=True)
    peers.run()
    assert peers.server.seen[1].heads[0][2] == (b":authority", expected.encode())
