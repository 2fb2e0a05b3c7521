"""Finds endless loops of workers that never look at the token or context that asks them to stop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Loop, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.waits import is_sleep

_TOKENS = ("CancellationToken", "System.Threading.CancellationToken")
_CONTEXTS = ("context.Context",)
_BLOCKS = lazy_regex(r"<-|\.(Accept|Recv|Read\w*|Fetch\w*|Receive\w*|Next\w*|Scan|Wait)\(|\bselect\b")


def _check(facts: Facts) -> Iterator[Hit]:
    for loop in facts.loops:
        if loop.kind not in ("endless", "while"):
            continue
        scope = facts.function_of(loop)
        if scope is None:
            continue
        if facts.language == "csharp":
            name = _given(scope, _TOKENS)
            ignores = name and not _mentions(name, loop, facts) and _is_worker(scope, facts)
            ignores = ignores and not _is_completed(loop, facts)
        else:
            name = _given(scope, _CONTEXTS) or _outer_context(scope, facts)
            ignores = name and _goes_on(name, loop, scope, facts)
        if ignores and not _ends(loop, scope, facts):
            what = f"this loop never looks at {name}, so it goes on when the process is asked to stop"
            yield Hit(loop.head, what, LIKELY)


def _given(scope: Scope, types: tuple[str, ...]) -> str:
    return next((each.name for each in scope.parameters if each.type in types), "")


def _outer_context(scope: Scope, facts: Facts) -> str:
    """Return the context of the function around a goroutine."""
    outer = scope.outer
    return "" if outer is None or scope.name else _given(outer, _CONTEXTS)


_ENDS_WITH_CHANNEL = lazy_regex(r"\b(?:WaitToReadAsync|MoveNextAsync|OutputAvailableAsync)\(")
_TAKES_WHAT_IS_THERE = lazy_regex(r"\b(?:TryRead|TryDequeue|TryTake|TryPop|TryPeek)\(")


def _is_completed(loop: Loop, facts: Facts) -> bool:
    """Return whether a loop ends with the channel that it reads, which this text completes, or with what is
    in it (C#)."""
    if _TAKES_WHAT_IS_THERE.search(loop.over):
        return True
    return _ENDS_WITH_CHANNEL.search(loop.over) is not None and facts.syntax.has_any(
        b"trycomplete(", b".complete(", b"completeadding("
    )


def _mentions(name: str, loop: Loop, facts: Facts) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", f"{loop.over} {facts.text(loop.body)}") is not None


def _is_worker(scope: Scope, facts: Facts) -> bool:
    bases = facts.classes.get(scope.owner, ())
    return scope.short_name == "ExecuteAsync" or any("HostedService" in base for base in bases)


def _goes_on(name: str, loop: Loop, scope: Scope, facts: Facts) -> bool:
    """Return whether a loop with a pause ends neither by the context nor by what it receives (Go)."""
    text = f"{loop.over} {facts.text(loop.body)}"
    if (
        loop.kind != "endless"
        or _BLOCKS.search(text)
        or re.search(rf"\b{re.escape(name)}\.(Done|Err)\(", text)
    ):
        return False
    return any(is_sleep(call) for call in facts.within(facts.calls, loop.body))


def _ends(loop: Loop, scope: Scope, facts: Facts) -> bool:
    """Return whether the loop is left on some way."""
    return any(
        step.kind in ("return", "break", "raise") and facts.function_of(step) is scope
        for step in facts.within(facts.steps, Span(loop.body.start, loop.body.end))
    )


RULE = Rule(
    id="FK-R094",
    slug="loop-ignores-stop",
    title="Worker that cannot be stopped",
    why="At every deployment the process waits for the whole grace period and is then killed in the middle "
    "of the work.",
    fix="Test the token or context in each round, and give it to delays and calls, which then end at once.",
    kind="reliability",
    severity="medium",
    languages=(*GO, *CSHARP),
    check=_check,
)
