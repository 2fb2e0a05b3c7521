"""What was found and what was changed, in a few sentences for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from faultkit.code.advice.changes import Improvement
from faultkit.code.advice.score import score_value, weight
from faultkit.code.rules.rule import Finding

_MOST_THREATS = 5
_MOST_LINES = 3


def explain_change(improvement: Improvement) -> str:
    """The main threats with their lines, what was changed, and what is left."""
    if not improvement.found:
        return f"Nothing was changed: {improvement.reason}."
    parts = [f"The main threats: {_threats(improvement.found)}."]
    if improvement.changes:
        parts.append(f"The change: {'; '.join(improvement.changes)}.")
        if improvement.left:
            parts.append(f"What is left: {_threats(improvement.left)} (lines of the new code).")
    else:
        parts.append(f"Nothing was changed: {improvement.reason}.")
    return " ".join(parts)


def finding_lines(findings: Iterable[Finding], *, first_line: int = 1, most: int = 40) -> list[str]:
    """For a language model, a line each, the gravest first. Lines count from `first_line` of the file."""
    listed = sorted(findings, key=lambda each: (-weight(each), each.line, each.rule.id))
    return [
        f"line {each.line - first_line + 1}: {each.rule.title}: {each.message}. {each.rule.fix}"
        for each in listed[:most]
    ]


def _threats(findings: Sequence[Finding]) -> str:
    """Each rule once, by what it costs the score."""
    groups: dict[str, list[Finding]] = {}
    for each in findings:
        groups.setdefault(each.rule.title, []).append(each)
    ordered = sorted(groups.items(), key=lambda group: score_value(group[1]))
    named = [f"{title} ({_lines(found)})" for title, found in ordered[:_MOST_THREATS]]
    more = len(ordered) - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")


def _lines(findings: Sequence[Finding]) -> str:
    lines = sorted({each.line for each in findings})
    more = f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:_MOST_LINES]))}{more}"
