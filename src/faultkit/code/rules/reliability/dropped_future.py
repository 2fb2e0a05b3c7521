"""Finds tasks of executors whose exceptions nothing sees."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.rules.rule import CSHARP, JAVA, KOTLIN, LIKELY, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.dropped_futures import dropped_futures
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.returned_values import own_function
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_STARTS = lazy_regex(r"(^|\.)CompletableFuture\.(runAsync|supplyAsync)(\(\)|$)")
_SEES = lazy_regex(r"\.(exceptionally|handle|whenComplete|join|get|exceptionallyCompose)(\(\)|$)")
_EXECUTORS = lazy_regex(r"(^|\.)\w*([eE]xecutor\w*|[pP]ool|[sS]cheduler)$")


def _check(facts: Facts) -> Iterator[Hit]:
    for span, what in dropped_futures(facts):
        yield Hit(span, what, LIKELY)
    for call in facts.calls if facts.language not in (*RUST, *CSHARP) else ():
        if not call.is_discarded and not _is_for_each(call, facts):
            continue
        if _STARTS.search(call.name) and not _SEES.search(call.name):
            task = _first(call)
            if not is_within(task.span, call.span):
                continue  # It is a use of a future that is kept: `future.cancel(true)`.
        elif (call.method == "submit" and _EXECUTORS.search(call.receiver_written)) or (
            facts.language == "python" and _is_left(call)
        ):
            task = call
        elif _is_stage(call, facts) or _is_subscribed(call, facts):
            yield Hit(call.span, f"nothing sees an error of what {call.written}() waits for", LIKELY)
            continue
        elif _is_sent(call, facts):
            what = f"nothing sees an error of {call.written}(): the message is lost without a trace"
            yield Hit(call.span, what, LIKELY)
            continue
        else:
            continue
        if _may_fail(task, facts):
            what = f"an exception in the task of {task.written}() is seen by nothing"
            yield Hit(task.span, what, LIKELY)


_LATER = frozenset(("apply_async", "map_async", "starmap_async", "imap", "imap_unordered"))


def _is_left(call: Call) -> bool:
    """Return whether a call of Python starts work whose exception comes only with its result."""
    if call.method == "run_in_executor":
        return not call.is_awaited and len(call.positional) > 1
    if call.method == "map":
        return "PoolExecutor" in call.name and bool(call.arguments)
    return (
        call.method in _LATER
        and _EXECUTORS.search(call.receiver_written) is not None
        and not call.has("error_callback", "callback")
    )


_STAGES = frozenset(
    ("thenAccept", "thenRun", "thenApply", "thenCompose", "thenAcceptAsync", "thenRunAsync", "thenApplyAsync",
     "thenComposeAsync", "thenCombine", "thenAcceptBoth")
)  # fmt: skip
_HANDLED = lazy_regex(r"\.(?:exceptionally\w*|handle|handleAsync|whenComplete\w*|join|get|orTimeout)\(")


def _is_stage(call: Call, facts: Facts) -> bool:
    """Return whether a chain of a CompletionStage ends here, and its failure with it (Java, Kotlin)."""
    if call.method not in _STAGES or facts.language == "python" or _STARTS.search(call.name):
        return False
    if not call.is_discarded or _HANDLED.search(facts.text(call.span)):
        return False
    return not _is_seen_elsewhere(_first_of_text(call), facts)


def _is_seen_elsewhere(first: Call, facts: Facts) -> bool:
    """Return whether the future that a chain begins with is also returned, or asked for its error."""
    name, scope = first.receiver_written.partition(".")[0], facts.function_of(first)
    if scope is None or not name.isidentifier():
        return False
    seen = (
        rf"\breturn\s+{name}\s*;|\b{name}\s*\.(?:exceptionally|handle|whenComplete|join|get|orTimeout)\w*\("
    )
    return re.search(seen, facts.text(scope.body)) is not None


_REACTIVE = ("reactor.core.publisher", "org.springframework.web.reactive.function.client", "io.reactivex")
_RECOVERS = lazy_regex(
    r"\.(?:onError\w*|doOnError|retry\w*|on_error|doFinally|materialize|toBlocking)\s*[({]"
)


def _is_subscribed(call: Call, facts: Facts) -> bool:
    """Return whether a stream is started whose error has no consumer: `save(order).subscribe()`."""
    if call.method != "subscribe" or len(call.positional) > 1 or facts.language == "python":
        return False
    if any(each.value.text.lower().endswith(("subscriber", "observer", "this")) for each in call.positional):
        return False  # It has a method for errors.
    is_reactive = any(module.startswith(_REACTIVE) for module in facts.imports.all_modules)
    return is_reactive and call.origin is not None and not _RECOVERS.search(facts.text(call.span))


_TEMPLATES = lazy_regex(
    r"(^|\.)(KafkaTemplate|ReactiveKafkaProducerTemplate)\.send$|(^|\.)kafkaTemplate\.send$"
)
_PRODUCERS = lazy_regex(r"(^|\.)(KafkaProducer|Producer)\.send$")


_TEMPLATE_TYPES = NamePattern(r"(^|\.)(KafkaTemplate|ReactiveKafkaProducerTemplate)$")
_LOOPS = frozenset(("forEach", "forEachIndexed", "onEach", "forEachOrdered", "forEachRemaining", "ifPresent"))


def _is_for_each(call: Call, facts: Facts) -> bool:
    """Return whether a call is the value of a lambda whose value is dropped: `rows.forEach { send(it) }`."""
    if call.method != "send" or call.assigned:
        return False
    around = facts.calls_around(call)
    scope = facts.function_of(call)
    return (
        bool(around)
        and around[-1].method in _LOOPS
        and scope is not None
        and scope.is_anonymous
        and not facts.calls_on(call)
    )


def _is_sent(call: Call, facts: Facts) -> bool:
    """Return whether it sends to Kafka, and the future that says whether it arrived is dropped."""
    if _TEMPLATES.search(call.name) or _TEMPLATES.search(call.written):
        return True
    if call.method == "send" and _TEMPLATE_TYPES.search(type_of_receiver(call, facts)):
        return True
    return _PRODUCERS.search(call.name) is not None and len(call.positional) == 1


def _first(call: Call) -> Call:
    """Return the call that started the chain."""
    while call.origin is not None:
        call = call.origin
    return call


def _first_of_text(call: Call) -> Call:
    """Return the first call of the chain as it is written: `a` of `x.a().b()`."""
    while call.origin is not None and is_within(call.origin.span, call.span):
        call = call.origin
    return call


_BESIDE = NamePattern(
    r"logging|metric|telemetry|analytic|(?:success|failure)_handler|(?:^|_)log_", re.IGNORECASE
)
"""Names of functions that log or count, whose failure changes nothing."""


def _may_fail(task: Call, facts: Facts) -> bool:
    """Return whether the task calls something and catches nothing."""
    given = task.argument(place=1 if task.method == "run_in_executor" else 0)
    if given is not None and len(given.value.text) < 120 and _BESIDE.search(given.value.text):
        return False
    if given is not None and facts.language == "python":
        return _fails_by_name(given.value.text, facts)
    if given is None or given.value.shape != "function":
        return False
    if any(each.handlers for each in facts.within(facts.tries, given.value.span)):
        return False
    return any(_fails(call, facts) for call in facts.within(facts.calls, given.value.span))


_COLLECTION = lazy_regex(r"(?:Map|List|Set|Queue|Deque|Collection)$")


def _is_of_collection(call: Call, facts: Facts) -> bool:
    """Return whether a call is one of a collection in memory, by its type: it hardly fails."""
    return _COLLECTION.search(type_of_receiver(_first_of_text(call), facts)) is not None


def _fails(call: Call, facts: Facts, levels: int = 2) -> bool:
    """Return whether a call may fail: not one of a collection, nor of a function of this text that catches
    its errors or only makes such calls."""
    if is_logging(call):
        return False
    own = own_function(call, facts)
    if own is None:
        return not _is_of_collection(call, facts)
    if levels == 0 or any(each.handlers for each in facts.within(facts.tries, own.body)):
        return levels == 0
    if any(step.kind == "raise" for step in facts.own(facts.steps, own)):
        return True
    return any(_fails(each, facts, levels - 1) for each in facts.within(facts.calls, own.body))


def _fails_by_name(name: str, facts: Facts) -> bool:
    """Return whether a function, given by its name, is of this text and catches nothing, or of another."""
    short = name.rpartition(".")[2]
    if short.strip("_") == "noop":
        return False
    named = facts.functions_named(short)
    return not any(each.handlers for scope in named for each in facts.within(facts.tries, scope.body))


RULE = Rule(
    id="FK-R061",
    slug="dropped-future",
    title="Task whose exception nothing sees",
    why="The future holds the exception, and nothing asks the future: the work is not done, and no log "
    "says so.",
    fix="Add exceptionally or whenComplete, use execute instead of submit, or catch and log inside the task.",
    kind="reliability",
    severity="medium",
    languages=(*JAVA, *KOTLIN, *PYTHON, *RUST, *CSHARP),
    check=_check,
    words=(
        b"submit", b"CompletableFuture", b".send(", b"PoolExecutor", b"_async(", b"run_in_executor", b".imap",
        b".then", b".subscribe(", b"Future<", b"Stage<", b"Deferred<", b"Mono<", b"Uni<", b"async fn",
        b"WhenAny",
    ),
)  # fmt: skip
