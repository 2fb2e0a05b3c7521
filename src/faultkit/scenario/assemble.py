"""From what was measured of an item to its part of the report: figures, objectives, verdict. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from faultkit.load.conclusive import Doubts, doubts, doubts_about_baseline
from faultkit.load.impact import impact
from faultkit.load.slo import Slo, judge_all
from faultkit.load.summarize import sending_time
from faultkit.proxy.snapshot import Snapshot
from faultkit.scenario import describe
from faultkit.scenario.measured import Measured
from faultkit.scenario.model import Item, Sustained
from faultkit.scenario.report import model as report
from faultkit.scenario.report.phrases import count_of
from faultkit.scenario.verdict import Evidence, judge

RARE = 0.01
"""A fault that acts on fewer requests than this share is worth a warning."""


def assemble(
    item: Item,
    measured: Measured,
    after: Snapshot,
    *,
    gates: Sequence[Slo],
    started_at: str,
    routes: Sequence[str],
    cut_short: str | None,
) -> report.Item:
    """`after`: the proxies' counts at the end. `gates`: objectives that must hold besides the item's own."""
    load = item.strategy.load if isinstance(item.strategy, Sustained) else None
    duration_s = None if load is None else load.duration_s
    run = measured.faults.summary(load, total_s=measured.faults_s)
    baseline, before = None, Doubts()
    if measured.baseline is not None:
        baseline = measured.baseline.summary(load, total_s=measured.baseline_s)
        before = doubts_about_baseline(baseline, load)
    slos = judge_all((*item.slos, *gates), measured.faults, sending_time(load, measured.faults_s), load)
    must_hold = slos if item.expect.all_slo_are_valid else slos[len(item.slos) :]
    faults = tuple(describe.fault_of(fault, duration_s, after.injected) for fault in item.faults)
    found = doubts(run, load, lateness=measured.lateness, least_delay_ms=_least_delay_ms(item))
    verdict, reasons = judge(
        Evidence(
            item.expect,
            run.requests,
            measured.missed,
            measured.first_miss,
            must_hold,
            faults,
            found.reasons,
            cut_short,
            next((made.why_not for made in measured.calls if made.baseline), None),
        )
    )
    return report.Item(
        describe.call_of(item.call),
        describe.strategy_of(item),
        faults,
        describe.expectation_of(item.expect),
        verdict,
        reasons,
        (*found.warnings, *before.warnings, *_rare(faults, run.requests)),
        started_at,
        run,
        baseline,
        () if baseline is None else impact(baseline, run),
        slos,
        _calls(item, measured),
        measured.missed,
        _injection(measured.before, after),
        tuple(routes),
    )


def _calls(item: Item, measured: Measured) -> tuple[report.CallResult, ...]:
    expects = item.expect.status is not None or item.expect.response_time_under_ms is not None
    return tuple(
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


def _rare(faults: Sequence[report.Fault], requests: int) -> list[str]:
    return [
        f"{fault.written} acted {count_of(fault.injected, 'time')} in {requests} requests: too rare to tell."
        for fault in faults
        if 0 < fault.injected < RARE * requests
    ]


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
    delays = (fault.rule.fault.least_delay_ms for fault in item.faults)
    return min((delay for delay in delays if delay is not None), default=None)
