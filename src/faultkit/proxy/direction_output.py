"""The target's half of a direction: what waits for a socket to take it, and how it is written.

`out` keeps, in every mode of the direction, the bytes that the target has not taken yet and the end of the
stream behind them. `Direction` inherits from this class instead of holding an object of it: sending a chunk
then costs no extra call or attribute. This module does not know where the bytes come from.
"""

from __future__ import annotations

from collections import deque
from os import write
from typing import Protocol

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.proxy.direction_fields import DirectionFields, Ending
from faultkit.proxy.filter_chain import FilterChain
from faultkit.proxy.pipes import Parcel
from faultkit.proxy.sockets import NO_SOCKET


class OutputOwner(Protocol):
    """What the target's half needs of the link. Each method may end the link, which sets `out` to None."""

    def reset(self) -> None:
        """End both directions by RST."""

    def close(self) -> None:
        """End both directions by FIN."""

    def forward_end(self, direction: DirectionOutput) -> None:
        """Send FIN to the target of `direction`."""

    def on_drained(self, direction: DirectionOutput) -> None:
        """Continue what waited for the target of `direction` to take everything.

        Called only where there is a protocol layer."""


class DirectionOutput(DirectionFields):
    """The target of a direction and what waits for it."""

    __slots__ = ()

    @property
    def waiting_bytes(self) -> int:
        """Bytes behind the layer between the sockets, or past the chains, that the target has not taken."""
        return self.out_bytes + (0 if self.far_chain is None else self.far_chain.held_bytes)

    def feed_far(self, event: Event) -> None:
        """Feed what comes out of the layer between the sockets. What no filter will hold back is next for the
        target; `flush` sends it."""
        far = self.far_chain
        assert far is not None
        if (
            isinstance(event, Data)
            and not far.stages
            and not far.incoming
            and event.at <= self._services.loop.clock()
        ):
            self.keep(event.payload)
        else:
            far.feed(event)

    def keep_events(self, events: list[Event]) -> None:
        """Append what has left the last chain."""
        for event in events:
            match event:
                case Data(payload=payload):
                    self.keep(payload)
                case Eof():
                    self.keep("eof")
                case Close():
                    self.keep("close")
                case Reset():
                    self.keep("reset")

    def keep(self, item: bytes | memoryview | Parcel | Ending) -> None:
        """Append to what waits for the target."""
        if self.out is None:
            self.out = deque()
        self.out.append(item)
        if not isinstance(item, str):
            self.out_bytes += len(item)

    def keep_rest(self, rest: bytes | memoryview) -> None:
        """Keep what the target did not take, and wait until it can be written again."""
        self.keep(rest)
        self.target_is_full()

    def flush(self) -> bool:
        """Send what waits. True if nothing waits any more and this direction continues."""
        out = self.out
        if out is None:
            return True
        try:
            while out:
                head = out[0]
                if isinstance(head, str) and (self.target != NO_SOCKET or head != "eof"):
                    out.popleft()
                    self._finish(head)
                    if self.out is None:  # The link has ended.
                        return False
                    continue
                if isinstance(head, str) or not self.writable:
                    return False
                try:
                    if isinstance(head, Parcel):
                        assert self.pipe_queue is not None
                        sent = self.pipe_queue.give(self.target, head.size)
                    else:
                        sent = write(self.target, head)
                except BlockingIOError:
                    self.target_is_full()
                    return False
                self.moved += sent
                self.out_bytes -= sent
                if sent == len(head):
                    out.popleft()
                elif isinstance(head, Parcel):
                    head.size -= sent
                else:
                    out[0] = memoryview(head)[sent:]
        except OSError:
            self._link.reset()
            return False
        self.out = None
        if self.far_chain is not None:
            self._link.on_drained(self)
        return True

    def _finish(self, how: Ending) -> None:
        if how == "reset":
            self._link.reset()
        elif how == "close":
            self._link.close()
        elif not self.end_sent:
            self.end_sent = True
            self._link.forward_end(self)

    def target_is_full(self) -> None:
        """Wait until the poller reports that the target can be written again."""
        self.writable = False
        if self.target != NO_SOCKET:
            self._services.loop.poller.await_output(self.target)

    def drop_target(self) -> None:
        """Forget the target, which was closed: what was meant for it must not reach the next one."""
        self.target = NO_SOCKET
        self.writable = False
        self.out, self.out_bytes = None, 0
        self.far_chain = FilterChain()
