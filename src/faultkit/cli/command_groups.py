"""Groups of commands whose modules are imported only when one is called, so that `--help` is fast.

A command that ends with an ImportError, whether its module or something in it cannot be imported, says which
extra it needs (`base.installation`). Its help is shown without the extra, and says so too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import click

from faultkit.base.garbage import without_garbage_collection


class LazyCommand(NamedTuple):
    """A command that is not imported yet."""

    target: str
    """The click command, as `module:attribute`."""
    summary: str
    """The command's line in the help of its group."""
    extra: str = ""
    """The extra that brings all that the command needs, if that is more than the core."""

    def load(self) -> click.Command:
        """Import the command's module and return the command."""
        module, _, attribute = self.target.partition(":")
        with without_garbage_collection():
            command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


class LazyGroup(click.Group):
    """A click group whose help needs none of its commands' modules."""

    def __init__(self, *args: Any, entries: dict[str, LazyCommand], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.entries:
            return None
        with self._explained(ctx, lambda: name):
            return self.entries[name].load()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        entry = self.entries.get(name or "")
        if entry is not None and entry.extra and not set(rest).isdisjoint(ctx.help_option_names):
            _warn_without(entry.extra, f"{ctx.command_path} {name}")
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        # The innermost group explains first: `fault agent tool`, not `fault agent`.
        with self._explained(ctx, lambda: ctx.invoked_subcommand):
            return super().invoke(ctx)

    @contextmanager
    def _explained(self, ctx: click.Context, command: Callable[[], str | None]) -> Iterator[None]:
        """Raise MissingExtra in place of an ImportError for a package that an extra brings."""
        try:
            yield
        except ImportError as error:
            from faultkit.base.installation import explain_import

            name = command() or ""
            entry = self.entries.get(name)
            who = f"{ctx.command_path} {name}".strip()
            missing = explain_import(error, who, "" if entry is None else entry.extra)
            if missing is None:
                raise
            raise missing from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])


def _warn_without(extra: str, who: str) -> None:
    """Warn that a command whose help is shown cannot be run yet."""
    from faultkit.base.installation import MissingExtra, require_extra

    try:
        require_extra(extra, who)
    except MissingExtra as missing:
        click.echo(f"warning: {missing}", err=True)


def lazy_group(name: str, summary: str, entries: dict[str, LazyCommand]) -> LazyGroup:
    """Return a group that has no options of its own."""
    return LazyGroup(name, help=summary, entries=entries)


class CommandWithSubcommands(click.Command):
    """A command that can be run by itself and has subcommands, such as `fault gateway` and its `wrap`."""

    def __init__(self, *args: Any, entries: dict[str, LazyCommand], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in self.entries:
            command = self.entries[args[0]].load()
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])
        super().format_epilog(ctx, formatter)
