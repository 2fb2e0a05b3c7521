"""One direction of one connection: bytes from a source socket to a target socket.

Where no fault touches the bytes, they are copied (small chunks) or spliced in the kernel (bulk). Where
one does, they go through a `Lane`, and leave it when their time has come. This file is the hot path:
it is written for few Python steps per chunk.

    source ──recv──▶ [lane] ──▶ (TLS, HTTP) ──▶ [far] ──▶ out ──send──▶ target

`lane` is None where nothing acts; `far` exists only where a layer such as TLS stands between the two
sockets, because then each side of it has faults of its own.
"""

from __future__ import annotations

from collections import deque
from os import read, write
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.fault import FOREVER
from faultkit.plan import Flow
from faultkit.proxy.active import ActiveRule
from faultkit.proxy.eventloop import FAILED
from faultkit.proxy.lane import Lane
from faultkit.proxy.pipes import CAN_SPLICE, Parcel, ParcelLine
from faultkit.proxy.sockets import NONE

if TYPE_CHECKING:
    from faultkit.proxy.link import Link

CHUNK = 65536
_TURNS = 16
"""Chunks that one direction may move before it gives way to the others."""
_SPLICE_TURNS = 3
_BULK = 16384
_BIG_READS_BEFORE_SPLICE = 4

_MOST_OVERDUE = 1 << 20
"""Bytes that have left the lanes and wait for a slow receiver."""

Ending: TypeAlias = Literal["eof", "close", "reset"]


class Half:
    __slots__ = (
        "big_reads",
        "ending",
        "far",
        "held",
        "lane",
        "line",
        "link",
        "moved",
        "out",
        "out_bytes",
        "paced_at",
        "queued",
        "readable",
        "shut",
        "source",
        "target",
        "timer_at",
        "writable",
    )

    def __init__(self, link: Link, source: int, target: int) -> None:
        self.link = link
        self.source = source
        self.target = target
        self.readable = False
        self.writable = target != NONE
        self.ending = 0
        """ENDED or FAILED once the source has hung up: then a short read does not mean that it is drained."""
        self.shut = False
        """The end of this direction has been passed on."""
        self.queued = False
        """It has given way and goes on in the next round of the loop."""
        self.moved = 0
        self.out: deque[bytes | memoryview | Parcel | Ending] | None = None
        """What has left the lanes and waits for the target to take it."""
        self.out_bytes = 0
        self.big_reads = 0
        self.line: ParcelLine | None = None
        """Where bulk bytes wait that nobody looks at; each is described by a parcel in a lane or in `out`."""
        self.lane: Lane[ActiveRule] | None = None
        self.far: Lane[ActiveRule] | None = None
        self.timer_at = FOREVER
        self.paced_at = FOREVER
        """When a filter was ready for more bytes than had been read: they count as come at that instant."""
        self.held = 0
        """Bytes of this half that the plane's budget knows of."""

    @property
    def flow(self) -> Flow:
        return "to_upstream" if self is self.link.up else "to_client"

    def pump_again(self) -> None:
        """In the next round of the loop, once, however often it is asked for."""
        if not self.queued:
            self.queued = True
            self.link.loop.again.append(self._go_on)

    def _go_on(self) -> None:
        self.queued = False
        if not self.link.dead:
            self.pump()

    # --- nothing acts -------------------------------------------------------------------------

    def pump(self) -> None:
        """Move what can be moved now."""
        if self.lane is not None:
            self._pump_lane()
            return
        if self.out is not None and not self.flush():
            return
        if self.line is not None:
            self._splice(self.line)
            return
        turns = _TURNS
        try:
            while self.readable and self.writable:
                chunk = read(self.source, CHUNK)
                size = len(chunk)
                if size == 0:
                    self._end("eof")
                    return
                try:
                    sent = write(self.target, chunk)
                except BlockingIOError:
                    sent = 0
                self.moved += sent
                if sent < size:
                    self.keep(memoryview(chunk)[sent:])
                    self._target_is_full()
                self.big_reads = big_reads = self.big_reads + 1 if size >= _BULK else 0
                if size < CHUNK and not self.ending:
                    self.readable = False
                    if self.link.await_input is not None:
                        self._source_is_dry()
                    if not big_reads:
                        return
                if big_reads >= _BIG_READS_BEFORE_SPLICE and self._open_line():
                    self.pump_again()
                    return
                turns -= 1
                if not turns:
                    self.pump_again()
                    return
        except BlockingIOError:
            self._source_is_dry()
        except OSError:
            self.link.reset()

    def _splice(self, line: ParcelLine) -> None:
        """Move bytes from socket to socket inside the kernel."""
        pipe = line.only_pipe()
        if pipe is None:
            self.leave_line()
            self.pump_again()
            return
        turns = _SPLICE_TURNS
        try:
            while self.readable and self.writable:
                size = pipe.fill(self.source)
                if not size:
                    self._end("eof")
                    return
                left = pipe.empty(self.target)
                self.moved += size - left
                if pipe.is_last:
                    self.ending |= FAILED
                    self.link.reset()  # Behind what the target took at once, and not later.
                    return
                if left:
                    self.keep(line.seal())
                    self._target_is_full()
                    return
                turns -= 1
                if not turns:
                    self.pump_again()
                    return
        except BlockingIOError:
            self._source_is_dry()
        except OSError:
            self.link.reset()

    def _open_line(self) -> bool:
        """Have bulk bytes wait in pipes from now on, where that is possible."""
        if not CAN_SPLICE:
            self.big_reads = 0
            return False
        if self.line is None:
            self.line = ParcelLine(self.link.plane.pipes)
            self.link.plane.spliced[self] = self.moved
        return True

    def leave_line(self) -> None:
        """Back to copying; the line must be empty."""
        if self.line is not None:
            self.line.close()
            self.line = None
            self.big_reads = 0
            self.link.plane.spliced.pop(self, None)

    def abort(self) -> None:
        """Something of ours failed midway: a reset is honest, a stream with a hole is not."""
        self.link.abort()

    def abandon(self) -> None:
        """The connection is gone, and with it what was held back: timers may still know this half."""
        self.link.plane.budget.held -= self.held
        self.held = 0
        self.leave_line()
        self.lane = self.far = self.out = None

    # --- faults act ---------------------------------------------------------------------------

    def _pump_lane(self) -> None:
        clock = self.link.loop.clock
        turns = _TURNS
        while True:
            now = clock()
            self.release(now)
            lane = self.lane  # Another one, if the release let the upstream go.
            if self.link.dead or lane is None:
                return
            if not self.readable or not self._wants_input(lane, now):
                break
            try:
                chunk = self._read(lane)
            except BlockingIOError:
                self.paced_at = FOREVER
                self._source_is_dry()
                continue
            except OSError:
                self.readable = False
                self.ending |= FAILED
                lane.feed(Reset(now))
                continue
            if not chunk:
                self.readable = False
                lane.feed(Eof(now))
                continue
            # Bytes that lay in the socket because a filter asked us to stop reading did not come late.
            lane.feed(Data(min(now, self.paced_at), chunk))
            self.big_reads = self.big_reads + 1 if len(chunk) >= _BULK else 0
            if len(chunk) < lane.read_size and isinstance(chunk, bytes):
                self.paced_at = FOREVER
                if not self.ending:
                    self._source_is_dry()
            turns -= 1
            if not turns:
                self.pump_again()
                break
        self.settle()

    def _read(self, lane: Lane[ActiveRule]) -> bytes:
        """Bytes, or a parcel where they come in bulk and no filter looks at them."""
        if self.big_reads >= _BIG_READS_BEFORE_SPLICE and lane.blind and self.far is None:
            if self.line is None:
                self._open_line()
            if self.line is not None:
                parcel = self.line.take(self.source, self.ending != 0)
                if parcel is not None:
                    return cast(bytes, parcel)  # A blind filter asks for nothing but the size.
        return read(self.source, lane.read_size)

    def unseal(self) -> None:
        """A filter wants to look at bytes that wait as parcels. In the order in which they would leave."""
        line = self.line
        if line is None or not line.size:
            return
        if self.out is not None:
            self.out = deque(line.read(item.size) if isinstance(item, Parcel) else item for item in self.out)
        if self.lane is not None:
            self.lane.change_payloads(
                lambda payload: line.read(payload.size) if isinstance(payload, Parcel) else payload
            )

    def _wants_input(self, lane: Lane[ActiveRule], now: float) -> bool:
        if self.out_bytes > _MOST_OVERDUE:  # The receiver is slower than the fault: push back to the sender.
            return False
        held = lane.held_bytes + self.waiting_bytes
        if not self.link.plane.budget.allows(held, held - self.held):
            return False
        ready_at = lane.ready_at()
        if ready_at > now:
            self.paced_at = ready_at
            self._arm(ready_at)
            return False
        return self.link.middle is None or self.link.middle.wants_input(self.flow)

    def release(self, now: float) -> None:
        """Let go of everything that is due."""
        if self.lane is not None:
            events = self.lane.advance(now)
            if events:
                if self.lane.stages:
                    self._record_lateness(events, now)
                if self.far is not None:
                    self.link.cross(self, events, now)
                else:
                    self._pass_on(events)
        if self.far is not None and not self.link.dead:
            events = self.far.advance(now)
            if events:
                if self.far.stages:
                    self._record_lateness(events, now)
                self._pass_on(events)
        if self.out is not None and not self.link.dead:
            self.flush()

    def settle(self) -> None:
        """Ask to be called again when there is something to do, and tell the budget what is held."""
        lane = self.lane
        if lane is None or self.link.dead:
            return
        next_at = lane.next_at()
        held = self.waiting_bytes + lane.held_bytes
        if self.far is not None:
            next_at = min(next_at, self.far.next_at())
        elif lane.idle:
            self.lane = None
            held = 0  # What a slow receiver still has to take is not held back by a fault.
            if self.readable:
                self.pump_again()
        self._arm(next_at)
        self.link.plane.budget.held += held - self.held
        self.held = held

    @property
    def expects(self) -> bool:
        """Something held back here has its time, and it will come."""
        lanes = (self.lane, self.far)
        return any(lane is not None and lane.next_at() < FOREVER for lane in lanes)

    @property
    def waiting_bytes(self) -> int:
        """Bytes behind the layer between the sockets, or past the lanes, that the target has not taken."""
        return self.out_bytes + (0 if self.far is None else self.far.held_bytes)

    def feed_far(self, event: Event) -> None:
        """Hand over what comes out of the layer between the sockets."""
        assert self.far is not None
        self.far.feed(event)

    def _record_lateness(self, events: list[Event], now: float) -> None:
        if self.writable and self.out is None:  # A receiver that does not read is not our lateness.
            for event in events:
                self.link.plane.lateness.record(now - event.at)

    def _pass_on(self, events: list[Event]) -> None:
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

    def _arm(self, at: float) -> None:
        if at < self.timer_at:
            self.timer_at = at
            self.link.loop.call_at(at, self._timer_due)

    def _timer_due(self, at: float) -> None:
        if at == self.timer_at:
            self.timer_at = FOREVER
            if not self.link.dead:
                self.pump()

    # --- leaving ------------------------------------------------------------------------------

    def flush(self) -> bool:
        """Send what waits. True if nothing waits any more and this direction goes on."""
        out = self.out
        if out is None:
            return True
        try:
            while out:
                head = out[0]
                if isinstance(head, str) and (self.target != NONE or head != "eof"):
                    out.popleft()
                    self._finish(head)
                    if self.link.dead:
                        return False
                    continue
                if isinstance(head, str) or not self.writable:
                    return False
                try:
                    if isinstance(head, Parcel):
                        assert self.line is not None
                        sent = self.line.give(self.target, head.size)
                    else:
                        sent = write(self.target, head)
                except BlockingIOError:
                    self._target_is_full()
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
            self.link.reset()
            return False
        self.out = None
        if self.link.middle is not None:
            self.link.drained(self)
        return True

    def _finish(self, how: Ending) -> None:
        if how == "reset":
            self.link.reset()
        elif how == "close":
            self.link.close("close")
        elif not self.shut:
            self.shut = True
            self.link.pass_end(self)

    def _end(self, how: Ending) -> None:
        self.readable = False
        self.keep(how)
        self.flush()

    def keep(self, item: bytes | memoryview | Parcel | Ending) -> None:
        """Behind what waits for the target already."""
        if self.out is None:
            self.out = deque()
        self.out.append(item)
        if not isinstance(item, str):
            self.out_bytes += len(item)

    def _source_is_dry(self) -> None:
        self.readable = False
        if self.link.await_input is not None and self.source != NONE:
            self.link.await_input(self.source)

    def _target_is_full(self) -> None:
        self.writable = False
        if self.target != NONE:
            self.link.loop.poller.await_output(self.target)
