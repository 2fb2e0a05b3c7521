"""Running scenarios: open the proxies, measure, judge, and say what came of it as a report.

A run that is stopped, or whose target cannot be reached, still gives its report, marked as partial.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Event as Flag

from faultkit import __version__
from faultkit.errors import TargetError
from faultkit.faults.stream.latency import Latency
from faultkit.load.conclusive import doubts as doubts_of
from faultkit.load.impact import impact
from faultkit.load.slo import Slo, judge_all
from faultkit.load.tally import Tally
from faultkit.plan import Plan
from faultkit.proxy.address import Endpoint
from faultkit.proxy.remote import PlaneProcess
from faultkit.proxy.snapshot import Snapshot
from faultkit.report import model as report
from faultkit.scenario import describe
from faultkit.scenario.measure import Measured, Meter
from faultkit.scenario.model import Item, Repeat, Scenario, Single, Sustained
from faultkit.scenario.progress import ItemBegan, ItemEnded, Watch
from faultkit.scenario.routes import origin_of, route_text, routes_of, target_of
from faultkit.scenario.verdict import Evidence, judge, unmet

_REACH_S = 5.0
_ONCE = Repeat(step=0.0, count=1, stepped=())


@dataclass(frozen=True, slots=True)
class Settings:
    seed: int | str = 0
    baseline: bool = True
    """Run each load once without its faults, to tell what they change."""
    workers: int = 1
    listen: Endpoint | None = None
    """Where the forward proxy stands; by default where it suits."""
    verify: bool = True
    slos: tuple[Slo, ...] = ()
    """For each item, besides its own."""


@dataclass(frozen=True, slots=True)
class Outcome:
    report: report.Report
    unreachable: str | None = None
    """Why a target could not be had, if one could not."""


def run_scenarios(
    scenarios: Sequence[Scenario],
    settings: Settings,
    watch: Watch = lambda event: None,
    stop: Flag | None = None,
) -> Outcome:
    stop = stop or Flag()
    started_at = _now()
    total = sum(len(scenario.items) for scenario in scenarios)
    done: list[report.Scenario] = []
    unreachable: str | None = None
    number = 0
    for scenario in scenarios:
        items: list[report.Item] = []
        for item in scenario.items:
            if stop.is_set():
                break
            number += 1
            watch(ItemBegan(number, total, scenario.title, item, _seconds(item, settings)))
            ran, why = _run_item(item, settings, watch, stop)
            unreachable = unreachable or why
            items.append(ran)
            watch(ItemEnded(ran))
        if items or not scenario.items:
            done.append(_scenario(scenario, items))
    partial = "it was stopped" if stop.is_set() else unreachable
    tool = f"faultkit {__version__}"
    return Outcome(report.Report(tool, started_at, _now(), settings.seed, tuple(done), partial), unreachable)


def _run_item(item: Item, settings: Settings, watch: Watch, stop: Flag) -> tuple[report.Item, str | None]:
    """What came of it, and why the target could not be reached, if it could not."""
    item = replace(item, slos=(*item.slos, *settings.slos))
    routes = routes_of(item, settings.listen, settings.verify)
    started_at = _now()
    with ExitStack() as stack:
        plane = stack.enter_context(PlaneProcess(Plan(seed=settings.seed)))
        ways: list[str] = []
        try:
            bound = {}
            for spec in routes.proxies:
                bound[spec.name] = plane.open_proxy(spec)
                ways.append(route_text(spec, bound[spec.name]))
            _reach(origin_of(item.call.url))
        except TargetError as error:
            why = str(error)
            return _assemble(item, Measured(), plane.snapshot(), started_at, ways, why), why
        target = target_of(item.call, routes, bound, settings.verify)
        meter = Meter(item, target, plane, settings.seed, watch, stop)
        match item.strategy:
            case Sustained():
                meter.load(item.strategy, baseline=settings.baseline, workers=settings.workers)
            case Repeat():
                meter.calls(item.strategy)
            case Single():
                meter.calls(_ONCE)
        cut_short = "the run was stopped before its end" if meter.measured.cut_short else None
        return _assemble(item, meter.measured, plane.snapshot(), started_at, ways, cut_short), None


def _assemble(
    item: Item,
    measured: Measured,
    after: Snapshot,
    started_at: str,
    ways: list[str],
    cut_short: str | None,
) -> report.Item:
    load = item.strategy.load if isinstance(item.strategy, Sustained) else None
    duration_s = None if load is None else load.duration_s
    run = measured.faults.summary(load, total_s=measured.faults_s)
    baseline = None
    if measured.baseline is not None:
        baseline = measured.baseline.summary(load, total_s=measured.baseline_s)
    slos = judge_all(item.slos, measured.faults, duration_s or measured.faults_s)
    faults = tuple(describe.fault_of(fault, duration_s, after.injected) for fault in item.faults)
    injection = _injection(measured.before, after)
    doubts = doubts_of(
        run, load, proxy_p99_ms=after.lateness.p99_us / 1000, least_delay_ms=_least_delay_ms(item)
    )
    missed = _missed(item, measured.faults)
    misses = [made for made in measured.calls if made.why_not is not None and not made.baseline]
    verdict, reasons = judge(
        Evidence(
            item.expect,
            run.requests,
            missed,
            misses[0].why_not if misses else None,
            slos,
            faults,
            doubts.reasons,
            cut_short,
        )
    )
    expects = item.expect.status is not None or item.expect.response_time_under_ms is not None
    calls = tuple(
        describe.call_result_of(
            number,
            made.sample,
            baseline=made.baseline,
            stepped_value=made.stepped_value,
            met=made.why_not is None if expects else None,
            why=made.why_not,
        )
        for number, made in enumerate(measured.calls)
    )
    return report.Item(
        describe.call_of(item.call),
        describe.strategy_of(item),
        faults,
        describe.expectation_of(item.expect),
        verdict,
        reasons,
        doubts.warnings,
        started_at,
        run,
        baseline,
        () if baseline is None else impact(baseline, run),
        slos,
        calls,
        missed,
        injection,
        tuple(ways),
    )


def _missed(item: Item, tally: Tally) -> int:
    return unmet(item.expect, tally.samples)


def _injection(before: Snapshot | None, after: Snapshot) -> report.Injection:
    def grown(name: str) -> int:
        now: int = sum(getattr(proxy, name) for proxy in after.proxies)
        return now - sum(getattr(proxy, name) for proxy in before.proxies) if before else now

    late = after.lateness
    return report.Injection(
        grown("accepted"),
        grown("requests"),
        sum(after.injected.values()),
        late.count,
        late.p50_us,
        late.p99_us,
        late.max_us,
    )


def _least_delay_ms(item: Item) -> float | None:
    delays = [fault.rule.fault.mean_ms for fault in item.faults if isinstance(fault.rule.fault, Latency)]
    return min(delays, default=None)


def _reach(origin: Endpoint) -> None:
    """One TCP connection, at once closed: is there anybody?"""
    try:
        socket.create_connection((origin.host, origin.port), _REACH_S).close()
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise TargetError(f"cannot reach {origin}: {why}") from None


def _scenario(scenario: Scenario, items: list[report.Item]) -> report.Scenario:
    return report.Scenario(
        scenario.title, scenario.description, scenario.file, scenario.document, tuple(items)
    )


def _seconds(item: Item, settings: Settings) -> float:
    if not isinstance(item.strategy, Sustained):
        return 0.0
    turns = 2 if settings.baseline and item.faults else 1
    return item.strategy.load.duration_s * turns


def _now() -> str:
    return datetime.now(UTC).isoformat()
