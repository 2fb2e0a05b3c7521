"""HTTP/2 on one link where no HTTP rule acts: frames pass, and only the authority of requests is replaced.

`layers` uses it instead of `http2_session`, which ends HTTP/2 on both sides and costs many times as much. TLS
is not its business: it gets and returns plain bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from faultkit.faults.events import Data, Event
from faultkit.plan import Flow
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.http import Output, ToClient, ToUpstream
from faultkit.proxy.http2.authority import AuthorityRewriter, rehosting
from faultkit.proxy.proxy_state import ProxyState


class Http2Passage:
    """HTTP/2 between the two sockets of a link."""

    __slots__ = ("_carry_out", "_proxy", "_rewriter")

    def __init__(
        self, proxy: ProxyState, carry_out: Callable[[list[Output]], None], host: str, own_port: int | None
    ) -> None:
        """`host` replaces the authority of requests; with `own_port`, only where it has that port."""
        self._proxy = proxy
        self._carry_out = carry_out
        self._rewriter = AuthorityRewriter(rehosting(host, own_port))

    def from_client(self, event: Event) -> None:
        """Take an event that the client's side has released."""
        rewriter = self._rewriter
        if not isinstance(event, Data):
            held = rewriter.end()
            self._carry_out([ToUpstream(Data(event.at, held))] if held else [])
            self._carry_out([ToUpstream(event)])
            return
        before = rewriter.requests
        payload = rewriter.feed(event.payload)
        self._proxy.requests += rewriter.requests - before
        if payload:
            self._carry_out([ToUpstream(Data(event.at, payload))])

    def from_upstream(self, event: Event) -> None:
        """Take an event that the upstream's side has released."""
        self._carry_out([ToClient(event)])

    def wants_input(self, flow: Flow) -> bool:
        """Return True: bytes go on as they come."""
        return True

    def end_rules(self, acting: Collection[ActiveStreamRule], now: float) -> float:
        """Do nothing: no rule acts here."""
        return 0.0

    def bring_forward(self, by_s: float, now: float) -> None:
        """Do nothing: nothing waits here."""

    def let_go(self) -> None:
        """Do nothing: nothing here refers to the link."""
