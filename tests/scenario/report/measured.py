"""Reports with the figures of simulated services, for the tests of the HTML report and the review.

A service is a function from the start of a request to its outcome. Arrivals, summaries, impact and objectives
are the real ones, so the figures are consistent like those of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from faultkit.base.rng import Rng
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.latency import Latency
from faultkit.load.impact import impact
from faultkit.load.load import Load, instants
from faultkit.load.response import Failure
from faultkit.load.samples import Sample, Samples
from faultkit.load.slo import Slo, judge_all
from faultkit.load.tally import Tally
from faultkit.plan import Rule, Trigger, dump_rule
from faultkit.scenario.report.report_model import (
    InjectionSummary,
    ItemReport,
    Report,
    ReportedCall,
    ReportedExpectation,
    ReportedFault,
    ReportedStrategy,
    ScenarioReport,
    Verdict,
)
from faultkit.scenario.report.wording import describe_rule

Service: TypeAlias = Callable[[float, Rng], tuple[float, Failure]]
"""Takes the start of a request in seconds; returns its response time in ms and its failure."""

STARTED = "2026-03-04T09:15:00.25Z"
ENDED = "2026-03-04T09:16:42.5Z"
TIMEOUT_MS = 3000.0
WHOLE = ((0.0, 1.0),)
BEHIND = ("127.0.0.1:7072 → 127.0.0.1:5432",)
"""Routes to a dependency of the service."""
BEFORE = ("127.0.0.1:40123 → any host (HTTP proxy; faults act on 127.0.0.1:9090)",)
"""Routes to the service itself, the default."""


def healthy(_: float, rng: Rng) -> tuple[float, Failure]:
    return 9 + rng.pareto(3, 3.5), Failure.NONE


def added(delay_ms: float, start_s: float = 0.0, end_s: float = 1e9, times: float = 1) -> Service:
    """Return a service that is slower by `times` the delay between two instants."""

    def serve(at: float, rng: Rng) -> tuple[float, Failure]:
        ms, _ = healthy(at, rng)
        extra = rng.normal(delay_ms, delay_ms / 12) * times if start_s <= at < end_s else 0.0
        return ms + max(extra, 0.0), Failure.NONE

    return serve


def failing(share: float, start_s: float, end_s: float, failure: Failure, took_ms: float = 8.0) -> Service:
    """Return a service that fails a share of the requests between two instants."""

    def serve(at: float, rng: Rng) -> tuple[float, Failure]:
        if start_s <= at < end_s and rng.chance(share):
            return took_ms + rng.uniform(), failure
        return healthy(at, rng)

    return serve


def _tally(serve: Service, load: Load, key: str) -> Tally:
    rng = Rng.keyed(key)
    tally, samples = Tally(), Samples()
    for at in instants(load):
        ms, failure = serve(at, rng)
        status = {Failure.NONE: 200, Failure.STATUS: 503}.get(failure, 0)
        samples.append(
            Sample(
                intended=at,
                started=at + 0.00008,
                total_s=ms / 1000,
                first_byte_s=ms / 1000 - 0.0004 if status else float("nan"),
                connect_s=0.0003,
                status=status,
                failure=failure,
                received=212 if status else 0,
            )
        )
    tally.add(samples)
    return tally


def fault(rule: Rule, injected: int, windows: tuple[tuple[float, float], ...] = WHOLE) -> ReportedFault:
    return ReportedFault(
        rule.fault.kind,
        rule.fault.kind,
        describe_rule(rule, rule.fault.kind),
        dump_rule(rule),
        windows,
        injected,
    )


def load_item(
    serve: Service,
    *faults: ReportedFault,
    slos: tuple[Slo, ...] = (),
    verdict: Verdict = "passed",
    duration_s: float = 20.0,
    rps: float = 50.0,
    before: Service | None = healthy,
    url: str = "http://127.0.0.1:9090/orders",
    routes: tuple[str, ...] = BEHIND,
) -> ItemReport:
    load = Load(duration_s, rps)
    run = _tally(serve, load, "run")
    baseline = _tally(before, load, "baseline").summary(load, total_s=duration_s) if before else None
    summary = run.summary(load, total_s=duration_s + 0.02)
    injected = sum(each.injected for each in faults)
    return ItemReport(
        call=ReportedCall("GET", url, TIMEOUT_MS, {"Accept": "application/json"}, has_body=False),
        strategy=ReportedStrategy("load", duration_s=duration_s, clients=1, rps=rps),
        faults=faults,
        expectation=ReportedExpectation(all_slo_are_valid=True) if slos else ReportedExpectation(),
        verdict=verdict,
        reasons=(),
        warnings=(),
        started_at=STARTED,
        run=summary,
        baseline=baseline,
        impact=impact(baseline, summary) if baseline else (),
        slos=judge_all(slos, run, duration_s),
        calls=(),
        expectation_failures=0,
        injection=InjectionSummary(
            2 * summary.requests, 2 * summary.requests, injected, injected, 64.0, 231.0, 512.0
        ),
        routes=routes,
    )


def report_of(*items: ItemReport, title: str = "Orders survive a slow warehouse") -> Report:
    scenario = ScenarioReport(
        title, "What a customer sees when the warehouse is slow.", "orders.yaml", 1, items
    )
    return Report("faultkit 0.1.0", STARTED, ENDED, 42, (scenario,))


SLOW = Rule("latency", Latency(mean_ms=120, stddev_ms=10))
DARK = Rule("blackhole", Blackhole())
ERRORS = Rule("http_error", HttpError(status=503), trigger=Trigger(probability=0.2))
PROMISES = (
    Slo("latency", "", 95, 200),
    Slo("latency", "Nearly all within 100 ms", 99, 100),
    Slo("error", "", 99, 1),
    Slo("availability", "Three nines", 99.9, 500),
)


def spike() -> ItemReport:
    item = load_item(
        added(120, 5, 12),
        fault(SLOW, 350, ((0.25, 0.6),)),
        slos=PROMISES,
        verdict="failed",
    )
    return replace(
        item,
        reasons=("SLO Nearly all within 100 ms: p99 was 156 ms, at most 100 ms was wanted",),
        expectation_failures=1,
    )


def hole() -> ItemReport:
    item = load_item(
        failing(1.0, 6, 9, Failure.TIMEOUT, TIMEOUT_MS),
        fault(DARK, 150, ((0.3, 0.45),)),
        slos=PROMISES[2:],
        verdict="failed",
        url="http://127.0.0.1:9090/stock?sku=4711",
    )
    return replace(item, reasons=("2 SLOs were missed",), expectation_failures=1)


def flaky() -> ItemReport:
    return load_item(
        failing(0.2, 0, 20, Failure.STATUS),
        fault(ERRORS, 201),
        url="http://127.0.0.1:9090/cart",
    )


def one_request() -> ItemReport:
    return load_item(added(120), fault(SLOW, 1), duration_s=1, rps=1, slos=PROMISES[:1])


def zero_baseline() -> ItemReport:
    """Return an item whose baseline figures are all 0, as those of a mock may nearly be."""
    return load_item(added(120), fault(SLOW, 1000), before=lambda _, __: (0.0, Failure.NONE))


def long_run() -> ItemReport:
    return load_item(added(40), fault(SLOW, 7200), duration_s=3600, rps=2)


def many(count: int = 200) -> Report:
    """Return a report in which every third item fails, so that some cards are open and some folded."""
    good = load_item(added(20), fault(SLOW, 200), duration_s=10, rps=20, slos=PROMISES[:1])
    bad = load_item(failing(0.3, 2, 6, Failure.RESET), fault(DARK, 24, ((0.2, 0.6),)), duration_s=10, rps=20)
    bad = replace(bad, verdict="failed", reasons=("30 requests failed",))
    items = [
        replace(item, call=replace(item.call, url=f"http://127.0.0.1:9090/operations/{number}"))
        for number in range(count)
        for item in ([bad] if number % 3 == 0 else [good])
    ]
    half = count // 2
    scenarios = (
        ScenarioReport("Reads", None, "api.yaml", 1, tuple(items[:half])),
        ScenarioReport("Writes", None, "api.yaml", 2, tuple(items[half:])),
    )
    return Report("faultkit 0.1.0", STARTED, ENDED, 7, scenarios)


SHOWCASE = report_of(spike(), hole(), flaky())
EDGES = report_of(one_request(), zero_baseline(), long_run(), title="Edges")
