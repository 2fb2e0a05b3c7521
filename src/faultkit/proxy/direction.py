"""One direction of one connection: bytes from a source socket to a target socket.

A direction is in one of four modes (`direction_fields.Mode`):

    mode    near_chain  pipe_queue   how bytes move
    ------  ----------  -----------  -----------------------------------------------------------------
    COPY    None        None         read() → write()
    SPLICE  None        set          socket → kernel pipe → socket, never through this process
    CHAIN   set         None or set  read() → filters → out → write(); bulk may wait in pipes (parcels)
    SHUT    None        None         not at all: the connection is over

    from          to            when                                                 in
    ------------  ------------  ---------------------------------------------------  ----------------
    COPY          SPLICE        several large reads in a row, and a pipe is free     _open_pipe_queue
    SPLICE        COPY          nothing moved for a second, or no pipe is free       drop_pipes
    COPY, SPLICE  CHAIN         a rule begins to act                                 bind_rules
    COPY          CHAIN         a protocol layer is put between the sockets          enter_layer
    CHAIN         COPY, SPLICE  no rule acts, and nothing is held back               settle
    CHAIN         COPY          the protocol layer is removed                        leave_layer
    any           SHUT          the link has ended; later timers return at once      shut (by `Link`)

In CHAIN mode the bytes take this way:

    source ──read──▶ near_chain ──▶ (HTTP, TLS) ──▶ far_chain ──▶ out ──write──▶ target

`far_chain` exists only where a protocol layer stands between the two sockets, because each side of the layer
then has faults of its own. `out` and everything behind it belong to `DirectionOutput`, the base class.

This file is the hot path: it is written for few Python steps per chunk. It knows the link only as
`DirectionOwner`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from os import read, write
from typing import Protocol, cast

from faultkit.faults.events import Data, Event
from faultkit.faults.fault import FOREVER, StreamFilter
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.data_plane import MOST_RECENT
from faultkit.proxy.direction_fields import CHAIN, COPY, SHUT, SPLICE
from faultkit.proxy.direction_output import OutputOwner
from faultkit.proxy.direction_source import TURNS, DirectionSource, read_bytes
from faultkit.proxy.event_loop import FAILED
from faultkit.proxy.filter_chain import FilterChain
from faultkit.proxy.native import native
from faultkit.proxy.pipes import CAN_SPLICE, DRY, ENDED, FULL, MORE, SOURCE_FAILED, Parcel, PipeQueue, carry
from faultkit.proxy.proxy_state import ALWAYS_ALLOWED
from faultkit.proxy.sockets import NO_SOCKET

CHUNK = 65536
_SPLICE_TURNS = 3
"""The same for splicing, where one turn moves up to a whole pipe (1 MiB)."""
_BULK = 16384
"""A read of at least this size counts as part of a bulk transfer."""
_BIG_READS_BEFORE_SPLICE = 4
"""Large reads in a row before a pipe is opened. Opening one costs as much as copying a few chunks, so a
single large answer is copied, and only a stream that keeps coming is spliced."""
_MOST_OVERDUE = 1 << 20
"""Bytes that have left the chains and wait for a slow receiver, before the source is not read any more."""


if native is not None:
    native.configure(
        copy=COPY,
        chain=CHAIN,
        shut=SHUT,
        data=Data,
        chunk=CHUNK,
        bulk=_BULK,
        most_overdue=_MOST_OVERDUE,
        always_allowed=ALWAYS_ALLOWED,
        turns=TURNS,
        big_reads=_BIG_READS_BEFORE_SPLICE,
        most_recent=MOST_RECENT,
    )


class DirectionOwner(OutputOwner, Protocol):
    """What a direction needs of its link. Each method may end the link, which sets the mode to SHUT."""

    def abort(self) -> None:
        """End both directions after a defect."""

    def socket_event(self, reading: Direction, flags: int) -> None:
        """Handle an event of `reading`'s source that is more than READABLE."""

    def pass_through_layer(self, direction: Direction, events: list[Event], now: float) -> None:
        """Feed events to the protocol layer, and release what comes out on the other side."""

    def layer_wants_input(self, direction: Direction) -> bool:
        """Return whether the protocol layer takes more bytes from the source of `direction`."""


class Direction(DirectionSource):
    """The way from one socket to the other. `ready` is the loop's handler of the source socket."""

    __slots__ = ()

    _link: DirectionOwner

    def abort(self) -> None:
        """End the link after `ready` has raised."""
        self._link.abort()

    # --- COPY and SPLICE: no rule acts --------------------------------------------------------

    def pump(self) -> None:
        """Move what can be moved now."""
        if self.mode is CHAIN:
            self._pump_chain()
            return
        if self.out is not None and not self.flush():
            return
        if self.pipe_queue is not None:
            self._splice(self.pipe_queue)
            return
        turns = TURNS
        try:
            while self.readable and self.writable:
                chunk = read(self.source, CHUNK)
                size = len(chunk)
                if size == 0:
                    self._end_of_source()
                    return
                try:
                    sent = write(self.target, chunk)
                except BlockingIOError:
                    sent = 0
                self.moved += sent
                if sent < size:
                    self.keep_rest(memoryview(chunk)[sent:])
                self.big_reads = big_reads = self.big_reads + 1 if size >= _BULK else 0
                if size < CHUNK and not self.ending:
                    self.readable = False
                    if self._services.await_input is not None:
                        self._source_is_dry()
                    if not big_reads:
                        return
                if big_reads >= _BIG_READS_BEFORE_SPLICE and self._open_pipe_queue():
                    self.pump_again()
                    return
                turns -= 1
                if not turns:
                    self.pump_again()
                    return
        except BlockingIOError:
            self._source_is_dry()
        except OSError:
            self._link.reset()

    def _splice(self, queue: PipeQueue) -> None:
        """Move bytes from socket to socket inside the kernel."""
        pipe = queue.only_pipe()
        if pipe is None:
            self.drop_pipes()
            self.pump_again()
            return
        if not (self.readable and self.writable):
            return
        moved, pipe.filled, why = carry(self.source, self.target, pipe.inlet, pipe.outlet, _SPLICE_TURNS)
        self.moved += moved
        if why == MORE:
            self.pump_again()
        elif why == DRY:
            self._source_is_dry()
        elif why == FULL:
            self.keep(queue.seal())
            self.target_is_full()
        elif why == ENDED:
            self._end_of_source()
        else:
            if why == SOURCE_FAILED:
                self.ending |= FAILED
            self._link.reset()  # Behind what the target took at once, and not later.

    def _open_pipe_queue(self) -> bool:
        """Let bulk bytes wait in pipes from now on. False where that is not possible."""
        if not CAN_SPLICE:
            self.big_reads = 0
            return False
        if self.pipe_queue is None:
            self.pipe_queue = PipeQueue(self._services.pipes)
            self._services.pipes.holders[self] = self.moved
            if self.mode is COPY:
                self.mode = SPLICE
        return True

    def drop_pipes(self) -> None:
        """Return to copying. The pipe queue must be empty."""
        if self.pipe_queue is not None:
            self.pipe_queue.close()
            self.pipe_queue = None
            self.big_reads = 0
            self._services.pipes.holders.pop(self, None)
            if self.mode is SPLICE:
                self.mode = COPY

    # --- CHAIN: rules act, or a protocol layer stands between the sockets ---------------------

    def enter_layer(self) -> None:
        """Put a protocol layer between the two sockets, with a chain on either side of it."""
        self.near_chain, self.far_chain = FilterChain(), FilterChain()
        self.mode = CHAIN

    def leave_layer(self) -> None:
        """Copy from now on. The layer has been removed, and both chains are idle."""
        self.near_chain = self.far_chain = self.gate = self.straight = self.whole = None
        self.mode = COPY

    def bind_rules(
        self,
        near: list[ActiveStreamRule],
        far: list[ActiveStreamRule],
        open_filter: Callable[[ActiveStreamRule], StreamFilter],
        now: float,
    ) -> None:
        """Let exactly these rules act: `near` at the source's socket, `far` at the target's."""
        self.release(now)
        if self.mode is SHUT:
            return
        self.paced_at = FOREVER
        if self.far_chain is not None and self.near_chain is not None:
            self.far_chain.rebind(far, open_filter, now)
            self.near_chain.rebind(near, open_filter, now)
        elif near or far or self.near_chain is not None:
            # Without a layer both sockets carry the same bytes, so one chain holds the rules of both sides.
            if self.near_chain is None:
                self.near_chain = FilterChain()
                self.mode = CHAIN
            self.near_chain.rebind(near + far, open_filter, now)
            if not self.near_chain.blind:
                self._unseal(self.near_chain)
        else:
            return
        self.pump_again()

    def _pump_chain(self) -> None:
        if self.straight is not None and self._pass_straight(self.straight):
            return
        if self.far_chain is not None and self.gate is None and self._pump_layer():
            return
        clock = self._services.loop.clock
        turns = TURNS
        while True:
            now = clock()
            self.release(now)
            chain = self.near_chain  # Read anew: another one, if the release dropped the upstream.
            if chain is None:
                return
            if not self.readable or not self._wants_input(chain, now):
                break
            feed = chain.feed if self.gate is None else self.gate
            try:
                chunk = self._read(chain)
            except BlockingIOError:
                self.paced_at = FOREVER
                self._source_is_dry()
                continue
            except OSError:
                self.end_of_chain_source(True, now)
                continue
            if not chunk:
                self.end_of_chain_source(False, now)
                continue
            # Bytes that lay in the socket because a filter asked not to be fed did not come late.
            feed(Data(min(now, self.paced_at), chunk))
            self.big_reads = self.big_reads + 1 if len(chunk) >= _BULK else 0
            if len(chunk) < chain.read_size and isinstance(chunk, bytes):
                self.paced_at = FOREVER
                if not self.ending:
                    self._source_is_dry()
            turns -= 1
            if not turns:
                self.pump_again()
                break
        self.settle()

    def _pump_layer(self) -> bool:
        """Give what is read to the layer at once, where nothing acts before it. False: the chains take
        over."""
        clock, turns = self._services.loop.clock, TURNS
        now = clock()
        if self.out is not None or (far := self.far_chain) is None or far.incoming or far.stages:
            self.release(now)
        while True:
            near = self.near_chain  # Read anew: another one, if the upstream was dropped.
            if near is None:
                return True
            if near.stages or near.incoming:
                return False
            if not self.readable or not self._wants_input(near, now):
                break
            try:
                chunk = read_bytes(self.source, near.read_size)
            except BlockingIOError:
                self._source_is_dry()
                break
            except OSError:
                self.end_of_chain_source(True, now)
                return False
            if not chunk:
                self.end_of_chain_source(False, now)
                return False
            due_at = None if self.whole is None else self.whole(chunk, now)
            if due_at is None or due_at == FOREVER:
                self.feed_layer(b"" if due_at else chunk, now)
            else:
                self._pass_whole(Data(due_at, chunk), now)
            if len(chunk) < near.read_size and not self.ending:
                self._source_is_dry()
                break
            turns -= 1
            if not turns:
                self.pump_again()
                break
            now = clock()
        if self.mode is not SHUT:
            self.settle()
        return True

    def feed_layer(self, chunk: bytes, now: float) -> None:
        """Give bytes to the layer, and release what comes out on both sides; without bytes, only that."""
        self._link.pass_through_layer(self, [Data(now, chunk)] if chunk else [], now)
        self.release_far(now)

    def _pass_whole(self, event: Data, now: float) -> None:
        """Pass on what the layer lets pass as it is."""
        self.feed_far(event)
        self.release_far(now)

    def _read(self, chain: FilterChain[ActiveStreamRule]) -> bytes:
        """Read bytes, or a parcel where they come in bulk and no filter looks at them."""
        if self.big_reads >= _BIG_READS_BEFORE_SPLICE and chain.blind and self.far_chain is None:
            if self.pipe_queue is None:
                self._open_pipe_queue()
            if self.pipe_queue is not None:
                parcel = self.pipe_queue.take(self.source, self.ending != 0)
                if parcel is not None:
                    return cast(bytes, parcel)  # A blind filter uses nothing but the size.
        return read_bytes(self.source, chain.read_size)

    def _unseal(self, chain: FilterChain[ActiveStreamRule]) -> None:
        """Read the bytes that wait as parcels, in the order in which they would leave: a filter looks at
        them."""
        queue = self.pipe_queue
        if queue is None or not queue.size:
            return
        if self.out is not None:
            self.out = deque(queue.read(item.size) if isinstance(item, Parcel) else item for item in self.out)
        chain.change_payloads(
            lambda payload: queue.read(payload.size) if isinstance(payload, Parcel) else payload
        )

    def _wants_input(self, chain: FilterChain[ActiveStreamRule], now: float) -> bool:
        if self.out_bytes > _MOST_OVERDUE:  # The receiver is slower than the fault: push back to the sender.
            return False
        held = chain.held_bytes + self.waiting_bytes
        if not self._services.budget.allows(held, held - self._reported_bytes):
            return False
        if chain.stages:
            ready_at = chain.ready_at()
            if ready_at > now:
                self.paced_at = ready_at
                self._arm(ready_at)
                return False
        return self.far_chain is None or self._link.layer_wants_input(self)

    def release(self, now: float) -> None:
        """Pass on everything that is due."""
        near = self.near_chain
        if near is not None and (near.incoming or near.stages):
            events = near.advance(now)
            if events:
                if near.stages:
                    self._record_lateness(events, now)
                if self.far_chain is not None:
                    self._link.pass_through_layer(self, events, now)
                else:
                    self.keep_events(events)
        self.release_far(now)

    def release_far(self, now: float) -> None:
        """Pass on what is due behind the layer, if there is one, and everything that waits for the target."""
        # Passing through the layer may have ended the link; `shut` has dropped the chains then.
        far = self.far_chain
        if far is not None and (far.incoming or far.stages):
            events = far.advance(now)
            if events:
                if far.stages:
                    self._record_lateness(events, now)
                self.keep_events(events)
        if self.out is not None and self.mode is not SHUT:
            self.flush()

    def settle(self) -> None:
        """Set a timer for the next release, report the held bytes to the budget, and leave an idle chain."""
        chain = self.near_chain
        if chain is None:
            return
        next_at = FOREVER if not chain.incoming and not chain.stages else chain.next_at()
        held = self.out_bytes + chain.held_bytes
        if (far := self.far_chain) is not None:
            if far.incoming or far.stages:
                held += far.held_bytes
                next_at = min(next_at, far.next_at())
        elif chain.idle:
            self.near_chain = None
            self.mode = COPY if self.pipe_queue is None else SPLICE
            held = 0  # What a slow receiver still has to take is not held back by a fault.
            if self.readable:
                self.pump_again()
        if next_at < self._timer_at:
            self._arm(next_at)
        if held != self._reported_bytes:
            self._services.budget.held += held - self._reported_bytes
            self._reported_bytes = held

    @property
    def has_pending_release(self) -> bool:
        """True if something held back in a chain will become due."""
        chains = (self.near_chain, self.far_chain)
        return any(chain is not None and chain.next_at() < FOREVER for chain in chains)

    def _record_lateness(self, events: list[Event], now: float) -> None:
        if self.writable and self.out is None:  # A receiver that does not read is not our lateness.
            for event in events:
                self._services.lateness.record(now - event.at)

    def _arm(self, at: float) -> None:
        if at < self._timer_at:
            self._timer_at = at
            self._services.loop.call_at(at, self._timer_due, self._link.abort)

    # --- the source ---------------------------------------------------------------------------

    def _end_of_source(self) -> None:
        self.readable = False
        self.keep("eof")
        self.flush()

    # --- ends ---------------------------------------------------------------------------------

    def drop_source(self) -> None:
        """Forget the source, which was closed: what came from it must not reach the target.

        Another one follows."""
        self.source = NO_SOCKET
        self.readable = False
        self.ending = 0
        self.paced_at = FOREVER
        self.near_chain = FilterChain()

    def shut(self) -> None:
        """Drop what is held back, because the link has ended.

        Timers and queued work may still refer to this direction."""
        self.mode = SHUT
        self.out = None
        if self.near_chain is not None or self.pipe_queue is not None:
            self._services.budget.held -= self._reported_bytes
            self._reported_bytes = 0
            self.drop_pipes()
            self.near_chain = self.far_chain = self.gate = self.straight = self.whole = None
