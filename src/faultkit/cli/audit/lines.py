"""One call in one line, for people."""

from __future__ import annotations

from faultkit.audit.row import REFUSAL, AuditRow
from faultkit.base.times import time_text


def line_of(row: AuditRow) -> str:
    state = "ok" if row.success else row.error_category or "error"
    said = f"  {row.error_message}" if row.error_message else ""
    when = time_text(row.at_us)[:23]
    tool = row.tool_name or ("(refused)" if row.source == REFUSAL else "(no name)")
    return printable(f"{when}  {tool:<14} {state:<10} {row.duration_ms:>10.3f} ms  {row.user_subject}{said}")


def printable(text: str) -> str:
    """A caller must not get to move the cursor of whoever reads the log."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
