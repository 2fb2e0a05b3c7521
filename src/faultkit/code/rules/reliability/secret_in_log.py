"""Finds passwords, tokens and whole headers that are written to a log."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.logs import log_calls, secret_in

_COMMAND_LINE = re.compile(rb"^#!|\b(argparse|click|typer|commander|yargs|inquirer|getpass|cobra)\b")

_ERRORS = ("Error", "Exception")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in log_calls(facts):
        if (what := secret_in(_arguments(call), facts)) and not _is_shown(call, facts):
            yield Hit(call.span, f"{what} is written to the log", LIKELY)
    for call in _errors(facts):
        if what := secret_in(_arguments(call), facts):
            yield Hit(call.span, f"{what} is a part of the error, which is logged or shown", LIKELY)


def _errors(facts: Facts) -> Iterator[Call]:
    """Yield the calls that make the errors which this text raises."""
    if facts.language in ("go", "rust"):
        yield from facts.calls_named("fmt.Errorf", "anyhow.anyhow", "anyhow", "bail", "anyhow.bail")
        return
    raised = facts.steps_of("raise")
    for call in facts.calls if raised else ():
        if call.method.endswith(_ERRORS) and any(is_within(call.span, step.span) for step in raised):
            yield call


def _is_shown(call: Call, facts: Facts) -> bool:
    """Return whether a call writes to the console in a command, which may be there to show what it made."""
    on_console = call.written.startswith(("console.", "print", "log.Print", "fmt.Print"))
    return on_console and _COMMAND_LINE.search(facts.syntax.source) is not None


def _arguments(call: Call) -> Span:
    return Span(call.callee.end, call.span.end)


RULE = Rule(
    id="FK-R043",
    slug="secret-in-log",
    title="Secret written to a log",
    why="Logs are copied to other systems, kept for months and read by many: all of them have the secret.",
    fix="Leave it out or mask it; of headers and settings, log only those that are needed.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
