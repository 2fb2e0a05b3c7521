"""Finds child processes whose exit status is not checked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import CERTAIN, LIKELY, PYTHON, Hit, Rule

_ANSWERS = re.compile(
    r"""^[\[(]?\s*["'](?:/\S*/)?(grep|egrep|fgrep|rg|diff|cmp|test|pgrep|pkill|which)["'\s]"""
)
"""Programs whose exit status is an answer, not a failure."""


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named("os.system", "subprocess.call"):
        if call.is_discarded:
            yield Hit(call.span, f"the exit status of {call.written}() is not checked", CERTAIN)
    for call in facts.calls_named("subprocess.run"):
        check = call.argument("check")
        if call.spreads or (check is not None and check.value.shape != "false") or call.is_returned:
            continue
        if any(_ANSWERS.match(each.value.text) for each in call.positional[:1]):
            continue
        if call.is_discarded or (call.assigned and not _reads_status(call, facts)):
            explicit = check is not None
            if not (explicit and call.is_discarded):
                yield Hit(call.span, f"the exit status of {call.written}() is not checked", LIKELY)


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
    fix="Pass check=True, or look at the returncode.",
    kind="reliability",
    severity="medium",
    languages=PYTHON,
    check=_check,
)
