"""Data planes in processes of their own: one (`PlaneProcess`), or several that share their ports (`Planes`).

Both have the face of a `Plane`. The process of a plane serves its methods; plans, specs, snapshots and
happenings travel as the plain values that they are. All clocks agree: the monotonic clock is the machine's.

Several workers listen on one port, and the kernel deals the connections out. They share no memory, so that
rules whose memory spans connections are refused.
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
from faultkit.base.errors import InputError, RunError
from faultkit.faults.fault import StreamFault
from faultkit.faults.parse import dump_fault
from faultkit.plan import Plan, Rule, check_network_plan, check_network_rule
from faultkit.proxy.happenings import Happening, RulesChanged
from faultkit.proxy.lateness import Lateness
from faultkit.proxy.plane import Plane, undisturbed
from faultkit.proxy.snapshot import Snapshot, merge_snapshots
from faultkit.proxy.spec import ALONE, ProxySpec, Worker

MOST_WORKERS = 64
_AT_ONCE = 2000
"""So many happenings are pickled in one go: longer, and the loop beside it would be late."""
_MOST_TURNS = 100
_START_S = 60.0
_PATIENCE_S = 10.0
"""What is asked of a running plane takes it milliseconds: one that is silent for so long never answers."""
_FAREWELL_S = 5.0
_SLACK_S = 0.002
"""Between the instant of a happening and its telling, a thread may have to wait for its turn."""


# --- in the child -----------------------------------------------------------------------------


class ServedPlane(Plane):
    """A plane with what cannot be a plain call of its methods."""

    def observe(self, observed: bool) -> None:
        self.observed = observed

    def finish(self) -> list[Happening]:
        """Close, and return what had not been told."""
        self.close()
        return self.happenings()


@contextlib.contextmanager
def serve_plane(
    parent: Parent, plan: Plan, total_s: float | None, observed: bool, origin: float, worker: Worker
) -> Iterator[ServedPlane]:
    plane = ServedPlane(plan, total_s=total_s, observed=observed, origin=origin, worker=worker)
    with plane, undisturbed():
        yield plane


# --- in the parent ----------------------------------------------------------------------------


class PlaneProcess:
    """A data plane in a process of its own, so that nothing that happens here makes its bytes late."""

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
        self._last: list[Happening] = []
        self._changing = threading.Lock()
        """Whoever changes something here changes it in the child, too, before the next one may."""
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
            pass  # It is gone already, and whoever still needs something of it is told so.
        finally:
            child.close()

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

    def happenings(self) -> list[Happening]:
        taken, self._last = self._last, []
        if self._child is None:
            return taken
        # A plane that tells faster than we take must not keep its user here.
        for _ in range(_MOST_TURNS):
            some: list[Happening] = self._ask("happenings", _AT_ONCE)
            taken += some
            if len(some) < _AT_ONCE:
                break
        return taken

    def _ask(self, method: str, *args: object) -> Any:
        return self._running().call(method, *args, timeout_s=_PATIENCE_S)

    def _running(self) -> ChildProcess:
        if self._child is None:
            raise RunError("the proxy has ended")
        return self._child


class Planes:
    """Several plane processes behind the same ports, as one."""

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
        self._ahead: list[Happening] = []
        """They came from one worker while others may still tell what was before them."""
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
        """The first worker takes the port, or chooses one; the others follow."""
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
            # Half of a port is worse than none: the kernel would give clients to those who do not listen.
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
        """All workers added up. They are asked in turn, so that one count may be older than another."""
        return merge_snapshots([plane.measured() for plane in self._planes])

    def happenings(self) -> list[Happening]:
        """In the order of their times. The workers' rules change together, so that one of them tells it."""
        until = time.monotonic() - _SLACK_S
        taken = self._ahead
        for index, plane in enumerate(self._planes):
            taken += [
                happening
                for happening in plane.happenings()
                if index == 0 or not isinstance(happening, RulesChanged)
            ]
        taken.sort(key=_at)
        split = len(taken) if self._is_closed else bisect_right(taken, until, key=_at)
        self._ahead = taken[split:]
        return taken[:split]

    def _check_memory(self, rule: Rule, path: str = "") -> None:
        if self._workers > 1:
            check_memory(rule, path)


def check_workers(count: int, path: str) -> None:
    most = MOST_WORKERS if sys.platform == "linux" else 1
    if not 1 <= count <= most:
        raise InputError(path, f"expected {f'1 to {most}' if most > 1 else '1 on this system'}, got {count}")


def check_memory(rule: Rule, path: str = "") -> None:
    """Refuse a rule that has to remember one connection when it meets another: it may be another worker's."""
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
    if isinstance(rule.fault, StreamFault) and rule.fault.shares_memory:
        settings = ", ".join(f"{key} {value}" for key, value in dump_fault(rule.fault).items())
        problem = f"expected nothing that connections share with more than one worker, got {settings}"
        raise InputError(f"{where}with", problem)


def _at(happening: Happening) -> float:
    return happening.at
