"""Data planes in processes of their own: one (`PlaneProcess`), or several that share their ports (`Planes`).

Both fulfil `DataPlane`. The process of a plane serves its methods; plans, specs, snapshots and
events are sent as plain values. All clocks agree, because the monotonic clock belongs to the machine.

Several workers listen on one port, and the kernel distributes the connections. They share no memory, so rules
whose memory spans connections are refused.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from faultkit.base.address import Endpoint
from faultkit.base.child_process import ChildProcess, Parent
from faultkit.base.descriptors import raise_descriptor_limit
from faultkit.base.errors import InputError, RunError
from faultkit.base.garbage import undisturbed
from faultkit.faults.fault_data import dump_fault
from faultkit.plan import Plan, Rule, check_network_plan, check_network_rule
from faultkit.proxy.data_plane import ALONE, Lateness, ProxySpec, Snapshot, Worker, merge_measured
from faultkit.proxy.plane import Plane
from faultkit.proxy.plane_events import PlaneEvent, RulesChanged

MOST_WORKERS = 64
_AT_ONCE = 2000
"""Events pickled at a time: more would delay the loop in the same process."""
_MOST_TURNS = 100
_START_S = 60.0
_PATIENCE_S = 10.0
"""Time-out of a call to a running plane, which usually takes milliseconds."""
_FAREWELL_S = 5.0
_SLACK_S = 0.002
"""Longest time between the instant of an event and its recording."""


# --- in the child -----------------------------------------------------------------------------


class ServedPlane(Plane):
    """A plane with the methods that only its parent process calls."""

    def observe(self, observed: bool) -> None:
        """Set whether every event is recorded."""
        self.observed = observed

    def finish(self) -> list[PlaneEvent]:
        """Close, and return the events that have not been taken yet."""
        self.close()
        return self.take_events()


@contextlib.contextmanager
def serve_plane(
    parent: Parent, plan: Plan, total_s: float | None, observed: bool, origin: float, worker: Worker
) -> Iterator[ServedPlane]:
    """Run a plane in this child process."""
    raise_descriptor_limit()
    plane = ServedPlane(plan, total_s=total_s, observed=observed, origin=origin, worker=worker)
    with plane, undisturbed():
        yield plane


# --- in the parent ----------------------------------------------------------------------------


class PlaneProcess:
    """A data plane in a process of its own, so that work in this process does not delay its bytes."""

    change_s = 0.0

    def __init__(
        self,
        plan: Plan | None = None,
        *,
        total_s: float | None = None,
        observed: bool = False,
        origin: float | None = None,
        worker: Worker = ALONE,
    ) -> None:
        self._plan = plan or Plan()
        check_network_plan(self._plan)
        self._total_s = total_s
        self._observed = observed
        self._origin = time.monotonic() if origin is None else origin
        self._worker = worker
        self._child: ChildProcess | None = None
        self._last: list[PlaneEvent] = []
        self._changing = threading.Lock()
        """Held while a value is changed here and in the child, so that both change in the same order."""
        for rule in self._plan.rules:
            self.check_rule(rule)

    def __enter__(self) -> PlaneProcess:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self) -> None:
        self.begin_start()
        try:
            self.end_start()
        except BaseException:
            self.close()
            raise

    def begin_start(self) -> None:
        """Start without waiting, so that several start side by side."""
        number = f" {self._worker.index + 1} of {self._worker.count}" if self._worker.count > 1 else ""
        self._child = ChildProcess(
            "faultkit.proxy.remote:serve_plane",
            self._plan,
            self._total_s,
            self._observed,
            self._origin,
            self._worker,
            name=f"the proxy's process{number}",
        )

    def end_start(self) -> None:
        self._running().ready(_START_S)

    def close(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        try:
            self._last = child.call("finish", timeout_s=_FAREWELL_S)
        except RunError:
            pass  # The child has ended already; later calls raise RunError.
        finally:
            child.close()

    @property
    def lost(self) -> str | None:
        """How the process ended by itself; None while it runs."""
        child = self._child
        return None if child is None or child.ended is None else f"{child.name} {child.ended}"

    def open_proxy(self, spec: ProxySpec, enabled: bool = True) -> Endpoint:
        bound: Endpoint = self._ask("open_proxy", spec, enabled)
        return bound

    def close_proxy(self, name: str) -> None:
        self._ask("close_proxy", name)

    def set_enabled(self, name: str, enabled: bool) -> None:
        self._ask("set_enabled", name, enabled)

    @property
    def plan(self) -> Plan:
        return self._plan

    def check_rule(self, rule: Rule) -> None:
        check_network_rule(rule)
        rule.schedule.resolve(self._total_s)

    def set_plan(self, plan: Plan, total_s: float | None = None, origin: float | None = None) -> None:
        check_network_plan(plan)
        with self._changing:
            self._ask("set_plan", plan, total_s, origin)
            self._plan = plan
            self._total_s = self._total_s if total_s is None else total_s

    @property
    def observed(self) -> bool:
        return self._observed

    @observed.setter
    def observed(self, observed: bool) -> None:
        with self._changing:
            if observed != self._observed and self._child is not None:
                self._ask("observe", observed)
            self._observed = observed

    def snapshot(self) -> Snapshot:
        return self.measured()[0]

    def measured(self) -> tuple[Snapshot, Lateness]:
        measured: tuple[Snapshot, Lateness] = self._ask("measured")
        return measured

    def take_events(self) -> list[PlaneEvent]:
        taken, self._last = self._last, []
        if self._child is None:
            return taken
        # A plane may record events faster than they are taken: end after a number of turns.
        for _ in range(_MOST_TURNS):
            some: list[PlaneEvent] = self._ask("take_events", _AT_ONCE)
            taken += some
            if len(some) < _AT_ONCE:
                break
        return taken

    def check(self) -> None:
        self._ask("check")

    def _ask(self, method: str, *args: object) -> Any:
        return self._running().call(method, *args, timeout_s=_PATIENCE_S)

    def _running(self) -> ChildProcess:
        if self._child is None:
            raise RunError("the proxy has ended")
        return self._child


class Planes:
    """Several plane processes behind the same ports, as one."""

    change_s = 0.0

    def __init__(
        self,
        plan: Plan | None = None,
        *,
        workers: int,
        total_s: float | None = None,
        observed: bool = False,
    ) -> None:
        check_workers(workers, "workers")
        self._workers = workers
        origin = time.monotonic()
        for index, rule in enumerate(plan.rules if plan else ()):
            self._check_memory(rule, f"rules[{index}]")
        self._planes = [
            PlaneProcess(
                plan, total_s=total_s, observed=observed, origin=origin, worker=Worker(index, workers)
            )
            for index in range(workers)
        ]
        self._ahead: list[PlaneEvent] = []
        """Events of one worker that are too new: another worker may still report earlier ones."""
        self._is_closed = False

    def __enter__(self) -> Planes:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self) -> None:
        try:
            for plane in self._planes:
                plane.begin_start()
            for plane in self._planes:
                plane.end_start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        with contextlib.ExitStack() as stack:
            for plane in self._planes:
                stack.callback(plane.close)
        self._is_closed = True

    def open_proxy(self, spec: ProxySpec, enabled: bool = True) -> Endpoint:
        """Open the proxy in the first worker, which may choose the port, and then in the others."""
        first, *others = self._planes
        bound = first.open_proxy(spec, enabled)
        with contextlib.ExitStack() as undo:
            undo.callback(first.close_proxy, spec.name)
            same = replace(spec, listen=Endpoint(spec.listen.host, bound.port))
            for plane in others:
                plane.open_proxy(same, enabled)
                undo.callback(plane.close_proxy, spec.name)
            undo.pop_all()
        return bound

    def close_proxy(self, name: str) -> None:
        for plane in self._planes:
            plane.close_proxy(name)

    def set_enabled(self, name: str, enabled: bool) -> None:
        try:
            for plane in self._planes:
                plane.set_enabled(name, enabled)
        except BaseException:
            # The kernel spreads clients over all workers that share a port, so all of them must listen or
            # none.
            if enabled:
                with contextlib.suppress(RunError):
                    self.set_enabled(name, False)
            raise

    @property
    def plan(self) -> Plan:
        return self._planes[0].plan

    def check_rule(self, rule: Rule) -> None:
        self._check_memory(rule)
        self._planes[0].check_rule(rule)

    def set_plan(self, plan: Plan, total_s: float | None = None, origin: float | None = None) -> None:
        for index, rule in enumerate(plan.rules):
            self._check_memory(rule, f"rules[{index}]")
        common = time.monotonic() if origin is None else origin
        for plane in self._planes:
            plane.set_plan(plan, total_s, common)

    @property
    def observed(self) -> bool:
        return self._planes[0].observed

    @observed.setter
    def observed(self, observed: bool) -> None:
        for plane in self._planes:
            plane.observed = observed

    def snapshot(self) -> Snapshot:
        return self.measured()[0]

    def measured(self) -> tuple[Snapshot, Lateness]:
        """Return the sum of all workers. They are asked in turn, so one count may be older than another."""
        return merge_measured([plane.measured() for plane in self._planes])

    def take_events(self) -> list[PlaneEvent]:
        """Return the events of all workers in order. A change of rules, the same in all, occurs once."""
        until = time.monotonic() - _SLACK_S
        taken = self._ahead
        for index, plane in enumerate(self._planes):
            taken += [
                event for event in plane.take_events() if index == 0 or not isinstance(event, RulesChanged)
            ]
        taken.sort(key=_at)
        split = len(taken) if self._is_closed else bisect_right(taken, until, key=_at)
        self._ahead = taken[split:]
        return taken[:split]

    def check(self) -> None:
        for plane in self._planes:
            plane.check()

    def _check_memory(self, rule: Rule, path: str = "") -> None:
        if self._workers > 1:
            check_memory(rule, path)


def check_workers(count: int, path: str) -> None:
    """Raise InputError unless this system can run that many workers."""
    most = MOST_WORKERS if sys.platform == "linux" else 1
    if not 1 <= count <= most:
        raise InputError(path, f"expected {f'1 to {most}' if most > 1 else '1 on this system'}, got {count}")


def check_memory(rule: Rule, path: str = "") -> None:
    """Raise InputError for a rule whose memory spans connections, which several workers do not share."""
    where = f"{path}." if path else ""
    trigger = rule.trigger
    for key, given, usual in (
        ("first", trigger.first, None),
        ("after", trigger.after, 0),
        ("every", trigger.every, 1),
    ):
        if given != usual:
            problem = f"expected none with more than one worker, since each counts for itself, got {given}"
            raise InputError(f"{where}trigger.{key}", problem)
    if rule.fault.shares_memory:
        settings = ", ".join(f"{key} {value}" for key, value in dump_fault(rule.fault).items())
        problem = f"expected nothing that connections share with more than one worker, got {settings}"
        raise InputError(f"{where}with", problem)


def _at(event: PlaneEvent) -> float:
    return event.at
