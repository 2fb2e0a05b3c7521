"""A profile of an LLM client as text, JSON, Markdown, JUnit XML and an HTML page. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from faultkit import __version__
from faultkit.base.numbers import duration
from faultkit.base.text import counted, escaped_json, printable_line
from faultkit.llm.profile.judging import RULES, VERDICTS, CaseResult, Verdict
from faultkit.llm.profile.profile_run import LlmProfile
from faultkit.report import markdown
from faultkit.report.html_page import badge_markup, render_page
from faultkit.report.junit import JUnitCase, JUnitProblem, JUnitSuite, render_junit_suites
from faultkit.report.page_model import (
    Badge,
    Callout,
    Card,
    Facts,
    Overview,
    Page,
    Section,
    Table,
    VerdictCount,
)

SIGNS: dict[Verdict, str] = {"coped": "✓", "defect": "✗", "not exercised": "–", "inconclusive": "?"}
HEADS = ("fault", "verdict", "requests", "time", "why")
_BADGES: dict[Verdict, Badge] = {
    "coped": Badge("passed", "✓", "coped"),
    "defect": Badge("failed", "✗", "defect"),
    "not exercised": Badge("not-exercised", "–", "not exercised"),
    "inconclusive": Badge("inconclusive", "?", "inconclusive"),
}


def to_document(profile: LlmProfile) -> dict[str, Any]:
    """Return the profile as plain data."""
    return {
        "command": profile.command,
        "dialect": profile.dialect,
        "streamed": profile.is_streamed,
        "limit_s": profile.limit_s,
        "seed": profile.seed,
        "summary": counts(profile),
        "problem": profile.problem,
        "interrupted": not profile.is_whole,
        "notes": list(profile.notes),
        "cases": [asdict(row) for row in profile.rows],
    }


def to_json(profile: LlmProfile) -> str:
    """Return the profile as JSON."""
    return escaped_json(json.dumps(to_document(profile), indent=2, ensure_ascii=False)) + "\n"


def counts(profile: LlmProfile) -> dict[str, int]:
    """Return how many cases have each verdict."""
    return {verdict: sum(row.verdict == verdict for row in profile.rows) for verdict in VERDICTS}


def summary_of(profile: LlmProfile) -> str:
    """Return the counts in one sentence."""
    found = ", ".join(
        (counted(count, verdict) if verdict == "defect" else f"{count} {verdict}")
        for verdict, count in counts(profile).items()
        if count
    )
    how = "streamed" if profile.is_streamed else "whole answers"
    over = f" over {profile.dialect}, {how}" if profile.dialect else ""
    return f"{counted(len(profile.rows), 'case')}{over}: {found or 'none'}."


def verdict_text(row: CaseResult) -> str:
    """Return the verdict, or the names of the defects."""
    return ", ".join(defect.name for defect in row.defects) or row.verdict


def cells_of(row: CaseResult) -> tuple[str, ...]:
    """Return the cells of a row, in the order of `HEADS`."""
    why = "; ".join(defect.evidence for defect in row.defects) or row.why
    took = duration(row.elapsed_ms) if row.elapsed_ms else ""
    return (row.case, verdict_text(row), str(row.requests), took, printable_line(why))


def to_text(profile: LlmProfile) -> str:
    """Return the profile as lines for a terminal."""
    if profile.problem:
        return f"No case was judged: {profile.problem}\n"
    size = max((len(row.case) for row in profile.rows), default=0)
    lines: list[str] = []
    for row in profile.rows:
        name, verdict, requests, took, why = cells_of(row)
        figures = f"{counted(int(requests), 'request')}, {took}" if took else ""
        lines.append(f"{SIGNS[row.verdict]} {name.ljust(size)}  {verdict}  ({figures})".removesuffix("  ()"))
        lines.append(f"  {'':<{size}}  {why}")
    return "\n".join([*lines, summary_of(profile)]) + "\n"


def to_markdown(profile: LlmProfile) -> str:
    """Return the profile as Markdown."""
    lines = [
        "# Profile of an LLM client",
        "",
        f"{markdown.code_span(profile.command)}. {summary_of(profile)}",
        *(f"\n{_escaped(_sentence(note))}" for note in profile.notes),
        "",
        *markdown_table(profile.rows),
    ]
    return "\n".join(lines) + "\n"


def markdown_table(rows: Sequence[CaseResult]) -> list[str]:
    """Return the rows as a Markdown table."""
    written = [[markdown.code_cell(row.case), *map(_escaped, cells_of(row)[1:])] for row in rows]
    return markdown.table_lines(HEADS, written)


def to_junit(profile: LlmProfile, started_at: str = "") -> str:
    """Return the profile as JUnit XML: defects are failures; what was not judged is skipped."""
    cases = [
        JUnitCase(row.case, profile.command, row.elapsed_ms / 1000, _problem(row)) for row in profile.rows
    ]
    properties = (("dialect", profile.dialect), ("seed", str(profile.seed)))
    output = "\n".join(profile.notes)
    suite = JUnitSuite(f"LLM profile of {profile.command}", cases, started_at, properties, output)
    return render_junit_suites([suite])


def _problem(row: CaseResult) -> JUnitProblem | None:
    if row.verdict == "coped":
        return None
    if row.verdict == "defect":
        return JUnitProblem("failure", row.defects[0].name, row.why, f"{row.why}\nlast: {row.last_words}")
    return JUnitProblem("skipped", text=f"{row.verdict}: {row.why}")


def to_html(profile: LlmProfile) -> str:
    """Return the profile as one HTML file."""
    return render_page(profile_page(profile))


def profile_page(profile: LlmProfile) -> Page:
    """Return the page of a profile."""
    rows = [
        (row.case, badge_markup(_BADGES[row.verdict]), *cells_of(row)[2:4], printable_line(row.why))
        for row in profile.rows
    ]
    found = counts(profile)
    headline = "Defects" if profile.has_defects else "Coped"
    if not profile.has_defects and not profile.is_conclusive:
        headline = "Inconclusive"
    return Page(
        kind="LLM client report",
        title=printable_line(profile.command),
        headline=headline,
        verdict_class=(
            "failed" if profile.has_defects else "passed" if profile.is_conclusive else "inconclusive"
        ),
        tool=f"faultkit {__version__}",
        footer="Each case is one run of the client with one fault.",
        facts=[
            ("Dialect", profile.dialect or "none"),
            ("Answers", "streamed" if profile.is_streamed else "whole"),
            ("Time limit", f"{profile.limit_s:g} s"),
            ("Seed", str(profile.seed)),
        ],
        counts=[
            VerdictCount(_BADGES[verdict].verdict_class, verdict, found[verdict]) for verdict in VERDICTS
        ],
        notes=[Callout("Note", [printable_line(_sentence(note))]) for note in profile.notes],
        overview=Overview(
            Table(HEADS, rows, "Overview of all cases", numeric=(2, 3), kind="overview"), "Cases"
        ),
        sections=[
            Section("Defects", [_card(row) for row in profile.rows if row.defects], if_empty="None."),
        ],
    )


def _card(row: CaseResult) -> Card:
    meanings = {rule.name: rule.when for rule in RULES}
    found = [(each.name, printable_line(each.evidence), meanings[each.name]) for each in row.defects]
    ended = "at the time limit" if row.exit_code is None else f"exit code {row.exit_code}"
    facts = Facts(
        [("Ended", ended), ("Requests", str(row.requests)), ("Last line", row.last_words or "none")]
    )
    table = Table(("defect", "evidence", "rule"), found, f"Defects of {row.case}")
    return Card(row.case, _BADGES[row.verdict], [table, facts])


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _escaped(text: str) -> str:
    return markdown.escape(text, "\\`*_[]|")
