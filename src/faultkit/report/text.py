"""The report as plain text for terminals and logs: no line longer than 100 characters, tables aligned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

from faultkit.load.summary import Distribution
from faultkit.report.describe import bar
from faultkit.report.model import Item, Report
from faultkit.report.numerals import NOTHING, decimals, flat, humanised, instant, share, short
from faultkit.report.phrases import (
    VERDICTS,
    count_of,
    expectation_text,
    margin_text,
    objective_text,
    strategy_text,
    tally,
)
from faultkit.report.sections import sections

WIDTH = 100
_INDENT = "  "
_LABEL = 12
_LEAST_CELL = 8
_MARKS = {True: "kept", False: "missed", None: NOTHING}
_NUMERIC = re.compile(r"[+\-]?[\d.,]+( ?(ms|%|/s|\(.*%\)))?|-")
_TOLD_ELSEWHERE = ("Reasons", "Warnings", "Errors by Class", "Answers by Status")


def render_text(report: Report) -> str:
    lines = ["Scenarios Report", "=" * 16, ""]
    if report.partial is not None:
        lines += [*_labelled("PARTIAL", report.partial, ""), ""]
    lines += [f"Start: {instant(report.started_at)}", f"End:   {instant(report.ended_at)}"]
    lines += _wrapped(f"Made by {report.tool}, seed {report.seed}", "")
    for scenario in report.scenarios:
        title = _wrapped(scenario.title, "")
        lines += ["", *title, "-" * min(max(map(len, title), default=0), WIDTH)]
        lines += _wrapped(scenario.description or "", "")
        for item in scenario.items:
            lines += ["", *render_item(item)]
    lines += ["", tally(report)]
    if report.partial is not None:
        lines += _wrapped(f"This report is partial: {report.partial}", "")
    return "\n".join(lines) + "\n"


def render_item(item: Item) -> list[str]:
    """What was called, what was broken, the figures, the objectives, the verdict."""
    call, run = item.call, item.run
    lines = _wrapped(f"{VERDICTS[item.verdict].upper()}: {call.method} {call.url}", "")
    for reason in item.reasons:
        lines += _labelled("because", reason)
    lines += _labelled("strategy", strategy_text(item.strategy))
    for fault in item.faults:
        when = f"{bar(fault.windows)} " if item.strategy.mode == "load" else ""
        lines += _labelled("fault", when + fault.description)
    if not item.expectation.empty:
        lines += _labelled("expected", expectation_text(item.expectation))
    lines += _labelled("requests", _requests(item))
    lines += _labelled("errors", _errors(item))
    lines += _labelled(
        "statuses", ", ".join(f"{code}: {run.statuses[code]}" for code in sorted(run.statuses))
    )
    lines += _labelled("latency", latency_text(run.response))
    if item.slos:
        rows = [
            (
                result.slo.title,
                _MARKS[result.passed],
                objective_text(result.slo),
                margin_text(result),
                share(result.over, result.total),
            )
            for result in item.slos
        ]
        lines += ["", f"{_INDENT}Objectives", *_table(("SLO", "Kept?", "Objective", "Margin", "Over"), rows)]
    for section in sections(item):
        if section.title in _TOLD_ELSEWHERE:
            continue
        lines += ["", f"{_INDENT}{section.title}"]
        lines += _table(section.columns, section.rows) if section.rows else []
        lines += [line for text in section.lines for line in _wrapped(text, _INDENT * 2)]
    warnings = [text for section in sections(item) if section.title == "Warnings" for text in section.lines]
    if warnings:
        lines += ["", *(line for text in warnings for line in _labelled("warning", text))]
    return lines


def one_line(item: Item) -> str:
    """One item on one line, however long."""
    faults = ", ".join(dict.fromkeys(fault.written for fault in item.faults)) or "no faults"
    figures = f"{count_of(item.run.requests, 'request')}, {_errors(item, classes=False)}"
    words = [f"{item.call.method} {item.call.url}", faults, figures]
    if item.run.response.count:
        words.append(f"p95 {_percentile(item.run.response, 95.0)} ms")
    if item.slos:
        kept = sum(result.passed is True for result in item.slos)
        words.append(f"{kept} of {count_of(len(item.slos), 'SLO')} kept")
    words += item.reasons[:1] if item.verdict != "passed" else ()
    return f"{VERDICTS[item.verdict]:<13} " + flat(" · ".join(words))


def latency_text(times: Distribution) -> str:
    """`mean 199.92, min 83.65, p50 199.92, p95 269.28, p99 272.49, max 272.49 (ms)`."""
    if not times.count:
        return "none measured"
    figures = [("mean", decimals(times.mean_ms)), ("min", decimals(times.min_ms))]
    figures += [(f"p{short(p)}", _percentile(times, p)) for p in (50.0, 95.0, 99.0)]
    figures.append(("max", decimals(times.max_ms)))
    return ", ".join(f"{name} {value}" for name, value in figures) + " (ms)"


def _percentile(times: Distribution, percent: float) -> str:
    found = (each.ms for each in times.percentiles if each.percent == percent)
    return decimals(next(found, None))


def _requests(item: Item) -> str:
    text = f"{item.run.requests} in {humanised(item.run.total_s)}"
    if item.run.target_rps is not None:
        return f"{text}: {decimals(item.run.achieved_rps)}/s of {decimals(item.run.target_rps)}/s"
    return text


def _errors(item: Item, *, classes: bool = True) -> str:
    run = item.run
    worst = sorted(run.failures.items(), key=lambda pair: (-pair[1], pair[0]))
    told = ": " + ", ".join(f"{label} {count}" for label, count in worst) if worst and classes else ""
    noun = "" if classes else " error" if run.errors == 1 else " errors"
    part = share(run.errors, run.requests)
    return part.replace(" (", f"{noun} (", 1) + told


def _labelled(label: str, text: str, indent: str = _INDENT) -> list[str]:
    """`  label       text`, going on below itself where it is long; nothing for no text."""
    begin = f"{indent}{label:<{_LABEL}}"
    lines = _wrapped(text, " " * len(begin))
    return [begin + lines[0].lstrip(), *lines[1:]] if lines else []


def _wrapped(text: str, indent: str) -> list[str]:
    return wrap(flat(text), WIDTH, initial_indent=indent, subsequent_indent=indent)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Numbers to the right, words to the left; cells too long for the page go on in the next line."""
    clean = [[flat(cell) for cell in row] for row in rows]
    right = [all(_NUMERIC.fullmatch(row[i]) for row in clean) for i in range(len(columns))]
    widths = _widths([list(columns), *clean])
    return [line for row in ([*columns], *clean) for line in _cells(row, widths, right)]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """As wide as the cells are; if that is more than the page, the widest column gives way first."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    room = WIDTH - 2 * len(_INDENT) - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _LEAST_CELL:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cells(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> Iterator[str]:
    folded = [wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, folded))):
        cells = (lines[number] if number < len(lines) else "" for lines in folded)
        placed = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        )
        yield (_INDENT * 2 + "  ".join(placed)).rstrip()
