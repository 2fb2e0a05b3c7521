"""The entrance to a forward proxy whose rules act on some hosts only.

A client of a forward proxy names its host in the head of each request, behind which rules of the client's
side have already acted on the bytes of that head. So the gate reads ahead: it holds back a head until it is
whole, decides whether the rules act on its host, and lets the bytes enter the chain under exactly these
rules. Rules on connections wait for the first request to a host that is to be broken, too.

It stands only where such rules are planned: reading every request twice costs time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from faultkit.base.address import UpstreamSet
from faultkit.faults.events import Data, Event, moved
from faultkit.proxy.http.framing import Opaque, RequestFramer
from faultkit.proxy.http.heads import RequestHead
from faultkit.proxy.http.request_target import origin_of
from faultkit.proxy.rule_binding import BoundLink, judge_admission, rebind_rules
from faultkit.proxy.rule_delay import Delays


class GatedLink(BoundLink, Protocol):
    """What a gate needs of its link."""

    def run_after(self, delays: Delays, action: Callable[[], None]) -> None:
        """Run `action` after the delays of these rules."""

    def reset(self, how: str) -> None:
        """End both connections by RST."""


class HostGate:
    """One connection's gate. `feed` takes what the client sends."""

    __slots__ = (
        "_broken",
        "_exempt",
        "_framer",
        "_has_switched",
        "_is_admitted",
        "_link",
        "_queue",
        "_since",
    )

    def __init__(self, link: GatedLink, broken: UpstreamSet, has_switched: Callable[[], bool]) -> None:
        """`has_switched` returns whether the peers have agreed to speak something else than HTTP."""
        self._link = link
        self._broken = broken
        self._has_switched = has_switched
        self._framer: RequestFramer | None = RequestFramer()
        """None once the connection has one host for good, or cannot be read."""
        self._exempt = True
        """Whether the latest request goes to a host that is spared."""
        self._is_admitted = False
        self._since: float | None = 0.0
        """Time before which nothing goes on; None while rules delay the connection."""
        self._queue: deque[tuple[bool, Event]] = deque()

    @property
    def is_open(self) -> bool:
        """False while rules delay the connection: the client should not be read."""
        return self._since is not None

    def feed(self, event: Event) -> None:
        """Take an event, and let what is decided enter the chain of the client's side."""
        self._queue.extend(self._decided(event))
        self._let_in()

    def _let_in(self) -> None:
        link = self._link
        while self._queue and self._since is not None and not link.dead:
            exempt, event = self._queue[0]
            if not exempt and not self._is_admitted:
                self._is_admitted = True
                self._admit()
                continue
            self._queue.popleft()
            if exempt is not link.client_exempt:
                link.client_exempt = exempt
                rebind_rules(link, link.proxy.services.loop.clock())
            if link.up.near_chain is not None:
                link.up.near_chain.feed(moved(event, max(event.at, self._since)))

    def _admit(self) -> None:
        link = self._link
        delays = judge_admission(link.proxy, link.proxy.rules_of("connection"), link.ordinal)
        if delays is None:
            link.reset("refused")
        elif delays:
            self._since = None
            link.run_after(delays, self._admitted)

    def _admitted(self) -> None:
        self._since = self._link.proxy.services.loop.clock()
        self._let_in()
        if not self._link.dead:
            self._link.up.pump_again()

    def _decided(self, event: Event) -> Iterator[tuple[bool, Event]]:
        """Yield what has come in, each part with whether it is for a host that is spared."""
        if self._has_switched():
            yield from self._rest(event.at)
        framer = self._framer
        if framer is None or not isinstance(event, Data):
            yield from self._rest(event.at)
            yield self._exempt, event
            return
        framer.feed(event.payload)
        run: list[bytes] = []
        while (piece := framer.next_piece()) is not None:
            if isinstance(piece, RequestHead):
                exempt = not self._covers(piece)
                if exempt is not self._exempt and run:
                    yield self._exempt, Data(event.at, b"".join(run))
                    run.clear()
                self._exempt = exempt
            if piece.raw:
                run.append(piece.raw)
            if isinstance(piece, Opaque) or (isinstance(piece, RequestHead) and piece.method == "CONNECT"):
                run.append(framer.take_rest())
                self._framer = None
                break
        if run:
            yield self._exempt, Data(event.at, b"".join(run))

    def _rest(self, at: float) -> Iterator[tuple[bool, Event]]:
        """Read no further, and yield the part of a head that was kept."""
        if self._framer is not None and (rest := self._framer.take_rest()):
            yield self._exempt, Data(at, rest)
        self._framer = None

    def _covers(self, head: RequestHead) -> bool:
        try:
            origin = origin_of(head)
        except ValueError:
            return False  # The exchange answers it by 400.
        return self._broken.covers(origin.host, origin.port)
