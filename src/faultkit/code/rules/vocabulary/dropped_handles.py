"""Tasks of Rust whose handle is dropped: that does not stop them.

A task that only a closed broadcast ends outlives the client that it is started for; one that runs for ever is
there twice when the object that holds its handle is made anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.rules.vocabulary.connections import is_of_connection
from faultkit.code.rules.vocabulary.started_tasks import endless_loop

_RECEIVES = lazy_regex(r"\b(\w+)\.(?:recv|next|changed)\(\)\s*\.await")
_FAILS_WITH_CLIENT = lazy_regex(
    r"\.(?:send|write\w*|feed|flush|closed|is_closed|cancelled)\(|select!|\?\s*[;)]"
)
_STOPPED = lazy_regex(
    r"\.abort(?:_handle|_all)?\(|CancellationToken|AbortOnDrop|\bimpl\b[^{]*\bDrop\s+for\b|JoinSet"
)
_LEVELS = 3


def dropped_handles(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield calls that start a task which goes on when nobody needs it any more."""
    if facts.language != "rust" or _STOPPED.search(facts.whole_text):
        return
    for call in facts.calls_of_method("spawn"):
        scope = facts.named_function_of(call)
        first = call.argument(place=0)
        if scope is None or first is None or not first.value.text.startswith("async"):
            continue
        inner = facts.function_at(first.value.span)
        body = first.value.span if inner is None else inner.body
        if call.is_discarded and is_of_connection(scope) and _is_subscribed(first.value.text, scope, facts):
            yield call, "this task goes on after the client has left, until its source is closed"
        elif endless_loop(body, facts) is not None and _is_made_anew(scope, facts, _LEVELS):
            yield call, "this task runs for ever, also without its handle, and each round starts another"


def _is_subscribed(text: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a task only receives what something shared sends to all."""
    if _FAILS_WITH_CLIENT.search(text):
        return False
    names = {*_RECEIVES.findall(text)}
    return any(
        each.call is not None
        and each.call.method.startswith("subscribe")
        and not names.isdisjoint(word for target in each.targets for word in re.findall(r"\w+", target))
        for each in facts.within(facts.assignments, scope.body)
    )


def _is_made_anew(scope: Scope, facts: Facts, levels: int) -> bool:
    """Return whether a function is called in each round of a loop, directly or through others."""
    for call in facts.callers_of(scope) if levels else ():
        outer = facts.named_function_of(call)
        if outer is None or outer is scope or is_within(call.span, scope.span):
            continue
        if any(loop.kind in ("while", "endless") for loop in facts.loops_around(call)):
            return True
        if _is_made_anew(outer, facts, levels - 1):
            return True
    return False
