"""One listening port and the connections that came in through it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from faultkit.base.address import Endpoint
from faultkit.base.descriptors import SHORTAGES
from faultkit.base.errors import TargetError
from faultkit.faults.fault import ConnectionFault
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.data_plane import ProxyCounts, ProxySpec
from faultkit.proxy.link import Link
from faultkit.proxy.native import native
from faultkit.proxy.plane_events import Opened, Trouble
from faultkit.proxy.proxy_state import LinkServices, ProxyState
from faultkit.proxy.rule_binding import judge_admission, rebind_rules
from faultkit.proxy.sockets import BACKLOG, accept, accept_known, listen, packed_address

_ACCEPTS_PER_ROUND = 64
_PAUSE_S = 0.1
_REPORT_AGAIN_S = 10.0


class Proxy:
    """A port that is open, or shut by a rule or the user. Used in the loop's thread."""

    def __init__(self, services: LinkServices, spec: ProxySpec, listener: socket.socket) -> None:
        self._services = services
        self._listener = listener
        host, port = listener.getsockname()[:2]
        self.bound = Endpoint(host, port)
        self.state = ProxyState(services, spec, self.bound, self._forget)
        self.links: dict[int, Link] = {}
        self._acceptor = _new_acceptor(self.state, self.links)
        self._connection_rules: tuple[ActiveStreamRule, ...] = ()
        self._accepted = 0
        self._past_up = self._past_down = 0
        """Bytes to the upstream and to the client of connections that have ended."""
        self._enabled = True
        self._open = False
        """True while the listener takes connections."""
        self._refusing: tuple[ActiveStreamRule, ...] = ()
        """Rules that keep the port shut."""
        self._counted: tuple[ActiveStreamRule, ...] = ()
        """Those of them that have been counted for it."""
        self._paused = False
        """True while accepting waits for free descriptors."""
        self._paused_at = -_REPORT_AGAIN_S

    # --- rules --------------------------------------------------------------------------------

    def apply_rules(self, now: float) -> None:
        """Put another set of acting rules to work: on the listener, and on every live connection."""
        state = self.state
        # Where hosts are spared, these rules act when a connection has named its host (`HostGate`).
        self._connection_rules = () if state.spec.spares_hosts else state.rules_of("connection")
        changed = state.refresh_rules()
        acting = self._services.active.acting_rules()
        self._refusing = tuple(active for active in self._connection_rules if self._refuses_all(active))
        self._open_or_shut()

        def apply(link: Link) -> None:
            if changed and not link.dead:
                rebind_rules(link, now)
            if not link.dead:
                link.end_delays(acting, now)

        self._for_each_link(apply)

    def _refuses_all(self, active: ActiveStreamRule) -> bool:
        """A rule that refuses every connection shuts the port: clients get ECONNREFUSED from the kernel."""
        fault = active.rule.fault
        assert isinstance(fault, ConnectionFault)
        return active.rule.trigger.always and fault.admit(active.unit_rng(self.state.name, "port")).refuse

    # --- the port -----------------------------------------------------------------------------

    def set_enabled(self, enabled: bool) -> None:
        """Open the port, or shut it and drop its connections. Raises TargetError if it cannot be opened."""
        self._enabled = enabled
        self._open_or_shut()
        if not enabled:
            self._drop_links()
        elif not (self._open or self._refusing):
            self._enabled = False
            raise TargetError(f"{self.state.name}: cannot listen on {self.bound}: the port is taken")

    def _open_or_shut(self) -> None:
        self._count_refusals()
        wanted = self._enabled and not self._refusing
        if wanted == self._open:
            return
        if wanted:
            self._open_port()
        else:
            self._shut_port()

    def _count_refusals(self) -> None:
        """A rule that shuts an enabled port has acted, once: clients that the kernel then refuses are not
        seen."""
        before, self._counted = self._counted, self._refusing if self._enabled else ()
        if self._services.worker.index:
            return  # All workers share the port; the first counts for all.
        for active in self._counted:
            if active not in before:
                self.state.record_injection(active, None, None, 0, "port_shut", 1.0)

    def _open_port(self) -> None:
        loop = self._services.loop
        try:
            if self._listener.fileno() < 0:
                self._listener = listen(self.state.name, self.bound, self._services.worker)
            else:
                self._listener.listen(BACKLOG)
        except (OSError, TargetError) as error:
            self._report_trouble(f"cannot listen on {self.bound} again: {error}")
            loop.call_at(loop.clock() + _PAUSE_S, lambda at: self._open_or_shut(), None)
            return
        loop.handlers[self._listener.fileno()] = self._accept_ready
        loop.poller.add_listener(self._listener.fileno())
        self._open, self._paused = True, False

    def _shut_port(self) -> None:
        loop = self._services.loop
        loop.poller.remove(self._listener.fileno())
        loop.handlers.pop(self._listener.fileno(), None)
        if sys.platform == "linux":
            # The socket leaves the listening state and keeps its port, so the kernel refuses connections.
            self._listener.shutdown(socket.SHUT_RDWR)
        else:
            self._listener.close()
        self._open = False

    def close(self) -> None:
        """Close the port and every connection."""
        self._enabled = False
        self._open_or_shut()
        self._listener.close()
        self._drop_links()

    def abandon(self) -> None:
        """Close the port and reset every connection, without the loop: it has ended by a defect."""
        self._listener.close()
        self._for_each_link(Link.reset)

    def _drop_links(self) -> None:
        self._for_each_link(Link.close)

    def _report_trouble(self, what: str) -> None:
        self._services.emit(Trouble(self._services.loop.clock(), self.state.name, what))

    # --- connections --------------------------------------------------------------------------

    def _accept_ready(self, flags: int) -> None:
        # After this round's other events: a new socket may get the number of one that they are for.
        self._services.loop.call_soon(self._accept, None)

    def _accept(self) -> None:
        if not self._open:
            return
        listener, observed = self._listener, self._services.observed
        if (
            self._acceptor is not None
            and self.state.connect_at_once is not None
            and not (observed or self._connection_rules)
        ):
            worker = self._services.worker
            first = worker.number(self._accepted)
            count, code = self._acceptor.accept(listener.fileno(), _ACCEPTS_PER_ROUND, first, worker.count)
            self._accepted += count
            if code in SHORTAGES:
                self._pause_accepting(OSError(code, os.strerror(code)))
            return
        for _ in range(_ACCEPTS_PER_ROUND):
            try:
                if observed:
                    client, peer = accept_known(listener)
                else:
                    client, peer = accept(listener), ""
                    if client < 0:
                        return
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in SHORTAGES:
                    self._pause_accepting(error)
                    return
                continue  # The client closed its connection before it was accepted.
            self._admit(client, peer)

    def _pause_accepting(self, error: OSError) -> None:
        """Out of descriptors: clients wait in the kernel's queue until some are free again."""
        loop = self._services.loop
        if loop.clock() - self._paused_at > _REPORT_AGAIN_S:
            self._paused_at = loop.clock()
            self._report_trouble(f"accepting pauses for {_PAUSE_S:g} s at a time: {error.strerror}")
        listener = self._listener
        loop.poller.remove(listener.fileno())
        self._paused = True

        def resume(at: float) -> None:
            if self._paused and self._open and listener is self._listener:
                loop.poller.add_listener(listener.fileno())
            self._paused = False

        loop.call_at(loop.clock() + _PAUSE_S, resume, None)

    def _admit(self, client: int, peer: str) -> None:
        services, state = self._services, self.state
        ordinal = services.worker.number(self._accepted)
        self._accepted += 1
        link = self.links[ordinal] = Link(state, client, ordinal)
        if services.observed:
            services.emit(Opened(link.opened_at, state.name, ordinal, peer))
        try:
            if not self._connection_rules:
                link.begin()
                return
            delays = judge_admission(state, self._connection_rules, ordinal)
            if delays is None:
                link.reset("refused")
            else:
                link.run_after(delays, link.begin)
        except Exception:
            link.abort()  # The loop knows only the port, and would leave the client waiting.
            raise

    def _forget(self, ordinal: int, to_upstream_bytes: int, to_client_bytes: int) -> None:
        del self.links[ordinal]
        self._past_up += to_upstream_bytes
        self._past_down += to_client_bytes

    def check_timeouts(self, now: float) -> None:
        """End the connections whose time is over. Called once a second."""
        self._for_each_link(lambda link: link.check_timeouts(now))

    def _for_each_link(self, work: Callable[[Link], None]) -> None:
        """Do something with each connection. A defect in one ends that one, and no other."""
        for link in tuple(self.links.values()):
            try:
                work(link)
            except Exception as error:
                self._services.loop.failed(error, link.abort)

    def counts(self) -> ProxyCounts:
        """Return the counters of this proxy."""
        state, links = self.state, tuple(self.links.values())
        return ProxyCounts(
            state.name,
            self.bound,
            state.spec.upstream,
            self._accepted,
            len(links),
            self._past_up + sum(link.up.moved for link in links),
            self._past_down + sum(link.down.moved for link in links),
            state.requests,
            state.injected,
            state.dial_failures,
            state.own_answers,
            state.shortages,
            state.ledger.lines(),
            state.untouched,
        )


def _new_acceptor(state: ProxyState, links: dict[int, Link]) -> Any:
    """Return what accepts clients where no rule acts, without Python; None where that is not possible."""
    loop = state.services.loop
    epoll = loop.poller.direct_epoll()
    if native is None or epoll is None or not state.services.has_direct_clock:
        return None
    place = None if state.connect is None or state.literal is None else packed_address(state.literal)
    if state.literal is None or place is None:
        return None
    return native.Acceptor(state, links, loop, epoll, loop.poller.awaiting_output, state.literal[0], place)
