"""The data plane: a thread with a loop, its proxies, and the plan that acts on them.

The control plane (command line, HTTP APIs) calls the public methods from other threads; each hands
its work to the loop's thread and waits for the answer. Plans and specs are plain data.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TypeVar

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError, RunError
from faultkit.plan import Plan, Rule, check_network_plan, check_network_rule
from faultkit.proxy.active import ActivePlan
from faultkit.proxy.budget import Budget
from faultkit.proxy.dial import Resolver
from faultkit.proxy.eventloop import Loop, Poller
from faultkit.proxy.half import Half
from faultkit.proxy.happenings import Happening, RulesChanged
from faultkit.proxy.lateness import Lateness
from faultkit.proxy.pipes import PipePool
from faultkit.proxy.proxy import Proxy, listen
from faultkit.proxy.snapshot import Snapshot
from faultkit.proxy.spec import ALONE, ProxySpec, Worker

_SWEEP_S = 1.0
_PATIENCE_S = 1.0
_MOST_HAPPENINGS = 200_000
_THREAD_SWITCH_S = 0.0005
"""Python's default of 5 ms would let a busy control thread make every release that much late."""
_OLD_ENOUGH = (50_000, 50, 100)
"""Thresholds of the garbage collector: its pauses would make releases late, and cycles are rare here."""

Answer = TypeVar("Answer")


class Plane:
    """Use it as a context manager, or call `start` and `close`."""

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
        """Schedules count from `origin`, on the monotonic clock; from now on, if there is none."""
        check_network_plan(plan or Plan())
        self.loop = Loop(poller)
        self.resolver = Resolver(self.loop)
        self.lateness = Lateness()
        self.budget = Budget()
        self.observed = observed
        """Whether every single connection and injection is told; counters are always kept."""
        self.pipes = PipePool()
        self.spliced: dict[Half, int] = {}
        """Halves that have pipes, and how many bytes they had moved at the last sweep."""
        self.worker = worker
        self.active = ActivePlan(plan or Plan(), self.loop.clock(), total_s, origin=origin)
        self._proxies: dict[str, Proxy] = {}
        self._happenings: deque[Happening] = deque()
        self._dropped = 0
        self._injected_before: dict[str, int] = {}
        """What rules did that are not in the plan any more."""
        self._thread = threading.Thread(target=self._run, name="fault-plane", daemon=True)
        self._switch_s = sys.getswitchinterval()

    # --- for the control plane: any thread ----------------------------------------------------

    def __enter__(self) -> Plane:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self) -> None:
        sys.setswitchinterval(_THREAD_SWITCH_S)
        self._thread.start()

    def close(self) -> None:
        """End every connection, give every port back, end the thread."""
        if self._thread.is_alive():
            self.call(self._close_all)
            self._thread.join()
        sys.setswitchinterval(self._switch_s)
        self.resolver.close()
        self.loop.close()
        self.pipes.close()

    def call(self, work: Callable[[], Answer]) -> Answer:
        """Run `work` in the loop's thread and wait for what it gives."""
        if threading.current_thread() is self._thread:
            return work()
        if not self._thread.is_alive():
            raise RunError("the proxy has ended")
        answer: Future[Answer] = Future()

        def run() -> None:
            try:
                answer.set_result(work())
            except BaseException as error:
                answer.set_exception(error)

        self.loop.call_from_thread(run)
        while True:
            try:
                return answer.result(timeout=_PATIENCE_S)
            except FutureTimeout:
                if answer.done():
                    raise  # The work's own, not ours.
                if not self._thread.is_alive():
                    raise RunError("the proxy has ended") from None

    def open_proxy(self, spec: ProxySpec, enabled: bool = True) -> Endpoint:
        """Listen; returns where. A port that cannot be had is a TargetError, and nothing is left."""
        _prepare_layers(spec)
        listener = listen(spec.name, spec.listen, self.worker)

        def begin() -> Endpoint:
            if spec.name in self._proxies:
                raise InputError("proxy", f'the name "{spec.name}" is taken')
            proxy = Proxy(self, spec, listener)
            proxy.set_enabled(enabled)
            proxy.apply_rules(self.loop.clock())
            self._proxies[spec.name] = proxy
            return proxy.bound

        try:
            return self.call(begin)
        except BaseException:
            listener.close()
            raise

    def close_proxy(self, name: str) -> None:
        self.call(lambda: self._proxies.pop(name).close())

    def set_enabled(self, name: str, enabled: bool) -> None:
        """A disabled proxy refuses new connections and has dropped the old ones."""
        self.call(lambda: self._proxies[name].set_enabled(enabled))

    def check_rule(self, rule: Rule) -> None:
        """Raises InputError for a rule that no plan for this plane may have."""
        check_network_rule(rule)
        rule.schedule.resolve(self.active.total_s)

    def set_plan(self, plan: Plan, total_s: float | None = None, origin: float | None = None) -> None:
        """Put another plan to work, at once and on live connections too. Rules that stay keep their state.

        Schedules of rules that come count from `origin`, or from now on."""
        check_network_plan(plan)

        def change() -> None:
            now = self.loop.clock()
            before = self.active.rules
            self.active = ActivePlan(
                plan, now, total_s if total_s is not None else self.active.total_s, self.active, origin
            )
            for state in before:
                if state not in self.active.rules:
                    name = state.rule.name
                    self._injected_before[name] = self._injected_before.get(name, 0) + state.injected
            self._apply_rules(now)

        self.call(change)

    @property
    def plan(self) -> Plan:
        return self.active.plan

    def snapshot(self) -> Snapshot:
        return self.call(self._snapshot)

    def measured(self) -> tuple[Snapshot, Lateness]:
        """A snapshot, and the histogram behind its lateness."""
        return self.call(lambda: (self._snapshot(), self.lateness.copy()))

    def happenings(self, most: int = _MOST_HAPPENINGS) -> list[Happening]:
        """What has happened since the last call, in order."""
        taken: list[Happening] = []
        while self._happenings and len(taken) < most:
            taken.append(self._happenings.popleft())
        return taken

    # --- for the data plane: the loop's thread ------------------------------------------------

    def tell(self, happening: Happening) -> None:
        if len(self._happenings) < _MOST_HAPPENINGS:
            self._happenings.append(happening)
        else:
            self._dropped += 1

    def _run(self) -> None:
        now = self.loop.clock()
        self.active.refresh(now)
        self.loop.call_at(now + _SWEEP_S, self._sweep)
        self._await_next_change(now)
        self.loop.run()

    def _apply_rules(self, now: float) -> None:
        for proxy in tuple(self._proxies.values()):
            proxy.apply_rules(now)
        if self.observed:
            self.tell(RulesChanged(now, "*", self.active.acting_names()))
        self._await_next_change(now)

    def _await_next_change(self, now: float) -> None:
        """Wake at the next edge of a schedule of the present plan."""
        active = self.active
        at = active.next_change(now)
        if at == float("inf"):
            return

        def edge(at: float) -> None:
            if self.active is active:
                now = self.loop.clock()
                active.refresh(now)
                self._apply_rules(now)

        self.loop.call_at(at, edge)

    def _sweep(self, at: float) -> None:
        """Once a second: give up slow dials, take pipes from halves that fell silent, end abandoned links."""
        now = self.loop.clock()
        self.loop.call_at(now + _SWEEP_S, self._sweep)
        for half, moved in tuple(self.spliced.items()):
            if half.moved != moved:
                self.spliced[half] = half.moved
            elif half.line is not None and not half.line.size:
                half.leave_line()
        for proxy in tuple(self._proxies.values()):
            for link in tuple(proxy.links.values()):
                link.give_up_if_hopeless(now)

    def _close_all(self) -> None:
        try:
            for proxy in self._proxies.values():
                proxy.close()
            self._proxies.clear()
        finally:
            self.loop.stop()

    def _injected(self) -> dict[str, int]:
        """By rule, those that are gone included."""
        injected = dict(self._injected_before)
        for state in self.active.rules:
            injected[state.rule.name] = injected.get(state.rule.name, 0) + state.injected
        return injected

    def _snapshot(self) -> Snapshot:
        return Snapshot(
            tuple(proxy.counts() for proxy in self._proxies.values()),
            self.active.acting_names(),
            self._injected(),
            self.lateness.summary(),
            self.budget.held,
            self._dropped,
        )


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Keep the garbage collector away from what exists already, and let it come seldom."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_OLD_ENOUGH)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def _prepare_layers(spec: ProxySpec) -> None:
    """Load what TLS and HTTP need here and now: in the loop's thread it would make every connection late."""
    if spec.tls or spec.speaks == "http" or spec.upstream is None:
        import faultkit.proxy.middle  # noqa: F401
    if spec.tls:
        from faultkit.proxy.tls import tls_context

        tls_context(spec.verify)
