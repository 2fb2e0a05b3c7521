"""The order of things on one client connection: whose turn it is, when legs end, what is held back.

Owns the queue of turns, the times of both directions, and the outputs. It never looks at a byte:
reading is done by `exchange`, which builds on this.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Literal, TypeAlias

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.proxy.http.answer import CONTINUE, answer_bytes
from faultkit.proxy.http.framing import RequestFramer, ResponseFramer
from faultkit.proxy.http.output import Dial, Hangup, Output, ToClient, ToUpstream
from faultkit.proxy.http.target import Origin
from faultkit.proxy.http.turn import Turn

Pause: TypeAlias = Literal["switch", "drain", "dial"]
"""Why nothing is read from the client: the answer decides whether HTTP goes on; responses of another
origin are outstanding; a leg is being dialled."""

MAX_HELD_BYTES = 1 << 20


class Order:
    """State of one client connection, and everything about it that does not depend on bytes."""

    __slots__ = (
        "_backlog",
        "_client_at",
        "_client_ended",
        "_closed",
        "_current",
        "_deaf",
        "_forward",
        "_held_bytes",
        "_leg",
        "_now",
        "_out",
        "_pause",
        "_raw_down",
        "_raw_up",
        "_requests",
        "_responses",
        "_turns",
        "_upstream_at",
        "_upstream_end",
        "_waiting",
        "opaque_reason",
        "unreached",
    )

    def __init__(self, forward: bool) -> None:
        self.opaque_reason: str | None = None
        """Why bytes pass without being read, if they do; no request is judged from then on."""
        self.unreached = 0
        """Answers of ours that say that the upstream could not be had."""
        self._forward = forward
        self._requests = RequestFramer()
        self._responses = ResponseFramer()
        self._out: list[Output] = []
        self._turns: deque[Turn] = deque()
        """Requests whose responses are not finished, oldest first."""
        self._current: Turn | None = None
        """The request that is being read."""
        self._now = 0.0
        """When the event happened that is being dealt with."""
        self._client_at = 0.0
        """Nothing goes to the client before; likewise for the upstream."""
        self._upstream_at = 0.0
        self._raw_up = False
        self._raw_down = False
        self._deaf = False
        """What the client still sends is dropped."""
        self._closed = False
        self._client_ended = False
        self._upstream_end: Eof | Close | Reset | None = None
        """The upstream has ended, but answers of ours come before the client hears of it."""
        self._pause: Pause | None = None
        self._backlog: list[Data | Eof] = []
        self._held_bytes = 0
        self._leg: Origin | None = None
        """The origin at the other end of the upstream leg, in forward mode."""
        self._waiting: tuple[Turn, Origin, bytes] | None = None
        """The request that needs a leg which is not there yet, and its head for the wire."""

    @property
    def wants_input(self) -> bool:
        """False while so much is held for the upstream that the client should be kept from sending."""
        return self._held_bytes <= MAX_HELD_BYTES

    @property
    def transparent(self) -> bool:
        """From now on every byte passes both ways as it is: there is nothing left to do here."""
        return self._raw_up and self._raw_down and self._pause is None and not self._swallows

    @property
    def _swallows(self) -> bool:
        """The request that is being read is dropped."""
        return self._current is not None and not self._current.sent

    @property
    def _reachable(self) -> bool:
        """There is an upstream leg that takes bytes."""
        if self._forward:
            return self._leg is not None
        return self._upstream_end is None or isinstance(self._upstream_end, Eof)

    def _read_client(self, event: Data | Eof) -> None:
        raise NotImplementedError

    # Answers of ours.

    def _answer(self) -> None:
        """Write the answers whose turn has come."""
        turns = self._turns
        while turns:
            turn = turns[0]
            if turn.answer is None:
                if self._upstream_end is not None:
                    self._pass_upstream_end(self._upstream_end)
                return
            if not turn.due:
                if turn.continues:
                    turn.continues = False
                    self._to_client(Data(turn.ready_at, CONTINUE))
                return
            turns.popleft()
            closing = turn.closing or (self._upstream_end is not None and not turns)
            self._to_client(Data(turn.ready_at, answer_bytes(turn.answer, turn.head, closing)))
            if turn.closing:
                self._shut(turn.ready_at)
                return
        self._drained()

    def _drained(self) -> None:
        """No response is outstanding."""
        if self._upstream_end is not None:
            self._pass_upstream_end(self._upstream_end)
        elif self._pause == "switch":
            self._resume()
        elif self._pause == "drain":
            self._dial()
        elif self._forward and self._client_ended:
            self._shut(self._now)

    # Ends.

    def _upstream_ended(self, event: Eof | Close | Reset, hung_up: bool = False) -> None:
        for turn in self._turns:
            if turn.answer is not None and turn.sent:
                # There is no response to wait for; what is left of the request has nowhere to go.
                turn.drop_request()
                if turn.whole:
                    turn.make_due(event.at)
        if self._forward and not self._raw_down:
            if self._current is not None:
                self._current.sent = False
            if not hung_up:
                self._out.append(Hangup())
            self._leg = None
            if any(turn.answer is None for turn in self._turns):
                self._upstream_end = event
        else:
            self._upstream_end = event
        self._answer()

    def _drop_upstream(self) -> None:
        """The upstream's leg is of no use any more, but the client's may be."""
        self._out.append(Hangup())
        self._upstream_ended(Close(self._now), hung_up=True)

    def _pass_upstream_end(self, event: Eof | Close | Reset) -> None:
        self._upstream_end = None
        if self._forward and not self.transparent:
            self._to_client(event if isinstance(event, Reset) else Close(event.at))
            if self._leg is not None:
                self._out.append(Hangup())
            self._finish()
            return
        self._to_client(event)
        if isinstance(event, Eof):
            # No answer can follow, so there is nothing to judge; the upstream may still be reading.
            self._go_raw(None)
        else:
            self._finish()

    def _shut(self, at: float) -> None:
        """The client's connection ends, by us."""
        self._to_client(Close(at))
        if self._reachable:
            self._out.append(Hangup())
        self._finish()

    def _finish(self) -> None:
        self._closed = True
        self._turns.clear()
        self._backlog.clear()
        self._held_bytes = 0
        self._waiting = self._pause = None

    def _go_raw(self, reason: str | None) -> None:
        """From here on bytes pass both ways, once a request that is being dropped has ended."""
        self.opaque_reason = self.opaque_reason or reason
        self._raw_up = self._raw_down = True
        self._turns.clear()
        if not self._swallows and (rest := self._requests.take_rest()):
            self._to_upstream(Data(self._now, rest))
        if self._pause is not None:
            self._resume()

    # Pauses.

    def _hold(self, event: Data | Eof) -> None:
        self._backlog.append(event)
        if isinstance(event, Data):
            self._held_bytes += len(event.payload)

    def _resume(self) -> None:
        """Read what the client has sent meanwhile."""
        self._pause = None
        backlog, self._backlog = self._backlog, []
        self._held_bytes = 0
        for event in backlog:
            self._read_client(event)

    def _dial(self) -> None:
        assert self._waiting is not None
        turn, origin, _ = self._waiting
        if self._leg is not None:
            self._leg = None
            self._out.append(Hangup())
        self._pause = "dial"
        self._out.append(Dial(origin.host, origin.port, origin.tls, turn.connects))

    def _take_waiting(self) -> tuple[Turn, Origin, bytes]:
        waiting = self._waiting
        if waiting is None or self._pause != "dial":
            raise RuntimeError("no leg was asked for")
        self._waiting = None
        return waiting

    # Times never decrease in a direction, and nothing goes out before now.

    def _at(self, now: float) -> list[Output]:
        """Something happens: the outputs for it are collected in the list returned."""
        self._now = now
        if now > self._client_at:
            self._client_at = now
        if now > self._upstream_at:
            self._upstream_at = now
        out: list[Output] = []
        self._out = out
        return out

    def _to_upstream(self, event: Event) -> None:
        if event.at < self._upstream_at:
            event = replace(event, at=self._upstream_at)
        else:
            self._upstream_at = event.at
        self._out.append(ToUpstream(event))

    def _to_client(self, event: Event) -> None:
        if event.at < self._client_at:
            event = replace(event, at=self._client_at)
        else:
            self._client_at = event.at
        self._out.append(ToClient(event))

    def _flush_up(self, run: list[bytes], event: Data) -> None:
        """Send what has passed of `event`: as the very same event, where all of it has."""
        if run:
            payload = run[0] if len(run) == 1 else b"".join(run)
            run.clear()
            self._to_upstream(event if payload is event.payload else Data(event.at, payload))

    def _flush_down(self, run: list[bytes], event: Data) -> None:
        if run:
            payload = run[0] if len(run) == 1 else b"".join(run)
            run.clear()
            self._to_client(event if payload is event.payload else Data(event.at, payload))
