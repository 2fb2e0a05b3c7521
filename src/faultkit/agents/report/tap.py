"""Results as TAP, version 14: a point for each row, with its figures in a block of YAML below it.

Values of the block are written as JSON, which is YAML on one line: no text of a test can end the block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from faultkit.agents.report.json import json_text
from faultkit.agents.report.numbers import row_numbers
from faultkit.agents.report.words import INTERRUPTED, circumstances, problems, shown, told
from faultkit.agents.result import Results, Row
from faultkit.base.numerals import flat

_DIRECTIVE = re.compile(r"#(?=\s*(?:skip|todo))", re.IGNORECASE)


def render_tap(results: Results) -> str:
    points: list[tuple[bool, str, dict[str, Any]]] = [_point(row) for row in results.rows]
    points += [
        (False, f"{_text(file)} could be run", {"message": problem, "severity": "error"})
        for file, problem in problems(results)
    ]
    lines = ["TAP version 14", f"1..{len(points)}", f"# {circumstances(results)}"]
    for number, (ok, description, block) in enumerate(points, 1):
        lines.append(f"{'ok' if ok else 'not ok'} {number} - {description}")
        lines += _block(block)
    if results.interrupted:
        lines.append(f"Bail out! {INTERRUPTED}")
    return "\n".join(lines) + "\n"


def _point(row: Row) -> tuple[bool, str, dict[str, Any]]:
    directive = f" # SKIP {_text(told(row))}" if row.skipped else ""
    return not row.fails, f"{_text(row.name)}{directive}", {} if row.skipped else _diagnostics(row)


def _diagnostics(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if row.fails:
        found["severity"] = "error" if row.verdict == "error" else "fail"
    if row.message:
        found["message"] = told(row)
    found["verdict"] = shown(row)
    found["at"] = {"file": row.place.file, "line": row.place.line}
    found["duration_ms"] = round(row.duration_ms, 3)
    if row.diff:
        found["diff"] = row.diff
    return found | row_numbers(row)


def _block(values: dict[str, Any]) -> Iterator[str]:
    if values:
        yield "  ---"
        yield from (f"  {name}: {json_text(value)}" for name, value in values.items())
        yield "  ..."


def _text(text: str) -> str:
    """On one line; a `#` would begin a directive, to readers of version 13 even if it is escaped."""
    return _DIRECTIVE.sub("\uff03", flat(text)).replace("\\", "\\\\").replace("#", "\\#")
