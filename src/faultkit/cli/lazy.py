"""Groups of commands whose modules are imported only when one is called, so that `--help` answers at once."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import click


class Entry(NamedTuple):
    module: str
    """Its attribute `command` is the click command."""
    summary: str


class LazyGroup(click.Group):
    def __init__(self, *args: Any, entries: dict[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.entries:
            return None
        command = import_module(self.entries[name].module).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])


def lazy_group(name: str, summary: str, entries: dict[str, Entry]) -> LazyGroup:
    return LazyGroup(name, help=summary, entries=entries)
