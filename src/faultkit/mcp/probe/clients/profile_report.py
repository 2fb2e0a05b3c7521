"""A profile as JSON, Markdown, and a table of plain text. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from faultkit.base.text import count_of
from faultkit.mcp.probe.clients.client_behaviour import OUTCOMES, ClientBehaviour, Profile
from faultkit.report import markdown

SIGNS = {
    "answered": "✓",
    "answered differently": "~",
    "failed": "✗",
    "hung": "⧗",
    "not exercised": "–",
    "inconclusive": "?",
}
HEADS = ("fault", "outcome", "calls", "retries", "cancelled", "reconnects", "left open", "last words")


def to_document(profile: Profile) -> dict[str, Any]:
    """Return the profile as plain data."""
    return {
        "command": profile.command,
        "transport": profile.transport,
        "era": profile.era,
        "summary": counts(profile),
        "notes": list(profile.notes),
        "control": _to_document(profile.control),
        "faults": [_to_document(row) for row in profile.rows],
    }


def _to_document(behaviour: ClientBehaviour) -> dict[str, Any]:
    fields = asdict(behaviour)
    fields["fault"] = fields.pop("spec")
    return {key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()}


def to_json(profile: Profile) -> str:
    """Return the profile as JSON."""
    return json.dumps(to_document(profile), indent=2, ensure_ascii=False) + "\n"


def counts(profile: Profile) -> dict[str, int]:
    """Return how many faults have each outcome."""
    return {outcome: sum(row.outcome == outcome for row in profile.rows) for outcome in OUTCOMES}


def summary_of(profile: Profile) -> str:
    """Return the counts in one sentence."""
    summary = ", ".join(f"{count} {outcome}" for outcome, count in counts(profile).items() if count)
    faults = count_of(len(profile.rows), "fault")
    return f"{faults} over {profile.transport}, {profile.era or 'unknown'} era: {summary}."


def cells_of(behaviour: ClientBehaviour) -> tuple[str, ...]:
    """Return the cells of a row, in the order of `HEADS`."""
    return (
        behaviour.spec,
        outcome_of(behaviour),
        str(behaviour.calls),
        _retries_cell(behaviour),
        str(behaviour.cancelled or ""),
        str(behaviour.reconnects or ""),
        ", ".join(behaviour.leaks),
        behaviour.last_words,
    )


def outcome_of(behaviour: ClientBehaviour) -> str:
    """Return the outcome in words, with the exit code of a failure."""
    code = behaviour.exit_code
    return behaviour.outcome if behaviour.outcome != "failed" else f"failed ({code})"


def _retries_cell(behaviour: ClientBehaviour) -> str:
    if not behaviour.retries:
        return ""
    gaps = ", ".join(f"{gap / 1000:.1f}" for gap in behaviour.gaps_ms[:5])
    return f"{behaviour.retries} (after {gaps} s)" if gaps else str(behaviour.retries)


def to_text(profile: Profile) -> str:
    """Return the profile as a table for a terminal; the last column is not cut."""
    rows = [HEADS, *(cells_of(row) for row in profile.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS) - 1)]
    signs = ["  ", *(f"{SIGNS[row.outcome]} " for row in profile.rows)]
    lines = [
        sign + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for sign, row in zip(signs, rows, strict=True)
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def to_markdown(profile: Profile) -> str:
    """Return the profile as Markdown."""
    lines = [
        "# Profile of an MCP client",
        "",
        f"{markdown.code_span(profile.command)}. {summary_of(profile)}",
        *(f"\n{markdown.escape(note[:1].upper() + note[1:], '|', '<')}." for note in profile.notes),
        "",
        markdown_table(HEADS, (cells_of(row) for row in profile.rows)),
    ]
    return "\n".join(lines) + "\n"


def markdown_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table in which the first cell of each row is code."""
    written = []
    for row in rows:
        first, *others = (markdown.escape(cell, "|", "<") for cell in row)
        written.append([f"`{first}`", *others])
    return "\n".join(markdown.table_lines(heads, written))
