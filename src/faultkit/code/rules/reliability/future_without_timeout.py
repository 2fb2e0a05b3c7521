"""Finds waits without a limit: for tasks of other threads (Java), and for replies of other tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.pending_replies import pending_replies
from faultkit.code.rules.vocabulary.repetition import frequency_of

_STARTS = lazy_regex(
    r"(?i:executor\w*|pool|executorservice|workers?)\.submit$|CompletableFuture\.supplyAsync$"
)
_FUTURE = lazy_regex(
    r"(^|\.)(Completable|Listenable|Scheduled)?Future\.(get|join)$|\.(submit|supplyAsync)\(\)\.(get|join)$"
)
_OF_POOL = lazy_regex(r"(ThreadPoolExecutor|ProcessPoolExecutor)\.submit\(\)\.result$")
_OF_TASK = lazy_regex(r"\.(delay|apply_async)\(\)\.get$")
"""The result of a task of Celery, or of a pool of processes."""
_ALL_DONE = lazy_regex(r"\ballOf\([^;]*\)\s*\.(?:join|get)\(")
_LIMITED = lazy_regex(
    r"\b(invokeAll|awaitTermination|isDone|orTimeout|completeOnTimeout|setReadTimeout|Timeouts?)\b"
    r"|\bget\([^()]+,\s*(TimeUnit\.)?[A-Z]+\)"
)


def _check(facts: Facts) -> Iterator[Hit]:
    for each in pending_replies(facts):
        yield Hit(each.span, f"{each.name} waits for ever if the reply is lost", LIKELY)
    if facts.language in ("java", "kotlin"):
        yield from _tasks(facts)
        yield from _joined(facts)
        yield from _latches(facts)
        yield from _messages(facts)
    elif facts.language == "python":
        for call in facts.calls_of_method("get"):
            if (
                _OF_TASK.search(call.name)
                and not call.arguments
                and not call.written.startswith("self.apply")
            ):
                yield Hit(call.span, f"{call.written}() waits for ever if the task is lost", LIKELY)
        for call in facts.calls_of_method("result"):
            if _OF_POOL.search(call.name) and not call.arguments and frequency_of(call, facts) == "request":
                yield Hit(call.span, f"{call.written}() waits for ever if the task hangs", LIKELY)


def _messages(facts: Facts) -> Iterator[Hit]:
    """Yield receives of JMS without a limit in functions that have sent a request."""
    if not facts.imports_any("jakarta.jms", "javax.jms"):
        return
    for call in facts.calls_of_method("receive", "receiveBody"):
        scope = facts.named_function_of(call)
        if scope is None or len(call.arguments) > (call.method == "receiveBody"):
            continue
        sent = facts.within(facts.calls_of_method("send"), scope.body)
        if any(each.span.start < call.span.start for each in sent):
            yield Hit(call.span, f"{call.written}() waits for ever if the reply is lost", LIKELY)


def _latches(facts: Facts) -> Iterator[Hit]:
    """Yield `latch.await()` in a function that starts the tasks that count it down."""
    for call in facts.calls_of_method("await"):
        scope = facts.named_function_of(call)
        if scope is None or call.arguments or not call.name.endswith("CountDownLatch.await"):
            continue
        starts = any(
            each.method in ("execute", "submit", "runAsync")
            and any("countDown" in argument.value.text for argument in each.arguments)
            for each in facts.within(facts.calls, scope.body)
        )
        if starts and scope.short_name != "main" and not _LIMITED.search(facts.text(scope.span)):
            yield Hit(call.span, f"{call.written}() waits for ever if one of the tasks hangs", LIKELY)


def _tasks(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("get", "join"):
        scope = facts.named_function_of(call)
        if scope is None or call.arguments or scope.short_name == "main" or not _is_future(call, facts):
            continue
        text = facts.text(scope.span)
        if _ALL_DONE.search(facts.text(Span(scope.body.start, call.span.start))):
            continue  # Nothing is left to wait for.
        if _starts_tasks(scope, facts) and not _LIMITED.search(text):
            what = f"{call.written}() waits for ever if the task hangs"
            yield Hit(call.span, what, LIKELY)


def _joined(facts: Facts) -> Iterator[Hit]:
    """Yield `map(CompletableFuture::join)` in functions that start the tasks."""
    for found in re.finditer(r"\bCompletableFuture::(?:join|get)\b", facts.whole_text):
        place = facts.syntax.place_of(found)
        hit = Hit(place, f"{found[0]} waits for ever if one of the tasks hangs", LIKELY)
        scope = facts.named_function_of(hit)
        if scope is None or scope.short_name == "main" or _LIMITED.search(facts.text(scope.span)):
            continue
        if _starts_tasks(scope, facts) and not _is_after_all(hit, facts):
            yield hit


_AFTER = frozenset(("handle", "whenComplete", "thenApply", "thenAccept", "thenCompose", "thenRun"))


def _is_after_all(place: Placed, facts: Facts) -> bool:
    """Return whether it runs when `allOf(…)` is complete, so that nothing is left to wait for."""
    return any(
        call.method.removesuffix("Async") in _AFTER and "allOf(" in facts.text(call.callee)
        for call in facts.calls_around(place)
    )


def _starts_tasks(scope: Scope, facts: Facts) -> bool:
    return any(
        _STARTS.search(call.name) or _STARTS.search(call.written)
        for call in facts.within(facts.calls, scope.body)
    )


def _is_future(call: Call, facts: Facts) -> bool:
    if _FUTURE.search(call.name):
        return True
    if facts.language == "kotlin" and (call.written == "it.get" or "uture" in call.receiver_written):
        return True  # `futures.map { it.get() }`
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
    title="Wait for a task or a reply without a timeout",
    why="One task that hangs holds the thread that waits; with a request for each, the server soon has none.",
    fix="Limit the wait; when the time is over, cancel the task or drop the entry, and answer without it.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"new Promise",
        b"Event(",
        b"uture",
        b"CompletableDeferred",
        b"TaskCompletionSource",
        b"oneshot",
        b"make(chan",
        b"PoolExecutor",
        b"submit",
        b"delay",
        b".jms.",
        b"apply_async",
        b"supplyAsync",
        b"CountDownLatch",
    ),
)
