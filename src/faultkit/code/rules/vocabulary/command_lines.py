"""Programs for the command line, and branches that options of a user choose."""

from __future__ import annotations

import re

from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.languages.syntax import Span

COMMAND_LINES = (
    "argparse", "optparse", "click", "typer", "docopt", "fire", "commander", "@commander-js/extra-typings",
    "yargs", "oclif", "inquirer", "cac", "github.com/spf13/cobra", "github.com/urfave/cli",
    "github.com/alecthomas/kingpin", "setuptools",
)  # fmt: skip
"""Libraries of command lines: their user sees that a program hangs, and ends it."""
_OF_COMMANDS = re.compile(r"/cli(/v\d+)?$|^System\.CommandLine|^picocli|^(clap|structopt)\b")
_OPTION = re.compile(r"timeout|deadline", re.IGNORECASE)


def is_command_line(facts: Facts) -> bool:
    """Return whether a text imports a library of command lines."""
    return facts.imports_any(*COMMAND_LINES) or any(map(_OF_COMMANDS.search, facts.imports.modules))


def is_without_option(call: Call, facts: Facts) -> bool:
    """Return whether it is the branch for calls without a limit, beside one for those that have it."""
    for step in facts.steps_of("branch"):
        if is_within(call.span, step.span):
            head = facts.text(Span(step.span.start, min(step.span.start + 80, call.span.start)))
            if _OPTION.search(head.partition("{")[0].partition(":\n")[0]):
                return True
    return False
