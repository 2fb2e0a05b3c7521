"""The figures of one item that a review is based on: phases, recovery, place of the faults, and whether the
baseline is sound. Pure.

Every format shows a warning about the baseline first: if a service fails without any fault, the rest of the
report proves nothing about faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from urllib.parse import urlsplit

from faultkit.base.address import LOOPBACK_NAMES, UpstreamSet
from faultkit.base.errors import InputError
from faultkit.base.numbers import duration, percentage, share_of, shortest
from faultkit.base.sample_statistics import proportion_interval
from faultkit.base.text import counted
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.drawn_delay import DrawnDelay
from faultkit.faults.fault import Fault, StreamFault
from faultkit.faults.http.http_drip import HttpDrip
from faultkit.faults.http.http_slow_headers import HttpSlowHeaders
from faultkit.faults.tls.tls_slow_handshake import TlsSlowHandshake
from faultkit.load.doubts import LATE_RELEASE_MS
from faultkit.load.slo import Slo, SloResult
from faultkit.load.summary import Distribution, Slice, Summary
from faultkit.plan.plan_keys import parse_rule
from faultkit.plan.rule import Rule
from faultkit.scenario.report.report_model import ItemReport, Report
from faultkit.scenario.report.wording import slo_limit, slo_title

CHANCY = ("corrupt", "dropped_delta", "packet_loss")
"""Kinds of faults that decide at random for each piece of data."""

_SLACK = 1.5
_SLACK_MS = 5.0
_BY_CHANCE = 0.05
"""A claim is not made if chance alone explains it with a higher probability."""
_OVERHANG = 0.05
"""The share of a slice that may lie beyond the edge of a window: slices and windows are not aligned."""


def rules_of(item: ItemReport) -> tuple[Rule, ...]:
    """Return the rules that were applied, without those that this version cannot read."""
    found = []
    for fault in item.faults:
        try:
            found.append(parse_rule(fault.rule))
        except InputError:
            continue
    return tuple(found)


def makes_requests_fail(fault: Fault) -> bool:
    """Return whether a fault makes a request or connection fail when it acts, rather than slow.

    False for faults of LLM APIs: whether half an answer is a failure depends on what reads it."""
    if isinstance(fault, StreamFault):
        return fault.lossy
    if fault.level == "llm":
        return False
    return not isinstance(fault, DrawnDelay | HttpDrip | HttpSlowHeaders | SlowAccept | TlsSlowHandshake)


def hangs_on_chance(item: ItemReport) -> bool:
    """Return whether chance decides if a call is hit, by a probability or a loss rate.

    A rule that this version cannot read counts as one.
    """
    rules = rules_of(item)
    if len(rules) < len(item.faults) or any(rule.trigger.probability != 1 for rule in rules):
        return True
    stepped = (item.strategy.stepped or "").split(", ")
    return any(rule.fault.kind in CHANCY for rule in rules) or any(
        each.endswith("probability") for each in stepped
    )


def reasons_text(item: ItemReport) -> str:
    """Return the reasons of the verdict as sentences."""
    return " ".join(reason.rstrip(".") + "." for reason in item.reasons)


# Phases of a run


@dataclass(frozen=True, slots=True)
class Phases:
    """The slices that lie completely before, in, and after the windows in which faults acted."""

    before: tuple[Slice, ...]
    during: tuple[Slice, ...]
    after: tuple[Slice, ...]


def duration_s(item: ItemReport) -> float:
    """Return how long the run of an item was."""
    ends = [each.start_s + each.width_s for each in item.run.timeline]
    return item.strategy.duration_s or max(ends, default=0.0)


def windows_s(item: ItemReport) -> tuple[tuple[float, float], ...]:
    """Return when any fault acted, in seconds and in order; windows that touch are merged."""
    length = duration_s(item)
    merged: list[tuple[float, float]] = []
    for start, end in sorted(window for fault in item.faults for window in fault.windows):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple((start * length, end * length) for start, end in merged)


def phases(item: ItemReport) -> Phases:
    """Return the slices of a run before, during and after the faults."""
    windows = windows_s(item)
    slices = [each for each in item.run.timeline if each.requests]
    if not windows:
        return Phases(tuple(slices), (), ())
    return Phases(
        tuple(each for each in slices if _end(each) <= windows[0][0]),
        tuple(
            each
            for each in slices
            if any(start <= _begin(each) and _end(each) <= end for start, end in windows)
        ),
        tuple(each for each in slices if _begin(each) >= windows[-1][1]),
    )


def _begin(each: Slice) -> float:
    return each.start_s + _OVERHANG * each.width_s


def _end(each: Slice) -> float:
    return each.start_s + (1 - _OVERHANG) * each.width_s


def weighted_median(slices: Sequence[Slice], of: Callable[[Slice], float]) -> float | None:
    """Return the median over slices, weighted by their requests; None without requests."""
    total = sum(each.requests for each in slices)
    passed = 0
    for value, requests in sorted((of(each), each.requests) for each in slices):
        passed += requests
        if 2 * passed >= total:
            return value
    return None


def requests_and_errors(slices: Iterable[Slice]) -> tuple[int, int]:
    """Return how many requests and errors the slices hold."""
    rows = list(slices)
    return sum(each.requests for each in rows), sum(each.errors for each in rows)


# Recovery


@dataclass(frozen=True, slots=True)
class Recovery:
    """The slowest recovery after a window of faults."""

    after_s: float
    """When the faults stopped."""
    took_s: float | None
    """None: no recovery before the next window, or the end of the run."""
    watched_s: float
    resolution_s: float
    """The width of a slice, which limits the precision."""


@dataclass(frozen=True, slots=True)
class _NormalFigures:
    """The normal figures of the service without faults."""

    p95_ms: float
    errors: float
    """The highest share of errors that counts as normal."""
    noise: float
    """The share of fault-free slices that are not normal by these figures: noise."""


def recovery(item: ItemReport) -> Recovery | None:
    """Return the slowest recovery after a window of faults.

    None if there is no fault-free time afterwards, nothing to compare with, or nothing to recover from.
    """
    windows, found = windows_s(item), phases(item)
    normal = _normal_figures(item, found)
    if normal is None or all(_is_normal(each, normal) for each in found.during) or not found.during:
        return None
    slices = [each for each in item.run.timeline if each.requests]
    last = max(duration_s(item), slices[-1].start_s + slices[-1].width_s)
    starts = [*(start for start, _ in windows[1:]), last]
    watched = []
    for (_, end), until in zip(windows, starts, strict=True):
        free = [each for each in slices if _begin(each) >= end and _end(each) <= until]
        if free:
            recovered = next((each for each in free if _is_normal(each, normal)), None)
            if recovered is None and normal.noise ** len(free) > _BY_CHANCE:
                return None
            took = None if recovered is None else max(0.0, recovered.start_s - end)
            watched.append(Recovery(end, took, until - end, free[0].width_s))
    return max(watched, key=lambda each: (each.took_s is None, each.took_s or 0.0), default=None)


def _normal_figures(item: ItemReport, found: Phases) -> _NormalFigures | None:
    quiet = found.before
    if item.baseline is not None and item.baseline.timeline:
        quiet = tuple(each for each in item.baseline.timeline if each.requests)
    p95_ms = weighted_median(quiet, lambda each: each.p95_ms)
    if p95_ms is None:
        return None
    requests, errors = requests_and_errors(quiet)
    limit = proportion_interval(errors, requests).high if errors else 0.0
    normal = _NormalFigures(p95_ms, limit, 0.0)
    noise = sum(not _is_normal(each, normal) for each in quiet)
    return replace(normal, noise=noise / len(quiet))


def _is_normal(each: Slice, normal: _NormalFigures) -> bool:
    if each.errors and proportion_interval(each.errors, each.requests).low >= normal.errors:
        return False
    return each.p95_ms <= _SLACK * normal.p95_ms + _SLACK_MS


# Lateness of Faultkit itself, and the place of the faults


def off_schedule(item: ItemReport) -> bool:
    """Return whether Faultkit itself was late or dropped requests, in the run or in its baseline."""
    runs = [item.run, *([item.baseline] if item.baseline else [])]
    if any(run.starts.dropped or run.starts.late for run in runs):
        return True
    return item.injection.lateness_p99_us > 1000 * LATE_RELEASE_MS


_ACT_ON = "faults act on "


def behind_service(item: ItemReport) -> bool:
    """Return whether the faults were between the service and a dependency, and none between clients and the
    service.

    False if the routes do not show it: the review names no dependency that the report does not name. The
    advice depends on it, because a service cannot time out on a call that it does not make.
    """
    service = _service_address(item.call.url)
    routes = [route.partition(" → ") for route in item.routes]
    known = [(listen, to) for listen, arrow, to in routes if arrow]
    if service is None or not known:
        return False
    return not any(_covers(listen, service) or _leads_to(to, service) for listen, to in known)


def _service_address(url: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname else None


def _leads_to(to: str, service: tuple[str, int]) -> bool:
    """Return whether a route leads to the service.

    `to` is `HOST:PORT`, or `any host (HTTP proxy; faults act on HOST:PORT, …)`.
    """
    _, named, hosts = to.partition(_ACT_ON)
    if not named:
        return to.startswith("any host") or _covers(to, service)
    return hosts.startswith("any host") or _covers(hosts.removesuffix(")"), service)


def _covers(hosts: str, service: tuple[str, int]) -> bool:
    """Return whether the hosts include the service; hosts that cannot be read may."""
    try:
        broken = UpstreamSet.parse([hosts])
    except InputError:
        return True
    host, port = service
    names = LOOPBACK_NAMES if host in LOOPBACK_NAMES else (host,)
    return any(broken.covers(name, port) for name in names)


# The baseline


_NAMED = 3
"""A warning names this many items and counts the others."""


def baseline_errors(item: ItemReport) -> str | None:
    """Return the errors in words: `80 of 80 requests (100 %) failed`; None if there were none."""
    baseline = item.baseline
    errors = baseline.errors if baseline else 0
    # An expected server error is not an error.
    if baseline and item.expectation.status in range(500, 600):
        errors -= baseline.failures.get("status_5xx", 0)
    if baseline is None or errors <= 0:
        return None
    whole = counted(baseline.requests, "request")
    return f"{errors:,} of {whole} ({share_of(errors, baseline.requests)}) failed"


def baseline_misses(item: ItemReport) -> tuple[str, ...]:
    """Return the objectives that the baseline misses: `95% < 5ms: 12.1 ms in the baseline`."""
    baseline = item.baseline
    if baseline is None or not baseline.requests:
        return ()
    return tuple(text for result in item.slos if (text := _objective_missed(baseline, result)))


def _objective_missed(baseline: Summary, result: SloResult) -> str | None:
    slo = result.slo
    if slo.kind == "latency" and slo.threshold is not None:
        # A failed request counts as slower than every answer, however fast it failed.
        answered = 100 - error_percent(baseline)
        if answered < slo.objective:
            return f"{slo_title(slo)}: only {percentage(answered)} answered in the baseline"
        measured = percentile_ms(baseline.response, slo.objective)
        if measured is not None and measured > slo.threshold:
            return f"{slo_title(slo)}: {duration(measured)} in the baseline"
        return None
    if slo.kind not in ("error", "availability"):
        return _own_objective_missed(baseline, slo)
    # For availability with a time limit, a summary does not hold how many requests were in time.
    if error_percent(baseline) > slo_limit(slo):
        return f"{slo_title(slo)}: {percentage(error_percent(baseline))} errors in the baseline"
    return None


def _own_objective_missed(baseline: Summary, slo: Slo) -> str | None:
    """Return what the baseline misses of an objective for event streams, MCP tools or models.

    A summary has a few percentiles only; of others the next lower one is judged, so a miss is one."""
    stream, mcp, llm, requests = baseline.stream, baseline.mcp, baseline.llm, baseline.requests
    if slo.is_rate:
        # Of the rates, the one that 95 % reach is known: for a lower objective, a miss is not shown by it.
        rate = llm.rate_p5 if llm is not None and slo.objective >= 95 else 0.0
        is_missed = 0 < rate < (slo.threshold or 0.0)
        text = f"{slo_title(slo)}: {shortest(round(rate, 1))} tokens/s in the baseline"
        return text if is_missed else None
    if slo.is_time:
        spread = None if stream is None else stream.gaps if slo.kind == "gap" else stream.first_event
        if llm is not None:
            spread = llm.gaps if slo.kind == "token_gap" else llm.first_token
        if spread is None or not spread.count or slo.threshold is None:
            return None
        known = ((50, spread.p50_ms), (95, spread.p95_ms), (99, spread.p99_ms))
        measured = next((ms for percent, ms in reversed(known) if percent <= slo.objective), spread.min_ms)
        return f"{slo_title(slo)}: {duration(measured)} in the baseline" if measured > slo.threshold else None
    bad = mcp.levels["tool"] if mcp and slo.kind == "tool_error" else stream.early_ends if stream else 0
    if llm is not None:
        bad = llm.refusals if slo.kind == "refusal" else llm.early_ends
    percent = 100 * bad / requests
    if percent > slo_limit(slo):
        return f"{slo_title(slo)}: {percentage(percent)} {slo.kind.replace('_', ' ')}s in the baseline"
    return None


def baseline_warning(item: ItemReport) -> str | None:
    """Return a warning for one item; None if its baseline is sound or there is none."""
    errors, missed = baseline_errors(item), baseline_misses(item)
    parts = [*([errors] if errors else []), *([f"missed {'; '.join(missed)}"] if missed else [])]
    return f"Without any fault: {', '.join(parts)}." if parts else None


def baselines_warning(report: Report) -> str | None:
    """Return a warning for the head of a report; None if all baselines are sound."""
    found = [
        (number, baseline_errors(item) or "misses an objective")
        for number, item in enumerate(report.items, 1)
        if baseline_warning(item)
    ]
    if not found:
        return None
    named = [f"item {number} ({text})" for number, text in found[:_NAMED]]
    rest = [f"{len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return (
        f"The service fails without any fault already: {', '.join([*named, *rest])}. "
        "The effect of the faults cannot be judged from it."
    )


def percentile_ms(distribution: Distribution, percent: float) -> float | None:
    """Return any percentile, interpolated on the curve; None if nothing was measured."""
    if not distribution.count:
        return None
    known = sorted({*distribution.curve, *((each.percent, each.ms) for each in distribution.percentiles)})
    for (low, low_ms), (high, high_ms) in pairwise(known):
        if low <= percent <= high:
            return low_ms + (high_ms - low_ms) * ((percent - low) / (high - low) if high > low else 0.0)
    return distribution.max_ms if not known or percent > known[-1][0] else known[0][1]


def error_percent(summary: Summary) -> float:
    """Return the share of requests that failed, in percent."""
    return 100 * summary.errors / summary.requests if summary.requests else 0.0
