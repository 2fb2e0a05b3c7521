"""One client connection and its upstream connection: how they begin, change and end.

Half-close is kept: the end of one direction is passed on and the other lives on. A reset is passed on
as a reset. A failed dial resets the client, which is as near to a refused connection as an accepted
one can get.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from socket import SocketType
from typing import TYPE_CHECKING

from faultkit.eventloop import ENDED, FAILED, READABLE, WRITABLE
from faultkit.faults.events import Event
from faultkit.faults.fault import FOREVER, NameFault, Stream, StreamFault, StreamFilter
from faultkit.plan import Flow
from faultkit.proxy.active import ActiveRule, in_flow
from faultkit.proxy.address import Endpoint
from faultkit.proxy.dial import Address, Dial, begin_connect, literal_address
from faultkit.proxy.farewell import Farewell, say_farewell
from faultkit.proxy.half import Half
from faultkit.proxy.happenings import Closed, DialFailed, Injected
from faultkit.proxy.lane import Lane

if TYPE_CHECKING:
    from faultkit.proxy.middle import Middle
    from faultkit.proxy.proxy import Proxy

_READ_OR_END = READABLE | ENDED | FAILED
_ITSELF = "that is this proxy itself"
_ABANDONED_S = 60


class Link:
    __slots__ = (
        "_dial",
        "_dial_number",
        "_heeded",
        "_hits",
        "_hung_up",
        "_wanted",
        "client",
        "dead",
        "down",
        "exempt",
        "loop",
        "middle",
        "opened_at",
        "ordinal",
        "plane",
        "proxy",
        "up",
        "upstream",
    )

    def __init__(self, proxy: Proxy, client: SocketType, ordinal: int) -> None:
        self.proxy = proxy
        self.plane = proxy.plane
        self.loop = proxy.plane.loop
        self.ordinal = ordinal
        self.client = client
        self.upstream: SocketType | None = None
        self.dead = False
        self.exempt = False
        """No rule acts on it: its upstream is not among those that the user wants broken."""
        self.middle: Middle | None = None
        self.opened_at = self.loop.clock()
        self.up = Half(self, "to_upstream", client, None)
        self.down = Half(self, "to_client", None, client)
        self._hits: dict[ActiveRule, bool] | None = None
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
        if proxy.layered:
            self.middle = proxy.new_middle(self)
            for half in (self.up, self.down):
                half.lane, half.far = Lane(), Lane()
        if proxy.stream_rules:
            self.restage(self.opened_at)
        if self.up.lane is not None:
            self._heed_client()  # A delay counts from the arrival of the bytes, so they are read at once.
        if proxy.spec.upstream is not None:
            self.dial(proxy.spec.upstream, proxy.literal)

    def _heed_client(self) -> None:
        fd = self.client.fileno()
        self.loop.handlers[fd] = self.client_ready
        self.loop.poller.add(fd)
        self._heeded = True

    # --- what the sockets tell ----------------------------------------------------------------

    def client_ready(self, flags: int) -> None:
        up, down = self.up, self.down
        if flags & _READ_OR_END:
            up.readable = True
            if flags & (ENDED | FAILED):
                up.ending |= flags & (ENDED | FAILED)
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
        up, down = self.up, self.down
        if flags & _READ_OR_END:
            down.readable = True
            if flags & (ENDED | FAILED):
                down.ending |= flags & (ENDED | FAILED)
            if flags & WRITABLE and not up.writable:
                up.writable = True
                up.pump()
                if self.dead:
                    return
            down.pump()
        elif not up.writable:
            up.writable = True
            up.pump()

    # --- the upstream -------------------------------------------------------------------------

    def dial(self, upstream: Endpoint, literal: Address | None = None) -> None:
        """Connect to `upstream`; name faults act first, if it is a name."""
        self._wanted = upstream
        address = literal or literal_address(upstream.host, upstream.port)
        if address is not None:
            self._connect_at(address)
            return
        delay_s = 0.0
        for state in () if self.exempt else self.proxy.rules_of("name"):
            fault = state.rule.fault
            assert isinstance(fault, NameFault)
            if not state.fires(self.proxy.name, str(self.ordinal)):
                continue
            resolution = fault.resolve(state.rng(self.proxy.name, self.ordinal, "name"))
            delay_s += resolution.delay_s
            if resolution.delay_s:
                self.note(state, None, 0, "delay_ms", resolution.delay_s * 1000)
            if resolution.fail:
                self.note(state, None, 0, "name_not_found", 1.0)
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
            self.restage(self.loop.clock())
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
        self._dial_failed(f"cannot resolve {self._wanted.host}: injected failure")

    def _connect_at(self, address: Address) -> None:
        """The short way for an address that needs no looking up."""
        if self.proxy.is_at(address):
            self._dial_failed(_ITSELF)
            return
        try:
            upstream, connected = begin_connect(address)
        except OSError as error:
            self._dial_failed(error.strerror or str(error))
            return
        if connected:
            self.loop.poller.add(upstream.fileno())
            self._dialled(upstream)
        else:
            self._dial = Dial(self.loop, [], self.proxy.spec.connect_timeout_s, self._dialled)
            self._dial.wait_for(upstream)

    def _connect(self, addresses: list[Address]) -> None:
        others = [address for address in addresses if not self.proxy.is_at(address)]
        if not others:
            self._dial_failed(_ITSELF)
            return
        self._dial = Dial(self.loop, others, self.proxy.spec.connect_timeout_s, self._dialled)
        self._dial.start()

    def _dialled(self, result: SocketType | str) -> None:
        self._dial = None
        if isinstance(result, str):
            self._dial_failed(result)
            return
        self.upstream = result
        self.loop.handlers[result.fileno()] = self.upstream_ready
        self.up.write_to(result)
        self.down.read_from(result)
        self.up.writable = True
        if not self._heeded:
            # Most clients speak first, and at once: their bytes are often there, which saves an event.
            self.up.readable = True
            self.up.pump()
            if not self.dead:
                self._heed_client()
            return
        if self.middle is not None:
            now = self.loop.clock()
            self.middle.connected(now)
            self.let_go_to_client(now)
            if self.dead:
                return
            self._join_if_possible()
        self.up.pump()

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

    def _dial_failed(self, why: str) -> None:
        self.proxy.dial_failures += 1
        now = self.loop.clock()
        self.plane.tell(DialFailed(now, self.proxy.name, self.ordinal, str(self._wanted), why))
        if self.middle is None or not self.middle.dial_failed(self.loop.clock(), why):
            self.reset("refused")

    def hang_up(self) -> None:
        """Let the present upstream go; the client stays (its next request goes elsewhere)."""
        self._dial_number += 1
        if self._dial is not None:
            self._dial.abandon()
            self._dial = None
        if self.upstream is not None:
            self._drop(self.upstream, "drain")
        self.upstream = None
        self.up.write_to(None)
        self.down.read_from(None)
        self.up.writable = self.down.readable = False
        self.down.ending = 0
        self.down.paced_at = FOREVER
        # Nothing that was under way to or from this upstream may reach the next one, or the client.
        self.up.out, self.up.out_bytes = None, 0
        self.up.far, self.down.lane = Lane(), Lane()

    # --- faults -------------------------------------------------------------------------------

    def restage(self, now: float) -> None:
        """Let exactly the rules that act now act on this connection."""
        if self._hits:
            known = self.plane.active.rules
            self._hits = {state: hit for state, hit in self._hits.items() if state in known}
        rules = [] if self.exempt else [rule for rule in self.proxy.stream_rules if self._is_hit(rule)]
        for half in (self.up, self.down):
            self._restage_half(half, rules, now)
            if self.dead:
                return

    def _restage_half(self, half: Half, rules: list[ActiveRule], now: float) -> None:
        near = in_flow(rules, half.flow, "client" if half is self.up else "server")
        far = in_flow(rules, half.flow, "server" if half is self.up else "client")

        def open_filter(state: ActiveRule) -> StreamFilter:
            return self._open_filter(state, half.flow, now)

        half.release(now)
        if self.dead:
            return
        half.paced_at = FOREVER
        if half.far is not None and half.lane is not None:
            half.far.restage(far, open_filter, now)
            half.lane.restage(near, open_filter, now)
        elif near or far or half.lane is not None:
            if half.lane is None:
                half.lane = Lane()
            half.lane.restage(near + far, open_filter, now)
            if not half.lane.blind:
                half.unseal()
        else:
            return
        half.pump_again()

    def _is_hit(self, state: ActiveRule) -> bool:
        """Drawn once for a connection and a rule, and kept for its life."""
        if state.rule.trigger.always:
            return True
        if self._hits is None:
            self._hits = {}
        if state not in self._hits:
            self._hits[state] = state.fires(self.proxy.name, str(self.ordinal))
        return self._hits[state]

    def _open_filter(self, state: ActiveRule, flow: Flow, now: float) -> StreamFilter:
        fault = state.rule.fault
        assert isinstance(fault, StreamFault)
        count = 0

        def note(effect: str, value: float) -> None:
            nonlocal count
            self.note(state, flow, count, effect, value)
            count += 1

        rng = state.rng(self.proxy.name, self.ordinal, flow)
        return fault.open(Stream(now, rng, note, state.shared(self.proxy.name, flow)))

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
        elif half.target is not None:
            with contextlib.suppress(OSError):
                half.target.shutdown(socket.SHUT_WR)

    def reset(self, how: str = "reset") -> None:
        self._end(how, reset=True)

    def close(self, how: str = "close") -> None:
        self._end(how, reset=False)

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

    def _end(self, how: str, reset: bool) -> None:
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
        farewell: Farewell = "none" if how == "end" else "reset" if reset else "drain"
        # A socket that has failed needs no farewell, nor does one that has said and heard its own.
        self._drop(self.client, "none" if up.ending & FAILED else farewell)
        if self.upstream is not None:
            self._drop(self.upstream, "none" if down.ending & FAILED else farewell)
        self.proxy.forget(self, up.moved, down.moved)
        if self.plane.observed:
            now = self.loop.clock()
            lived_s = now - self.opened_at
            self.plane.tell(Closed(now, self.proxy.name, self.ordinal, how, up.moved, down.moved, lived_s))
        # No cycles: a connection's memory is free at once, and the collector has nothing to find.
        self.middle = None
        del self.up, self.down

    def _drop(self, end: SocketType, farewell: Farewell) -> None:
        loop = self.loop
        loop.handlers.pop(end.fileno(), None)
        if loop.poller.await_input is not None:
            loop.poller.remove(end.fileno())  # epoll forgets a closed descriptor by itself.
        say_farewell(end, farewell)
