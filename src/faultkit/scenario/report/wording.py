"""The words of a report: verdicts, strategies, expectations, objectives, faults. One wording for all formats.

Where the original's reports have a wording, it is kept, so that scripts that read them go on working:
`Jitter: ➡️🖧Amplitude: 150.00ms, Frequence 5.00Hz` and the forms of latency are the original's to the letter,
spelling included. Every other fault is described from its settings, so a new fault needs no line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from math import ceil, floor
from typing import Any

from faultkit.base.numbers import NO_NUMBER, decimals, duration, percentage, percentile_name, shortest
from faultkit.base.secrets import MASK, hide_secrets, mask_url
from faultkit.base.text import count_of, printable_line, shortened
from faultkit.base.units import format_duration
from faultkit.faults.distribution import table_of
from faultkit.faults.fault import Fault, StreamFault
from faultkit.load.slo import Slo, SloResult
from faultkit.plan import Direction, Match, Rule, Side, Trigger
from faultkit.scenario.report.frontier_wording import frontier_sentence
from faultkit.scenario.report.report_model import (
    Degraded,
    ItemReport,
    Report,
    ReportedExpectation,
    ReportedStrategy,
    Verdict,
)
from faultkit.scenario.report.search_wording import search_sentence

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


def result_sentence(item: ItemReport) -> str | None:
    """Return the result of a search in a few sentences; None if the item has none."""
    if item.search is not None:
        return search_sentence(item.search)
    return None if item.frontier is None else frontier_sentence(item.frontier)


def strategy_text(strategy: ReportedStrategy, *, original: bool = False) -> str:
    """Return the strategy in the original's words; with `original` to the letter, including `1 clients`."""
    if strategy.mode == "single":
        return "single shot"

    def many(number: int, noun: str) -> str:
        return f"{number} {noun}s" if original else count_of(number, noun)

    if strategy.mode == "repeat":
        return f"repeat {many(strategy.count, 'time')} with a step of {shortest(strategy.step)}"
    if strategy.mode == "search":
        budget = f" for {_span(strategy.duration_s)}" if strategy.duration_s else ""
        return f"search for the breaking point of {strategy.stepped}{budget}"
    begin = f"load for {_span(strategy.duration_s)} with {many(strategy.clients, 'client')}"
    return (
        f"{begin} @ {shortest(strategy.rps)} RPS"
        if strategy.rps is not None
        else f"{begin}, as fast as may be"
    )


def strategy_details(strategy: ReportedStrategy) -> tuple[str, ...]:
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


def expectation_text(expectation: ReportedExpectation) -> str:
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
    if slo.is_rate:
        return f"{shortest(slo.objective)}% ≥ {shortest(slo.threshold)} tokens/s{window}"
    unit = "%" if slo.is_share else "ms"
    return f"{shortest(slo.objective)}% < {shortest(slo.threshold)}{unit}{window}"


def margin_text(result: SloResult) -> str:
    """Return the margin to the limit: `Below by 77.5ms`; `-` if nothing was measured or decided.

    Times and errors must stay below their limit, availability above it.
    """
    if result.passed is None or result.margin is None:
        return NO_NUMBER
    size = abs(result.margin)
    amount = f"{decimals(size, 1)}ms" if result.slo.is_time else f"{decimals(size)}%"
    below = result.passed is not (result.slo.kind == "availability" or result.slo.is_rate)
    return f"{'Below' if below else 'Above'} by {amount}"


def verdict_counts(report: Report) -> str:
    """Return the verdicts counted: `3 items: 1 passed, 2 failed`."""
    verdicts = [item.verdict for item in report.items]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts]
    return ": ".join([count_of(len(verdicts), "item"), *([", ".join(counts)] if counts else [])])


def degraded_lines(item: ItemReport) -> tuple[str, ...]:
    """Return who was lost of an item's loads, when, and how much is missing; nothing if all was well."""
    return tuple(line for each in item.degraded for line in _degraded_load(each))


_LOADS = {"baseline": "The load without the faults", "faults": "The load with the faults"}


def _degraded_load(degraded: Degraded) -> Iterator[str]:
    lost = count_of(len(degraded.lost), "worker")
    planned = f" of {degraded.planned} planned" if degraded.planned is not None else ""
    yield f"{_LOADS[degraded.phase]} lost {lost}: {degraded.measured}{planned} requests were measured."
    for worker in degraded.lost:
        when = "before the start" if worker.at_s is None else f"{worker.at_s:.1f} s after the start"
        of_planned = f" of its {worker.planned}" if worker.planned is not None else ""
        yield (
            f"{worker.name} was lost {when} ({worker.why}): "
            f"{worker.measured}{of_planned} requests were measured."
        )


def slo_title(slo: Slo) -> str:
    """Return the title of an objective, or the objective itself if it has none."""
    asks = objective_text(slo) if slo.kind == "latency" else f"{slo.kind} {objective_text(slo)}"
    return slo.title.strip() or asks


def slo_limit(slo: Slo) -> float:
    """Return the limit: milliseconds for a time, otherwise percent of bad requests."""
    if slo.is_time:
        return slo.threshold or 0.0
    if slo.is_share:
        return min(100.0 if slo.threshold is None else slo.threshold, 100 - slo.objective)
    return 100 - slo.objective


def slo_used(result: SloResult) -> float | None:
    """Return how much of the limit was used, in the same unit."""
    if result.measured is None:
        return None
    is_good_share = result.slo.kind == "availability" or result.slo.is_rate
    return 100 - result.measured if is_good_share else result.measured


def slo_measured(result: SloResult) -> str:
    """Return the measured value: `p95 269 ms`, `2.4 % errors`, `97.1 % good`; `p95 without answer` if too
    many requests failed."""
    if result.measured is None:
        none = result.total == 0
        return "nothing to judge" if none else f"{percentile_name(result.slo.objective)} without answer"
    if result.slo.is_time:
        of = "" if result.slo.kind == "latency" else f"{result.slo.kind.replace('_', ' ')} "
        return f"{of}{percentile_name(result.slo.objective)} {duration(result.measured)}"
    if result.slo.is_share:
        return f"{percentage(result.measured)} {result.slo.kind.replace('_', ' ')}s"
    return f"{percentage(result.measured)} {'fast enough' if result.slo.is_rate else 'good'}"


# Faults: the settings of a rule, and when it acted


GLYPHS: dict[tuple[Side, Direction], str] = {
    ("server", "ingress"): "➡️🖧",
    ("server", "egress"): "⬅️🖧",
    ("server", "both"): "↔️🖧",
    ("client", "ingress"): "🖥️⬅️",
    ("client", "egress"): "🖥️➡️",
    ("client", "both"): "🖥️↔️",
}
_CAPITALS = {"dns": "DNS", "http": "HTTP", "llm": "LLM", "rto": "RTO", "rtt": "RTT", "to": "to"}
_SUFFIXES = {"_ms": "ms", "_us": "µs", "_hz": "Hz", "_bytes": " bytes"}
_LATENCY_SETTINGS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "normal": (("Mean", "mean_ms", " ms"), ("Stddev", "stddev_ms", " ms")),
    "uniform": (("Min", "min_ms", " ms"), ("Max", "max_ms", " ms")),
    "pareto": (("Shape", "shape", ""), ("Scale", "scale_ms", " ms")),
    "pareto-normal": (
        ("Mean", "mean_ms", " ms"),
        ("Stddev", "stddev_ms", " ms"),
        ("Shape", "shape", ""),
        ("Scale", "scale_ms", " ms"),
    ),
    "table": (),
}
_CELLS = 10
_LONGEST = 40


def describe_rule(rule: Rule, written: str) -> str:
    """Return what the rule does; `written` is the name of the fault in the user's file."""
    fault = rule.fault
    name = fault.kind if _letters(written) == _letters(fault.kind) else written
    glyph = GLYPHS[rule.match.side, rule.match.direction] if isinstance(fault, StreamFault) else ""
    own = _DESCRIPTIONS.get(fault.kind)
    body = own(glyph, fault) if own else _join_parts(glyph, _settings(fault))
    rest = [*_match(rule.match), *_trigger(rule.trigger)]
    return f"{_title(name)}: {_join_parts(body, rest)}".removesuffix(": ")


def _jitter(glyph: str, fault: Any) -> str:
    return f"{glyph}Amplitude: {fault.amplitude_ms:.2f}ms, Frequence {fault.frequency_hz:.2f}Hz"


def _latency(glyph: str, fault: Any) -> str:
    parts = [f"Per Read/Write Op.: {_value(fault.per == 'operation', '')}"]
    if fault.distribution != "normal":
        parts.append(f"Distribution: {fault.distribution}")
    parts += [
        f"{name}: {getattr(fault, field):.2f}{unit}"
        for name, field, unit in _LATENCY_SETTINGS[fault.distribution]
    ]
    if fault.distribution == "table":
        table = table_of(fault)
        parts += [f"P{percent}: {table.delay_ms(percent):.2f} ms" for percent in (50, 90, 99)]
    return _join_parts(glyph, parts)


def _bandwidth(glyph: str, fault: Any) -> str:
    rest = [part for part in _settings(fault) if not part.startswith(("Rate:", "Unit:"))]
    return _join_parts(glyph, [f"Rate: {shortest(fault.rate)} {fault.unit}", *rest])


def _packet_loss(glyph: str, fault: Any) -> str:
    shares = {
        "random": (("Rate", fault.rate),),
        "gilbert-elliott": (
            ("Good to Bad", fault.good_to_bad),
            ("Bad to Good", fault.bad_to_good),
            ("Good Loss", fault.good_loss),
            ("Bad Loss", fault.bad_loss),
        ),
    }.get(fault.model, ())
    drawn = [f"{name}: {shortest(100 * value)}%" for name, value in shares]
    listed = ("Rate:", "Good to Bad:", "Bad to Good:", "Good Loss:", "Bad Loss:")
    model, *rest = (part for part in _settings(fault) if not part.startswith(listed))
    return _join_parts(glyph, [model, *drawn, *rest])


_DESCRIPTIONS: dict[str, Callable[[str, Any], str]] = {
    "jitter": _jitter,
    "latency": _latency,
    "bandwidth": _bandwidth,
    "packet_loss": _packet_loss,
}


def _settings(fault: Fault) -> Iterator[str]:
    """Yield the settings that differ from their default, and always the first, the main one."""
    for place, field in enumerate(fields(fault)):
        value = getattr(fault, field.name)
        if value is None or (place and value == field.default):
            continue
        suffix = next((each for each in _SUFFIXES if field.name.endswith(each)), "")
        yield f"{_title(field.name.removesuffix(suffix))}: {_value(value, _SUFFIXES.get(suffix, ''))}"


def _match(match: Match) -> Iterator[str]:
    if match.methods:
        yield f"Method: {', '.join(match.methods)}"
    if match.path is not None:
        yield f"Path: {mask_url(match.path)}"
    if match.status:
        yield f"Status: {', '.join(match.status)}"
    if match.flow is not None:
        yield f"Flow: {match.flow}"
    if match.message is not None:
        yield f"Message: {match.message}"
    if match.model is not None:
        yield f"Model: {match.model}"
    if match.streamed is not None:
        yield f"Streamed: {_value(match.streamed, '')}"
    if match.tool_use is not None:
        yield f"Tool Use: {_value(match.tool_use, '')}"
    if match.headers:
        # Names only, because a value may be a secret.
        yield f"Headers: {', '.join(name for name, _ in match.headers)}"


def _trigger(trigger: Trigger) -> Iterator[str]:
    if trigger.probability != 1:
        yield f"Probability: {shortest(100 * trigger.probability)}%"
    if trigger.after:
        yield f"After: {trigger.after}"
    if trigger.first is not None:
        yield f"First: {trigger.first}"
    if trigger.every != 1:
        yield f"Every: {trigger.every}"


def _value(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return (f"{value:.2f}" if unit in ("ms", "µs", "Hz") else shortest(value)) + unit
    if isinstance(value, str):
        return shortened(printable_line(hide_secrets(value, MASK)), _LONGEST)
    if isinstance(value, tuple):
        return shortened(
            printable_line(hide_secrets(", ".join(f"{name} {each}" for name, each in value), MASK)), _LONGEST
        )
    return f"{value}{unit}"


def _join_parts(begin: str, parts: Sequence[str] | Iterator[str]) -> str:
    return ", ".join(part for part in (begin, *parts) if part)


def _title(name: str) -> str:
    words = name.replace("-", "_").split("_")
    return " ".join(_CAPITALS.get(word, word[:1].upper() + word[1:]) for word in words if word)


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def timeline_cell(windows: Sequence[tuple[float, float]]) -> str:
    """Return when a fault acted, as the original shows it."""
    return f"0% `{timeline_marks(windows)}` 100%"


def timeline_marks(windows: Sequence[tuple[float, float]], cells: int = _CELLS) -> str:
    """Return one character for each tenth of the run: `x` if the fault acted in any part of it."""
    marks = ["."] * cells
    for begin, end in windows:
        if not begin < end:
            continue
        # Rounded, so that 0.1 + 0.2 does not reach into the next cell; the shortest window still gets one.
        first = min(max(floor(round(begin * cells, 6)), 0), cells - 1)
        last = min(max(ceil(round(end * cells, 6)), first + 1), cells)
        marks[first:last] = "x" * (last - first)
    return "".join(marks)
