"""Laws that hold for an exchange whatever either side does: it never raises, and its outputs make sense."""

from __future__ import annotations

from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http import Dial, Hangup, HttpExchange, Output, RequestHead, ToClient, ToUpstream

CLIENT_PARTS = [
    b"GET http://a/x HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET http://b/x HTTP/1.0\r\nHost: b\r\n\r\n",
    b"HEAD http://a/bad HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET http://a/bad HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"POST http://a/bad HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
    b"POST http://b/x HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"POST http://b/bad HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET http://a/bad HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n",
    b"GET http://a/x HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n",
    b"CONNECT c:443 HTTP/1.1\r\nHost: c\r\n\r\n",
    b"GET http://a/ HTTP/1.1\r\nHo",
    b"abc",
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
    b"\r\n",
]
UPSTREAM_PARTS = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 2",
    b"abc",
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
    b"\r\n",
]
ENDS: list[type[Eof] | type[Close] | type[Reset]] = [Eof, Close, Reset]
STEPS = st.one_of(
    st.tuples(st.just("client"), st.sampled_from(CLIENT_PARTS)),
    st.tuples(st.just("client"), st.sampled_from(CLIENT_PARTS)),
    st.tuples(st.just("upstream"), st.sampled_from(UPSTREAM_PARTS)),
    st.tuples(st.just("upstream"), st.sampled_from(UPSTREAM_PARTS)),
    st.tuples(st.sampled_from(["client", "upstream"]), st.binary(min_size=1, max_size=5)),
    st.tuples(st.sampled_from(["client", "upstream"]), st.sampled_from(ENDS)),
    st.tuples(st.sampled_from(["dialled", "refused"]), st.just(b"")),
)
VERDICTS = st.builds(
    HttpVerdict,
    delay_s=st.sampled_from([0.0, 3.0]),
    status=st.sampled_from([None, 102, 204, 500]),
    body=st.sampled_from([None, "x"]),
    call_upstream=st.booleans(),
)


class Relay:
    """Carries out the outputs of an exchange, and checks that they are possible."""

    def __init__(self, forward: bool) -> None:
        self.leg: Literal["none", "dialling", "up"] = "none" if forward else "up"
        self.client_open = True
        self.is_over = False
        """True if an end of both connections was passed to the upstream."""
        self.last_at: dict[type[Output], float] = {ToClient: 0.0, ToUpstream: 0.0}

    def carry_out(self, outputs: list[Output], now: float) -> None:
        for output in outputs:
            if isinstance(output, Dial):
                assert self.leg == "none", "the old leg is hung up before another is dialled"
                self.leg = "dialling"
            elif isinstance(output, Hangup):
                self.leg = "none"
            else:
                event = output.event
                assert event.at >= max(now, self.last_at[type(output)]), "times never decrease"
                self.last_at[type(output)] = event.at
                self.deliver(output, event)

    def deliver(self, output: ToClient | ToUpstream, event: Event) -> None:
        if isinstance(event, Data):
            assert event.payload, "nothing empty is sent"
        if isinstance(output, ToClient):
            assert self.client_open or isinstance(event, (Close, Reset)), "nothing follows an end"
            self.client_open = isinstance(event, Data)
        else:
            assert self.leg == "up", "nothing is sent without a leg"
            self.is_over |= isinstance(event, (Close, Reset))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["inline", "reverse", "forward"]), VERDICTS, st.lists(STEPS, max_size=25))
def test_an_exchange_never_raises_and_never_asks_for_the_impossible(
    mode: Literal["inline", "reverse", "forward"],
    verdict: HttpVerdict,
    steps: list[tuple[str, bytes | type[Eof] | type[Close] | type[Reset]]],
) -> None:
    def judge(head: RequestHead) -> HttpVerdict:
        return verdict if head.path == "/bad" else HttpVerdict()

    exchange = HttpExchange(judge, mode, host="up")
    relay = Relay(mode == "forward")
    ended: set[str] = set()
    for number, (side, what) in enumerate(steps):
        now = float(number)
        outputs: list[Output] = []
        if side == "client" or side == "upstream":
            if side in ended or (side == "upstream" and relay.leg != "up"):
                continue
            event = Data(now, what) if isinstance(what, bytes) else what(now)
            if not isinstance(event, Data):
                ended.add(side)
            outputs = exchange.from_client(event) if side == "client" else exchange.from_upstream(event)
        elif relay.leg == "dialling":
            ended.discard("upstream")
            relay.leg = "up" if side == "dialled" else "none"
            outputs = exchange.dialled(now) if side == "dialled" else exchange.dial_failed(now, "refused")
        relay.carry_out(outputs, now)
    # Whatever came before, a connection that both peers have left does not stay.
    for end in range(len(steps), 3 * len(steps) + 4):
        now = float(end)
        if relay.leg == "dialling":
            relay.leg = "none"
            relay.carry_out(exchange.dial_failed(now, "refused"), now)
        elif "client" not in ended:
            ended.add("client")
            relay.carry_out(exchange.from_client(Eof(now)), now)
        elif relay.leg == "up" and "upstream" not in ended:
            ended.add("upstream")
            relay.carry_out(exchange.from_upstream(Eof(now)), now)
    assert relay.is_over or not relay.client_open
