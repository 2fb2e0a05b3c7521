"""Write docs/report-side-by-side.md: `python -m tests.scenario.report.side_by_side`. A test compares both.

On the left the sample of the original's documentation, on the right a report of ours with figures of its own.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path

from faultkit.scenario.report.scenario_markdown import render_markdown
from tests.scenario.report.examples import LOAD

SAMPLE = Path(__file__).with_name("sample.md")
PAGE = Path(__file__).parents[3] / "docs" / "report-side-by-side.md"

_HEAD = """\
# The sample report and ours

A script that reads the Markdown reports of the original tool reads ours: same headings, same tables, same
columns, same number formats. The parser in `tests/scenario/report/sample_parser.py` was written from the
sample alone and reads both; another test puts the sample's figures into a report of ours and finds the
sample's lines again, to the letter.

Made by `python -m tests.scenario.report.side_by_side`: change that, not this page.

## Line by line

Headings and heads of tables, in their order. What the sample does not have comes after its last table and
before its rule, under bold headings of its own. **Expectation** stands where the original has it; the sample
had none.
"""

_DIFFERENCES = (
    ("in the report", "the original", "ours"),
    ("---", "---", "---"),
    ("`Mean Latency (ms)`", "the median", "the mean"),
    ("`Num. Errors`", "failures to connect, send or read", "also timeouts and statuses of 500 and more"),
    (
        "response times",
        "from the send",
        "from the intended start, so that a server which stalls the load cannot hide it; both clocks are "
        "under **Response time and service time**",
    ),
    (
        "`Passed`",
        "always, for a load",
        "expectations are met, and the run can tell; else `Failed`, `Inconclusive`, `Not exercised` or "
        "`Unfinished`, with **Reasons**",
    ),
    ("`(items: N)`", "counts each call of a repeat", "counts the items below; calls are under **Calls**"),
    ("`Timeline`", "the first period of a fault", "every period"),
    (
        "`Margin`",
        "`Below by`, `Above by`, for latency",
        "the same for errors, in percentage points; an availability that is kept is `Above` its objective; "
        "`-` if there was nothing to judge, or no answer to measure",
    ),
    ("a pipe, a line feed or a backtick in a text", "breaks the table", "is escaped"),
)


def side_by_side_page() -> str:
    sample, ours = SAMPLE.read_text("utf-8"), render_markdown(LOAD)
    parts = [
        _HEAD,
        _structure_table(sample, ours),
        "## Where the same words say more",
        "\n".join(f"| {' | '.join(row)} |" for row in _DIFFERENCES),
        "## The sample",
        f"```markdown\n{sample.strip()}\n```",
        "## Ours",
        f"```markdown\n{ours.strip()}\n```",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def structure(text: str) -> list[str]:
    """Return the headings, bold labels and heads of tables, without the user's texts."""
    found = []
    lines = text.splitlines()
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        label = re.match(r"\*\*[^*]+\*\*:", line)
        if line.startswith("#") or line == "---":
            found.append(_without_choice(line))
        elif re.match(r"(Start|End): ", line):
            found.append(re.sub(r"\d", "0", line))
        elif label:
            found.append(label[0])
        elif line.startswith("|") and re.fullmatch(r"[|-]+", following):
            found.append(line)
    return found


def _without_choice(line: str) -> str:
    line = re.sub(r"(## Scenario: ).+(  \(items: )\d+", r"\1TITLE\2N", line)
    return re.sub(r"(### 🎯 )`.+` \S+ \| .+", r"\1`METHOD` URL | VERDICT", line)


def _structure_table(sample: str, ours: str) -> str:
    """Return a table of the sample's lines, each beside its equal in our report; other lines stand alone."""
    left, rows = structure(sample), []
    for line in structure(ours):
        known = bool(left) and line == left[0]
        rows.append((left.pop(0) if known else "", line))
    assert not left, f"ours lacks {left}"
    head = "| the sample | ours |\n|---|---|\n"
    return head + "\n".join(f"| {_code(line)} | {_code(mine)} |" for line, mine in rows)


def _code(line: str) -> str:
    fence = "``" if "`" in line else "`"
    pad = " " if "`" in line else ""
    return f"{fence}{pad}{line.replace('|', chr(92) + '|')}{pad}{fence}" if line else ""


if __name__ == "__main__":
    PAGE.write_text(side_by_side_page(), encoding="utf-8")
