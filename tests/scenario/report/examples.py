"""Handwritten reports of every kind, for the tests of renderers.

Figures come from short lists of times and plain sums, so that a renderer's test needs no load engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, floor, sin
from statistics import fmean, pstdev

from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.load.impact import Difference
from faultkit.load.slo import Slo, SloResult
from faultkit.load.summary import Distribution, Part, Percentile, Slice, Starts, Summary
from faultkit.plan import Match, Rule, Trigger, dump_rule, parse_schedule
from faultkit.scenario.report.report_model import (
    CallResult,
    InjectionSummary,
    ItemReport,
    Report,
    ReportedCall,
    ReportedExpectation,
    ReportedFault,
    ReportedStrategy,
    ScenarioReport,
)
from faultkit.scenario.report.wording import describe_rule

TOOL = "faultkit 0.1.0"
PERCENTS = (25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
CURVE = (0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.9)
ON_TIME = Starts(dropped=0, late=0, p50_ms=0.05, p99_ms=0.4, max_ms=1.2)
NO_TIMES = Distribution(0, 0.0, 0.0, 0.0, 0.0, tuple(Percentile(p, 0.0, 0, 0.0, 0.0) for p in PERCENTS), ())


def waving(count: int, low_ms: float, swing_ms: float) -> list[float]:
    """Return times that look like measured ones and are the same in every run."""
    return [round(low_ms + swing_ms * (0.5 + 0.5 * sin(0.7 * i)) ** 2, 3) for i in range(count)]


def distribution(times_ms: Sequence[float]) -> Distribution:
    if not times_ms:
        return NO_TIMES
    ordered = sorted(times_ms)
    count = len(ordered)

    def at(percent: float) -> tuple[float, int]:
        place = (count + 1) * percent / 100
        below = ordered[min(max(floor(place), 1), count) - 1]
        above = ordered[min(max(floor(place) + 1, 1), count) - 1]
        return below + (above - below) * (place % 1), min(max(ceil(place), 1), count)

    return Distribution(
        count=count,
        min_ms=ordered[0],
        max_ms=ordered[-1],
        mean_ms=fmean(ordered),
        stddev_ms=pstdev(ordered),
        percentiles=tuple(
            Percentile(p, at(p)[0], at(p)[1], at(max(p - 4, 0.0))[0], at(min(p + 4, 100.0))[0], count)
            for p in PERCENTS
        ),
        curve=tuple((p, at(p)[0]) for p in CURVE),
    )


def summary(
    times_ms: Sequence[float],
    *,
    total_s: float,
    target_rps: float | None = None,
    failures: dict[str, int] | None = None,
    queued_ms: float = 0.0,
    starts: Starts = ON_TIME,
) -> Summary:
    """Return a summary of `times_ms` from the intended start; `queued_ms` of each are before the send."""
    lost = failures or {}
    errors, count = sum(lost.values()), len(times_ms)
    service = [max(ms - queued_ms, 0.1) for ms in times_ms]
    statuses = {200: count - errors, 503: lost.get("status_5xx", 0)}
    part = distribution([ms / 10 for ms in service])
    return Summary(
        requests=count,
        errors=errors,
        failures=lost,
        statuses={status: answers for status, answers in statuses.items() if answers},
        target_rps=target_rps,
        achieved_rps=count / total_s if total_s else 0.0,
        total_s=total_s,
        received_bytes=212 * (count - errors),
        response=distribution(times_ms),
        service=distribution(service),
        parts=tuple(
            Part(name, part.count, part.mean_ms, part.percentiles[1].ms, part.percentiles[4].ms, part.max_ms)
            for name in ("dns", "connect", "first_byte")
            if count
        ),
        timeline=_timeline(times_ms, errors, total_s),
        starts=starts,
    )


def _timeline(times_ms: Sequence[float], errors: int, total_s: float) -> tuple[Slice, ...]:
    """Return ten slices; all errors fall into the fourth."""
    width = len(times_ms) // 10
    if not width:
        return ()
    slices = []
    for number in range(10):
        times = distribution(times_ms[number * width : (number + 1) * width])
        slices.append(
            Slice(
                start_s=number * total_s / 10,
                width_s=total_s / 10,
                requests=width,
                errors=errors if number == 3 else 0,
                p50_ms=times.percentiles[1].ms,
                p95_ms=times.percentiles[4].ms,
                max_ms=times.max_ms,
            )
        )
    return tuple(slices)


def difference(name: str, unit: str, baseline: float, fault: float, half: float) -> Difference:
    gap = fault - baseline
    return Difference(name, unit, baseline, fault, gap, gap - half, gap + half)


def impact(baseline: Summary, run: Summary) -> tuple[Difference, ...]:
    before, after = baseline.response, run.response
    rows = [difference("mean", "ms", before.mean_ms, after.mean_ms, 4.2)]
    rows += [
        difference(f"p{percent:g}", "ms", before.percentiles[i].ms, after.percentiles[i].ms, 9.5)
        for i, percent in enumerate(PERCENTS)
        if percent in (50.0, 95.0, 99.0)
    ]
    shares = [100 * each.errors / each.requests for each in (baseline, run)]
    return (*rows, difference("errors", "%", shares[0], shares[1], 1.3))


def applied(
    rule: Rule, written: str, injected: int, windows: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
) -> ReportedFault:
    return ReportedFault(
        kind=rule.fault.kind,
        written=written,
        description=describe_rule(rule, written),
        rule=dump_rule(rule),
        windows=windows,
        injected=injected,
    )


SLOW = Rule("latency", Latency(mean_ms=300, stddev_ms=20))
SHAKY = Rule("jitter", Jitter(amplitude_ms=150, frequency_hz=5))
PULSES = Rule(
    "latency",
    Latency(mean_ms=150),
    schedule=parse_schedule("start:10%,duration:15%;start:40%,duration:15%;start:70%,duration:15%"),
)
BROKEN = Rule("http_error", HttpError(status=503), trigger=Trigger(probability=0.05))
LOST = Rule("packet_loss", PacketLoss(), match=Match(side="client", direction="egress"))
DARK = Rule("blackhole", Blackhole(), match=Match(direction="egress"))

_CALL = ReportedCall("GET", "http://localhost:9090/", 10_000, {}, has_body=False)
_QUIET = InjectionSummary(0, 0, 0, 0, 0.0, 0.0, 0.0)
_STARTED = "2025-06-27T14:14:36.689011165Z"
_ENDED = "2025-06-27T14:14:47.020905358Z"


def report(*items: ItemReport, title: str = "Example", partial: str | None = None) -> Report:
    scenario = ScenarioReport(title, None, "example.yaml", 1, items)
    return Report(TOOL, _STARTED, _ENDED, 42, (scenario,), partial)


def _sample() -> Report:
    """Return the sample of the original's documentation: its figures only."""
    figures = {25: (133.61, 8), 50: (199.92, 16), 75: (235.69, 24), 95: (269.28, 31), 99: (272.49, 31)}
    times = Distribution(
        count=31,
        min_ms=83.65,
        max_ms=272.49,
        mean_ms=199.92,
        stddev_ms=58.1,
        percentiles=tuple(Percentile(p, ms, n, ms, ms) for p, (ms, n) in figures.items()),
        curve=tuple((float(p), ms) for p, (ms, _) in figures.items()),
    )
    run = replace(
        summary([100.0] * 31, total_s=10.329, target_rps=3.0), response=times, service=times, parts=()
    )
    tight = Slo("latency", "95% @ 200ms", 95, 200)
    wide = Slo("latency", "99% @ 350ms", 99, 350)
    item = ItemReport(
        call=replace(_CALL, url="http://localhost:9090"),
        strategy=ReportedStrategy("load", duration_s=10, clients=1, rps=3),
        faults=(applied(SHAKY, "jitter", 31),),
        expectation=ReportedExpectation(),
        verdict="passed",
        reasons=(),
        warnings=(),
        started_at=_STARTED,
        run=run,
        baseline=None,
        impact=(),
        slos=(
            SloResult(wide, True, 272.49, 77.51, 0, 31),
            SloResult(tight, False, 269.28, -69.28, 15, 31),
        ),
        calls=(),
        expectation_failures=0,
        injection=InjectionSummary(31, 31, 31, 31, 61.0, 240.0, 380.0),
        routes=("127.0.0.1:3180 → any host",),
    )
    return report(item, title="Evaluating runtime performance of http://localhost:9090")


def _single() -> ItemReport:
    run = summary([312.4], total_s=0.3124)
    call = CallResult(0, False, None, 200, None, 312.4, 311.9, 0.21, 0.11, None, 230, True)
    return ItemReport(
        call=ReportedCall(
            "POST",
            "https://xxxxxx@shop.example/orders?token=xxxxxx&page=2",
            None,
            {"Authorization": "xxxxxx", "Content-Type": "application/json"},
            has_body=True,
            operation_id="create_order",
        ),
        strategy=ReportedStrategy("single"),
        faults=(applied(SLOW, "latency", 1),),
        expectation=ReportedExpectation(status=200, response_time_under_ms=490),
        verdict="passed",
        reasons=(),
        warnings=(),
        started_at=_STARTED,
        run=run,
        baseline=None,
        impact=(),
        slos=(),
        calls=(call,),
        expectation_failures=0,
        injection=InjectionSummary(1, 0, 1, 1, 55.0, 55.0, 55.0),
        routes=("127.0.0.1:3180 → shop.example:443",),
    )


def _repeat() -> ItemReport:
    times = [110.0, 210.5, 311.2, 409.9, 510.3]
    calls = [CallResult(0, True, None, 200, None, 11.2, 10.9, None, 0.1, None, 230, None)]
    for number, ms in enumerate(times, 1):
        met = ms <= 490
        calls.append(
            CallResult(
                number,
                False,
                100.0 * number,
                200,
                None,
                ms,
                ms - 0.4,
                None,
                0.1,
                None,
                230,
                met,
                None if met else f"response time: expected under 490 ms, got {ms:.2f} ms",
            )
        )
    return ItemReport(
        call=_CALL,
        strategy=ReportedStrategy(
            "repeat", count=5, step=100, stepped="latency.mean_ms", baseline_call=True, wait_ms=50
        ),
        faults=(applied(Rule("latency", Latency(mean_ms=100, stddev_ms=30)), "latency", 5),),
        expectation=ReportedExpectation(status=200, response_time_under_ms=490),
        verdict="failed",
        reasons=("Call 5: response time: expected under 490 ms, got 510.30 ms",),
        warnings=(),
        started_at=_STARTED,
        run=summary(times, total_s=1.802),
        baseline=summary([11.2], total_s=0.0112),
        impact=(),
        slos=(),
        calls=tuple(calls),
        expectation_failures=1,
        injection=InjectionSummary(6, 6, 5, 5, 58.0, 61.0, 61.0),
        routes=("127.0.0.1:3180 → localhost:9090",),
    )


def _load() -> ItemReport:
    """Return an item with three pulses of latency under load; its baseline has none."""
    before = waving(300, 9.0, 4.0)
    windows = ((0.1, 0.25), (0.4, 0.55), (0.7, 0.85))
    during = [
        ms + (150 if any(low <= i / 300 < high for low, high in windows) else 0)
        for i, ms in enumerate(waving(300, 9.0, 5.0))
    ]
    baseline = summary(before, total_s=10.012, target_rps=30.0)
    run = summary(during, total_s=10.158, target_rps=30.0, queued_ms=0.1)
    p95, p99 = run.response.percentiles[4].ms, run.response.percentiles[5].ms
    return ItemReport(
        call=_CALL,
        strategy=ReportedStrategy("load", duration_s=10, clients=3, rps=10, keep_alive=True, ramp_s=1),
        faults=(applied(PULSES, "latency", 135, windows),),
        expectation=ReportedExpectation(all_slo_are_valid=True),
        verdict="passed",
        reasons=(),
        warnings=(),
        started_at=_STARTED,
        run=run,
        baseline=baseline,
        impact=impact(baseline, run),
        slos=(
            SloResult(Slo("latency", "P95 < 300ms", 95, 300), True, p95, 300 - p95, 0, 300),
            SloResult(
                Slo("latency", "P99 < 300ms", 99, 300, window_s=5),
                True,
                p99,
                300 - p99,
                0,
                150,
                "150 requests are few for 99 %: at least 1000 are wanted",
                window_start_s=5.0,
            ),
            SloResult(Slo("error", "errors < 1%", 99, 1), True, 0.0, 1.0, 0, 300),
            SloResult(Slo("availability", "three nines", 99.9, 500), True, 100.0, 0.1, 0, 300),
        ),
        calls=(),
        expectation_failures=0,
        injection=InjectionSummary(600, 600, 135, 135, 62.0, 210.0, 420.0),
        routes=("127.0.0.1:3180 → localhost:9090",),
    )


def _failed() -> ItemReport:
    base = _load()
    baseline = summary(waving(160, 9.0, 4.0), total_s=8.011, target_rps=20.0)
    run = summary(
        waving(160, 9.0, 6.0),
        total_s=8.013,
        target_rps=20.0,
        failures={"status_5xx": 9, "reset": 2, "timeout": 1},
    )
    return replace(
        base,
        strategy=ReportedStrategy("load", duration_s=8, clients=5, rps=4),
        faults=(applied(BROKEN, "httperror", 9), applied(LOST, "packetloss", 31)),
        verdict="failed",
        reasons=("SLO errors < 1%: 7.5 % of the requests failed, less than 1 % was wanted",),
        run=run,
        baseline=baseline,
        impact=impact(baseline, run),
        slos=(
            SloResult(Slo("error", "errors < 1%", 99, 1), False, 7.5, -6.5, 12, 160),
            SloResult(Slo("availability", "99% good", 99, None), False, 92.5, -6.5, 12, 160),
        ),
        expectation_failures=1,
        injection=InjectionSummary(320, 320, 40, 31, 62.0, 230.0, 500.0),
    )


def _inconclusive() -> ItemReport:
    return replace(
        _load(),
        verdict="inconclusive",
        reasons=("4.0 % of the arrivals were dropped: more than 1 % makes the figures worthless",),
        warnings=("2.1 % of the starts were more than 10 ms late",),
        run=replace(
            summary(waving(288, 400.0, 900.0), total_s=11.9, target_rps=30.0, queued_ms=35.0),
            starts=Starts(dropped=12, late=6, p50_ms=0.4, p99_ms=38.0, max_ms=51.5),
            exact=False,
        ),
    )


def _not_exercised() -> ItemReport:
    return replace(
        _load(),
        faults=(applied(DARK, "blackhole", 0, ((0.45, 0.55),)),),
        verdict="not exercised",
        reasons=("No fault touched a request: is the service's traffic sent through the proxy?",),
        slos=(),
        impact=(),
        baseline=None,
        injection=_QUIET,
    )


def _unfinished() -> ItemReport:
    """Return an item whose target was unreachable from the first request on: it has no samples."""
    return replace(
        _load(),
        verdict="unfinished",
        reasons=("localhost:9090 cannot be reached: connection refused",),
        run=summary([], total_s=0.0, target_rps=30.0, starts=Starts(0, 0, 0.0, 0.0, 0.0)),
        baseline=None,
        impact=(),
        slos=(SloResult(Slo("latency", "P95 < 300ms", 95, 300), None, None, None, 0, 0),),
        injection=_QUIET,
        routes=(),
    )


def _hostile() -> Report:
    """Texts that would break a table, a document or a terminal if they were put in as they are."""
    evil = "a|b `c` <script>alert(1)</script> *d* \x1b[31m\n# e\x00 ]]> & \ufffe \"'"
    item = replace(
        _failed(),
        call=ReportedCall(
            "GET", "http://h/a|b`c`\n<d>?q=\x1b[0m", 1.5, {"X|`y`": evil}, has_body=False, operation_id=evil
        ),
        reasons=(evil,),
        warnings=(evil,),
        routes=(evil,),
        slos=(SloResult(Slo("latency", evil, 99.99, 0.25), False, 1.0, -0.75, 3, 160, evil),),
        faults=(replace(applied(BROKEN, "httperror", 9), written=evil, description=evil),),
        calls=(replace(_single().calls[0], failure=evil, why=evil, status=0, met=False, first_byte_ms=None),),
    )
    scenario = ScenarioReport(evil, evil, evil, 2, (item,))
    return Report(TOOL, _STARTED, _ENDED, "a|b`\n", (scenario,), partial=evil)


SAMPLE = _sample()
SINGLE = report(_single(), title="A slow shop")
REPEAT = report(_repeat(), title="Latency in steps of 100 ms")
LOAD = report(_load(), title="Pulses of latency")
FAILED = report(_failed(), title="Errors and loss")
INCONCLUSIVE = report(_inconclusive(), title="More load than the machine can give")
NOT_EXERCISED = report(_not_exercised(), title="A hole that no request met")
ZERO_SAMPLES = report(_unfinished(), title="No server")
PARTIAL = report(_single(), _unfinished(), title="Cut short", partial="interrupted after 1 of 3 items")
EMPTY = Report(TOOL, _STARTED, _STARTED, 0, ())
HOSTILE = _hostile()
ALL_KINDS = Report(
    TOOL,
    _STARTED,
    _ENDED,
    "a seed in words",
    (
        ScenarioReport(
            "Calls", "One call, and some that grow slower.", "calls.yaml", 1, (_single(), _repeat())
        ),
        ScenarioReport("Loads", None, "loads.yaml", 1, (_load(), _failed())),
        ScenarioReport(
            "What proves nothing",
            None,
            "loads.yaml",
            2,
            (_inconclusive(), _not_exercised(), _unfinished()),
        ),
    ),
)

EXAMPLES: dict[str, Report] = {
    "sample": SAMPLE,
    "single": SINGLE,
    "repeat": REPEAT,
    "load": LOAD,
    "failed": FAILED,
    "inconclusive": INCONCLUSIVE,
    "not-exercised": NOT_EXERCISED,
    "zero-samples": ZERO_SAMPLES,
    "partial": PARTIAL,
    "empty": EMPTY,
    "hostile": HOSTILE,
    "all-kinds": ALL_KINDS,
}
