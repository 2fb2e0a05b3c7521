"""The upstream of one link: how it is found, dialled and given up.

`Link` inherits from `LinkUpstream` instead of holding an object of it: a new connection then costs no further
object. This module does not know how bytes are moved.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from faultkit.base.address import Endpoint
from faultkit.base.descriptors import NO_DESCRIPTOR, why_not_connected
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.dial import DialAttempt, literal_address
from faultkit.proxy.link_fields import LinkFields
from faultkit.proxy.plane_events import DialFailed, Directed
from faultkit.proxy.rule_binding import judge_name, rebind_rules
from faultkit.proxy.rule_delay import DelayedStep, Delays
from faultkit.proxy.sockets import NO_SOCKET, Address, CloseMode, close_socket, start_connect

_ITSELF = "that is this proxy itself"


class LinkUpstream(LinkFields):
    """A connection whose upstream can be dialled."""

    __slots__ = ()

    def _dialled(self, result: int | str) -> None:
        """Go on with a connected socket, or with the reason why there is none."""
        raise NotImplementedError

    def release_to_client(self, now: float) -> None:
        """Send what the layer has just written to the client."""
        raise NotImplementedError

    def reset(self, how: str = "reset") -> None:
        """End both connections by RST."""
        raise NotImplementedError

    def close(self) -> None:
        """End both connections by FIN."""
        raise NotImplementedError

    def abort(self) -> None:
        """End both connections after a defect."""
        raise NotImplementedError

    def dial(self, upstream: Endpoint, literal: Address | None = None) -> None:
        """Connect to `upstream`; name faults act first, if it is a name."""
        self._dial_target = upstream
        if (address := literal or literal_address(upstream.host, upstream.port)) is not None:
            self._connect_to_address(address)
            return
        delays, is_lost = judge_name(self)
        if is_lost:
            why = f"cannot resolve {upstream.host}: injected failure"
            self.run_after(delays, lambda: self._dial_failed(why, injected=True))
        else:
            self.run_after(delays, lambda: self._resolve(upstream))

    def dial_soon(self, origin: Endpoint, tls: bool) -> None:
        """Dial the origin that a forward proxy's client has named.

        This is called while events pass through the layer: dialling, and all that follows from it, must wait
        until that is done, or later events would overtake earlier ones."""
        self._dial_number += 1
        number = self._dial_number

        def dial() -> None:
            if not self.dead and number == self._dial_number:
                self._dial_origin(origin, tls)

        self._services.loop.call_soon(dial, self.abort)

    def _dial_origin(self, origin: Endpoint, tls: bool) -> None:
        assert self.layer is not None
        broken = self.proxy.spec.broken
        self.exempt = broken is not None and not broken.covers(origin.host, origin.port)
        self._dial_target = origin
        if self._services.observed:
            now = self._services.loop.clock()
            self._services.emit(Directed(now, self.proxy.name, self.ordinal, str(origin), self.exempt))
        if tls:
            try:
                self.layer.speak_tls(origin.host)
            except ValueError as error:
                self._dial_failed(f"{origin.host} is no name for a server: {error}")
                return
        if self.proxy.stream_rules:
            rebind_rules(self, self._services.loop.clock())
        if not self.dead:
            self.dial(origin)

    def tls_failed(self, why: str) -> None:
        """Report a failed TLS handshake as a failed dial."""
        self.hang_up()
        self._dial_failed(why)

    def run_after(self, delays: Delays, action: Callable[[], None]) -> None:
        """Run `action` after the delays of these rules, unless the connection has ended by then."""
        if delays:
            self._delayed = DelayedStep(self._services.loop, delays, action, self.abort)
        else:
            action()

    def end_delays(self, acting: Collection[ActiveStreamRule], now: float) -> None:
        """Let go what waits only for rules that do not act any more."""
        if self._delayed is not None:
            self._delayed.keep_rules(acting)
        if self.layer is not None and self.layer.end_delays(acting, now):
            self.up.pump_again()
            self.down.pump_again()

    def _resolve(self, upstream: Endpoint) -> None:
        number = self._dial_number

        def resolved(result: list[Address] | str) -> None:
            if self.dead or number != self._dial_number:
                return
            if isinstance(result, str):
                self._dial_failed(result)
                return
            others = [address for address in result if not self.proxy.is_own_address(address)]
            if others:
                self._attempt(others).try_next()
            else:
                self._dial_failed(_ITSELF)

        self._services.resolver.resolve(upstream.host, upstream.port, resolved, self.abort)

    def _connect_to_address(self, address: Address) -> None:
        if self.proxy.is_own_address(address):
            self._dial_failed(_ITSELF)
            return
        known = self.proxy.connect if address is self.proxy.literal else None
        try:
            upstream = known() if known is not None else start_connect(address).detach()
        except OSError as error:
            self._dial_failed(why_not_connected(error))
            return
        self._attempt([]).wait_for(upstream)

    def _attempt(self, addresses: list[Address]) -> DialAttempt:
        timeout_s = self.proxy.spec.connect_timeout_s
        self._dial = DialAttempt(self._services.loop, addresses, timeout_s, self._dialled, self.abort)
        return self._dial

    def _connect_failed(self, code: int) -> None:
        """Give up: a connect that was started has failed with this number."""
        self._dial_failed(why_not_connected(OSError(code, os.strerror(code))))

    def _dial_failed(self, why: str, injected: bool = False) -> None:
        proxy = self.proxy
        is_shortage = why.startswith(NO_DESCRIPTOR)
        proxy.shortages += is_shortage
        proxy.dial_failures += not injected and not is_shortage
        now = self._services.loop.clock()
        target = str(self._dial_target or proxy.spec.upstream)
        self._services.emit(DialFailed(now, proxy.name, self.ordinal, target, why, injected))
        answered = None if self.layer is None else self.layer.dial_failed(now, why)
        if answered is None:
            self.reset("refused")
            return
        if not injected and not is_shortage:
            proxy.own_answers += answered
        self.release_to_client(now)

    def hang_up(self) -> None:
        """Close the present upstream; the client stays, and its next request may go elsewhere."""
        self._dial_number += 1
        if self._delayed is not None:
            self._delayed.cancel()
        if self._dial is not None:
            self._dial.cancel()
            self._dial = None
        if self.upstream != NO_SOCKET:
            self._close_socket(self.upstream, "drain")
        self.upstream = NO_SOCKET
        self.up.drop_target()
        self.down.drop_source()

    def _close_socket(self, fd: int, mode: CloseMode) -> None:
        services = self._services
        services.loop.handlers.pop(fd, None)
        if services.await_input is not None:
            services.loop.poller.remove(fd)  # epoll forgets a closed descriptor by itself.
        close_socket(fd, mode)
