"""The part of the report on one item, from its measurements: figures, objectives, verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultkit.base.secrets import mask_headers, mask_rule, mask_url
from faultkit.base.text import count_of
from faultkit.load.doubts import Doubts, doubts, doubts_about_baseline
from faultkit.load.impact import impact
from faultkit.load.response import Failure
from faultkit.load.samples import Sample
from faultkit.load.slo import Slo, judge_all
from faultkit.load.summary import sending_time
from faultkit.plan import Rule, dump_rule
from faultkit.proxy.data_plane import Snapshot
from faultkit.scenario.measure import Measurements
from faultkit.scenario.report import report_model as report
from faultkit.scenario.report.fault_description import describe
from faultkit.scenario.scenario_model import (
    Call,
    Expect,
    Item,
    LoadStrategy,
    Repeat,
    Single,
    Strategy,
    WrittenFault,
)
from faultkit.scenario.verdict import Evidence, judge

RARE = 0.01
"""A fault that acts on fewer requests than this share is worth a warning."""


def assemble(
    item: Item,
    measured: Measurements,
    after: Snapshot,
    *,
    gates: Sequence[Slo],
    started_at: str,
    routes: Sequence[str],
    cut_short: str | None,
) -> report.Item:
    """Return the report of an item.

    `after`: the proxies' counts at the end. `gates`: objectives that must hold besides the item's own."""
    load = item.strategy.load if isinstance(item.strategy, LoadStrategy) else None
    duration_s = None if load is None else load.duration_s
    run = measured.faults.summary(load, total_s=measured.faults_s)
    baseline, before = None, Doubts()
    if measured.baseline is not None:
        baseline = measured.baseline.summary(load, total_s=measured.baseline_s)
        before = doubts_about_baseline(baseline, load)
    slos = judge_all((*item.slos, *gates), measured.faults, sending_time(load, measured.faults_s), load)
    must_hold = slos if item.expect.all_slo_are_valid else slos[len(item.slos) :]
    faults = tuple(fault_of(fault, duration_s, after.injected) for fault in item.faults)
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
        call_of(item.call),
        strategy_of(item),
        faults,
        expectation_of(item.expect),
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


def _calls(item: Item, measured: Measurements) -> tuple[report.CallResult, ...]:
    expects = item.expect.status is not None or item.expect.response_time_under_ms is not None
    return tuple(
        call_result_of(
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


WHOLE = ((0.0, 1.0),)
_MOST_WINDOWS = 500


def call_of(call: Call) -> report.Call:
    """Return the call for the report, without secrets."""
    return report.Call(
        call.method,
        mask_url(call.url),
        None if call.timeout_s is None else call.timeout_s * 1000,
        mask_headers(dict(call.headers)),
        bool(call.body),
        call.operation_id,
    )


def strategy_of(item: Item) -> report.Strategy:
    """Return the strategy for the report."""
    strategy: Strategy = item.strategy
    match strategy:
        case Single():
            return report.Strategy("single")
        case Repeat():
            stepped = ", ".join(
                f"{item.faults[number].written}.{setting}" for number, setting in strategy.stepped
            )
            return report.Strategy(
                "repeat",
                count=strategy.count,
                step=strategy.step,
                stepped=stepped or None,
                baseline_call=strategy.add_baseline_call,
                wait_ms=strategy.wait_s * 1000,
                failfast=strategy.failfast,
            )
        case LoadStrategy(load=load):
            return report.Strategy(
                "load",
                duration_s=load.duration_s,
                clients=strategy.clients,
                rps=strategy.rps,
                model=load.model,
                keep_alive=load.keep_alive,
                ramp_s=load.ramp_s,
            )


def fault_of(fault: WrittenFault, total_s: float | None, injected: Mapping[str, int]) -> report.Fault:
    """Return the fault for the report, with the count of its injections."""
    return report.Fault(
        fault.rule.fault.kind,
        fault.written,
        describe(fault.rule, fault.written),
        mask_rule(dump_rule(fault.rule)),
        shares(fault.rule, total_s),
        injected.get(fault.rule.name, 0),
    )


def shares(rule: Rule, total_s: float | None) -> tuple[tuple[float, float], ...]:
    """Return when the rule acts within a run of `total_s`, as shares of the run."""
    if total_s is None:
        return WHOLE
    windows = rule.schedule.resolve(total_s)
    found: list[tuple[float, float]] = []
    at = 0.0
    while at < total_s and len(found) < _MOST_WINDOWS:
        end = min(windows.next_change(at), total_s)
        if windows.active(at):
            found.append((at / total_s, end / total_s))
        at = end
    if at < total_s:  # Too many windows to draw: the rest counts as one.
        found.append((at / total_s, 1.0))
    return tuple(found)


def expectation_of(expect: Expect) -> report.Expectation:
    """Return the expectation for the report."""
    return report.Expectation(expect.status, expect.response_time_under_ms, expect.all_slo_are_valid)


def call_result_of(
    number: int,
    sample: Sample,
    *,
    baseline: bool,
    stepped_value: float | None,
    met: bool | None,
    why: str | None,
) -> report.CallResult:
    """Return one call for the report, with times in milliseconds."""
    return report.CallResult(
        number,
        baseline,
        stepped_value,
        sample.status,
        Failure(sample.failure).label if sample.failure else None,
        sample.total_s * 1000,
        first_byte_ms=_ms(sample.first_byte_s),
        dns_ms=_ms(sample.dns_s),
        connect_ms=_ms(sample.connect_s),
        tls_ms=_ms(sample.tls_s),
        received_bytes=sample.received,
        met=met,
        why=why,
    )


def _ms(seconds: float) -> float | None:
    return None if seconds != seconds else seconds * 1000  # nan: the phase did not take place
