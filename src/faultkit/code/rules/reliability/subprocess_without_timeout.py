"""Finds child processes that are awaited without a timeout."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import GO, JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.waits import is_bounded

_RUNS = ("subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output")
_WAITS = ("subprocess.Popen.wait", "subprocess.Popen.communicate")
_NODE = ("execSync", "execFileSync", "spawnSync", "exec", "execFile")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_RUNS, *_WAITS):
        in_route = facts.route_of(call) is not None
        if not call.has("timeout") and not call.spreads and not (call.name in _WAITS and call.positional):
            sure = LIKELY if in_route or not _uses_terminal(call) else POSSIBLE
            yield Hit(
                call.span, f"{call.written}() waits without a timeout", sure, "high" if in_route else None
            )
    for call in facts.calls_named(*(f"child_process.{name}" for name in _NODE)):
        options = [each for each in call.positional[1:] if each.value.shape in ("name", "call", "other")]
        if not call.has("timeout", "signal") and not call.spreads and not options:
            yield Hit(call.span, f"{call.written}() waits without a timeout", LIKELY)
    for call in facts.calls_named("os/exec.Command"):
        ends = [
            each
            for each in facts.calls_on(call)
            if each.method in ("Run", "Output", "CombinedOutput", "Wait")
        ]
        if ends and not is_bounded(call, facts):
            yield Hit(call.span, f"{call.written}() runs until the program ends by itself", LIKELY)


def _uses_terminal(call: Call) -> bool:
    """Return whether it has the terminal, as an editor or a pager does: the user can end it."""
    process = call if call.origin is None else call.origin
    if call.name == "subprocess.check_output" or process.spreads:
        return False
    return not process.has("stdin", "stdout", "stderr", "capture_output", "input", "check")


RULE = Rule(
    id="FK-R004",
    slug="subprocess-without-timeout",
    title="Program run without a timeout",
    why="A program that hangs, or asks for input, hangs everything that waits for it.",
    fix="Pass a timeout (Go: use exec.CommandContext with a deadline) and end the program when it is over.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO),
    check=_check,
)
