"""A report of probes as JSON, Markdown, JUnit XML, and lines for a terminal. Pure."""

from __future__ import annotations

import json
from typing import Any

from faultkit.base.text import and_list
from faultkit.mcp.probe.servers.probe_results import VERDICTS, EdgeReport, ProbeResult
from faultkit.report import markdown
from faultkit.report.junit import JUnitCase, JUnitProblem, JUnitSuite, render_junit_suites

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
                "unanswered": each.judgement.is_unanswered,
                "expected_failure": each.id in report.expected_failures,
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


def lines_of(result: ProbeResult, *, is_expected: bool = False) -> str:
    """Return a result as a line for a terminal, with the reason below it.

    is_expected: the probe is known to fail"""
    head = f"{SIGNS[result.verdict]} {result.id}  {result.level:<6}  {result.verdict:<14}  {result.title}"
    known = "as expected: " if is_expected and result.verdict == "failed" else ""
    return f"{head}\n{'':<12}{known}{result.judgement.why}"


def summary_of(report: EdgeReport) -> str:
    """Return the counts and the called tools in one line."""
    expected = sum(map(report.is_expected, report.results))
    found = counts(report).items()
    totals = ", ".join(
        f"{count} {verdict}{f' ({expected} as expected)' if verdict == 'failed' and expected else ''}"
        for verdict, count in found
        if count
    )
    return f"{totals}. {called_of(report)}"


def verdict_of(report: EdgeReport, *, strict: bool) -> str:
    """Return why a run failed in one line; empty if it did not."""
    reasons = []
    failures = report.failures(strict=strict)
    if silent := [each.id for each in failures if each.judgement.is_unanswered]:
        reasons.append(f"the server gave no valid reply in {and_list(silent)}")
    if others := [each.id for each in failures if each.id not in silent]:
        reasons.append(f"{and_list(others)} failed")
    if passes := [each.id for each in report.unexpected_passes]:
        reasons.append(f"{and_list(passes)} passed, though --expect-failure says otherwise")
    return f"The run failed: {'; '.join(reasons)}." if reasons else ""


def to_junit(report: EdgeReport, *, strict: bool) -> str:
    """Return the report as JUnit XML: failures are those that fail the run; others are skipped."""
    fatal = {each.id for each in report.failures(strict=strict)}
    surprising = {each.id for each in report.unexpected_passes}
    cases = [
        JUnitCase(
            f"{each.id} {each.title}", report.target, each.took_s, _problem(report, each, fatal, surprising)
        )
        for each in report.results
    ]
    properties = (("server", report.server), ("transport", report.transport), ("era", report.era))
    suite = JUnitSuite(
        f"EDGE probes of {report.server or report.target}", cases, report.started_at, properties
    )
    return render_junit_suites([suite])


def _problem(
    report: EdgeReport, result: ProbeResult, fatal: set[str], surprising: set[str]
) -> JUnitProblem | None:
    evidence = "\n".join(f"sent: {one.sent}\ncame: {one.came}" for one in result.evidence)
    if result.id in fatal:
        return JUnitProblem("failure", result.level, result.judgement.why, evidence)
    if result.id in surprising:
        return JUnitProblem("failure", "expected to fail", f"it passed: {result.judgement.why}", evidence)
    if result.verdict == "passed":
        return None
    # Schemas allow no reason for a case that was skipped but in its text.
    text = f"{_verdict(report, result)}: {result.judgement.why}\n{evidence}"
    return JUnitProblem("skipped", text=text.rstrip())


def called_of(report: EdgeReport) -> str:
    """Return a sentence with the tools that were called, and how often."""
    called = ", ".join(f"{name} ×{count}" for name, count in report.called.items())
    return f"Tools called: {called or 'none'}."


def to_markdown(report: EdgeReport) -> str:
    """Return the report as Markdown: a table of all probes, then the evidence of each."""
    rows = [
        [
            _escaped(cell)
            for cell in (each.id, each.level, _verdict(report, each), each.title, each.judgement.why)
        ]
        for each in report.results
    ]
    lines = [
        f"# EDGE probes of {_escaped(report.server or report.target)}",
        "",
        f"Target: {markdown.code_span(report.target)}; {report.transport}, {report.era} era. "
        f"{_escaped(summary_of(report))}",
        *(f"\n{_escaped(note[:1].upper() + note[1:])}." for note in report.notes),
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


def _verdict(report: EdgeReport, result: ProbeResult) -> str:
    return f"{result.verdict}{' as expected' if report.is_expected(result) else ''}"


def _escaped(text: str) -> str:
    return markdown.escape(text, "|", "<")
