"""The help of commands with fault flags: many flags, so they are grouped by fault and told in few lines."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import Any

import click

from faultkit.cli.flags import FaultOption, Flag

_COMMON = (
    "Every fault FAULT also takes --FAULT-sched=SCHEDULE and --FAULT-probability=N; those that act on bytes "
    "(latency to corrupt) take --FAULT-side=client|server and --FAULT-direction=ingress|egress|both. Each "
    "flag has a variable: FAULT_WITH_LATENCY=true, FAULT_LATENCY_MEAN=300."
)


class FaultCommand(click.Command):
    """A command whose fault flags stand apart, one short paragraph a fault."""

    def __init__(self, *args: Any, examples: tuple[tuple[str, str], ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
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
                _write(formatter, f"{switch.option:<22}{switch.help}", 24)
                _write(
                    formatter, "    " + "  ".join(_short(flag) for flag in rest if not _is_common(flag)), 6
                )
            formatter.write_paragraph()
            _write(formatter, _COMMON, 2)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for text, line in self.examples:
                    # Lines to copy are never wrapped.
                    formatter.write(f"  # {text}\n  {line}\n")
        super().format_epilog(ctx, formatter)


def _is_common(flag: Flag) -> bool:
    return (
        not flag.path.startswith("with.")
        and flag.name.rpartition("-")[2]
        in (
            "side",
            "direction",
            "sched",
            "probability",
        )
        and not flag.name.endswith("-trigger-probability")
    )


def _short(flag: Flag) -> str:
    return flag.option if flag.sets is not None else f"{flag.option}={flag.metavar}"


def _write(formatter: click.HelpFormatter, text: str, indent: int) -> None:
    """Wrapped at blanks only: a flag is never cut in two."""
    if text.strip():
        lines = textwrap.wrap(
            text,
            formatter.width,
            initial_indent="  ",
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
        formatter.write("\n".join(lines) + "\n")
