"""Builds the report of one item from its measurements: figures, objectives, verdict. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from faultkit.base.secrets import mask_headers, mask_rule, mask_url
from faultkit.base.text import count_of
from faultkit.base.units import format_duration
from faultkit.faults.connection.refuse import Refuse
from faultkit.load.doubts import Doubts, doubts, doubts_about_baseline
from faultkit.load.expectation import Expectation
from faultkit.load.impact import impact
from faultkit.load.late_margin import Limits, is_decided
from faultkit.load.load import Load, planned_requests
from faultkit.load.response import Failure
from faultkit.load.samples import Sample
from faultkit.load.slo import Slo, judge_all, undecided
from faultkit.load.summary import Summary, sending_time
from faultkit.plan import Rule, dump_rule
from faultkit.proxy.data_plane import Snapshot
from faultkit.scenario.measure import Measurements
from faultkit.scenario.report import report_model as report
from faultkit.scenario.report.wording import describe_rule
from faultkit.scenario.routes import time_limit_s
from faultkit.scenario.scenario_model import (
    Call,
    LoadStrategy,
    McpCall,
    RepeatStrategy,
    ScenarioItem,
    SearchStrategy,
    SingleStrategy,
    Strategy,
    WrittenFault,
)
from faultkit.scenario.verdict import VerdictEvidence, judge_item, why_no_success

CANNOT_FAIL = "Nothing is expected of this item, so it cannot fail."
_OUT_OF_REACH = "The proxies were out of reach, so some requests may have met no proxy, or no fault."
RARE = 0.01
"""A fault that acts on a smaller share of the requests than this gets a warning."""


def item_report(
    item: ScenarioItem,
    measured: Measurements,
    after: Snapshot,
    *,
    gates: Sequence[Slo],
    started_at: str,
    routes: Sequence[str],
    cut_short: str | None,
    out_of_reach: str | None = None,
    measures_only: bool = False,
) -> report.ItemReport:
    """Return the report of an item.

    `after`: the proxies' counts at the end. `gates`: objectives that must hold besides the item's own.
    `out_of_reach`: why it is not known what the faults did.
    `measures_only`: the verdict is not used, so it needs no warning that the item cannot fail.
    """
    planned = item.strategy.load if isinstance(item.strategy, LoadStrategy) else None
    load = _sent_load(planned, measured)
    duration_s = None if planned is None else planned.duration_s
    run = measured.faults.summary(load, total_s=measured.faults_s)
    baseline, before = None, Doubts()
    if measured.baseline is not None:
        baseline = measured.baseline.summary(planned, total_s=measured.baseline_s)
        before = doubts_about_baseline(baseline, planned, measured.baseline.lost or 0)
    run_s = sending_time(load, measured.faults_s)
    slos = judge_all((*item.slos, *gates), measured.faults, run_s, load)
    if out_of_reach is not None:
        slos = tuple(undecided(result, _OUT_OF_REACH) for result in slos)
    must_hold = slos if item.expect.all_slo_are_valid else slos[len(item.slos) :]
    missed = bool(measured.faults.misses.count) or any(result.passed is False for result in must_hold)
    injected = dict(after.injected) if missed else _without_unseen(item.faults, run, after)
    faults = tuple(reported_fault(fault, duration_s, injected) for fault in item.faults)
    injection = injection_summary(measured.before, after, sum(injected.values()))
    delays = (fault.rule.fault.least_delay_ms for fault in item.faults)
    least_delay_ms = min((delay for delay in delays if delay is not None), default=None)
    limits = Limits(
        [result.slo for result in must_hold],
        item.expect.response_time_under_ms,
        time_limit_s(item.call) * 1000,
        missed=missed,
    )
    found = doubts(
        run,
        load,
        lateness=measured.lateness,
        least_delay_ms=least_delay_ms,
        proxy_shortages=_grown("shortages", measured.before, after),
        lost=_unmeasured(load, measured),
        is_decided=lambda late: is_decided(limits, late, run, measured.faults, run_s, load),
    )
    baseline_call = next((call for call in measured.calls if call.baseline), None)
    before_faults = baseline if baseline_call is None else baseline_call.sample
    verdict, reasons = judge_item(
        VerdictEvidence(
            item.expect,
            calls=run.requests,
            unmet=measured.faults.misses.count,
            first_miss=measured.faults.misses.first,
            slos=must_hold,
            faults=faults,
            doubts=found.reasons,
            cut_short=cut_short,
            out_of_reach=out_of_reach,
            baseline_miss=None if baseline_call is None else baseline_call.why_not,
            no_success=why_no_success(
                item.expect,
                run,
                before_faults,
                item.faults,
                injected,
                calls_tool=isinstance(item.call, McpCall),
            ),
            connections=injection.connections,
            lost=measured.faults.lost,
        )
    )
    return report.ItemReport(
        call=reported_call(item.call),
        strategy=reported_strategy(item),
        faults=faults,
        expectation=reported_expectation(item.expect),
        verdict=verdict,
        reasons=reasons,
        warnings=(
            *measured.warnings,
            *_ended_early(planned, measured),
            *found.warnings,
            *before.warnings,
            *_caveats(item),
            *_rare_fault_warnings(faults, run.requests),
            *([CANNOT_FAIL] if not (measures_only or gates or _expects(item)) else ()),
        ),
        started_at=started_at,
        run=run,
        baseline=baseline,
        impact=() if baseline is None else impact(baseline, run),
        slos=slos,
        calls=_calls(item, measured),
        expectation_failures=measured.faults.misses.count,
        injection=injection,
        routes=tuple(routes),
        degraded=tuple(_degraded(load, measured)),
    )


def _sent_load(planned: Load | None, measured: Measurements) -> Load | None:
    """Return the load up to the moment at which it ended, if that was early."""
    if planned is None or measured.decided_s is None:
        return planned
    return replace(planned, duration_s=min(measured.decided_s, planned.duration_s))


def _unmeasured(load: Load | None, measured: Measurements) -> int:
    """Return how many requests of the schedule have no result: those of lost workers, and those that were
    under way when the load ended early."""
    lost = measured.faults.lost or 0
    if load is None or measured.decided_s is None:
        return lost
    return max(lost, (planned_requests(load) or 0) - measured.faults.requests - measured.faults.dropped)


def _ended_early(planned: Load | None, measured: Measurements) -> Iterator[str]:
    if planned is not None and measured.decided_s is not None:
        after, whole = format_duration(round(measured.decided_s, 1)), format_duration(planned.duration_s)
        yield f"The load ended after {after} of {whole}: by then all objectives were decided."


def _degraded(load: Load | None, measured: Measurements) -> Iterator[report.Degraded]:
    if load is None:
        return
    planned = planned_requests(load)
    if measured.baseline is not None and measured.baseline_lost:
        yield report.Degraded("baseline", planned, measured.baseline.requests, measured.baseline_lost)
    if measured.faults_lost:
        yield report.Degraded("faults", planned, measured.faults.requests, measured.faults_lost)


def _without_unseen(faults: Sequence[WrittenFault], run: Summary, after: Snapshot) -> dict[str, int]:
    """Return the injections of each rule, without those of shut ports to which no connection was seen.

    A port that `refuse` shuts counts as one injection, because the kernel does not report whom it refuses. It
    is one only if something uses the port: a connection came while it was open, or a call was refused."""
    injected = dict(after.injected)
    if run.failures.get(Failure.REFUSED.label):
        return injected
    for fault in faults:
        rule = fault.rule
        used = any(proxy.accepted for proxy in after.proxies if rule.match.covers_proxy(proxy.name))
        if rule.fault.kind == Refuse.kind and not used:
            injected[rule.name] = 0
    return injected


def _calls(item: ScenarioItem, measured: Measurements) -> tuple[report.CallResult, ...]:
    expects = item.expect.of_calls
    return tuple(
        call_result(
            number,
            call.sample,
            baseline=call.baseline,
            stepped_value=call.stepped_value,
            met=call.why_not is None if expects else None,
            why=call.why_not,
        )
        for number, call in enumerate(measured.calls)
    )


def _expects(item: ScenarioItem) -> bool:
    return item.expect.of_calls or bool(item.expect.all_slo_are_valid)


def _caveats(item: ScenarioItem) -> list[str]:
    faults = [fault.rule.fault for fault in item.faults]
    return [f"{fault.kind}: {why}." for fault in faults if (why := fault.caveat())]


def _rare_fault_warnings(faults: Sequence[report.ReportedFault], requests: int) -> list[str]:
    return [
        f"{fault.written} acted {count_of(fault.injected, 'time')} in {requests} requests: too rare to tell."
        for fault in faults
        if 0 < fault.injected < RARE * requests
    ]


def _grown(name: str, before: Snapshot | None, after: Snapshot) -> int:
    """Return by how much a counter of all proxies has grown since the faults began."""
    now: int = sum(getattr(proxy, name) for proxy in after.proxies)
    return now - sum(getattr(proxy, name) for proxy in before.proxies) if before else now


def injection_summary(before: Snapshot | None, after: Snapshot, injected: int) -> report.InjectionSummary:
    """Return the counts of the proxies since the faults began."""
    late = after.lateness
    return report.InjectionSummary(
        connections=_grown("accepted", before, after),
        requests=_grown("requests", before, after),
        injected=injected,
        releases=late.count,
        lateness_p50_us=late.p50_us,
        lateness_p99_us=late.p99_us,
        lateness_max_us=late.max_us,
    )


WHOLE_RUN = ((0.0, 1.0),)
"""The windows of a rule that acts from the start of a run to its end."""
_MOST_WINDOWS = 500


def reported_call(call: Call) -> report.ReportedCall:
    """Return the call for the report, without secrets."""
    if isinstance(call, McpCall):
        return report.ReportedCall(
            call.method,
            call.place,
            None if call.timeout_s is None else call.timeout_s * 1000,
            mask_headers(dict(call.headers)),
            call.arguments != "{}",
            call.operation_id,
        )
    return report.ReportedCall(
        call.method,
        mask_url(call.url),
        None if call.timeout_s is None else call.timeout_s * 1000,
        mask_headers(dict(call.headers)),
        bool(call.body),
        call.operation_id,
    )


def reported_strategy(item: ScenarioItem) -> report.ReportedStrategy:
    """Return the strategy for the report."""
    strategy: Strategy = item.strategy
    match strategy:
        case SingleStrategy():
            return report.ReportedStrategy("single")
        case RepeatStrategy():
            stepped = ", ".join(
                f"{item.faults[number].written}.{setting}" for number, setting in strategy.stepped
            )
            return report.ReportedStrategy(
                "repeat",
                count=strategy.count,
                step=strategy.step,
                stepped=stepped or None,
                baseline_call=strategy.add_baseline_call,
                wait_ms=strategy.wait_s * 1000,
                failfast=strategy.failfast,
            )
        case LoadStrategy(load=load):
            return report.ReportedStrategy(
                "load",
                duration_s=load.duration_s,
                clients=strategy.clients,
                rps=strategy.rps,
                model=load.model,
                # A server over stdio keeps its pipes.
                keep_alive=load.keep_alive or not item.call.url,
                ramp_s=load.ramp_s,
            )
        case SearchStrategy(load=load):
            return report.ReportedStrategy(
                "search",
                stepped=" and ".join(varied.path for varied in strategy.settings),
                duration_s=strategy.budget_s or 0.0,
                clients=strategy.clients,
                rps=strategy.rps,
                model=load.model,
                keep_alive=load.keep_alive or not item.call.url,
            )


def reported_fault(
    fault: WrittenFault, total_s: float | None, injected: Mapping[str, int]
) -> report.ReportedFault:
    """Return the fault for the report, with the count of its injections."""
    return report.ReportedFault(
        fault.rule.fault.kind,
        fault.written,
        describe_rule(fault.rule, fault.written),
        mask_rule(dump_rule(fault.rule)),
        active_windows(fault.rule, total_s),
        injected.get(fault.rule.name, 0),
    )


def active_windows(rule: Rule, total_s: float | None) -> tuple[tuple[float, float], ...]:
    """Return when the rule acts within a run of `total_s`, as shares of the run."""
    if total_s is None:
        return WHOLE_RUN
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


def reported_expectation(expect: Expectation) -> report.ReportedExpectation:
    """Return the expectation for the report."""
    return report.ReportedExpectation(expect.status, expect.response_time_under_ms, expect.all_slo_are_valid)


def call_result(
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
