"""Java: finds functions that start tasks on other threads and wait for them without a limit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import JAVA, LIKELY, Hit, Rule

_STARTS = re.compile(
    r"(?i:executor\w*|pool|executorservice|workers?)\.submit$|CompletableFuture\.supplyAsync$"
)
_FUTURE = re.compile(
    r"(^|\.)(Completable|Listenable|Scheduled)?Future\.get$|\.(submit|supplyAsync)\(\)\.get$"
)
_LIMITED = re.compile(
    r"\b(invokeAll|awaitTermination|isDone|orTimeout|completeOnTimeout|setReadTimeout|Timeouts?)\b"
    r"|\bget\([^()]+,\s*(TimeUnit\.)?[A-Z]+\)"
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("get"):
        scope = facts.named_function_of(call)
        if scope is None or call.arguments or scope.short_name == "main" or not _is_future(call, facts):
            continue
        text = facts.text(scope.span)
        if _starts_tasks(scope, facts) and not _LIMITED.search(text):
            what = f"{call.written}() waits for ever if the task hangs"
            yield Hit(call.span, what, LIKELY)


def _starts_tasks(scope: Scope, facts: Facts) -> bool:
    return any(
        _STARTS.search(call.name) or _STARTS.search(call.written)
        for call in facts.within(facts.calls, scope.body)
    )


def _is_future(call: Call, facts: Facts) -> bool:
    if _FUTURE.search(call.name):
        return True
    # `for (Future<T> one : all)`, `for (Map.Entry<K, Future<T>> one : all.entrySet())`
    variable = call.receiver_written.partition(".")[0]
    return any(
        variable in loop.targets and "Future<" in facts.text(loop.head)
        for loop in facts.loops_around(call)
        if call.receiver_written in (variable, f"{variable}.getValue")
    )


RULE = Rule(
    id="FK-R081",
    slug="future-without-timeout",
    title="Wait for a task without a timeout",
    why="One task that hangs holds the thread that waits; with a request for each, the server soon has none.",
    fix="Give get() a time and a unit, cancel the task when it is over, and answer without its part.",
    kind="reliability",
    severity="medium",
    languages=JAVA,
    check=_check,
)
