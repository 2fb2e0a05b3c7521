"""The report as Markdown, with the headings, columns and number formats of the original's sample.

The parts of the sample come first and in the sample's form, for scripts that read it; further sections follow
under bold headings. Text from outside is escaped, so that a table never breaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faultkit.base.numbers import NO_NUMBER, count_and_share, decimals, duration_in_words, instant, shortest
from faultkit.load.slo import SloResult
from faultkit.load.summary import Distribution, Summary
from faultkit.report import markdown
from faultkit.report.markdown import escape_lightly, escape_url, table_row
from faultkit.scenario.report.item_evidence import baseline_warning, baselines_warning
from faultkit.scenario.report.report_model import (
    USUAL_PLACE,
    ItemReport,
    Report,
    ReportedCall,
    ScenarioReport,
)
from faultkit.scenario.report.report_sections import ReportSection, item_sections
from faultkit.scenario.report.wording import (
    VERDICTS,
    degraded_lines,
    expectation_text,
    margin_text,
    objective_text,
    result_sentence,
    strategy_text,
    timeline_cell,
    verdict_counts,
)

PERCENTS = (25.0, 50.0, 75.0, 95.0, 99.0)
_MARKS = {True: "✅", False: "❌", None: NO_NUMBER}

# The heads are the sample's to the letter; the lengths of their dashes have no meaning.
_FAULTS_HEAD = """\
| Type | Timeline | Description |
|------|----------|-------------|"""
_OVERVIEW_HEAD = (
    "| Num. Requests | Num. Errors | Min. Response Time | Max Response Time | Mean Latency (ms) "
    "| Expectation Failures | Total Time |\n"
    "|-----------|---------|--------------------|-------------------|-------------------"
    "|----------------------|------------|"
)
_PERCENTILES_HEAD = """\
| Latency Percentile | Latency (ms) | Num. Requests (% of total) |
|------------|--------------|-----------|"""
_SLO_HEAD = """\
| SLO       | Pass? | Objective | Margin | Num. Requests Over Threshold (% of total) |
|-----------|-------|-----------|--------|--------------------------|"""


def render_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    parts = ["# Scenarios Report\n"]
    if report.partial is not None:
        parts.append(f"> **Partial report**: {escape_lightly(report.partial)}\n")
    if (warning := baselines_warning(report)) is not None:
        parts.append(f"> **Warning**: {escape_lightly(warning)}\n")
    parts += [f"Start: {instant(report.started_at)}\n", f"End: {instant(report.ended_at)}\n"]
    for scenario in report.scenarios:
        parts += _scenario(scenario)
    made_by = f"{escape_lightly(report.tool)}, seed {_code(str(report.seed))}"
    place = "" if report.on == USUAL_PLACE else f", on {_code(report.on)}"
    parts.append(f"{made_by}{place}, {verdict_counts(report)}\n")
    return "\n".join(parts)


def _scenario(scenario: ScenarioReport) -> Iterator[str]:
    """Yield blocks of lines. Each ends with a line feed, so joining them leaves an empty line between."""
    yield f"## Scenario: {escape_lightly(scenario.title)}  (items: {len(scenario.items)})\n"
    if scenario.description:
        yield f"_Description:_ {escape_lightly(scenario.description)}\n"
    for item in scenario.items:
        yield from _item(item)
    yield "\n---\n\n"


def _item(item: ItemReport) -> Iterator[str]:
    yield f"### 🎯 {_code(item.call.method)} {escape_url(item.call.url)} | {VERDICTS[item.verdict]}\n"
    if (found := result_sentence(item)) is not None:
        yield f"**{escape_lightly(found)}**\n"
    if (warning := baseline_warning(item)) is not None:
        yield f"> **Warning**: {escape_lightly(warning)}\n"
    if lost := degraded_lines(item):
        yield f"> **Degraded**: {escape_lightly(' '.join(lost))}\n"
    yield "**Call**:\n"
    yield _bullets(_call(item.call))
    yield f"**Strategy**: {strategy_text(item.strategy, original=True)}\n"
    yield _faults(item)
    if not item.expectation.empty:
        yield f"**Expectation**: {expectation_text(item.expectation)}\n"
    if item.strategy.mode != "search":  # The times of all values together mean nothing.
        yield "**Run Overview**:\n"
        yield _overview(item)
        yield _percentiles(item.run)
    if item.slos:
        yield _lines(_SLO_HEAD, *(_slo_row(result) for result in item.slos))
    for section in item_sections(item):
        yield from _section(section)


def _call(call: ReportedCall) -> Iterator[str]:
    if call.operation_id:
        yield f"Operation ID: {_code(call.operation_id)}"
    yield f"Method: {_code(call.method)}"
    yield f"Timeout: {NO_NUMBER if call.timeout_ms is None else f'{shortest(call.timeout_ms)}ms'}"
    if call.headers:
        names = (f"  - {escape_lightly(name)}: {_code(value)}" for name, value in call.headers.items())
        yield "\n".join(["Headers:", *names])
    else:
        yield f"Headers: {NO_NUMBER}"
    yield f"Body?: {'Yes' if call.has_body else 'No'}"


def _faults(item: ItemReport) -> str:
    if not item.faults:
        return "**Faults Applied**:\nnone\n"
    if item.strategy.mode != "load":
        return "**Faults Applied**:\n" + _bullets(escape_lightly(fault.description) for fault in item.faults)
    rows = (
        table_row(
            (escape_lightly(fault.written), timeline_cell(fault.windows), escape_lightly(fault.description))
        )
        for fault in item.faults
    )
    return _lines("**Faults Applied**:\n", _FAULTS_HEAD, *rows) + "\n"


def _overview(item: ItemReport) -> str:
    run, times = item.run, item.run.response
    row = (
        str(run.requests),
        count_and_share(run.errors, run.requests),
        *(_measured(times, value) for value in (times.min_ms, times.max_ms, times.mean_ms)),
        str(item.expectation_failures),
        duration_in_words(run.total_s),
    )
    return _lines(_OVERVIEW_HEAD, table_row(row))


def _percentiles(run: Summary) -> str:
    found = {each.percent: each for each in run.response.percentiles}
    rows = []
    for percent in PERCENTS:
        each = found.get(percent)
        ms, count = (each.ms, each.count) if each else (None, 0)
        rows.append(
            table_row(
                (f"p{shortest(percent)}", _measured(run.response, ms), count_and_share(count, run.requests))
            )
        )
    return _lines(_PERCENTILES_HEAD, *rows)


def _measured(times: Distribution, ms: float | None) -> str:
    return decimals(ms) if times.count else NO_NUMBER


def _slo_row(result: SloResult) -> str:
    return table_row(
        (
            escape_lightly(result.slo.title),
            _MARKS[result.passed],
            objective_text(result.slo),
            margin_text(result),
            count_and_share(result.over, result.total),
        )
    )


def _section(section: ReportSection) -> Iterator[str]:
    yield f"**{section.title}**:\n"
    if section.rows:
        rows = [[escape_lightly(cell) for cell in row] for row in section.rows]
        yield _lines(*markdown.table_lines(section.columns, rows))
    if section.lines:
        yield _bullets(markdown.escape_line_start(escape_lightly(line)) for line in section.lines)


def _code(text: str) -> str:
    return markdown.code_span(text) or NO_NUMBER


def _bullets(lines: Iterable[str]) -> str:
    return _lines(*markdown.bullets(lines))


def _lines(*lines: str) -> str:
    return "\n".join([*lines, ""])
