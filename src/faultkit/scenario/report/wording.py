"""The words of a report: verdicts, strategies, expectations, objectives. One wording for all formats.

Where the original's reports have a wording, it is kept, so that scripts that read them go on working.
"""

from __future__ import annotations

from faultkit.base.numbers import NO_NUMBER, decimals, duration, percentage, percentile_name, shortest
from faultkit.base.text import count_of
from faultkit.base.units import format_duration
from faultkit.load.slo import Slo, SloResult
from faultkit.scenario.report.report_model import Expectation, Report, Strategy, Verdict

VERDICTS: dict[Verdict, str] = {
    "passed": "Passed",
    "failed": "Failed",
    "inconclusive": "Inconclusive",
    "not exercised": "Not exercised",
    "unfinished": "Unfinished",
}


def _span(seconds: float) -> str:
    """Return a duration as users write it. A results file may hold any figure, and none may stop a report."""
    try:
        return format_duration(seconds)
    except ValueError:
        return f"{shortest(seconds)}s"


def strategy_text(strategy: Strategy, *, original: bool = False) -> str:
    """Return the strategy in the original's words; with `original` to the letter, including `1 clients`."""
    if strategy.mode == "single":
        return "single shot"

    def many(number: int, noun: str) -> str:
        return f"{number} {noun}s" if original else count_of(number, noun)

    if strategy.mode == "repeat":
        return f"repeat {many(strategy.count, 'time')} with a step of {shortest(strategy.step)}"
    begin = f"load for {_span(strategy.duration_s)} with {many(strategy.clients, 'client')}"
    return (
        f"{begin} @ {shortest(strategy.rps)} RPS"
        if strategy.rps is not None
        else f"{begin}, as fast as may be"
    )


def strategy_details(strategy: Strategy) -> tuple[str, ...]:
    """Return details of the strategy that the original's reports do not have."""
    if strategy.mode == "single":
        return ()
    if strategy.mode == "repeat":
        details = [f"stepped: {strategy.stepped}"] if strategy.stepped else []
        details += ["a baseline call without faults goes first"] if strategy.baseline_call else []
        details += [f"{shortest(strategy.wait_ms)} ms between calls"] if strategy.wait_ms else []
        return (*details, "the first failure ends it") if strategy.failfast else tuple(details)
    models = {
        "open": "open model: requests start when they are due",
        "closed": "closed model: each client waits for its answer",
    }
    kept = "connections are kept" if strategy.keep_alive else "a new connection for each request"
    ramp = (f"rising for {_span(strategy.ramp_s)}",) if strategy.ramp_s else ()
    return (models[strategy.model], kept, *ramp)


def expectation_text(expectation: Expectation) -> str:
    """Return an expectation in the original's words."""
    under, status = expectation.response_time_under_ms, expectation.status
    parts = []
    if under is not None:
        parts.append(f"Response time Under {shortest(under)}ms")
    if status is not None:
        parts.append(f"Status Code {status}")
    if expectation.all_slo_are_valid:
        parts.append("All SLO are valid")
    return " | ".join(parts) or NO_NUMBER


def objective_text(slo: Slo) -> str:
    """Return an objective: `99% < 350ms`, for errors `99% < 1%`, for availability `99.9% available`."""
    window = f" (each {_span(slo.window_s)})" if slo.window_s is not None else ""
    if slo.threshold is None:
        return f"{shortest(slo.objective)}% available{window}"
    unit = "%" if slo.kind == "error" else "ms"
    return f"{shortest(slo.objective)}% < {shortest(slo.threshold)}{unit}{window}"


def margin_text(result: SloResult) -> str:
    """Return the margin to the limit: `Below by 77.5ms`; `-` if nothing was measured or decided.

    Times and errors must stay below their limit, availability above it.
    """
    if result.passed is None or result.margin is None:
        return NO_NUMBER
    size = abs(result.margin)
    amount = f"{decimals(size, 1)}ms" if result.slo.kind == "latency" else f"{decimals(size)}%"
    below = result.passed is not (result.slo.kind == "availability")
    return f"{'Below' if below else 'Above'} by {amount}"


def tally(report: Report) -> str:
    """Return the verdicts counted: `3 items: 1 passed, 2 failed`."""
    verdicts = [item.verdict for item in report.items]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts]
    return ": ".join([count_of(len(verdicts), "item"), *([", ".join(counts)] if counts else [])])


def slo_title(slo: Slo) -> str:
    """Return the title of an objective, or the objective itself if it has none."""
    asks = objective_text(slo) if slo.kind == "latency" else f"{slo.kind} {objective_text(slo)}"
    return slo.title.strip() or asks


def slo_limit(slo: Slo) -> float:
    """Return the limit: milliseconds for a latency, otherwise percent of bad requests."""
    if slo.kind == "latency":
        return slo.threshold or 0.0
    if slo.kind == "error":
        return min(100.0 if slo.threshold is None else slo.threshold, 100 - slo.objective)
    return 100 - slo.objective


def slo_used(result: SloResult) -> float | None:
    """Return how much of the limit was used, in the same unit."""
    if result.measured is None:
        return None
    return 100 - result.measured if result.slo.kind == "availability" else result.measured


def slo_measured(result: SloResult) -> str:
    """Return the measured value: `p95 269 ms`, `2.4 % errors`, `97.1 % good`; `p95 without answer` if too
    many requests failed."""
    if result.measured is None:
        none = result.total == 0
        return "nothing to judge" if none else f"{percentile_name(result.slo.objective)} without answer"
    return {
        "latency": f"{percentile_name(result.slo.objective)} {duration(result.measured)}",
        "error": f"{percentage(result.measured)} errors",
        "availability": f"{percentage(result.measured)} good",
    }[result.slo.kind]
