"""Proves a change: runs the old and the new version under the same faults, by the scenario engine.

The service runs in a process of its own, on a free port. It reaches its dependencies through a proxy;
behind it is what the user names, or a stub. The user's file is never written to.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from faultkit.base.address import ProxyMap, parse_map
from faultkit.base.errors import InputError, RunError
from faultkit.code.proof.service import (
    RunningService,
    Service,
    StubUpstream,
    Upstream,
    interpreter_of,
    service_of,
)
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Rule
from faultkit.scenario.impact import SLOS, Impact, scenario_of
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.scenario_run import RunSettings, run_scenarios

Watch = Callable[[str, int, int], None]
"""Called with the current step, its number and the number of steps."""


@dataclass(frozen=True, slots=True)
class ProofSettings:
    """Settings of a proof: the upstreams, the load and the faults."""

    upstreams: Mapping[str, str] = field(default_factory=dict)
    """The upstream of each variable; a stub where none is given."""
    route: str | None = None
    python: str | None = None
    """The interpreter that runs the service; None: that of its project."""
    environment: Mapping[str, str] | None = None
    """The environment of the service, beside its upstreams; None: that of this process."""
    duration_s: float = 1.0
    """Seconds of each run; calls that are under way at the end are awaited."""
    latency_ms: float = 2000.0
    clients: int = 2
    rps: float = 3.0
    timeout_s: float = 10.0
    """Seconds after which a caller gives up."""
    seed: int | str = 0


@dataclass(frozen=True, slots=True)
class Proof:
    """The comparison for each fault."""

    url: str
    """The route that was called."""
    upstreams: tuple[str, ...]
    """Descriptions of what was behind the service."""
    compared: tuple[FaultComparison, ...]
    judgement: Judgement

    def document(self) -> dict[str, Any]:
        return {
            "judgement": self.judgement,
            "route": self.url,
            "upstreams": list(self.upstreams),
            "faults": [each.document() for each in self.compared],
        }


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
    file = Path(path)
    service = service_of(old, path, route=settings.route)
    _check(service, settings, path)
    stop = stop or threading.Event()
    python = interpreter_of(file, settings.python, os.environ)
    with ExitStack() as stack:
        stub = stack.enter_context(StubUpstream())
        routes = [
            _UpstreamRoute(each, settings.upstreams.get(each.variable), stub.url)
            for each in service.upstreams
        ]
        env = {route.upstream.variable: route.url for route in routes}
        maps = tuple(route.map for route in routes)
        counts = stub.take_count if all(route.target == stub.url for route in routes) else None
        cases = _cases(settings)
        found: dict[str, list[Figures]] = {name: [] for name, _ in cases}
        for turn, (version, text) in enumerate((("before", None), ("after", new))):
            with RunningService(
                file, service, env, python, inherited=settings.environment, text=text, stop=stop
            ) as running:
                for number, (name, rules) in enumerate(cases, 1 + turn * len(cases)):
                    watch(f"{version} the change: {name}", number, 2 * len(cases))
                    impact = _impact(running.url, rules, maps, settings)
                    found[name].append(_measured(impact, settings, stop, counts))
    compared = tuple(
        compare(name, before, after, healthy=name == _HEALTHY) for name, (before, after) in found.items()
    )
    upstreams = tuple(f"{route.upstream.variable}: {route.description}" for route in routes)
    return Proof(service.route, upstreams, compared, overall_judgement(compared))


_HEALTHY = "healthy"


class _UpstreamRoute:
    """How the service reaches one dependency."""

    def __init__(self, upstream: Upstream, given: str | None, stub_url: str) -> None:
        self.upstream = upstream
        self.target = target = given or stub_url
        self.description = given or "a stand-in on this machine"
        port = _free_port()
        # The path of a given URL replaces that of the default.
        path = upstream.path if given is None else urlsplit(given).path
        self.url = f"http://127.0.0.1:{port}{path}"
        try:
            # A reverse proxy: the upstream is called by its own name, not by that of our port.
            self.map: ProxyMap = parse_map(f"http://127.0.0.1:{port}={_origin(target)}")
        except InputError as error:
            raise InputError("--upstream", f"{upstream.variable}: {error.problem}") from None


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if rest else url


def _check(service: Service, settings: ProofSettings, path: str) -> None:
    known = {each.variable for each in service.upstreams}
    for variable in settings.upstreams:
        if variable not in known:
            names = ", ".join(sorted(known)) or "none"
            raise InputError(
                "--upstream", f"expected a variable that {path} reads a URL from ({names}), got {variable}"
            )
    if not known:
        raise InputError(
            path,
            "expected a service whose upstream can be set by a variable of the environment, such as "
            'os.getenv("UPSTREAM_URL", …): without one, no fault can be put between the two',
        )


def _cases(settings: ProofSettings) -> tuple[tuple[str, tuple[Rule, ...]], ...]:
    # The faults act on the way from the dependency to the service, so that every attempt reaches the
    # dependency and is counted.
    slow = Latency(mean_ms=settings.latency_ms, per="operation")
    return (
        (_HEALTHY, ()),
        ("blackhole", (Rule("blackhole", Blackhole()),)),
        (f"latency of {settings.latency_ms / 1000:g} s", (Rule("latency", slow),)),
    )


def _impact(url: str, rules: tuple[Rule, ...], maps: tuple[ProxyMap, ...], settings: ProofSettings) -> Impact:
    return Impact(
        url,
        rules,
        duration_s=settings.duration_s,
        clients=settings.clients,
        rps=settings.rps,
        timeout_s=settings.timeout_s,
        proxies=maps,
        slos=SLOS,
    )


def _measured(
    impact: Impact, settings: ProofSettings, stop: threading.Event, counts: Callable[[], int] | None
) -> Figures:
    if counts is not None:
        counts()
    outcome = run_scenarios(
        [scenario_of(impact)], RunSettings(seed=settings.seed, baseline=False), lambda event: None, stop
    )
    if stop.is_set():
        raise RunError("it was stopped before its end")
    if outcome.trouble is not None:
        raise outcome.trouble
    return figures_of(outcome.report.items[0], None if counts is None else counts())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# The comparison of two versions of a service under the same fault.


Judgement: TypeAlias = Literal["improved", "same", "worse", "not exercised", "inconclusive"]

_CRASH = 500
"""Status of an unhandled error in common frameworks."""
_CLEARLY = 0.8
"""The slowest response must come down to this share to count as faster."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Measurements of one version under one fault."""

    requests: int
    answered: int
    """Calls that got an HTTP response before their caller gave up."""
    statuses: dict[int, int]
    failures: dict[str, int]
    p50_ms: float
    p95_ms: float
    max_ms: float
    slos_missed: tuple[str, ...]
    injected: int
    upstream_requests: int | None
    """Requests that the dependency received, if it is the stub."""
    doubt: str = ""
    """Why the run decides nothing; empty if it does."""

    @property
    def bounded(self) -> bool:
        """Whether every caller got a response."""
        return 0 < self.requests == self.answered

    @property
    def succeeded(self) -> int:
        return sum(count for status, count in self.statuses.items() if status < 400)

    @property
    def crashed(self) -> int:
        return self.statuses.get(_CRASH, 0)

    def sentence(self) -> str:
        """Return the comparison as a short sentence."""
        if not self.requests:
            return "no request was made"
        if not self.answered:
            return f"none of {self.requests} calls had an answer in time"
        statuses = ", ".join(f"{count} × {status}" for status, count in sorted(self.statuses.items()))
        whole = "all" if self.bounded else f"{self.answered} of {self.requests}"
        slow = f"the slowest after {self.max_ms / 1000:.1f} s"
        return f"{whole} answered ({statuses}), {slow}"

    def document(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "answered": self.answered,
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "failures": self.failures,
            "p50_ms": round(self.p50_ms, 1),
            "p95_ms": round(self.p95_ms, 1),
            "max_ms": round(self.max_ms, 1),
            "slos_missed": list(self.slos_missed),
            "injected": self.injected,
            "upstream_requests": self.upstream_requests,
            "doubt": self.doubt,
        }


@dataclass(frozen=True, slots=True)
class FaultComparison:
    """Both versions under one fault."""

    fault: str
    """`healthy`, or the fault: `blackhole`, `latency of 2 s`."""
    before: Figures
    after: Figures
    judgement: Judgement
    reason: str

    def document(self) -> dict[str, Any]:
        return {
            "fault": self.fault,
            "judgement": self.judgement,
            "reason": self.reason,
            "before": self.before.document(),
            "after": self.after.document(),
        }


def figures_of(item: ItemReport, upstream_requests: int | None) -> Figures:
    """Return the figures of one run."""
    run = item.run
    at = {each.percent: each.ms for each in run.response.percentiles}
    statuses = {status: count for status, count in run.statuses.items() if status}
    doubt = "; ".join(item.reasons) if item.verdict in ("inconclusive", "unfinished") else ""
    return Figures(
        run.requests,
        sum(statuses.values()),
        statuses,
        dict(run.failures),
        at.get(50.0, 0.0),
        at.get(95.0, 0.0),
        run.response.max_ms,
        tuple(each.slo.title for each in item.slos if each.passed is False),
        sum(fault.injected for fault in item.faults),
        upstream_requests,
        doubt,
    )


def compare(fault: str, before: Figures, after: Figures, *, healthy: bool) -> FaultComparison:
    """Compare both versions under one fault."""
    judgement, why = _judge(before, after, healthy=healthy)
    reason = f"{why}. Before: {before.sentence()}. After: {after.sentence()}."
    return FaultComparison(fault, before, after, judgement, reason)


def _judge(before: Figures, after: Figures, *, healthy: bool) -> tuple[Judgement, str]:
    doubt = before.doubt or after.doubt
    if doubt:
        return "inconclusive", f"The run decides nothing: {doubt}"
    if not before.requests or not after.requests:
        return "inconclusive", "A run without requests decides nothing"
    if not healthy and not (before.injected and after.injected):
        return "not exercised", "The fault never acted: the service did not call through the proxy"
    if healthy and not before.succeeded:
        return "inconclusive", "Without a fault no call succeeds: try another --route or the real --upstream"
    # Failing fast is no gain where the old version would have succeeded.
    answered, succeeded = _gain(before, after, "answered"), _gain(before, after, "succeeded")
    if answered * succeeded < 0:
        return "inconclusive", f"{_MORE[answered > 0]} get an answer, {_MORE[succeeded > 0].lower()} succeed"
    for name, was, now in (
        ("left without an answer", before.requests - before.answered, after.requests - after.answered),
        ("failing", before.requests - before.succeeded, after.requests - after.succeeded),
        ("answered by an unhandled error (500)", before.crashed, after.crashed),
    ):
        old, new = was / before.requests, now / after.requests
        if new < old:
            return "improved", f"Fewer calls are {name}: {was} of {before.requests}, now {now}"
        if new > old:
            return (
                "worse",
                f"More calls are {name}: {was} of {before.requests}, now {now} of {after.requests}",
            )
    if healthy:
        return "same", "Without a fault both answer"
    if after.max_ms < before.max_ms * _CLEARLY:
        return "improved", "The slowest answer comes clearly sooner"
    if before.max_ms < after.max_ms * _CLEARLY:
        return "worse", "The slowest answer comes clearly later"
    return "same", "Both do as well"


_MORE = ("Fewer calls", "More calls")


def _gain(before: Figures, after: Figures, what: str) -> float:
    """Return the change of a share of the calls; negative if it became smaller."""
    share: float = getattr(after, what) / after.requests - getattr(before, what) / before.requests
    return share


def overall_judgement(compared: tuple[FaultComparison, ...]) -> Judgement:
    """Judge all faults: worse if one is, improved only if all were exercised and at least one is better."""
    found = {each.judgement for each in compared}
    for judgement in ("worse", "inconclusive", "not exercised", "improved"):
        if judgement in found:
            return judgement
    return "same"
