"""Whatever the cuts, verdicts and interleaving: every response in its turn, every byte as it should be.

The model is a table: what the upstream must see and what the client must see, request by request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.faults.events import Data, Event
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http import Dial, Hangup, HttpExchange, Output, RequestHead, ToClient, ToUpstream

CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\n"
REQUESTS = [
    b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n",
    b"HEAD /%d HTTP/1.1\r\n\r\n",
    b"POST /%d HTTP/1.1\r\nContent-Length: 7\r\n\r\nGET / H",
    b"PUT /%d HTTP/1.1\r\n" + CHUNKED,
    b"GET /%d HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
]
RESPONSES = [
    b"HTTP/1.1 200 OK\r\nX: %d\r\nContent-Length: 8\r\n\r\nHTTP/1.1",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nX: %d\r\n" + CHUNKED,
    b"HTTP/1.1 204 No Content\r\nX: %d\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nX: %d\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 404 Not Found\r\nX: %d\r\nContent-Length: 0\r\n\r\n",
]


@dataclass(frozen=True)
class Script:
    """One request, what becomes of it, and how the upstream answers if it gets it."""

    request: bytes
    response: bytes
    verdict: HttpVerdict

    @property
    def called(self) -> bool:
        return self.verdict.status is None or self.verdict.call_upstream

    @property
    def seen(self) -> bytes:
        """What the client sees."""
        if self.verdict.status is None:
            return self.response
        body = (self.verdict.body or "").encode()
        head = (
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
            b"Content-Length: %d\r\nX-Fault-Injected: http_error\r\n\r\n" % len(body)
        )
        leave = b"HTTP/1.1 100 Continue\r\n\r\n"
        interim = leave if self.verdict.call_upstream and self.response.startswith(leave) else b""
        return interim + head + (b"" if self.request.startswith(b"HEAD") else body)


@st.composite
def scripts(draw: st.DrawFn) -> list[Script]:
    found = []
    for number in range(draw(st.integers(1, 7))):
        request = draw(st.sampled_from(REQUESTS)) % number
        response = draw(st.sampled_from(RESPONSES)) % number
        if request.startswith(b"HEAD"):
            end = response.index(b"\r\n\r\n", response.index(b"X:")) + 4
            response = response[:end]
        verdict = HttpVerdict(
            delay_s=draw(st.sampled_from([0.0, 0.0, 2.5])),
            status=draw(st.sampled_from([None, None, 503])),
            body=f"fault {number}",
            call_upstream=draw(st.booleans()),
        )
        found.append(Script(request, response, verdict))
    return found


class Talk:
    """Feeds an exchange from two streams in small pieces, and keeps its outputs."""

    def __init__(self, exchange: HttpExchange, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self.exchange = exchange
        self.draw = draw
        self.now = 0.0
        self.to_upstream = b""
        self.to_client = b""
        self.last_at: dict[type[Output], float] = {ToClient: 0.0, ToUpstream: 0.0}
        self.others: list[Output] = []

    def cut(self, data: bytes) -> tuple[bytes, bytes]:
        size = self.draw(st.integers(1, len(data)))
        return data[:size], data[size:]

    def feed(self, to: Callable[[Event], list[Output]], payload: bytes) -> None:
        self.now += 1.0
        self.keep(to(Data(self.now, payload)))

    def keep(self, outputs: list[Output]) -> None:
        for output in outputs:
            if not isinstance(output, (ToClient, ToUpstream)):
                self.others.append(output)
                continue
            event = output.event
            assert isinstance(event, Data)
            assert event.payload
            assert event.at >= max(self.now, self.last_at[type(output)])
            self.last_at[type(output)] = event.at
            if isinstance(output, ToClient):
                self.to_client += event.payload
            else:
                self.to_upstream += event.payload


def judge_by(script: list[Script]) -> Callable[[RequestHead], HttpVerdict]:
    judged: list[str] = []

    def judge(head: RequestHead) -> HttpVerdict:
        judged.append(head.path)
        assert head.path == f"/{len(judged) - 1}", "each request is judged once, in order"
        return script[int(head.path[1:])].verdict

    return judge


@settings(max_examples=40, deadline=None)
@given(scripts(), st.data())
def test_an_inline_exchange_keeps_order_and_bytes(script: list[Script], data: st.DataObject) -> None:
    talk = Talk(HttpExchange(judge_by(script)), data.draw)
    client = b"".join(one.request for one in script)
    called = [one for one in script if one.called]
    ends = [sum(len(one.request) for one in called[: at + 1]) for at in range(len(called))]
    answered, server = 0, b""
    while True:
        # The upstream answers a request once it has seen all of it.
        while answered < len(called) and len(talk.to_upstream) >= ends[answered]:
            server += called[answered].response
            answered += 1
        if not client and not server:
            break
        if client and (not server or data.draw(st.booleans())):
            chunk, client = talk.cut(client)
            talk.feed(talk.exchange.from_client, chunk)
        else:
            chunk, server = talk.cut(server)
            talk.feed(talk.exchange.from_upstream, chunk)
    assert talk.to_upstream == b"".join(one.request for one in called)
    assert talk.to_client == b"".join(one.seen for one in script)
    assert talk.others == []
    assert talk.exchange.opaque_reason is None


@settings(max_examples=40, deadline=None)
@given(scripts(), st.lists(st.sampled_from(["a", "b"]), min_size=7, max_size=7), st.data())
def test_a_forward_exchange_sends_every_request_to_its_origin_in_order(
    script: list[Script], hosts: list[str], data: st.DataObject
) -> None:
    talk = Talk(HttpExchange(judge_by(script), "forward"), data.draw)
    pairs = list(zip(script, hosts, strict=False))
    client = b"".join(one.request.replace(b" /", b" http://%s/" % host.encode(), 1) for one, host in pairs)
    wires = [(forwarded(one.request, host), host, one.response) for one, host in pairs if one.called]
    answered, taken, server = 0, 0, b""
    leg: str | None = None
    while True:
        if talk.others:
            output = talk.others.pop(0)
            if isinstance(output, Hangup):
                assert leg is not None
                assert not server, "a leg is left only when its responses are finished"
                leg = None
            else:
                assert isinstance(output, Dial)
                assert leg is None
                leg = output.host
                talk.now += 1.0
                talk.keep(talk.exchange.dialled(talk.now))
            continue
        while answered < len(wires) and talk.to_upstream.startswith(wires[answered][0], taken):
            wire, host, response = wires[answered]
            assert host == leg
            taken += len(wire)
            server += response
            answered += 1
        if not client and not server:
            break
        if client and (not server or data.draw(st.booleans())):
            chunk, client = talk.cut(client)
            talk.feed(talk.exchange.from_client, chunk)
        else:
            chunk, server = talk.cut(server)
            talk.feed(talk.exchange.from_upstream, chunk)
    assert talk.to_upstream == b"".join(wire for wire, _, _ in wires)
    assert talk.to_client == b"".join(one.seen for one in script)


def forwarded(request: bytes, host: str) -> bytes:
    """The request as its origin sees it."""
    line, rest = request.split(b"\r\n", 1)
    if b"Host: x\r\n" in rest:
        rest = rest.replace(b"Host: x\r\n", b"")
    return line + b"\r\nHost: " + host.encode() + b"\r\n" + rest
