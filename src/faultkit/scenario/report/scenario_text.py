"""The report as plain text for terminals and logs: no line longer than the page, tables aligned.

How a table is fitted to the page is in `faultkit.report.text_table`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from faultkit.base.numbers import NO_NUMBER, count_and_share, decimals, duration_in_words, instant, shortest
from faultkit.base.text import count_of, printable_line
from faultkit.load.summary import Distribution
from faultkit.report.text_table import text_table
from faultkit.scenario.report.item_evidence import baseline_warning, baselines_warning
from faultkit.scenario.report.report_model import USUAL_PLACE, ItemReport, Report
from faultkit.scenario.report.report_sections import item_sections
from faultkit.scenario.report.wording import (
    VERDICTS,
    degraded_lines,
    expectation_text,
    margin_text,
    objective_text,
    result_sentence,
    strategy_text,
    timeline_marks,
    verdict_counts,
)

WIDTH = 100
_NARROWEST = 40
"""The least width of a page, however narrow the terminal is."""
_INDENT = "  "
_LABEL = 12
_MARKS = {True: "kept", False: "missed", None: NO_NUMBER}
_SHOWN_ELSEWHERE = ("Reasons", "Warnings", "Errors by Class", "Answers by Status")
"""Sections whose content is among the facts of an item."""


def render_text(report: Report, width: int = WIDTH) -> str:
    """Return the report as plain text of at most `width` columns."""
    width = max(width, _NARROWEST)
    lines = ["Scenarios Report", "=" * 16, ""]
    if report.partial is not None:
        lines += [*_labelled_lines("PARTIAL", report.partial, width, ""), ""]
    if (warning := baselines_warning(report)) is not None:
        lines += [*_labelled_lines("WARNING", warning, width, ""), ""]
    lines += [f"Start: {instant(report.started_at)}", f"End:   {instant(report.ended_at)}"]
    place = "" if report.on == USUAL_PLACE else f", on {report.on}"
    lines += _wrap(f"Made by {report.tool}, seed {report.seed}{place}", "", width)
    for scenario in report.scenarios:
        title = _wrap(scenario.title, "", width)
        lines += ["", *title, "-" * max(map(len, title), default=0)]
        lines += _wrap(scenario.description or "", "", width)
        for item in scenario.items:
            lines += ["", *render_item(item, width)]
    lines += ["", *_wrap(verdict_counts(report), "", width)]
    if report.partial is not None:
        lines += _wrap(f"This report is partial: {report.partial}", "", width)
    return "\n".join(lines) + "\n"


def render_item(item: ItemReport, width: int = WIDTH) -> list[str]:
    """Return the lines of one item: verdict, call, faults, figures, objectives, sections."""
    lines = _wrap(f"{VERDICTS[item.verdict].upper()}: {item.call.method} {item.call.url}", "", width)
    for label, text in _facts(item):
        lines += _labelled_lines(label, text, width)
    if item.slos:
        rows = [
            (
                result.slo.title,
                _MARKS[result.passed],
                objective_text(result.slo),
                margin_text(result),
                count_and_share(result.over, result.total),
            )
            for result in item.slos
        ]
        columns = ("SLO", "Kept?", "Objective", "Margin", "Over")
        lines += ["", f"{_INDENT}Objectives", *_table(columns, rows, width)]
    for section in item_sections(item):
        if section.title in _SHOWN_ELSEWHERE:
            continue
        lines += ["", f"{_INDENT}{section.title}"]
        lines += _table(section.columns, section.rows, width) if section.rows else []
        lines += [line for text in section.lines for line in _wrap(text, _INDENT * 2, width)]
    warnings = [
        text for section in item_sections(item) if section.title == "Warnings" for text in section.lines
    ]
    if warnings:
        lines += ["", *(line for text in warnings for line in _labelled_lines("warning", text, width))]
    return lines


def _facts(item: ItemReport) -> Iterator[tuple[str, str]]:
    yield "result", result_sentence(item) or ""
    yield "WARNING", baseline_warning(item) or ""
    for line in degraded_lines(item):
        yield "DEGRADED", line
    for reason in item.reasons:
        yield "because", reason
    yield "strategy", strategy_text(item.strategy)
    for fault in item.faults:
        when = f"{timeline_marks(fault.windows)} " if item.strategy.mode == "load" else ""
        yield "fault", when + fault.description
    if not item.expectation.empty:
        yield "expected", expectation_text(item.expectation)
    yield "requests", _requests(item)
    yield "errors", _errors(item)
    statuses = item.run.statuses
    yield "statuses", ", ".join(f"{code}: {statuses[code]}" for code in sorted(statuses))
    if item.strategy.mode != "search":  # The times of all values together mean nothing.
        yield "latency", latency_text(item.run.response)


def item_line(item: ItemReport) -> str:
    """Return one item as a single line of any length."""
    faults = ", ".join(dict.fromkeys(fault.written for fault in item.faults)) or "no faults"
    figures = f"{count_of(item.run.requests, 'request')}, {_errors(item, classes=False)}"
    words = [f"{item.call.method} {item.call.url}", faults, figures]
    if (found := result_sentence(item)) is not None:
        words.append(found)
    elif item.run.response.count:
        words.append(f"p95 {_percentile(item.run.response, 95.0)} ms")
    if item.slos:
        kept = sum(result.passed is True for result in item.slos)
        words.append(f"{kept} of {count_of(len(item.slos), 'SLO')} kept")
    if item.degraded:
        words.append("degraded")
    if item.verdict != "passed":
        words += [reason for reason in item.reasons[:1] if reason not in words]
    return f"{VERDICTS[item.verdict]:<13} " + printable_line(" · ".join(words))


def latency_text(times: Distribution) -> str:
    """Return the times of a run: `mean 199.92, min 83.65, p50 199.92, p95 269.28, p99 272.49, max 272.49
    (ms)`."""
    if not times.count:
        return "none measured"
    figures = [("mean", decimals(times.mean_ms)), ("min", decimals(times.min_ms))]
    figures += [(f"p{shortest(p)}", _percentile(times, p)) for p in (50.0, 95.0, 99.0)]
    figures.append(("max", decimals(times.max_ms)))
    return ", ".join(f"{name} {value}" for name, value in figures) + " (ms)"


def _percentile(times: Distribution, percent: float) -> str:
    found = (each.ms for each in times.percentiles if each.percent == percent)
    return decimals(next(found, None))


def _requests(item: ItemReport) -> str:
    text = f"{item.run.requests} in {duration_in_words(item.run.total_s)}"
    if item.run.target_rps is not None:
        return f"{text}: {decimals(item.run.achieved_rps)}/s of {decimals(item.run.target_rps)}/s"
    return text


def _errors(item: ItemReport, *, classes: bool = True) -> str:
    run = item.run
    worst = sorted(run.failures.items(), key=lambda pair: (-pair[1], pair[0]))
    listed = ": " + ", ".join(f"{label} {count}" for label, count in worst) if worst and classes else ""
    noun = "" if classes else " error" if run.errors == 1 else " errors"
    part = count_and_share(run.errors, run.requests)
    return part.replace(" (", f"{noun} (", 1) + listed


def _labelled_lines(label: str, text: str, width: int, indent: str = _INDENT) -> list[str]:
    """Return `  label       text`, wrapped below the text; nothing for empty text."""
    begin = f"{indent}{label:<{_LABEL}}"
    lines = _wrap(text, " " * len(begin), width)
    return [begin + lines[0].lstrip(), *lines[1:]] if lines else []


def _wrap(text: str, indent: str, width: int) -> list[str]:
    return wrap(printable_line(text), width, initial_indent=indent, subsequent_indent=indent)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    indent = _INDENT * 2
    return [f"{indent}{line}".rstrip() for line in text_table(columns, rows, width - len(indent))]
