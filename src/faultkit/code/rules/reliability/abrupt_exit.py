"""Finds code that ends the process from within a function that other code calls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.reliability.cut_off_at_end import ends_that_cut_off
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule

_EXITS = {
    "python": ("os._exit", "os.abort", "sys.exit", "exit", "quit"),
    "go": ("os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln"),
    "java": ("System.exit", "Runtime.getRuntime().halt"),
    "kotlin": ("System.exit", "kotlin.system.exitProcess", "exitProcess", "Runtime.getRuntime().halt"),
    "csharp": ("Environment.Exit", "Environment.FailFast"),
    "rust": ("std.process.exit", "std.process.abort"),
}
_NODE = ("process.exit", "process.abort")
_STARTS = lazy_regex(
    r"^_?(main|init|cli|run|start|bootstrap|entrypoint|command|usage|shutdown|serve|must)"
    r"|exit|die|fatal|quit|abort|kill|signal|trap|cmd|command|crash|panic|test",
    re.IGNORECASE,
)
"""Names of functions that are the program, or that exist to end it."""
_COMMANDS = ("github.com/spf13/cobra", "github.com/urfave/cli", "github.com/alecthomas/kingpin", "flag")
_HARD = ("os._exit", "os.abort", "Runtime.getRuntime().halt", "process.abort")


def _check(facts: Facts) -> Iterator[Hit]:
    after_fork = facts.calls_named("os.fork", "os.forkpty")
    exits = facts.calls_named(*_EXITS.get(facts.language, _NODE))
    on_signal: set[Span] = set()
    if exits and facts.language not in JAVASCRIPT:
        on_signal = {each.span for each in ends_that_cut_off(facts)}
    for call in exits:
        if call.span in on_signal:
            continue
        if call.name in _HARD and not after_fork:
            if facts.function_of(call) is not None and not facts.comment_at(call):
                yield Hit(call.span, f"{call.written}() ends the process without any clean-up", POSSIBLE)
        elif facts.route_of(call) is not None:
            yield Hit(call.span, f"{call.written}() ends the whole service for one request", CERTAIN)
        elif facts.language in ("go", "java", "kotlin", "csharp", "rust") and _in_library(call, facts):
            yield Hit(
                call.span,
                f"{call.written}() ends the process; deferred calls do not run, and callers cannot react",
                LIKELY,
            )


def _in_library(call: Call, facts: Facts) -> bool:
    scope = next(facts.functions_around(call), None)
    if scope is None or not scope.name:
        return False
    return not _STARTS.search(scope.short_name) and not facts.imports_any(*_COMMANDS)


RULE = Rule(
    id="FK-R029",
    slug="abrupt-exit",
    title="Process ended inside a function",
    why="Running requests are cut off, nothing is flushed or released, and callers cannot handle the error.",
    fix="Return or raise the error and let the entry point decide; end the process only there.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    by_default=False,
)
