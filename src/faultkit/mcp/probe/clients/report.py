"""A profile as JSON, as Markdown, and as a table of plain text. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from faultkit.mcp.probe.clients.conduct import OUTCOMES, Conduct, Profile

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
    return {
        "command": profile.command,
        "transport": profile.transport,
        "era": profile.era,
        "summary": counts(profile),
        "notes": list(profile.notes),
        "control": _plain(profile.control),
        "faults": [_plain(row) for row in profile.rows],
    }


def _plain(conduct: Conduct) -> dict[str, Any]:
    found = asdict(conduct)
    found["fault"] = found.pop("spec")
    return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def to_json(profile: Profile) -> str:
    return json.dumps(to_document(profile), indent=2, ensure_ascii=False) + "\n"


def counts(profile: Profile) -> dict[str, int]:
    return {outcome: sum(row.outcome == outcome for row in profile.rows) for outcome in OUTCOMES}


def summary_of(profile: Profile) -> str:
    said = ", ".join(f"{count} {outcome}" for outcome, count in counts(profile).items() if count)
    faults = f"{len(profile.rows)} fault{'' if len(profile.rows) == 1 else 's'}"
    return f"{faults} over {profile.transport}, {profile.era or 'unknown'} era: {said}."


def cells_of(conduct: Conduct) -> tuple[str, ...]:
    """What does not hang on how fast a machine is stands before the last words."""
    return (
        conduct.spec,
        outcome_of(conduct),
        str(conduct.calls),
        _gapped(conduct),
        str(conduct.cancelled or ""),
        str(conduct.reconnects or ""),
        ", ".join(conduct.leaks),
        conduct.last_words,
    )


def outcome_of(conduct: Conduct) -> str:
    code = conduct.exit_code
    return conduct.outcome if conduct.outcome != "failed" else f"failed ({code})"


def _gapped(conduct: Conduct) -> str:
    if not conduct.retries:
        return ""
    gaps = ", ".join(f"{gap / 1000:.1f}" for gap in conduct.gaps_ms[:5])
    return f"{conduct.retries} (after {gaps} s)" if gaps else str(conduct.retries)


def to_text(profile: Profile) -> str:
    """A table that a terminal shows; its last column is as long as it is."""
    rows = [HEADS, *(cells_of(row) for row in profile.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS) - 1)]
    signs = ["  ", *(f"{SIGNS[row.outcome]} " for row in profile.rows)]
    lines = [
        sign + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for sign, row in zip(signs, rows, strict=True)
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def to_markdown(profile: Profile) -> str:
    lines = [
        "# Profile of an MCP client",
        "",
        f"`{profile.command}`. {summary_of(profile)}",
        *(f"\n{note[:1].upper()}{note[1:]}." for note in profile.notes),
        "",
        table(HEADS, (cells_of(row) for row in profile.rows)),
    ]
    return "\n".join(lines) + "\n"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """The first cell of each row stands as code."""
    titles = list(heads)
    lines = [titles, ["---"] * len(titles)]
    for row in rows:
        first, *others = (_cell(cell) for cell in row)
        lines.append([f"`{first}`", *others])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
