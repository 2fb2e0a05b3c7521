"""Proves a change: runs the old and the new version side by side under the same faults, and measures both.

Each version runs in a process of its own, on a free port, and is started anew for each fault. It reaches its
dependencies through a proxy of its own; behind it is what the user names, or a stub. Calls go to both
versions at the same time, in turn, so that what the machine does besides affects both alike. The user's file
is never written to.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from faultkit.base.address import LOOPBACK, Endpoint, parse_map
from faultkit.base.errors import InputError, RunError
from faultkit.code.languages import language_of
from faultkit.code.proof.exercised import START, RanLines, Version, changed_parts, touched_lines
from faultkit.code.proof.fault_cases import FaultCase, fault_cases
from faultkit.code.proof.healthy_answers import Answer, Answers, HealthyAnswers, Unlike
from faultkit.code.proof.interpreter import interpreter_of
from faultkit.code.proof.node_service import NODE_SUFFIXES, node_interpreter, node_service
from faultkit.code.proof.proof import Proof
from faultkit.code.proof.python_service import python_service
from faultkit.code.proof.resources import UsageMeter
from faultkit.code.proof.running import RunningService
from faultkit.code.proof.service import Service, Upstream
from faultkit.code.proof.stub import StubUpstream
from faultkit.code.proof.verdict import (
    CPU,
    ENOUGH,
    HEALTHY,
    TIME,
    UPSTREAM_CALLS,
    UPSTREAM_CONNECTIONS,
    FaultComparison,
    Figures,
    Mean,
    compare,
    confirmed,
)
from faultkit.load.doubts import doubts
from faultkit.load.late_margin import LateBy
from faultkit.load.load import Load, Target
from faultkit.load.segment import call_once
from faultkit.load.slo import judge_all
from faultkit.load.workers import LoadResult, run_load
from faultkit.plan import Plan
from faultkit.proxy.data_plane import Lateness, ProxySpec, Snapshot
from faultkit.proxy.plane_events import PlaneEvent, Requested
from faultkit.proxy.remote import PlaneProcess
from faultkit.scenario.impact import SLOS

Watch = Callable[[str, int, int], None]
"""Called with the current step, its number and the number of steps."""

_VERSIONS: tuple[Version, Version] = ("before", "after")
_MOST_RPS, _LEAST_RPS = 12.0, 4.0
_BUSY = 0.5
"""How much of its time a service may be at work that serves one call after the other."""
_OVERLOADED = 0.7
"""The share of a processor above which calls queue: then their times are no measure."""
_WARM_UP, _WARM_UP_S = 5, 5.0
"""Calls before a run that are not measured (the first ones import modules and fill pools), and their time
limit."""
_MARGIN_S = 0.2
_VARYING = re.compile(r"(?=[\w+=-]*\d)[\w+=-]{16,}|[0-9a-fA-F-]{8,}|\d+")
"""Ids and numbers in a path."""
_TOGETHER_S = 60.0


@dataclass(frozen=True, slots=True)
class ProofSettings:
    """Settings of a proof: the upstreams, the load and the faults."""

    upstreams: Mapping[str, str] = field(default_factory=dict)
    """The URL of each upstream, by variable or by the beginning of a URL in the text; a stub where none is
    given."""
    route: str | None = None
    python: str | None = None
    """The interpreter that runs a Python service; None: that of its project."""
    environment: Mapping[str, str] | None = None
    """The environment of the service, beside its upstreams; None: that of this process."""
    duration_s: float = 3.0
    """Seconds during which calls are sent; calls that are under way at the end are awaited."""
    latency_ms: float = 2000.0
    timeout_s: float = 10.0
    """Seconds after which a caller gives up."""
    faults: tuple[str, ...] = ()
    """Names of the faults to try; none: all."""
    seed: int | str = 0

    def load(self, call_s: float) -> Load:
        """Return the calls to each version; `call_s`: how long one call takes without a fault."""
        wanted_rps = max(_MOST_RPS, ENOUGH / self.duration_s)
        rate_rps = max(min(wanted_rps, _BUSY / call_s), _LEAST_RPS)
        duration_s = max(self.duration_s, ENOUGH / rate_rps)
        return Load(duration_s, rate_rps, keep_alive=False, seed=self.seed)


def prove(
    path: str,
    old: str,
    new: str,
    settings: ProofSettings,
    watch: Watch = lambda what, step, of: None,
    stop: threading.Event | None = None,
) -> Proof:
    """Run both versions under each fault. Raises TargetError if one does not start, RunError if it was
    stopped."""
    service = service_of(path, old, new, settings)
    with StubUpstream() as stub:
        run = _Run(Path(path), service, {"before": None, "after": new}, settings, stub.url, stop)
        cases = [
            each
            for each in fault_cases(settings.latency_ms)
            if not settings.faults or each.name in settings.faults
        ]
        compared: list[FaultComparison] = []
        ran: dict[Version, dict[str, RanLines]] = {"before": {}, "after": {}}

        def measured(number: int, case: FaultCase, *, again: bool = False) -> FaultComparison:
            watch(f"{case.name}, again" if again else case.name, number, len(cases))
            both = run.measure(case)
            for version, lines in ran.items():
                lines.setdefault(START, both[version].at_start)
                lines[case.name] = _joined(lines.get(case.name, RanLines()), both[version].lines)
            usual = next((each.before.costs for each in compared if each.fault == HEALTHY), None)
            return compare(case.name, both["before"].figures, both["after"].figures, usual)

        for number, case in enumerate(cases, 1):
            found = measured(number, case)
            is_doubtful = found.before.doubt or found.after.doubt
            if not found.endings and (is_doubtful or (case.name == HEALTHY and found.after.unlike.count)):
                # Answers that differ between two processes of the old version are compared less strictly.
                found = measured(number, case, again=True)
            if found.rests_on_machine:
                found = confirmed(found, measured(number, case, again=True))
            compared.append(found)
            if _is_pointless(found):
                break
    language = language_of(path)
    upstreams = tuple(
        f"{each.name}: {settings.upstreams.get(each.name) or _STAND_IN}" for each in service.upstreams
    )
    parts = changed_parts(old, new, language, ran)
    return Proof(service.route, upstreams, tuple(compared), parts, service.notes)


_STAND_IN = "a stand-in on this machine"


def service_of(path: str, old: str, new: str, settings: ProofSettings) -> Service:
    """Return how to run the file, with a route that reaches the touched lines, and the upstreams of both
    versions. Raises InputError, with what to pass, if that cannot be determined."""
    suffix = Path(path).suffix
    if suffix not in (".py", *NODE_SUFFIXES):
        known = ", ".join((".py", *NODE_SUFFIXES))
        raise InputError(path, f'expected a service in Python or JavaScript ({known}), got "{suffix}"')
    read = python_service if suffix == ".py" else node_service
    touched = touched_lines(old, new)
    return read(path, old, route=settings.route, named=settings.upstreams, touched=touched, changed=new)


@dataclass(frozen=True, slots=True)
class _Measured:
    """One version under one fault."""

    figures: Figures
    at_start: RanLines
    lines: RanLines


class _Run:
    """Both versions of a service, and what is behind them."""

    def __init__(
        self,
        file: Path,
        service: Service,
        texts: Mapping[Version, str | None],
        settings: ProofSettings,
        stub_url: str,
        stop: threading.Event | None,
    ) -> None:
        self._file = file
        self._service = service
        self._texts = texts
        self._settings = settings
        self._stop = stop or threading.Event()
        self._calls: Load | None = None
        self._healthy = HealthyAnswers()
        self._targets = {
            each.name: settings.upstreams.get(each.name) or stub_url for each in service.upstreams
        }
        for each in service.upstreams:
            _spec("checked", each, self._targets[each.name])
        is_node = service.interface == "node"
        self._interpreter = (
            node_interpreter(os.environ) if is_node else interpreter_of(file, settings.python, os.environ)
        )

    def measure(self, case: FaultCase) -> dict[Version, _Measured]:
        """Run both versions under a fault. Raises RunError if it was stopped."""
        with ExitStack() as stack:
            # Each has a plane of its own: with the same names and seed, the n-th calls of both share their
            # fate.
            is_healthy = case.name == HEALTHY
            planes = {
                each: stack.enter_context(PlaneProcess(Plan(seed=self._settings.seed), observed=is_healthy))
                for each in _VERSIONS
            }
            services = {each: self._version(each, planes[each]) for each in _VERSIONS}
            for each in services.values():
                stack.callback(each.close)
            for each in services.values():
                each.start()
            for each in services.values():
                stack.enter_context(each)
            at_start = {version: each.ran_lines() for version, each in services.items()}
            targets = {
                version: Target("GET", each.url, timeout_s=self._settings.timeout_s)
                for version, each in services.items()
            }
            call_s = max(self._warm_up(target) for target in targets.values())
            for each in services.values():
                each.ran_lines()
            usual = {version: each.answers for version, each in services.items()}
            # The same for all faults: what they change is compared with the case without one.
            self._calls = self._calls or self._settings.load(call_s)
            before = {version: plane.snapshot() for version, plane in planes.items()}
            for plane in planes.values():
                plane.take_events()
            with ExitStack() as metering:
                meters = {
                    version: metering.enter_context(UsageMeter(each.pid))
                    for version, each in services.items()
                }
                results = self._load(targets, case, planes)
            ended = {version: each.has_ended for version, each in services.items()}
            endings = {version: each.ending for version, each in services.items()}
            after = {version: plane.measured() for version, plane in planes.items()}
            paths = {version: self._calls_by_path(plane.take_events()) for version, plane in planes.items()}
            lines = {version: each.ran_lines() for version, each in services.items()}
            given = {version: each.answers - usual[version] for version, each in services.items()}
            # Connections that a fault holds would keep the services from ending.
            for plane in planes.values():
                plane.close()
            lines = {version: _joined(lines[version], each.end()) for version, each in services.items()}
        for version in _VERSIONS:
            more = given[version] if case.name == HEALTHY else Counter[Answer]()
            self._healthy.add(version, usual[version] + more)
        return {
            each: _Measured(
                replace(
                    self._figures(results[each], before[each], *after[each], meters[each]),
                    calls_by_path=paths[each],
                    ended=ended[each],
                    ending=endings[each],
                    unlike=self._unlike(case, each, given[each]),
                ),
                at_start[each],
                lines[each],
            )
            for each in _VERSIONS
        }

    def _calls_by_path(self, events: Sequence[PlaneEvent]) -> Counter[str]:
        """Return the requests among events, by method, path without numbers and ids, and upstream."""
        return Counter(
            f"{each.method} {_VARYING.sub('0', urlsplit(each.target).path)} of "
            f"{self._service.upstreams[int(each.proxy)].name}"
            for each in events
            if isinstance(each, Requested)
        )

    def _unlike(self, case: FaultCase, version: Version, answers: Answers) -> Unlike:
        if case.name != HEALTHY:
            return self._healthy.unlike(version, answers)
        return self._healthy.changed(answers) if version == "after" else Unlike()

    def _warm_up(self, target: Target) -> float:
        """Make a few calls, and return how long the fastest of them took, in seconds."""
        target = replace(target, timeout_s=min(target.timeout_s, _WARM_UP_S))
        fastest_s = _WARM_UP_S
        for _ in range(_WARM_UP):
            sample = call_once(target, self._stop.is_set)
            if sample is None or not sample.status:
                break  # It does not answer: the run will show that, and waiting again would not help.
            fastest_s = min(fastest_s, sample.total_s)
        return fastest_s

    def _version(self, version: Version, plane: PlaneProcess) -> RunningService:
        env: dict[str, str] = {}
        replaced: dict[str, str] = {}
        for number, upstream in enumerate(self._service.upstreams):
            target = self._targets[upstream.name]
            bound = plane.open_proxy(_spec(str(number), upstream, target))
            # The path of a given URL replaces that of the default.
            given = self._settings.upstreams.get(upstream.name)
            path = upstream.path if given is None else urlsplit(given).path
            (replaced if upstream.is_text else env)[upstream.name] = f"http://{bound}{path}"
        return RunningService(
            self._file,
            self._service,
            env,
            self._interpreter,
            replaced=replaced,
            inherited=self._settings.environment,
            text=self._texts[version],
            stop=self._stop,
        )

    def _load(
        self, targets: Mapping[Version, Target], case: FaultCase, planes: Mapping[Version, PlaneProcess]
    ) -> dict[Version, LoadResult]:
        """Send the load to both versions at once; their calls take turns."""
        load = self._calls
        assert load is not None
        assert load.rate_rps is not None
        begin_at = 0.0
        shift_s = {version: number / len(targets) / load.rate_rps for number, version in enumerate(targets)}

        def begin() -> None:
            nonlocal begin_at
            begin_at = time.monotonic() + _MARGIN_S
            for version, plane in planes.items():
                plan = Plan(case.rules, self._settings.seed)
                plane.set_plan(plan, load.duration_s, origin=begin_at + shift_s[version])

        together = threading.Barrier(len(targets), begin)

        def send(version: Version) -> LoadResult:
            def when() -> float:
                together.wait(_TOGETHER_S)
                return begin_at + shift_s[version]

            try:
                return run_load(targets[version], load, begin_at=when, stop=self._stop)
            except BaseException:
                together.abort()
                raise

        with ThreadPoolExecutor(len(targets)) as threads:
            running = {version: threads.submit(send, version) for version in targets}
            with suppress(threading.BrokenBarrierError):
                for each in running.values():
                    each.result()
        if self._stop.is_set():
            raise RunError("it was stopped before its end")
        return {version: each.result() for version, each in running.items()}

    def _figures(
        self, result: LoadResult, before: Snapshot, after: Snapshot, lateness: Lateness, meter: UsageMeter
    ) -> Figures:
        load = self._calls
        assert load is not None
        summary = result.tally.summary(load, total_s=result.total_s)
        # Lateness is no doubt here: differences that are no longer than it do not count.
        found = doubts(summary, load, lateness=lateness, is_decided=lambda late: True)
        calls, connections, injected = (
            _total(name, after) - _total(name, before) for name in ("requests", "accepted", "injected")
        )
        response = summary.response
        at = {each.percent: each.ms for each in response.percentiles}
        slos = judge_all(SLOS, result.tally, load.duration_s, load)
        costs = {
            TIME.name: Mean.of(response.mean_ms, response.stddev_ms, response.effective),
            UPSTREAM_CALLS.name: Mean.of_count(calls, summary.requests),
            UPSTREAM_CONNECTIONS.name: Mean.of_count(connections, summary.requests),
            **meter.costs(summary.requests),
        }
        if CPU.name in costs and costs[CPU.name].value / 1000 * summary.achieved_rps > _OVERLOADED:
            del costs[TIME.name]
        return Figures(
            summary.requests,
            summary.statuses,
            costs,
            injected,
            summary.errors_effective,
            failures=summary.failures,
            mean_ms=response.mean_ms,
            p50_ms=at.get(50.0, 0.0),
            p95_ms=at.get(95.0, 0.0),
            max_ms=response.max_ms,
            late_ms=LateBy.of(summary, lateness.summary()).usual_ms,
            upstream_requests=calls,
            slos_missed=tuple(each.slo.title for each in slos if each.passed is False),
            doubt="; ".join(found.reasons),
        )


def _is_pointless(found: FaultComparison) -> bool:
    """Return whether no other fault can show anything: no call succeeds, none goes through the proxies, or
    the new version ends without a fault."""
    if found.fault == HEALTHY:
        return not found.before.succeeded or (found.after.ended and found.verdict == "worse")
    return not (found.before.injected or found.after.injected)


def _spec(name: str, upstream: Upstream, target: str) -> ProxySpec:
    """Return a reverse proxy on a free port: the upstream is called by its own name, not by that of our
    port."""
    scheme, _, rest = target.partition("://")
    try:
        given = parse_map(f"http://{LOOPBACK}:1={scheme}://{rest.partition('/')[0]}")
    except InputError as error:
        raise InputError("--upstream", f"{upstream.name}: {error.problem}") from None
    return replace(ProxySpec.of_map(name, given), listen=Endpoint(LOOPBACK, 0))


def _joined(one: RanLines, other: RanLines) -> RanLines:
    return RanLines(one.executable | other.executable, one.ran | other.ran)


def _total(name: str, snapshot: Snapshot) -> int:
    """Return a counter of all proxies."""
    return sum(getattr(each, name) for each in snapshot.proxies)
