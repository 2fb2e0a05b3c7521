"""The words of a report: verdicts, strategies, expectations, objectives. One wording for all renderers.

Where the original's reports have a wording, it is theirs, so that scripts which read them go on working.
"""

from __future__ import annotations

from faultkit.base.numerals import NOTHING, decimals, short
from faultkit.base.units import format_duration
from faultkit.load.slo import Slo, SloResult
from faultkit.scenario.report.model import Expectation, Report, Strategy, Verdict

VERDICTS: dict[Verdict, str] = {
    "passed": "Passed",
    "failed": "Failed",
    "inconclusive": "Inconclusive",
    "not exercised": "Not exercised",
    "unfinished": "Unfinished",
}


def _span(seconds: float) -> str:
    """As users write it. Results may come from anywhere, and no figure of theirs may stop a report."""
    try:
        return format_duration(seconds)
    except ValueError:
        return f"{short(seconds)}s"


def strategy_text(strategy: Strategy, *, original: bool = False) -> str:
    """What is done, in the original's words; `original` to the letter, `1 clients` and all."""
    if strategy.mode == "single":
        return "single shot"

    def many(number: int, noun: str) -> str:
        return f"{number} {noun}s" if original else count_of(number, noun)

    if strategy.mode == "repeat":
        return f"repeat {many(strategy.count, 'time')} with a step of {short(strategy.step)}"
    begin = f"load for {_span(strategy.duration_s)} with {many(strategy.clients, 'client')}"
    return (
        f"{begin} @ {short(strategy.rps)} RPS" if strategy.rps is not None else f"{begin}, as fast as may be"
    )


def strategy_details(strategy: Strategy) -> tuple[str, ...]:
    """What the original has no words for."""
    if strategy.mode == "single":
        return ()
    if strategy.mode == "repeat":
        details = [f"stepped: {strategy.stepped}"] if strategy.stepped else []
        details += ["a baseline call without faults goes first"] if strategy.baseline_call else []
        details += [f"{short(strategy.wait_ms)} ms between calls"] if strategy.wait_ms else []
        return (*details, "the first failure ends it") if strategy.failfast else tuple(details)
    models = {
        "open": "open model: requests start when they are due",
        "closed": "closed model: each client waits for its answer",
    }
    kept = "connections are kept" if strategy.keep_alive else "a new connection for each request"
    ramp = (f"rising for {_span(strategy.ramp_s)}",) if strategy.ramp_s else ()
    return (models[strategy.model], kept, *ramp)


def expectation_text(expectation: Expectation) -> str:
    under, status = expectation.response_time_under_ms, expectation.status
    parts = []
    if under is not None:
        parts.append(f"Response time Under {short(under)}ms")
    if status is not None:
        parts.append(f"Status Code {status}")
    if expectation.all_slo_are_valid:
        parts.append("All SLO are valid")
    return " | ".join(parts) or NOTHING


def objective_text(slo: Slo) -> str:
    """`99% < 350ms`; of errors `99% < 1%`; of availability without a limit of time `99.9% available`."""
    window = f" (each {_span(slo.window_s)})" if slo.window_s is not None else ""
    if slo.threshold is None:
        return f"{short(slo.objective)}% available{window}"
    unit = "%" if slo.kind == "error" else "ms"
    return f"{short(slo.objective)}% < {short(slo.threshold)}{unit}{window}"


def margin_text(result: SloResult) -> str:
    """`Below by 77.5ms`: times and errors are to stay below what is allowed, availability above what is
    asked. Nothing where there was no answer to measure, or where it was not decided."""
    if result.passed is None or result.margin is None:
        return NOTHING
    size = abs(result.margin)
    amount = f"{decimals(size, 1)}ms" if result.slo.kind == "latency" else f"{decimals(size)}%"
    below = result.passed is not (result.slo.kind == "availability")
    return f"{'Below' if below else 'Above'} by {amount}"


def count_of(number: int, noun: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def tally(report: Report) -> str:
    """`3 items: 1 passed, 2 failed`."""
    verdicts = [item.verdict for item in report.items]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts]
    return ": ".join([count_of(len(verdicts), "item"), *([", ".join(counts)] if counts else [])])
