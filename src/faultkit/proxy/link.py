"""One client connection and its upstream connection: how they begin, change and end.

Half-close is kept: the end of one direction is passed on and the other lives on. A reset is passed on as a
reset. A failed dial resets the client, which is as near to a refused connection as an accepted one can get.

The bytes are moved by two `Direction`s. Where HTTP or TLS must be understood, a `ProtocolLayer` stands
between them.
"""

from __future__ import annotations

import os
import sys
import traceback

from faultkit.base.descriptors import why_not_connected
from faultkit.faults.events import Event
from faultkit.plan import Flow
from faultkit.proxy.direction import Direction
from faultkit.proxy.direction_output import DirectionOutput
from faultkit.proxy.event_loop import ENDED, FAILED, READABLE, WRITABLE
from faultkit.proxy.link_upstream import LinkUpstream
from faultkit.proxy.native import native
from faultkit.proxy.plane_events import Closed
from faultkit.proxy.rule_binding import rebind_rules
from faultkit.proxy.sockets import (
    NO_SOCKET,
    CloseMode,
    end_output,
    pass_first,
    socket_error,
    unread_bytes,
)

_OVER = ENDED | FAILED
_READ_OR_END = READABLE | _OVER
_ABANDONED_S = 60


class Link(LinkUpstream):
    """A client socket, an upstream socket, and a direction each way."""

    __slots__ = ()

    def begin(self) -> None:
        """Bind the rules that act on an admitted client, and dial where the upstream is known."""
        proxy = self.proxy
        if proxy.connect_at_once is not None:
            try:
                self.upstream = proxy.connect_at_once()
            except OSError as error:
                self._dial_failed(why_not_connected(error))
                return
            # After all clients of this round have been accepted: an upstream woken once for many costs less.
            self._services.loop.call_soon(self._send_first_bytes, self.abort)
            return
        if proxy.layered:
            # Imported here, so that a proxy of plain TCP never loads HTTP and TLS.
            from faultkit.proxy.layers import ProtocolLayer

            self.layer = ProtocolLayer(self)
            self.up.enter_layer()
            self.down.enter_layer()
            if self.layer.gate is not None:
                self.up.gate = self.layer.gate.feed
        if proxy.stream_rules:
            rebind_rules(self, self.opened_at)
        if self.up.near_chain is not None:
            self._watch_client()  # A delay counts from the arrival of the bytes, so they are read at once.
        if proxy.spec.upstream is not None:
            self.dial(proxy.spec.upstream, proxy.literal)

    def _watch_client(self) -> None:
        loop = self._services.loop
        loop.handlers[self.client] = self.up.ready
        loop.poller.add(self.client)
        self._client_watched = True

    def socket_event(self, reading: Direction, flags: int) -> None:
        """Handle an event of one socket that is more than READABLE.

        `reading` is the direction that reads from the socket; the other one writes to it."""
        writing = self.down if reading is self.up else self.up
        if flags & _READ_OR_END:
            reading.readable = True
            if flags & _OVER:
                reading.ending |= flags & _OVER
                if (
                    flags & FAILED
                    and reading.near_chain is None
                    and reading.out is None
                    and not unread_bytes(reading.source)
                ):
                    self.reset()  # Reading the error costs more than seeing that there is nothing else.
                    return
            if flags & WRITABLE and not writing.writable:
                writing.writable = True
                writing.pump()
                if self.dead:
                    return
            reading.pump()
            if flags & FAILED and not self.dead and reading is self.up and reading.out_bytes:
                # The client's bytes wait for a slow upstream, but the upstream must see the reset at once.
                # Not the other way round: an answer is delivered though its sender has failed.
                self.reset()
        elif not writing.writable:
            writing.writable = True
            writing.pump()

    # --- the common case: no rule acts, no layer stands between the sockets -------------------

    def _send_first_bytes(self) -> None:
        """Pass on the client's first bytes. They have mostly arrived by now, and the upstream is mostly
        connected: that the kernel takes the bytes proves it, and no event was needed for either."""
        if self.dead:
            return
        up, upstream = self.up, self.upstream
        rest, sent = b"", 0
        if up.near_chain is None:
            try:
                passed = pass_first(self.client, upstream)
            except OSError as error:
                self._dial_failed(why_not_connected(error))
                return
            if passed is None:
                self.reset()
                return
            rest, sent = passed
            up.moved = sent
        if sent and not rest:
            self._services.loop.poller.add(upstream)
            self._attach(upstream)
            self._watch_client()
            return
        self._await_upstream(rest)

    def _await_upstream(self, rest: bytes) -> None:
        """Wait for the upstream that is being connected; `rest` of the client's first bytes are for it."""
        upstream = self.upstream
        if rest:
            self.up.keep(memoryview(rest))
        self.upstream = NO_SOCKET
        self._attempt([]).wait_for(upstream)

    # --- the upstream -------------------------------------------------------------------------

    def _dialled(self, result: int | str) -> None:
        self._dial = None
        if isinstance(result, str):
            self._dial_failed(result)
            return
        self._attach(result)
        if not self._client_watched:
            # Most clients send first, and at once: their bytes have often arrived, which saves an event.
            self.up.readable = True
            self.up.pump()
            if not self.dead:
                self._watch_client()
            return
        if self.layer is not None:
            now = self._services.loop.clock()
            if self.proxy.stream_rules and self.proxy.spec.upstream is None:
                rebind_rules(self, now)
                if self.dead:
                    return
            self.layer.connected(now)
            self.release_to_client(now)
            if self.dead:
                return
            self._drop_needless_layer()
        self.up.pump()

    def _attach(self, upstream: int) -> None:
        self.upstream = upstream
        self._services.loop.handlers[upstream] = self.down.ready
        self.up.target = self.down.source = upstream
        self.up.writable = True

    def _drop_needless_layer(self) -> None:
        """Copy bytes past the layer, where it has nothing left to do and no rule acts."""
        if self.layer is None or not self.layer.is_needless:
            return
        if self.client_exempt and not self.exempt:
            self.client_exempt = False  # A tunnel has one host: rules that come later may act.
        up, down = self.up, self.down
        chains = (up.near_chain, up.far_chain, down.near_chain, down.far_chain)
        if all(chain is not None and chain.idle for chain in chains):
            self.layer.let_go()
            self.layer = None
            up.leave_layer()
            down.leave_layer()

    # --- the protocol layer between the sockets -----------------------------------------------

    def pass_through_layer(self, direction: Direction, events: list[Event], now: float) -> None:
        """Feed events to the protocol layer, and release what comes out on the other side."""
        assert self.layer is not None
        if direction is self.up:
            other = self.down
            self.layer.from_client(events)
        else:
            other = self.up
            self.layer.from_upstream(events)
        if self.dead:
            return
        if other.out is not None or ((far := other.far_chain) is not None and far.incoming):
            other.release(now)
            if not self.dead:
                other.settle()
        if not self.dead and other.readable:
            other.pump_again()  # The layer may have waited for these events before it took others.

    def layer_wants_input(self, direction: Direction) -> bool:
        """Return whether the protocol layer takes more bytes from the source of `direction`."""
        flow: Flow = "to_upstream" if direction is self.up else "to_client"
        return self.layer is None or self.layer.wants_input(flow)

    def on_drained(self, direction: DirectionOutput) -> None:
        """Let the layer take bytes of one side again, once the other has taken everything."""
        if (source := self.up if direction is self.down else self.down).readable:
            source.pump_again()

    def release_to_client(self, now: float) -> None:
        """Send what the layer has just written to the client."""
        self.down.release(now)
        if not self.dead:
            self.down.settle()

    # --- ends ---------------------------------------------------------------------------------

    def forward_end(self, direction: DirectionOutput) -> None:
        """Send FIN to the target of `direction`; when both directions have ended, end the connection."""
        if self.up.end_sent and self.down.end_sent:
            self._end("end", "none")
        elif direction.target != NO_SOCKET:
            end_output(direction.target)

    def reset(self, how: str = "reset") -> None:
        """End both connections by RST."""
        self._end(how, "reset")

    def close(self) -> None:
        """End both connections by FIN."""
        self._end("close", "drain")

    def abort(self) -> None:
        """End both connections after a defect: a reset is honest, a stream with a hole is not."""
        try:
            self._end("reset", "reset")
        finally:
            if (error := sys.exception()) is not None:
                self.proxy.report_once(f"a connection was reset after a defect of Faultkit: {_place(error)}")

    def check_timeouts(self, now: float) -> None:
        """Give up a dial or handshake that takes too long, and a connection that its client has reset or that
        both ends have left: both have hung up, or the client has and there is no upstream, while a fault
        holds back the rest. A half-closed client that still waits looks the same: hence the long time-out."""
        if not self._client_watched and socket_error(self.client):
            self.reset()
        elif self._dial is not None:
            if self._dial.deadline <= now:
                self._dial.give_up("timed out")
        elif self.layer is not None and self.layer.is_in_handshake:
            self.layer.check_handshakes(now, self.proxy.spec.connect_timeout_s)
        elif self.up.ending and (self.down.ending or self._has_no_upstream):
            self._check_stalled(now)

    def _check_stalled(self, now: float) -> None:
        moved = self.up.moved + self.down.moved
        if (
            self._stalled is None
            or self._stalled[1] != moved
            or self.up.has_pending_release
            or self.down.has_pending_release
        ):
            self._stalled = (now, moved)
        elif now - self._stalled[0] > _ABANDONED_S:
            self.reset("abandoned")

    @property
    def _has_no_upstream(self) -> bool:
        """True if there is no upstream, and none will come: a rule holds back the request that names it."""
        return self.upstream == NO_SOCKET and (self._delayed is None or not self._delayed.is_waiting)

    def _end(self, how: str, mode: CloseMode) -> None:
        if self.dead:
            return
        self.dead = True
        up, down = self.up, self.down
        try:
            if self._delayed is not None:
                self._delayed.cancel()
            if self._dial is not None:
                self._dial.cancel()
            if mode == "reset" and self.layer is not None:
                self.layer.look_at_end()
            up.shut()
            down.shut()
        finally:  # Even after a defect, no socket stays open.
            # One that has failed needs neither RST nor FIN, nor does one that has sent and received its own.
            self._close_socket(self.client, "none" if up.ending & FAILED else mode)
            if self.upstream != NO_SOCKET:
                self._close_socket(self.upstream, "none" if down.ending & FAILED else mode)
            self.proxy.forget(self.ordinal, up.moved, down.moved)
        services = self._services
        if services.observed:
            now = services.loop.clock()
            lived_s = now - self.opened_at
            services.emit(Closed(now, self.proxy.name, self.ordinal, how, up.moved, down.moved, lived_s))
        # Break the reference cycles: the memory is then free at once, without the garbage collector.
        if self.layer is not None:
            self.layer.let_go()
            self.layer = None
        del self.up, self.down


def _place(error: BaseException) -> str:
    """Return the kind of an exception, and where in Faultkit it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "faultkit" in frame.filename] or frames
    where = f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}{where}"


if native is not None:
    native.configure_links(Link, Direction)
