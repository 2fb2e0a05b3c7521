"""`fault audit`: what the audit log of `fault serve` says. Each sub-command is imported when it is called."""

from __future__ import annotations

from faultkit.cli.lazy import Entry, lazy_group

COMMANDS: dict[str, Entry] = {
    "list": Entry("faultkit.cli.audit.list", "Show calls, newest first."),
    "show": Entry("faultkit.cli.audit.show", "Show one call, with what was said."),
    "tail": Entry("faultkit.cli.audit.tail", "Show calls as they come."),
    "stats": Entry("faultkit.cli.audit.stats", "Count calls and errors, and say how long they took."),
    "export": Entry("faultkit.cli.audit.export", "Write calls as JSON lines or CSV, oldest first."),
    "prune": Entry("faultkit.cli.audit.prune", "Remove old calls."),
}

command = lazy_group("audit", "Read the audit log of `fault serve`.", COMMANDS)
