"""`fault keys`: the API keys of `fault serve`. Each sub-command is imported when it is called."""

from __future__ import annotations

from faultkit.cli.lazy import Entry, lazy_group

COMMANDS: dict[str, Entry] = {
    "create": Entry("faultkit.cli.keys.create", "Make a key, and show it once."),
    "list": Entry("faultkit.cli.keys.list", "Show which keys there are."),
    "revoke": Entry("faultkit.cli.keys.revoke", "Make a key worthless."),
}

command = lazy_group("keys", "Make and revoke the API keys of `fault serve`.", COMMANDS)
