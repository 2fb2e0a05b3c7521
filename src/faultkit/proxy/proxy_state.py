"""What connections share: the services of their data plane, and the state of their proxy.

`LinkServices` exists once a plane: the loop, name resolution, pipes, the byte budget, measurements and the
sink of events. `ProxyState` exists once a proxy: its settings, the rules that act on it, and its counters.
`Plane` and `Proxy` keep them up to date, and links read them. This module knows no connection.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from faultkit.base.address import Endpoint
from faultkit.faults.fault import Level
from faultkit.faults.http_fault import AnswerFault, HttpFault
from faultkit.faults.websocket_fault import WebSocketFault
from faultkit.plan import Flow
from faultkit.proxy.active_plan import ActivePlan, ActiveStreamRule
from faultkit.proxy.data_plane import Lateness, ProxySpec, Worker
from faultkit.proxy.dial import Resolver, literal_address
from faultkit.proxy.event_loop import Loop
from faultkit.proxy.ledger import Ledger
from faultkit.proxy.pipes import PipePool
from faultkit.proxy.plane_events import Injected, PlaneEvent, Trouble
from faultkit.proxy.sockets import Address, connector_to

if TYPE_CHECKING:
    from faultkit.proxy.llm_recorder import LlmRecorder

_MOST_TOLD = 20
"""Different troubles of one proxy that are emitted: peers could make any number of them."""
ALWAYS_ALLOWED = 65536
"""Bytes that each direction may hold back, however many the others hold."""


class Budget:
    """How many bytes the faults of a plane may hold back, all connections together.

    A direction may hold as much as is still free, so one bulk transfer through a long delay runs fast and
    many share. Each may always hold a little, so that none starves; the hard bound is therefore the budget
    plus that little for each connection and direction."""

    __slots__ = ("held", "limit")

    def __init__(self, limit: int = 256 << 20) -> None:
        self.limit = limit
        self.held = 0

    def allows(self, own: int, uncounted: int) -> bool:
        """Return whether a direction that holds `own` bytes, `uncounted` of them not in `held` yet, may
        read."""
        return own < ALWAYS_ALLOWED or own < self.limit - self.held - uncounted


class LinkServices:
    """One object a plane, shared by its proxies, links and directions. Used in the loop's thread."""

    __slots__ = (
        "active",
        "await_input",
        "budget",
        "emit",
        "has_direct_clock",
        "lateness",
        "loop",
        "observed",
        "pipes",
        "resolver",
        "worker",
    )

    def __init__(
        self,
        loop: Loop,
        emit: Callable[[PlaneEvent], None],
        active: ActivePlan,
        worker: Worker,
        *,
        observed: bool,
    ) -> None:
        self.loop = loop
        self.await_input = loop.poller.await_input
        """Called when a socket is dry; None with epoll, which needs no such call."""
        self.has_direct_clock = self.await_input is None and loop.clock is time.monotonic
        """Whether compiled code may read the clock and the sockets itself: edges are epoll's, the time is
        real."""
        self.resolver = Resolver(loop)
        self.budget = Budget()
        self.lateness = Lateness()
        self.pipes = PipePool()
        self.emit = emit
        """Records an event."""
        self.observed = observed
        """Whether an event is recorded for every connection and injection; counters are always kept."""
        self.active = active
        """The rules of the present plan."""
        self.worker = worker

    def close(self) -> None:
        """End the resolver's threads, and close the loop and the pipes."""
        self.resolver.close()
        self.loop.close()
        self.pipes.close()


class ProxyState:
    """The shared state of one proxy. Used in the loop's thread."""

    def __init__(
        self,
        services: LinkServices,
        spec: ProxySpec,
        bound: Endpoint,
        forget: Callable[[int, int, int], None],
    ) -> None:
        self.services = services
        self.spec = spec
        self.name = spec.name
        self.bound = bound
        """Where the proxy listens."""
        self.spares_hosts = spec.spares_hosts
        self.literal = (
            None if spec.upstream is None else literal_address(spec.upstream.host, spec.upstream.port)
        )
        """The upstream's address, if it needs no resolving."""
        self.forget = forget
        """Called when a link has ended: its ordinal, bytes to the upstream, bytes to the client."""
        self.stream_rules: tuple[ActiveStreamRule, ...] = ()
        self.http_rules: tuple[ActiveStreamRule, ...] = ()
        self.answer_rules: tuple[ActiveStreamRule, ...] = ()
        """The HTTP rules that act on answers of the upstream, or hide them."""
        self.message_rules: tuple[ActiveStreamRule, ...] = ()
        """The rules that act on WebSocket messages."""
        self.llm_rules: tuple[ActiveStreamRule, ...] = ()
        """The rules that act on requests to models now."""
        self.layered = False
        """Whether TLS or HTTP stands between the two sockets of a new connection."""
        own = self.literal is not None and self.is_own_address(self.literal)
        self.connect = None if self.literal is None or own else connector_to(self.literal)
        """Starts a connection to the upstream, if that needs no resolving."""
        self.connect_at_once: Callable[[], int] | None = None
        """The same, where no rule acts on the streams and no layer is needed."""
        self.dial_failures = 0
        self.shortages = 0
        self.own_answers = 0
        self.injected = 0
        self.requests = 0
        self.untouched = 0
        self.recorder = None if spec.record is None else _open_recorder(spec.record, self.report_once)
        self.ledger = Ledger()
        self._told: set[str] = set()
        """Troubles that users have been told."""
        self._untouched: set[str] = set()

    def rules_of(self, level: Level) -> tuple[ActiveStreamRule, ...]:
        """Return the rules of one level that act on this proxy now."""
        return self.services.active.of(self.name, level)

    def refresh_rules(self) -> bool:
        """Take over the rules that act now. True if other rules act on the streams than before."""
        spec = self.spec
        self.layered = bool(
            spec.tls
            or spec.client_tls
            or spec.rewrite_host
            or spec.upstream is None
            or self.understands_http()
        )
        stream_rules = self.rules_of("stream")
        self.http_rules = self.rules_of("http")
        self.answer_rules = tuple(filter(_concerns_answers, self.http_rules))
        self.message_rules = tuple(
            each for each in self.http_rules if isinstance(each.rule.fault, WebSocketFault)
        )
        self.llm_rules = self.rules_of("llm")
        changed = stream_rules != self.stream_rules
        self.stream_rules = stream_rules
        self.connect_at_once = None if self.layered or stream_rules else self.connect
        return changed

    def understands_http(self) -> bool:
        """Return whether requests are parsed. Only if a rule may act on them, because it costs the fast
        path."""
        return self.spec.speaks == "http" and self.plans_http()

    def plans_http(self) -> bool:
        """Return whether the plan has rules for this proxy that act on HTTP."""
        return self.services.active.plans(self.name, "http") or self.plans_llm()

    def judges_answers(self) -> bool:
        """Return whether a rule may act on answers of the upstream, or they are recorded."""
        return bool(self.answer_rules) or self.recorder is not None or self.plans_llm()

    def plans_llm(self) -> bool:
        """Return whether the plan has rules for this proxy that act on LLM APIs."""
        return self.services.active.plans(self.name, "llm")

    def needs_gate(self) -> bool:
        """Return whether requests are read before any rule acts on their bytes. Only if a rule may do so,
        because it costs time."""
        return self.spec.spares_hosts and self.services.active.plans_before_host(self.name)

    def is_own_address(self, address: Address) -> bool:
        """Return whether dialling this address would come back to this very port, for ever."""
        host, port = address[1][:2]
        return port == self.bound.port and (
            host == self.bound.host or (self.bound.host in ("0.0.0.0", "::") and host in ("127.0.0.1", "::1"))
        )

    def report_unreadable(self, what: str) -> None:
        """Report once that HTTP rules cannot act on `what`. Streams without such rules need none."""
        names = [active.rule.name for active in (*self.rules_of("http"), *self.llm_rules)]
        if names:
            self.report_once(f"{', '.join(names)} cannot act on {what}: it passes as bytes")

    def count_untouched(self, what: str, kind: str = "") -> None:
        """Count a request or answer that LLM rules cannot read, and report the first of its kind."""
        self.untouched += 1
        if (kind or what) not in self._untouched:
            self._untouched.add(kind or what)
            names = ", ".join(active.rule.name for active in self.llm_rules) or "the recording"
            self.report_once(f"{names} cannot act on {what}: it passes untouched")

    def report_once(self, what: str) -> None:
        """Emit a trouble of this proxy, if it was not emitted before."""
        if what in self._told or len(self._told) > _MOST_TOLD:
            return
        if len(self._told) == _MOST_TOLD:
            what = "there is more, which is not shown"
        self._told.add(what)
        self.services.emit(Trouble(self.services.loop.clock(), self.name, what))

    def record_injection(
        self,
        active: ActiveStreamRule,
        connection: int | None,
        flow: Flow | None,
        n: int,
        effect: str,
        value: float,
    ) -> None:
        """Count what a fault did, and emit it as an event if the plane is observed.

        A delay of 0 is not an injection: it changes nothing."""
        if not value and effect.endswith("_ms"):
            return
        active.injected += 1
        self.injected += 1
        services = self.services
        if services.observed:
            rule, at = active.rule, services.loop.clock()
            services.emit(
                Injected(at, self.name, connection, flow, rule.name, rule.fault.kind, n, effect, value)
            )


def _concerns_answers(active: ActiveStreamRule) -> bool:
    fault = active.rule.fault
    return isinstance(fault, HttpFault) and (isinstance(fault, AnswerFault) or fault.hides_answers)


def _open_recorder(path: str, report: Callable[[str], None]) -> LlmRecorder:
    # Here, because the dialects of models are a tenth of all that `fault run` imports, and few runs record.
    from faultkit.proxy.llm_recorder import LlmRecorder

    return LlmRecorder(path, report)
