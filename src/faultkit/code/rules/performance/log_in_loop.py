"""Finds a log line for every item of a request."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Loop
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import is_within
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.data_sizes import is_over_data
from faultkit.code.rules.vocabulary.repetition import frequency_of, is_over_items

_OFTEN = (
    "debug",
    "info",
    "log",
    "trace",
    "print",
    "println",
    "printf",
    "Println",
    "Printf",
    "Print",
    "Debug",
    "Info",
)
_GO = ("fmt.Println", "fmt.Printf", "log.Println", "log.Printf", "log.Print")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if call.method not in _OFTEN or not (
            is_logging(call) or call.name in _GO or call.written == "System.out.println"
        ):
            continue
        loops = [loop for loop in facts.loops_around(call) if is_over_items(loop)]
        if not loops or _is_rare(call, loops[-1], facts) or not is_over_data(loops[-1], facts):
            continue
        if frequency_of(loops[0], facts) in ("request", "message"):
            yield Hit(call.span, f"{call.written}() writes a line for every item of every request", POSSIBLE)


def _is_rare(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether it is logged only on a condition, or on failure."""
    for step in facts.within(facts.steps, loop.body):
        if step.kind == "branch" and is_within(call.span, step.span):
            return True
    return any(
        is_within(call.span, handler.span)
        for each in facts.within(facts.tries, loop.body)
        for handler in each.handlers
    )


RULE = Rule(
    id="FK-P015",
    slug="log-line-per-item",
    title="Log line for every item",
    why="Logging takes a lock and a write each time; with large lists it costs more than the work, and hides "
    "what matters.",
    fix="Log once after the loop with the count, or only what is unusual.",
    kind="performance",
    severity="low",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
    by_default=False,
)
