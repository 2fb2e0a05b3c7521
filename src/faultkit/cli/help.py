"""The help of commands with fault flags: many flags, so they are grouped by fault and told in few lines."""

from __future__ import annotations

from itertools import groupby

import click

from faultkit.cli.flags import FaultOption, Flag


class FaultCommand(click.Command):
    """A command whose fault flags stand apart, one short paragraph a fault."""

    def __init__(self, *args: object, examples: tuple[tuple[str, str], ...] = (), **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = self.get_params(ctx)
        own = [param for param in params if not isinstance(param, FaultOption)]
        records = [record for param in own if (record := param.get_help_record(ctx)) is not None]
        with formatter.section("Options"):
            formatter.write_dl(records)
        with formatter.section("Faults (`fault faults KIND` explains the settings of one)"):
            of_faults = (param for param in params if isinstance(param, FaultOption))
            for _, options in groupby(of_faults, key=lambda option: option.kind):
                switch, *rest = (option.flag for option in options)
                formatter.write_text(f"{switch.option}  {switch.help}")
                with formatter.indentation():
                    formatter.indent()
                    formatter.write_text("  ".join(_short(flag) for flag in rest))
                    formatter.dedent()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for text, line in self.examples:
                    formatter.write_text(f"# {text}")
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")
        super().format_epilog(ctx, formatter)


def _short(flag: Flag) -> str:
    """One flag in one word that does not break: `--latency-mean=MS`."""
    return flag.option if flag.sets is not None else f"{flag.option}={flag.metavar}"
