"""A reader of Markdown reports, written from the sample (sample.md) alone, as a user's script would be.

It knows nothing of faultkit, nor of the additions of our reports to the sample.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

TABLES = {
    "Type": "faults",
    "Num. Requests": "overview",
    "Latency Percentile": "percentiles",
    "SLO": "slos",
}
Row = dict[str, str]


@dataclass
class ParsedItem:
    method: str
    url: str
    verdict: str
    call: dict[str, str] = field(default_factory=dict)
    strategy: str = ""
    expectation: str | None = None
    faults: list[Row] = field(default_factory=list)
    overview: Row = field(default_factory=dict)
    percentiles: list[Row] = field(default_factory=list)
    slos: list[Row] = field(default_factory=list)


@dataclass
class ParsedScenario:
    title: str
    count: int
    items: list[ParsedItem] = field(default_factory=list)


@dataclass
class ParsedReport:
    start: str
    end: str
    scenarios: list[ParsedScenario]


INSTANT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} UTC"


def parse_report(text: str) -> ParsedReport:
    assert text.startswith("# Scenarios Report\n")
    start = re.search(rf"^Start: ({INSTANT})$", text, re.MULTILINE)
    end = re.search(rf"^End: ({INSTANT})$", text, re.MULTILINE)
    assert start, "no start"
    assert end, "no end"
    heads = list(re.finditer(r"^## Scenario: (.+)  \(items: (\d+)\)$", text, re.MULTILINE))
    scenarios = []
    for head, following in zip(heads, [*heads[1:], None], strict=False):
        body = text[head.end() : following.start() if following else len(text)]
        # A scenario ends at its rule.
        body, rule, _ = body.partition("\n---\n")
        assert rule, "no rule below the scenario"
        scenarios.append(ParsedScenario(head[1], int(head[2]), parse_items(body)))
    return ParsedReport(start[1], end[1], scenarios)


def parse_items(body: str) -> list[ParsedItem]:
    heads = list(re.finditer(r"^### 🎯 `(\S+)` (\S+) \| (.+)$", body, re.MULTILINE))
    items = []
    for head, following in zip(heads, [*heads[1:], None], strict=False):
        item = ParsedItem(head[1], head[2], head[3])
        fill_item(item, body[head.end() : following.start() if following else len(body)])
        items.append(item)
    return items


def fill_item(item: ParsedItem, text: str) -> None:
    calls = re.search(r"^\*\*Call\*\*:\n\n((?:[- ].+\n)+)", text, re.MULTILINE)
    assert calls, "no call"
    for name, value in re.findall(r"^- ([^:]+): (.*)$", calls[1], re.MULTILINE):
        item.call[name] = value
    strategy = re.search(r"^\*\*Strategy\*\*: (.+)$", text, re.MULTILINE)
    assert strategy, "no strategy"
    item.strategy = strategy[1]
    expectation = re.search(r"^\*\*Expectation\*\*: (.+)$", text, re.MULTILINE)
    item.expectation = expectation[1] if expectation else None
    assert "**Faults Applied**:\n" in text
    assert "**Run Overview**:\n\n| Num. Requests |" in text
    for rows in tables(text):
        name = TABLES.get(next(iter(rows[0]), ""))
        if name == "overview":
            (item.overview,) = rows
        elif name is not None:
            getattr(item, name).extend(rows)


def tables(text: str) -> list[list[Row]]:
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        head, rule, *rows = [cells(line) for line in block.splitlines()]
        assert all(set(cell) == {"-"} for cell in rule)
        assert all(len(row) == len(head) for row in (rule, *rows)), block
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return [rows for rows in found if rows]


def cells(line: str) -> list[str]:
    """Cells of a table row; a pipe within a cell has a backslash before it."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
