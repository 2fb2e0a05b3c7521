"""A report of probes as JSON, Markdown, and lines for a terminal. Pure."""

from __future__ import annotations

import json
from typing import Any

from faultkit.mcp.probe.servers.probe_results import VERDICTS, EdgeReport, ProbeResult
from faultkit.report import markdown

SIGNS = {"passed": "✓", "failed": "✗", "not applicable": "–", "inconclusive": "?"}


def to_document(report: EdgeReport) -> dict[str, Any]:
    """Return the report as plain data."""
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
                "why": each.judgement.why,
                "evidence": [{"sent": one.sent, "came": one.came} for one in each.evidence],
                "called": list(each.called),
            }
            for each in report.results
        ],
    }


def to_json(report: EdgeReport) -> str:
    """Return the report as JSON."""
    return json.dumps(to_document(report), indent=2, ensure_ascii=False) + "\n"


def counts(report: EdgeReport) -> dict[str, int]:
    """Return how many probes have each verdict."""
    return {verdict: sum(each.verdict == verdict for each in report.results) for verdict in VERDICTS}


def lines_of(result: ProbeResult) -> str:
    """Return a result as a line for a terminal, with the reason below it."""
    head = f"{SIGNS[result.verdict]} {result.id}  {result.level:<6}  {result.verdict:<14}  {result.title}"
    return f"{head}\n{'':<12}{result.judgement.why}"


def summary_of(report: EdgeReport) -> str:
    """Return the counts and the called tools in one line."""
    totals = ", ".join(f"{count} {verdict}" for verdict, count in counts(report).items() if count)
    return f"{totals}. {called_of(report)}"


def called_of(report: EdgeReport) -> str:
    """Return a sentence with the tools that were called, and how often."""
    called = ", ".join(f"{name} ×{count}" for name, count in report.called.items())
    return f"Tools called: {called or 'none'}."


def to_markdown(report: EdgeReport) -> str:
    """Return the report as Markdown: a table of all probes, then the evidence of each."""
    rows = [
        [_escaped(cell) for cell in (each.id, each.level, each.verdict, each.title, each.judgement.why)]
        for each in report.results
    ]
    lines = [
        f"# EDGE probes of {_escaped(report.server or report.target)}",
        "",
        f"Target: `{report.target}`; {report.transport}, {report.era} era. {summary_of(report)}",
        *(f"\n{note[:1].upper()}{note[1:]}." for note in report.notes),
        "",
        *markdown.table_lines(("probe", "level", "verdict", "what", "why"), rows),
        "",
        "## Evidence",
    ]
    for each in report.results:
        if each.evidence:
            pairs = [(markdown.code_cell(one.sent), markdown.code_cell(one.came)) for one in each.evidence]
            lines += ["", f"### {each.id}", "", *markdown.table_lines(("sent", "came"), pairs)]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return markdown.escape(text, "|", "<")
