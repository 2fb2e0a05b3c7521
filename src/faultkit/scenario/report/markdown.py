"""The report as Markdown, with the headings, columns and number formats of the original's sample.

What a script that reads the sample looks for comes first and in the sample's form; what we tell beyond it
follows under bold headings of its own. Text from outside is escaped, so that a table never breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from faultkit.base.numerals import NOTHING, decimals, flat, humanised, instant, share, short
from faultkit.load.slo import SloResult
from faultkit.load.summary import Distribution, Summary
from faultkit.scenario.report.baseline import baseline_warning, baselines_warning
from faultkit.scenario.report.describe import timeline
from faultkit.scenario.report.model import Call, Fault, Item, Report, Scenario
from faultkit.scenario.report.phrases import (
    VERDICTS,
    expectation_text,
    margin_text,
    objective_text,
    strategy_text,
    tally,
)
from faultkit.scenario.report.sections import Section, sections

PERCENTS = (25.0, 50.0, 75.0, 95.0, 99.0)
_MARKS = {True: "✅", False: "❌", None: NOTHING}

# Heads and rules are the sample's to the letter; the rules' lengths hang together with nothing.
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

_SPECIAL = re.compile(r"[\\`*\[|]|<(?=[A-Za-z/!?])|(?<![^\W_])_|_(?![^\W_])")
_AT_BEGIN = re.compile(r"^(?=[#>]|[-+] )")
_UNSAFE_IN_URL = re.compile(r"[|`<>\\\s()*!]")


def render_markdown(report: Report) -> str:
    parts = ["# Scenarios Report\n"]
    if report.partial is not None:
        parts.append(f"> **Partial report**: {_text(report.partial)}\n")
    if (ill := baselines_warning(report)) is not None:
        parts.append(f"> **Warning**: {_text(ill)}\n")
    parts += [f"Start: {instant(report.started_at)}\n", f"End: {instant(report.ended_at)}\n"]
    for scenario in report.scenarios:
        parts += _scenario(scenario)
    parts.append(f"{_text(report.tool)}, seed {_code(str(report.seed))}, {tally(report)}\n")
    return "\n".join(parts)


def _scenario(scenario: Scenario) -> Iterator[str]:
    """Blocks of lines. Blocks are joined by an empty line, since each ends with a line feed."""
    yield f"## Scenario: {_text(scenario.title)}  (items: {len(scenario.items)})\n"
    if scenario.description:
        yield f"_Description:_ {_text(scenario.description)}\n"
    for item in scenario.items:
        yield from _item(item)
    yield "\n---\n\n"


def _item(item: Item) -> Iterator[str]:
    yield f"### 🎯 {_code(item.call.method)} {_url(item.call.url)} | {VERDICTS[item.verdict]}\n"
    if (ill := baseline_warning(item)) is not None:
        yield f"> **Warning**: {_text(ill)}\n"
    yield "**Call**:\n"
    yield _bulleted(_call(item.call))
    yield f"**Strategy**: {strategy_text(item.strategy, original=True)}\n"
    yield _faults(item)
    if not item.expectation.empty:
        yield f"**Expectation**: {expectation_text(item.expectation)}\n"
    yield "**Run Overview**:\n"
    yield _overview(item)
    yield _percentiles(item.run)
    if item.slos:
        yield _lines(_SLO_HEAD, *(_slo_row(result) for result in item.slos))
    for section in sections(item):
        yield from _section(section)


def _call(call: Call) -> Iterator[str]:
    if call.operation_id:
        yield f"Operation ID: {_code(call.operation_id)}"
    yield f"Method: {_code(call.method)}"
    yield f"Timeout: {NOTHING if call.timeout_ms is None else f'{short(call.timeout_ms)}ms'}"
    if call.headers:
        names = (f"  - {_text(name)}: {_code(value)}" for name, value in call.headers.items())
        yield "\n".join(["Headers:", *names])
    else:
        yield f"Headers: {NOTHING}"
    yield f"Body?: {'Yes' if call.has_body else 'No'}"


def _faults(item: Item) -> str:
    if not item.faults:
        return "**Faults Applied**:\nnone\n"
    if item.strategy.mode != "load":
        return "**Faults Applied**:\n" + _bulleted(_text(fault.description) for fault in item.faults)
    rows = (_fault_row(fault) for fault in item.faults)
    return _lines("**Faults Applied**:\n", _FAULTS_HEAD, *rows) + "\n"


def _fault_row(fault: Fault) -> str:
    return _row((_text(fault.written), timeline(fault.windows), _text(fault.description)))


def _overview(item: Item) -> str:
    run, times = item.run, item.run.response
    row = (
        str(run.requests),
        share(run.errors, run.requests),
        *(_measured(times, value) for value in (times.min_ms, times.max_ms, times.mean_ms)),
        str(item.expectation_failures),
        humanised(run.total_s),
    )
    return _lines(_OVERVIEW_HEAD, _row(row))


def _percentiles(run: Summary) -> str:
    found = {each.percent: each for each in run.response.percentiles}
    rows = []
    for percent in PERCENTS:
        each = found.get(percent)
        ms, count = (each.ms, each.count) if each else (None, 0)
        rows.append(_row((f"p{short(percent)}", _measured(run.response, ms), share(count, run.requests))))
    return _lines(_PERCENTILES_HEAD, *rows)


def _measured(times: Distribution, ms: float | None) -> str:
    return decimals(ms) if times.count else NOTHING


def _slo_row(result: SloResult) -> str:
    return _row(
        (
            _text(result.slo.title),
            _MARKS[result.passed],
            objective_text(result.slo),
            margin_text(result),
            share(result.over, result.total),
        )
    )


def _section(section: Section) -> Iterator[str]:
    yield f"**{section.title}**:\n"
    if section.rows:
        head = (_row(section.columns), "|".join(["", *("---" for _ in section.columns), ""]))
        yield _lines(*head, *(_row(map(_text, row)) for row in section.rows))
    if section.lines:
        yield _bulleted(_AT_BEGIN.sub(r"\\", _text(line)) for line in section.lines)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _bulleted(lines: Iterable[str]) -> str:
    return _lines(*(f"- {line}" for line in lines))


def _lines(*lines: str) -> str:
    return "\n".join([*lines, ""])


def _text(text: str) -> str:
    """Text as it is, whatever it holds: on one line, and nothing in it is Markdown."""
    return _SPECIAL.sub(r"\\\g<0>", flat(text))


def _url(url: str) -> str:
    """Percent signs instead of backslashes, so that it still is a URL when it is copied."""
    clean = "".join(c if c.isprintable() or c.isspace() else "" for c in url)
    return _UNSAFE_IN_URL.sub(_percent_encoded, clean)


def _percent_encoded(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


def _code(text: str) -> str:
    """A code span, for outside of tables: its fence is longer than any run of backticks inside."""
    line = flat(text)
    if not line:
        return NOTHING
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if "`" in line else ""
    return f"{fence}{pad}{line}{pad}{fence}"
