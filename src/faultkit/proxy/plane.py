"""The data plane: a thread with an event loop, its proxies, and the plan that acts on them.

The control plane (command line, HTTP APIs) calls the public methods from other threads; each hands its work
to the loop's thread and waits for the result. Plans and specs are plain data.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TypeVar

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError, RunError
from faultkit.plan import Plan, Rule, check_network_plan, check_network_rule
from faultkit.proxy.active_plan import ActivePlan
from faultkit.proxy.data_plane import ALONE, ANY_HTTP, HTTP_1, Lateness, ProxySpec, Snapshot, Worker
from faultkit.proxy.event_loop import Loop, Poller
from faultkit.proxy.plane_events import PlaneEvent, RulesChanged
from faultkit.proxy.proxy import Proxy
from faultkit.proxy.proxy_state import LinkServices
from faultkit.proxy.sockets import listen

_SWEEP_S = 1.0
_CHECK_THREAD_S = 1.0
_MOST_EVENTS = 200_000
_MOST_PAST_RULES = 1000
"""Rules that are gone whose injections are still counted."""
_THREAD_SWITCH_S = 0.0005
"""Python's default of 5 ms would let a busy control thread make every release that much late."""

_ENDED = "the proxy has ended"
_log = logging.getLogger(__name__)

Result = TypeVar("Result")


class Plane:
    """A data plane in a thread of this process. Use it as a context manager, or call `start` and `close`."""

    change_s = 0.0

    def __init__(
        self,
        plan: Plan | None = None,
        *,
        total_s: float | None = None,
        observed: bool = False,
        poller: Poller | None = None,
        origin: float | None = None,
        worker: Worker = ALONE,
    ) -> None:
        """Schedules count from `origin`, on the monotonic clock; by default from now."""
        check_network_plan(plan or Plan())
        loop = Loop(poller)
        active = ActivePlan(plan or Plan(), loop.clock(), total_s, origin=origin)
        self.services = LinkServices(loop, self._emit, active, worker, observed=observed)
        self._loop = loop
        self._proxies: dict[str, Proxy] = {}
        self._events: deque[PlaneEvent] = deque()
        self._dropped = 0
        self._injected_before: dict[str, int] = {}
        """Injections of rules that are no longer in the plan, the latest last."""
        self._thread = threading.Thread(target=self._run, name="fault-plane", daemon=True)
        self._switch_s = sys.getswitchinterval()
        self._broken: str | None = None
        """Why the loop has ended by itself, if it has."""

    # --- for the control plane: any thread ----------------------------------------------------

    def __enter__(self) -> Plane:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the loop's thread."""
        sys.setswitchinterval(_THREAD_SWITCH_S)
        self._thread.start()

    def close(self) -> None:
        """Close every connection and every port, and end the thread."""
        if self._thread.is_alive():
            with contextlib.suppress(RunError):  # The loop is ending by itself.
                self.call(self._close_all)
            self._thread.join()
        sys.setswitchinterval(self._switch_s)
        self.services.close()

    @property
    def observed(self) -> bool:
        """Whether an event is recorded for every connection and injection; counters are always kept."""
        return self.services.observed

    @observed.setter
    def observed(self, observed: bool) -> None:
        self.services.observed = observed

    def call(self, work: Callable[[], Result]) -> Result:
        """Run `work` in the loop's thread and return its result."""
        if threading.current_thread() is self._thread:
            return work()
        self.check()
        result: Future[Result] = Future()

        def run() -> None:
            try:
                result.set_result(work())
            except BaseException as error:
                result.set_exception(error)

        self._loop.call_from_thread(run)
        while True:
            try:
                return result.result(timeout=_CHECK_THREAD_S)
            except FutureTimeout:
                if result.done():
                    raise  # The work's own time-out.
                if not self._thread.is_alive():
                    raise RunError(self._broken or _ENDED) from None

    def check(self) -> None:
        """Raise RunError if the plane has ended."""
        if self._broken is not None or not self._thread.is_alive():
            raise RunError(self._broken or _ENDED)

    def open_proxy(self, spec: ProxySpec, enabled: bool = True) -> Endpoint:
        """Listen, and return where. Raises TargetError if the port is not available."""
        _load_layers(spec)
        listener = listen(spec.name, spec.listen, self.services.worker)

        def begin() -> Endpoint:
            if spec.name in self._proxies:
                raise InputError("proxy", f'the name "{spec.name}" is taken')
            proxy = Proxy(self.services, spec, listener)
            proxy.set_enabled(enabled)
            proxy.apply_rules(self._loop.clock())
            self._proxies[spec.name] = proxy
            return proxy.bound

        try:
            return self.call(begin)
        except BaseException:
            listener.close()
            raise

    def close_proxy(self, name: str) -> None:
        """Close the proxy's port and connections."""
        self.call(lambda: self._proxies.pop(name).close())

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Enable a proxy, or make it refuse new connections and drop the old ones."""
        self.call(lambda: self._proxies[name].set_enabled(enabled))

    def check_rule(self, rule: Rule) -> None:
        """Raise InputError for a rule that no plan for this plane may have."""
        check_network_rule(rule)
        rule.schedule.resolve(self.services.active.total_s)

    def set_plan(self, plan: Plan, total_s: float | None = None, origin: float | None = None) -> None:
        """Put another plan to work, at once and on live connections too. Rules that stay keep their memory.

        Schedules of new rules count from `origin`, or from now."""
        check_network_plan(plan)

        def change() -> None:
            now = self._loop.clock()
            before = self.services.active
            active = ActivePlan(plan, now, before.total_s if total_s is None else total_s, before, origin)
            self.services.active = active
            for rule in before.rules:
                if rule not in active.rules:
                    name = rule.rule.name
                    self._injected_before[name] = self._injected_before.pop(name, 0) + rule.injected
            while len(self._injected_before) > _MOST_PAST_RULES:
                del self._injected_before[next(iter(self._injected_before))]
            self._apply_rules(now)

        self.call(change)

    @property
    def plan(self) -> Plan:
        """The present plan."""
        return self.services.active.plan

    def snapshot(self) -> Snapshot:
        """Return the counters of this instant."""
        return self.call(self._snapshot)

    def measured(self) -> tuple[Snapshot, Lateness]:
        """Return a snapshot, and the histogram behind its lateness."""
        return self.call(lambda: (self._snapshot(), self.services.lateness.copy()))

    def take_events(self, most: int = _MOST_EVENTS) -> list[PlaneEvent]:
        """Return the events since the last call, in order."""
        taken: list[PlaneEvent] = []
        while self._events and len(taken) < most:
            taken.append(self._events.popleft())
        return taken

    # --- for the data plane: the loop's thread ------------------------------------------------

    def _emit(self, event: PlaneEvent) -> None:
        if len(self._events) < _MOST_EVENTS:
            self._events.append(event)
        else:
            self._dropped += 1

    def _run(self) -> None:
        now = self._loop.clock()
        self.services.active.refresh(now)
        self._loop.call_at(now + _SWEEP_S, self._sweep, None)
        self._await_next_change(now)
        try:
            self._loop.run()
        except BaseException as error:
            # No connection may wait for a loop that does not run.
            kind = type(error).__name__
            self._broken = f"{_ENDED}, by a defect of Faultkit: {kind}" + (f": {error}" if str(error) else "")
            _log.exception("the loop has ended")
            for proxy in tuple(self._proxies.values()):
                proxy.abandon()

    def _apply_rules(self, now: float) -> None:
        for proxy in tuple(self._proxies.values()):
            proxy.apply_rules(now)
        if self.observed:
            self._emit(RulesChanged(now, "*", self.services.active.acting_names()))
        self._await_next_change(now)

    def _await_next_change(self, now: float) -> None:
        """Wake at the next instant at which a rule of the present plan begins or ceases to act."""
        active = self.services.active
        at = active.next_change(now)
        if at == float("inf"):
            return

        def change(at: float) -> None:
            if self.services.active is active:
                now = self._loop.clock()
                active.refresh(now)
                self._apply_rules(now)

        self._loop.call_at(at, change, None)

    def _sweep(self, at: float) -> None:
        """Once a second: take pipes from directions that fell silent, and end what has timed out."""
        now = self._loop.clock()
        self._loop.call_at(now + _SWEEP_S, self._sweep, None)
        self.services.pipes.reclaim()
        for proxy in tuple(self._proxies.values()):
            proxy.check_timeouts(now)

    def _close_all(self) -> None:
        try:
            for proxy in self._proxies.values():
                proxy.close()
            self._proxies.clear()
        finally:
            self._loop.stop()

    def _snapshot(self) -> Snapshot:
        services = self.services
        injected = dict(self._injected_before)
        for rule in services.active.rules:
            injected[rule.rule.name] = injected.get(rule.rule.name, 0) + rule.injected
        return Snapshot(
            tuple(proxy.counts() for proxy in self._proxies.values()),
            services.active.acting_names(),
            injected,
            services.lateness.summary(),
            services.budget.held,
            self._dropped,
        )


def _load_layers(spec: ProxySpec) -> None:
    """Import what TLS and HTTP need in the caller's thread: in the loop's it would delay every connection."""
    if spec.tls or spec.client_tls or spec.speaks == "http" or spec.upstream is None:
        import faultkit.proxy.layers  # noqa: F401
    if spec.tls or spec.intercept is not None:
        from faultkit.proxy.tls import tls_context

        tls_context(spec.verify, identity=spec.identity)
        if spec.client_tls is not None and spec.client_tls.protocols:
            for protocols in (ANY_HTTP, HTTP_1):  # What most clients offer.
                tls_context(spec.verify, protocols=protocols, identity=spec.identity)
    if spec.client_tls is not None:
        from faultkit.proxy.server_tls import server_contexts

        contexts = server_contexts(spec.client_tls)
        for upstream in spec.intercept.upstreams if spec.intercept is not None else ():
            contexts.check_may_sign(upstream.host)
