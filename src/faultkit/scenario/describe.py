"""An item in the words of a report: plain values from plain values. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from faultkit.base.secrets import mask_headers, mask_rule, mask_url
from faultkit.load.failure import Failure
from faultkit.load.samples import Sample
from faultkit.plan import Rule, dump_rule
from faultkit.scenario.model import Call, Expect, Item, Repeat, Single, Strategy, Sustained, WrittenFault
from faultkit.scenario.report import model as report
from faultkit.scenario.report.describe import describe

WHOLE = ((0.0, 1.0),)
_MOST_WINDOWS = 500


def call_of(call: Call) -> report.Call:
    return report.Call(
        call.method,
        mask_url(call.url),
        None if call.timeout_s is None else call.timeout_s * 1000,
        mask_headers(dict(call.headers)),
        bool(call.body),
        call.operation_id,
    )


def strategy_of(item: Item) -> report.Strategy:
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
        case Sustained(load=load):
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
    return report.Fault(
        fault.rule.fault.kind,
        fault.written,
        describe(fault.rule, fault.written),
        mask_rule(dump_rule(fault.rule)),
        shares(fault.rule, total_s),
        injected.get(fault.rule.name, 0),
    )


def shares(rule: Rule, total_s: float | None) -> tuple[tuple[float, float], ...]:
    """When the rule acts within a run of `total_s`, as shares of it."""
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
    if at < total_s:  # Too many to draw or to read: from here on it counts as acting throughout.
        found.append((at / total_s, 1.0))
    return tuple(found)


def expectation_of(expect: Expect) -> report.Expectation:
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
    return None if seconds != seconds else seconds * 1000  # nan: the part did not take place
