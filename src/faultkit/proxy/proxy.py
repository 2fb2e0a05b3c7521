"""One listening port and the connections that came in through it."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from faultkit.base.address import Endpoint
from faultkit.base.errors import TargetError
from faultkit.faults.fault import ConnectionFault, Level
from faultkit.plan import Rule
from faultkit.proxy.active import ActiveRule
from faultkit.proxy.dial import literal_address
from faultkit.proxy.happenings import Injected, Opened, Trouble
from faultkit.proxy.link import Link
from faultkit.proxy.snapshot import ProxyCounts
from faultkit.proxy.sockets import Address, accept, accept_known, way_to
from faultkit.proxy.spec import ALONE, ProxySpec, Worker
from faultkit.proxy.staging import restage

if TYPE_CHECKING:
    from faultkit.proxy.middle import Middle
    from faultkit.proxy.plane import Plane

_BACKLOG = 4096
_ACCEPTS_PER_ROUND = 64
_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE_S = 0.1
_TELL_AGAIN_S = 10.0


def listen(name: str, endpoint: Endpoint, worker: Worker = ALONE) -> socket.socket:
    """Take the port, at once and in the caller's thread, so that a taken one is an error right there."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise TargetError(f"{name}: cannot listen on {endpoint}: {error.strerror or error}") from None
    if endpoint.port == 0:
        address = _free_address(family, address)
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            everywhere = endpoint.host == "::"
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not everywhere)
        # Only the first worker asks for a port that is nobody's; it then lets the others in.
        if worker.index:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
        if worker.count > 1:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise TargetError(f"{name}: cannot listen on {endpoint}: {why}") from None
    listener.setblocking(False)
    return listener


def _free_address(family: int, address: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same address with a free port: Linux keeps a shut port only if it was asked for by number."""
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind(address)
        bound: tuple[Any, ...] = probe.getsockname()
        return bound


class Proxy:
    """Lives in the loop's thread."""

    def __init__(self, plane: Plane, spec: ProxySpec, listener: socket.socket) -> None:
        self.plane = plane
        self.spec = spec
        self.name = spec.name
        host, port = listener.getsockname()[:2]
        self.bound = Endpoint(host, port)
        self.literal = (
            None if spec.upstream is None else literal_address(spec.upstream.host, spec.upstream.port)
        )
        self.links: dict[int, Link] = {}
        self.stream_rules: tuple[ActiveRule, ...] = ()
        self.connection_rules: tuple[ActiveRule, ...] = ()
        self.layered = False
        """Whether TLS or HTTP stands between the two sockets of a new connection."""
        self.shortcut: Callable[[], int] | None = None
        """Sends a new connection on its way at once, if nothing acts on it and nothing stands in between."""
        self.accepted = 0
        self.dial_failures = 0
        self.own_answers = 0
        self.injected = 0
        self.requests = 0
        self._gone_up = self._gone_down = 0
        """Bytes to the upstream and to the client of connections that are gone."""
        self._listener = listener
        self._enabled = True
        self._open = False
        """Whether the listener takes connections just now."""
        self._refusing: tuple[ActiveRule, ...] = ()
        """Rules that keep the port shut."""
        self._counted: tuple[ActiveRule, ...] = ()
        """Those of them that have been counted for it."""
        self._paused = False
        """Accepting waits for descriptors."""
        self._paused_at = -_TELL_AGAIN_S

    def is_at(self, address: Address) -> bool:
        """Whether dialling this address would come back to this very port, for ever."""
        host, port = address[1][:2]
        return port == self.bound.port and (
            host == self.bound.host or (self.bound.host in ("0.0.0.0", "::") and host in ("127.0.0.1", "::1"))
        )

    # --- rules --------------------------------------------------------------------------------

    def rules_of(self, level: Level) -> tuple[ActiveRule, ...]:
        return self.plane.active.of(self.name, level)

    def apply_rules(self, now: float) -> None:
        """The set of acting rules has changed: on the listener, and on every live connection."""
        self.connection_rules = self.rules_of("connection")
        self.layered = bool(
            self.spec.tls or self.spec.rewrite_host or self.spec.upstream is None or self.understands_http()
        )
        stream_rules = self.rules_of("stream")
        changed = stream_rules != self.stream_rules
        self.stream_rules = stream_rules
        is_plain = self.literal is not None and not self.is_at(self.literal)
        is_short = is_plain and not self.layered and not stream_rules
        self.shortcut = way_to(self.literal) if is_short and self.literal is not None else None
        self._refusing = tuple(state for state in self.connection_rules if self._refuses_all(state))
        self._open_or_shut()
        if changed:
            for link in tuple(self.links.values()):
                if not link.dead:
                    restage(link, now)

    def _refuses_all(self, state: ActiveRule) -> bool:
        """A rule that refuses every connection shuts the port: clients get ECONNREFUSED from the kernel."""
        fault = state.rule.fault
        assert isinstance(fault, ConnectionFault)
        return state.rule.trigger.always and fault.admit(state.rng(self.name, "port")).refuse

    # --- the port -----------------------------------------------------------------------------

    def set_enabled(self, enabled: bool) -> None:
        """A disabled proxy refuses connections and drops those it has."""
        self._enabled = enabled
        self._open_or_shut()
        if not enabled:
            self._drop_links()
        elif not (self._open or self._refusing):
            self._enabled = False
            raise TargetError(f"{self.name}: cannot listen on {self.bound}: the port is taken")

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
        """A rule that shuts an enabled port has acted, once; whom the kernel refuses then, nobody sees."""
        before, self._counted = self._counted, self._refusing if self._enabled else ()
        if self.plane.worker.index:
            return  # All workers share the port; the first counts for all.
        for state in self._counted:
            if state not in before:
                state.injected += 1
                self.injected += 1
                if self.plane.observed:
                    self.plane.tell(self._shut_by(state.rule))

    def _shut_by(self, rule: Rule) -> Injected:
        at = self.plane.loop.clock()
        return Injected(at, self.name, None, None, rule.name, rule.fault.kind, 0, "port_shut", 1.0)

    def _open_port(self) -> None:
        loop = self.plane.loop
        try:
            if self._listener.fileno() < 0:
                self._listener = listen(self.name, self.bound, self.plane.worker)
            else:
                self._listener.listen(_BACKLOG)
        except (OSError, TargetError) as error:
            self._trouble(f"cannot listen on {self.bound} again: {error}")
            loop.call_at(loop.clock() + _PAUSE_S, lambda at: self._open_or_shut())
            return
        loop.handlers[self._listener.fileno()] = self._accept_ready
        loop.poller.add_listener(self._listener.fileno())
        self._open, self._paused = True, False

    def _shut_port(self) -> None:
        loop = self.plane.loop
        loop.poller.remove(self._listener.fileno())
        loop.handlers.pop(self._listener.fileno(), None)
        if sys.platform == "linux":
            # The socket leaves the listening state and keeps its port: the kernel refuses for us.
            self._listener.shutdown(socket.SHUT_RDWR)
        else:
            self._listener.close()
        self._open = False

    def close(self) -> None:
        """Give the port back and end every connection."""
        self._enabled = False
        self._open_or_shut()
        self._listener.close()
        self._drop_links()

    def _drop_links(self) -> None:
        for link in tuple(self.links.values()):
            link.close()

    def _trouble(self, what: str) -> None:
        self.plane.tell(Trouble(self.plane.loop.clock(), self.name, what))

    # --- connections --------------------------------------------------------------------------

    def _accept_ready(self, flags: int) -> None:
        # After this round's other events: a new socket may get the number of one that they speak of.
        self.plane.loop.again.append(self._accept)

    def _accept(self) -> None:
        if not self._open:
            return
        listener, observed = self._listener, self.plane.observed
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
                if error.errno in _OUT_OF_RESOURCES:
                    self._pause_accepting(error)
                    return
                continue  # The client went away before we took it.
            self._admit(client, peer)

    def _pause_accepting(self, error: OSError) -> None:
        """Out of descriptors: clients wait in the kernel's queue until some are free again."""
        loop = self.plane.loop
        if loop.clock() - self._paused_at > _TELL_AGAIN_S:
            self._paused_at = loop.clock()
            self._trouble(f"accepting pauses for {_PAUSE_S:g} s at a time: {error.strerror}")
        listener = self._listener
        loop.poller.remove(listener.fileno())
        self._paused = True

        def resume(at: float) -> None:
            if self._paused and self._open and listener is self._listener:
                loop.poller.add_listener(listener.fileno())
            self._paused = False

        loop.call_at(loop.clock() + _PAUSE_S, resume)

    def _admit(self, client: int, peer: str) -> None:
        ordinal = self.plane.worker.number(self.accepted)
        self.accepted += 1
        link = self.links[ordinal] = Link(self, client, ordinal)
        if self.plane.observed:
            self.plane.tell(Opened(link.opened_at, self.name, ordinal, peer))
        if self.connection_rules:
            self._judge(link)
        else:
            link.begin()

    def _judge(self, link: Link) -> None:
        """Rules act on the connection as such, before it begins."""
        ordinal, delay_s = link.ordinal, 0.0
        for state in self.connection_rules:
            fault = state.rule.fault
            assert isinstance(fault, ConnectionFault)
            if not state.fires(self.name, str(ordinal)):
                continue
            admission = fault.admit(state.rng(self.name, ordinal, "admit"))
            if admission.refuse:
                link.note(state, None, 0, "refused", 1.0)
                link.reset("refused")
                return
            link.note(state, None, 0, "delay_ms", admission.delay_s * 1000)
            delay_s += admission.delay_s
        if delay_s:
            link.later(delay_s, link.begin)
        else:
            link.begin()

    def new_middle(self, link: Link) -> Middle:
        """The layer between the two sockets of a link; a proxy of plain TCP never loads it."""
        from faultkit.proxy.middle import Middle

        return Middle(link)

    def understands_http(self) -> bool:
        """Requests are told apart only where some rule may act on them: it costs the fast path."""
        return self.spec.speaks == "http" and self.plane.active.plans(self.name, "http")

    def counts(self) -> ProxyCounts:
        links = tuple(self.links.values())
        return ProxyCounts(
            self.name,
            self.bound,
            self.spec.upstream,
            self.accepted,
            len(links),
            self._gone_up + sum(link.up.moved for link in links),
            self._gone_down + sum(link.down.moved for link in links),
            self.requests,
            self.injected,
            self.dial_failures,
            self.own_answers,
        )

    def forget(self, link: Link, to_upstream_bytes: int, to_client_bytes: int) -> None:
        del self.links[link.ordinal]
        self._gone_up += to_upstream_bytes
        self._gone_down += to_client_bytes
