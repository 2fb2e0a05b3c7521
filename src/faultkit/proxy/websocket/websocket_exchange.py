"""Both ways of one WebSocket connection, from the answer 101 on: which bytes go where, and when.

Each way is read by itself. Nothing goes out before it is due: `wake_at` says when to call `wake`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.plan.match import Flow
from faultkit.proxy.http import Output, ToClient, ToUpstream
from faultkit.proxy.websocket.compression import Extensions
from faultkit.proxy.websocket.message_flow import MessageFlow, MessageRules

_MOST_HELD = 1 << 20
"""Bytes that wait in one way, beyond which its sender is not read."""
_GOING_AWAY, _ABNORMAL = 1001, 1006
_CLOSE_WAIT_S = 5.0
"""How long a client that we have closed may take to answer (RFC 6455 §7.1.1 lets the server end first)."""


class WebSocketExchange:
    """A WebSocket connection: feed it the events of both legs, and carry out what it returns, in order."""

    __slots__ = ("_client_ended", "_closing", "_down", "_ends_at", "_now", "_up", "closed", "troubles")

    def __init__(self, rules: MessageRules, agreed: Extensions) -> None:
        """`agreed`: the extensions in use."""
        self._up = MessageFlow("to_upstream", rules, agreed.to_upstream, agreed.unknown)
        self._down = MessageFlow("to_client", rules, agreed.to_client, agreed.unknown)
        self._up.peer, self._down.peer = self._down, self._up
        self._now = 0.0
        self._closing = False
        """A rule has closed the connection, and the Close frames are on their way."""
        self._ends_at = math.inf
        """When the connection ends, even if the client has not answered."""
        self._client_ended = False
        self.closed = False
        self.troubles: list[str] = []
        """What users should know, newest last."""

    def from_client(self, event: Event) -> list[Output]:
        """Handle an event of the client's leg."""
        return self._take(self._up, event)

    def from_upstream(self, event: Event) -> list[Output]:
        """Handle an event of the upstream's leg."""
        return self._take(self._down, event)

    def wants_input(self, flow: Flow) -> bool:
        """Return whether more bytes that flow this way are taken."""
        way = self._up if flow == "to_upstream" else self._down
        return way.held.held_bytes < _MOST_HELD and not way.has_more

    @property
    def wake_at(self) -> float:
        """When `wake` has something to do; infinity if not before further events."""
        if self.closed:
            return math.inf
        if self._up.has_more or self._down.has_more:
            return self._now
        return min(self._up.held.next_at, self._down.held.next_at, self._ends_at)

    def wake(self, at: float) -> list[Output]:
        """Send what has become due."""
        self._now = max(self._now, at)
        if self.closed:
            return []
        for way in (self._up, self._down):
            if way.has_more:
                way.go_on()
                self._look_at(way)
        return self._release()

    def end_rules(self, acting: Collection[Hashable], now: float) -> list[Output]:
        """Let go what rules hold back that act no more."""
        self._now = max(self._now, now)
        if self.closed:
            return []
        for way in (self._up, self._down):
            way.end_rules(acting, self._now)
            self._look_at(way)
        return self._release()

    # --- both ways ----------------------------------------------------------------------------

    def _take(self, way: MessageFlow, event: Event) -> list[Output]:
        self._now = max(self._now, event.at)
        if self.closed:
            return []
        if isinstance(event, Data):
            way.feed(event)
        elif self._closing and isinstance(event, Eof):
            self._client_ended = self._client_ended or way is self._up
        elif self._closing:
            self.closed = True
            return [ToUpstream(event) if way is self._up else ToClient(event)]
        else:
            way.end(event)
        self._look_at(way)
        return self._release()

    def _look_at(self, way: MessageFlow) -> None:
        """Close the connection if this way asks for it, and collect what users should know."""
        if way.closing is not None and not self._closing:
            self._close(way)
        self.troubles += way.troubles
        way.troubles.clear()

    def _close(self, way: MessageFlow) -> None:
        """Close the connection in place of a message that came this way."""
        assert way.closing is not None
        effect, note = way.closing
        self._closing = True
        if note is not None:
            note("close_code", effect.code)
        if effect.code == _ABNORMAL:
            self._up.ignore()
            self._down.ignore()
            way.held.put(Close(self._now))
            return
        for each, side in ((self._down, "client"), (self._up, "upstream")):
            if effect.to in (side, "both"):
                each.close_with(effect.code, effect.reason, self._now)
            else:
                each.close_with(_GOING_AWAY, "", self._now)

    def _release(self) -> list[Output]:
        out: list[Output] = []
        for event in self._down.held.release(self._now):
            out.append(ToClient(event))
            self.closed = self.closed or isinstance(event, (Close, Reset))
        for event in self._up.held.release(self._now):
            out.append(ToUpstream(event))
            self.closed = self.closed or isinstance(event, (Close, Reset))
        if self._closing and not self.closed and not len(self._up.held) and not len(self._down.held):
            self._ends_at = min(self._ends_at, self._now + _CLOSE_WAIT_S)
            if self._client_ended or self._up.close_seen or self._now >= self._ends_at:
                self.closed = True
                out.append(ToClient(Close(self._now)))
        return out
