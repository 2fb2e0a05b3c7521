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


class CommandWithOthers(click.Command):
    """A command that does something by itself, and has others below it: `fault gateway` and its `wrap`."""

    def __init__(self, *args: Any, entries: dict[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in self.entries:
            command = import_module(self.entries[args[0]].module).command
            assert isinstance(command, click.Command)
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])
        super().format_epilog(ctx, formatter)
