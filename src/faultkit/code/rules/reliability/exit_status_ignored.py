"""Finds child processes whose exit status is not checked.

It is shown where the program runs for a request, a message or a job: there the output is part of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import CSHARP, JAVA, KOTLIN, LIKELY, POSSIBLE, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.failures import is_clean_up
from faultkit.code.rules.vocabulary.repetition import frequency_of

_ANSWERS = lazy_regex(
    r"""^[\[(]?\s*["'](?:/\S*/)?(grep|egrep|fgrep|rg|diff|cmp|test|pgrep|pkill|which)["'\s]"""
)
"""Programs whose exit status is an answer, not a failure."""


_RUNS = {
    "rust": ("status", "output", "wait", "wait_with_output"),
    "java": ("waitFor",),
    "kotlin": ("waitFor",),
    "csharp": ("WaitForExit", "WaitForExitAsync"),
}
_PROGRAM = {
    "rust": lazy_regex(r"\bCommand\b"),
    "java": lazy_regex(r"ProcessBuilder|Runtime\.getRuntime\(\)\.exec|\bProcess\b"),
    "csharp": lazy_regex(r"Process\.Start|new Process\b"),
}
_PROGRAM["kotlin"] = _PROGRAM["java"]
_LOOKED_AT = lazy_regex(
    r"success\(\)|\.code\(\)|exitValue|ExitCode|exit_ok|\.status\b(?!\()|exitCode|ensure!|isAlive|destroy|kill\(|Kill\("
)


def _waited(facts: Facts) -> Iterator[Hit]:
    """Yield programs that are waited for, and whose status nothing in the function looks at."""
    for call in facts.calls_of_method(*_RUNS[facts.language]):
        scope = facts.named_function_of(call)
        if scope is None or facts.function_of(call) is not scope:
            continue  # A task of its own waits for the end.
        if call.is_returned or _LOOKED_AT.search(facts.text(scope.body)):
            continue
        line = facts.syntax.line_text(call.end_line).strip()
        dropped = call.is_discarded or (
            facts.language == "rust"
            and not call.assigned
            and re.match(r"let|return|if|match|Ok\(", line) is None
            and re.search(r"\)(?:\.await)?\?{1,2};$", line) is not None
        )
        made = facts.text(scope.body) if call.method in ("status", "output") else facts.whole_text
        if dropped and _PROGRAM[facts.language].search(made) and not is_clean_up(call, facts):
            yield Hit(
                call.span,
                f"the exit status that {call.written}() gives is not looked at",
                _confidence(call, facts),
            )


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language != "python":
        yield from _waited(facts)
        return
    for call in facts.calls_named("os.system", "subprocess.call"):
        if call.is_discarded:
            what = f"the exit status of {call.written}() is not checked"
            yield Hit(call.span, what, _confidence(call, facts))
    for call in facts.calls_named("subprocess.run"):
        check = call.argument("check")
        if call.spreads or (check is not None and check.value.shape != "false") or call.is_returned:
            continue
        if any(_ANSWERS.match(each.value.text) for each in call.positional[:1]):
            continue
        if call.is_discarded or (call.assigned and not _reads_status(call, facts)):
            explicit = check is not None
            if not (explicit and call.is_discarded):
                what = f"the exit status of {call.written}() is not checked"
                yield Hit(call.span, what, _confidence(call, facts))


def _confidence(call: Call, facts: Facts) -> float:
    return LIKELY if frequency_of(call, facts) in ("request", "message") else POSSIBLE


def _reads_status(call: Call, facts: Facts) -> bool:
    called = {each.method for each in facts.calls_on(call)}
    name = call.assigned[0]
    scope = facts.function_of(call)
    inside = facts.calls if scope is None else tuple(facts.within(facts.calls, scope.body))
    given = any(argument.value.text == name for each in inside for argument in each.arguments)
    returned = any(step.kind == "return" and step.text == name for step in facts.steps)
    if "check_returncode" in called or given or returned or "." in name:
        return True
    return any(each.name.rpartition(".")[2] == "returncode" for each in facts.accesses_on(call))


RULE = Rule(
    id="FK-R034",
    slug="exit-status-ignored",
    title="Exit status ignored",
    why="The program fails, its output is missing or half there, and everything after it goes on.",
    fix="Look at the exit status, and fail if it is not 0 (Python: check=True).",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *RUST, *JAVA, *KOTLIN, *CSHARP),
    check=_check,
)
