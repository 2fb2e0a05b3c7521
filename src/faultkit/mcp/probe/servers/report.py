"""A run of probes as JSON, as Markdown, and as plain lines. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from faultkit.mcp.probe.servers.model import VERDICTS, EdgeReport, Evidence, Result

SIGNS = {"passed": "✓", "failed": "✗", "not applicable": "–", "inconclusive": "?"}


def to_document(report: EdgeReport) -> dict[str, Any]:
    return {
        "target": report.target,
        "transport": report.transport,
        "era": report.era,
        "server": report.server,
        "summary": counts(report),
        "tools_called": dict(report.called),
        "restarts": report.restarts,
        "notes": list(report.notes),
        "results": [
            {
                "id": each.id,
                "title": each.title,
                "level": each.level,
                "verdict": each.verdict,
                "why": each.finding.why,
                "evidence": [{"sent": one.sent, "came": one.came} for one in each.evidence],
                "called": list(each.called),
            }
            for each in report.results
        ],
    }


def to_json(report: EdgeReport) -> str:
    return json.dumps(to_document(report), indent=2, ensure_ascii=False) + "\n"


def counts(report: EdgeReport) -> dict[str, int]:
    return {verdict: sum(each.verdict == verdict for each in report.results) for verdict in VERDICTS}


def lines_of(result: Result) -> str:
    """A row of the table that a terminal shows, and the reason below it."""
    head = f"{SIGNS[result.verdict]} {result.id}  {result.level:<6}  {result.verdict:<14}  {result.title}"
    return f"{head}\n{'':<12}{result.finding.why}"


def summary_of(report: EdgeReport) -> str:
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts(report).items() if count)
    return f"{said}. {called_of(report)}"


def called_of(report: EdgeReport) -> str:
    called = ", ".join(f"{name} ×{count}" for name, count in report.called.items())
    return f"Tools called: {called or 'none'}."


def to_markdown(report: EdgeReport) -> str:
    lines = [
        f"# EDGE probes of {_cell(report.server or report.target)}",
        "",
        f"Target: `{report.target}`; {report.transport}, {report.era} era. {summary_of(report)}",
        *(f"\n{note[:1].upper()}{note[1:]}." for note in report.notes),
        "",
        "| probe | level | verdict | what | why |",
        "| --- | --- | --- | --- | --- |",
        *(_row((each.id, each.level, each.verdict, each.title, each.finding.why)) for each in report.results),
        "",
        "## Evidence",
    ]
    for each in report.results:
        if each.evidence:
            lines += ["", f"### {each.id}", "", *_evidence(each.evidence)]
    return "\n".join(lines) + "\n"


def _evidence(evidence: Iterable[Evidence]) -> list[str]:
    rows = [f"| {_code(each.sent)} | {_code(each.came)} |" for each in evidence]
    return ["| sent | came |", "| --- | --- |", *rows]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _code(text: str) -> str:
    """In a code span only the bar has to be escaped, and a backtick cannot be."""
    return "`" + text.replace("`", "'").replace("|", "\\|").replace("\n", " ") + "`"
