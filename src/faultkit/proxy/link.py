"""One client connection and its upstream connection: how they begin, change and end.

Half-close is kept: the end of one direction is passed on and the other lives on. A reset is passed on
as a reset. A failed dial resets the client, which is as near to a refused connection as an accepted
one can get.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from faultkit.base.address import Endpoint
from faultkit.faults.events import Event
from faultkit.faults.fault import FOREVER
from faultkit.plan import Flow
from faultkit.proxy.active import ActiveRule
from faultkit.proxy.dial import Dial, literal_address
from faultkit.proxy.eventloop import ENDED, FAILED, READABLE, WRITABLE
from faultkit.proxy.half import CHUNK, Half
from faultkit.proxy.happenings import Closed, DialFailed, Injected
from faultkit.proxy.lane import Lane
from faultkit.proxy.sockets import (
    NONE,
    Address,
    Farewell,
    close,
    end_output,
    set_out,
    unread_bytes,
)
from faultkit.proxy.staging import judge_name, restage

if TYPE_CHECKING:
    from faultkit.proxy.middle import Middle
    from faultkit.proxy.proxy import Proxy

_OVER = ENDED | FAILED
_READ_OR_END = READABLE | _OVER
_ITSELF = "that is this proxy itself"
_ABANDONED_S = 60


class Link:
    __slots__ = (
        "_dial",
        "_dial_number",
        "_heeded",
        "_hung_up",
        "_wanted",
        "await_input",
        "client",
        "dead",
        "down",
        "exempt",
        "hits",
        "loop",
        "middle",
        "opened_at",
        "ordinal",
        "plane",
        "proxy",
        "up",
        "upstream",
    )

    def __init__(self, proxy: Proxy, client: int, ordinal: int) -> None:
        self.proxy = proxy
        self.plane = proxy.plane
        self.loop = loop = proxy.plane.loop
        self.await_input = loop.poller.await_input
        self.ordinal = ordinal
        self.client = client
        self.upstream = NONE
        self.dead = False
        self.exempt = False
        """No rule acts on it: its upstream is not among those that the user wants broken."""
        self.middle: Middle | None = None
        self.opened_at = loop.clock()
        self.up = Half(self, client, NONE)
        self.down = Half(self, NONE, client)
        self.hits: dict[ActiveRule, bool] | None = None
        self._heeded = False
        """Whether the poller tells of the client's socket."""
        self._dial: Dial | None = None
        self._dial_number = 0
        """Which dial is wanted: one that was given up may still be looking up its name."""
        self._hung_up: tuple[float, int] | None = None
        """Since when both ends have hung up and nothing has moved, and how many bytes had until then."""
        self._wanted: Endpoint | None = None

    def begin(self) -> None:
        """The client is let in: set up what acts on it, and dial where the upstream is known."""
        proxy = self.proxy
        if proxy.shortcut is not None:
            try:
                self.upstream = proxy.shortcut()
            except OSError as error:
                self._dial_failed(error.strerror or str(error))
                return
            # When all that came in together have set out: to wake an upstream once for many costs less.
            self.loop.again.append(self._arrive)
            return
        if proxy.layered:
            self.middle = proxy.new_middle(self)
            for half in (self.up, self.down):
                half.lane, half.far = Lane(), Lane()
        if proxy.stream_rules:
            restage(self, self.opened_at)
        if self.up.lane is not None:
            self._heed_client()  # A delay counts from the arrival of the bytes, so they are read at once.
        if proxy.spec.upstream is not None:
            self.dial(proxy.spec.upstream, proxy.literal)

    def _heed_client(self) -> None:
        self.loop.handlers[self.client] = self.client_ready
        self.loop.poller.add(self.client)
        self._heeded = True

    # --- what the sockets tell ----------------------------------------------------------------

    def client_ready(self, flags: int) -> None:
        if flags == READABLE:  # By far the most common.
            self.up.readable = True
            self.up.pump()
            return
        up, down = self.up, self.down
        if flags & _READ_OR_END:
            up.readable = True
            if flags & _OVER:
                up.ending |= flags & _OVER
                if flags & FAILED and not (up.lane or up.out or unread_bytes(self.client)):
                    self.reset()  # To read the error costs more than to see that there is nothing else.
                    return
            if flags & WRITABLE and not down.writable:
                down.writable = True
                down.pump()
                if self.dead:
                    return
            up.pump()
            if flags & FAILED and not self.dead and up.out_bytes:
                self.reset()  # Its bytes wait for a slow receiver; that it is gone must not.
        elif not down.writable:
            down.writable = True
            down.pump()

    def upstream_ready(self, flags: int) -> None:
        if flags == READABLE:
            self.down.readable = True
            self.down.pump()
            return
        up, down = self.up, self.down
        if flags & _READ_OR_END:
            down.readable = True
            if flags & _OVER:
                down.ending |= flags & _OVER
                if (
                    flags & FAILED
                    and down.lane is None
                    and down.out is None
                    and not unread_bytes(self.upstream)
                ):
                    self.reset()
                    return
            if flags & WRITABLE and not up.writable:
                up.writable = True
                up.pump()
                if self.dead:
                    return
            down.pump()
        elif not up.writable:
            up.writable = True
            up.pump()

    # --- the way of most connections: nothing acts, nothing stands between the sockets ----------

    def _arrive(self) -> None:
        """Hand over the client's first bytes. Mostly they are there by now, and so is the upstream: that the
        kernel takes them proves it, and no event was needed for either."""
        if self.dead:
            return
        up, upstream = self.up, self.upstream
        chunk, sent = b"", 0
        if up.lane is None:
            try:
                chunk = os.read(self.client, CHUNK)
            except BlockingIOError:
                pass
            except OSError:
                self.reset()
                return
        if chunk:
            try:
                sent = os.write(upstream, chunk)
            except BlockingIOError:
                pass
            except OSError as error:
                self._dial_failed(error.strerror or str(error))
                return
            up.moved = sent
        if sent and sent == len(chunk):
            self.loop.poller.add(upstream)
            self._attach(upstream)
            self._heed_client()
            return
        if chunk:
            up.keep(memoryview(chunk)[sent:])
        self.upstream = NONE
        self._wait_for(upstream)

    # --- the upstream -------------------------------------------------------------------------

    def dial(self, upstream: Endpoint, literal: Address | None = None) -> None:
        """Connect to `upstream`; name faults act first, if it is a name."""
        self._wanted = upstream
        address = literal or literal_address(upstream.host, upstream.port)
        if address is not None:
            self._connect_at(address)
            return
        delay_s, is_lost = judge_name(self)
        if is_lost:
            self.later(delay_s, self._name_not_found)
            return
        self.later(delay_s, lambda: self._resolve(upstream))

    def dial_soon(self, origin: Endpoint, tls: bool) -> None:
        """A forward proxy's client has said where it wants to go.

        This is called while events are being carried over the middle: dialling, and all that follows from
        it, must wait until that is done, or later events would overtake earlier ones.
        """
        self._dial_number += 1
        number = self._dial_number

        def dial() -> None:
            if not self.dead and number == self._dial_number:
                self._dial_origin(origin, tls)

        self.loop.again.append(dial)

    def _dial_origin(self, origin: Endpoint, tls: bool) -> None:
        assert self.middle is not None
        broken = self.proxy.spec.broken
        self.exempt = broken is not None and not broken.covers(origin.host, origin.port)
        self._wanted = origin
        if tls:
            try:
                self.middle.speak_tls(origin.host)
            except ValueError as error:
                self._dial_failed(f"{origin.host} is no name for a server: {error}")
                return
        if self.proxy.stream_rules:
            restage(self, self.loop.clock())
        if not self.dead:
            self.dial(origin)

    def tls_failed(self, why: str) -> None:
        """The upstream was reached, but the two could not agree on TLS."""
        self.hang_up()
        self._dial_failed(why)

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do it after a delay, unless the connection is gone by then."""

        def due(at: float) -> None:
            if not self.dead:
                action()

        if delay_s:
            self.loop.call_at(self.loop.clock() + delay_s, due)
        else:
            due(0.0)

    def _resolve(self, upstream: Endpoint) -> None:
        number = self._dial_number

        def resolved(result: list[Address] | str) -> None:
            if self.dead or number != self._dial_number:
                return
            if isinstance(result, str):
                self._dial_failed(result)
            else:
                self._connect(result)

        self.plane.resolver.resolve(upstream.host, upstream.port, resolved)

    def _name_not_found(self) -> None:
        assert self._wanted is not None
        self._dial_failed(f"cannot resolve {self._wanted.host}: injected failure", injected=True)

    def _connect_at(self, address: Address) -> None:
        """The short way for an address that needs no looking up."""
        if self.proxy.is_at(address):
            self._dial_failed(_ITSELF)
            return
        try:
            upstream = set_out(address)
        except OSError as error:
            self._dial_failed(error.strerror or str(error))
            return
        self._wait_for(upstream)

    def _wait_for(self, upstream: int) -> None:
        self._dial = Dial(self.loop, [], self.proxy.spec.connect_timeout_s, self._dialled)
        self._dial.go_on(upstream)

    def _connect(self, addresses: list[Address]) -> None:
        others = [address for address in addresses if not self.proxy.is_at(address)]
        if not others:
            self._dial_failed(_ITSELF)
            return
        self._dial = Dial(self.loop, others, self.proxy.spec.connect_timeout_s, self._dialled)
        self._dial.start()

    def _dialled(self, result: int | str) -> None:
        self._dial = None
        if isinstance(result, str):
            self._dial_failed(result)
            return
        self._attach(result)
        if not self._heeded:
            # Most clients speak first, and at once: their bytes are often there, which saves an event.
            self.up.readable = True
            self.up.pump()
            if not self.dead:
                self._heed_client()
            return
        if self.middle is not None:
            now = self.loop.clock()
            if self.proxy.stream_rules and self.proxy.spec.upstream is None:
                restage(self, now)
                if self.dead:
                    return
            self.middle.connected(now)
            self.let_go_to_client(now)
            if self.dead:
                return
            self._join_if_possible()
        self.up.pump()

    def _attach(self, upstream: int) -> None:
        self.upstream = upstream
        self.loop.handlers[upstream] = self.upstream_ready
        self.up.target = self.down.source = upstream
        self.up.writable = True

    def let_go_to_client(self, now: float) -> None:
        """What the middle has just said to the client goes out."""
        self.down.release(now)
        if not self.dead:
            self.down.settle()

    def _join_if_possible(self) -> None:
        """Where the layer between the sockets has nothing left to do and no fault acts, bytes pass it by."""
        if self.middle is None or not self.middle.is_needless:
            return
        lanes = (self.up.lane, self.up.far, self.down.lane, self.down.far)
        if all(lane is not None and lane.idle for lane in lanes):
            self.middle = None
            for half in (self.up, self.down):
                half.lane = half.far = None

    def _dial_failed(self, why: str, injected: bool = False) -> None:
        self.proxy.dial_failures += not injected
        now = self.loop.clock()
        wanted = str(self._wanted or self.proxy.spec.upstream)
        self.plane.tell(DialFailed(now, self.proxy.name, self.ordinal, wanted, why))
        if self.middle is None or not self.middle.dial_failed(now, why, injected):
            self.reset("refused")

    def hang_up(self) -> None:
        """Let the present upstream go; the client stays (its next request goes elsewhere)."""
        self._dial_number += 1
        if self._dial is not None:
            self._dial.abandon()
            self._dial = None
        if self.upstream != NONE:
            self._drop(self.upstream, "drain")
        self.upstream = self.up.target = self.down.source = NONE
        self.up.writable = self.down.readable = False
        self.down.ending = 0
        self.down.paced_at = FOREVER
        # Nothing that was under way to or from this upstream may reach the next one, or the client.
        self.up.out, self.up.out_bytes = None, 0
        self.up.far, self.down.lane = Lane(), Lane()

    # --- faults -------------------------------------------------------------------------------

    def note(self, state: ActiveRule, flow: Flow | None, n: int, effect: str, value: float) -> None:
        """A fault did something."""
        state.injected += 1
        self.proxy.injected += 1
        if self.plane.observed:
            rule = state.rule
            self.plane.tell(
                Injected(
                    self.loop.clock(),
                    self.proxy.name,
                    self.ordinal,
                    flow,
                    rule.name,
                    rule.fault.kind,
                    n,
                    effect,
                    value,
                )
            )

    def cross(self, half: Half, events: list[Event], now: float) -> None:
        """Carry events over the layer between the two sockets, and let go what comes out of it."""
        assert self.middle is not None
        other = self.down if half is self.up else self.up
        if half is self.up:
            self.middle.from_client(events)
        else:
            self.middle.from_upstream(events)
        if not self.dead:
            other.release(now)
        if not self.dead:
            other.settle()
            if other.readable:
                other.pump_again()  # What just happened may have been what it waited for.

    def drained(self, half: Half) -> None:
        """A slow receiver has taken everything: whoever waited for that goes on."""
        if half is self.down and self.up.readable:
            self.up.pump_again()

    # --- ends ---------------------------------------------------------------------------------

    def pass_end(self, half: Half) -> None:
        """The end of one direction is passed on; when both have ended, so has the connection."""
        if self.up.shut and self.down.shut:
            self.close("end")
        elif half.target != NONE:
            end_output(half.target)

    def reset(self, how: str = "reset") -> None:
        self._end(how, "reset")

    def close(self, how: str = "close") -> None:
        self._end(how, "none" if how == "end" else "drain")

    def give_up_if_hopeless(self, now: float) -> None:
        """Once a second: a dial that takes too long, or a connection that nobody wants any more.

        The latter is one whose ends have both hung up while a fault holds back the rest. A half-closed
        client may still be waiting, which cannot be told apart: hence the long patience.
        """
        if self._dial is not None:
            if self._dial.deadline <= now:
                self._dial.give_up("timed out")
            return
        if self.middle is not None and self.middle.shaking_since is not None:
            if now - self.middle.shaking_since > self.proxy.spec.connect_timeout_s:
                self.tls_failed("TLS: the handshake timed out")
            return
        if not (self.up.ending and self.down.ending):
            return
        moved = self.up.moved + self.down.moved
        if self._hung_up is None or self._hung_up[1] != moved or self.up.expects or self.down.expects:
            self._hung_up = (now, moved)
        elif now - self._hung_up[0] > _ABANDONED_S:
            self.reset("abandoned")

    def abort(self) -> None:
        self.reset()

    def _end(self, how: str, farewell: Farewell) -> None:
        if self.dead:
            return
        self.dead = True
        if self._dial is not None:
            self._dial.abandon()
        up, down = self.up, self.down
        if up.lane is not None or up.line is not None:
            up.abandon()
        if down.lane is not None or down.line is not None:
            down.abandon()
        # A socket that has failed needs no farewell, nor does one that has said and heard its own.
        self._drop(self.client, "none" if up.ending & FAILED else farewell)
        if self.upstream != NONE:
            self._drop(self.upstream, "none" if down.ending & FAILED else farewell)
        self.proxy.forget(self, up.moved, down.moved)
        if self.plane.observed:
            now = self.loop.clock()
            lived_s = now - self.opened_at
            self.plane.tell(Closed(now, self.proxy.name, self.ordinal, how, up.moved, down.moved, lived_s))
        # No cycles: a connection's memory is free at once, and the collector has nothing to find.
        self.middle = None
        del self.up, self.down

    def _drop(self, end: int, farewell: Farewell) -> None:
        loop = self.loop
        loop.handlers.pop(end, None)
        if self.await_input is not None:
            loop.poller.remove(end)  # epoll forgets a closed descriptor by itself.
        close(end, farewell)
