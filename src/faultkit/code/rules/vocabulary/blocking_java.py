"""Java and Kotlin: calls that keep a thread of an event loop waiting (Reactor, Netty, Vert.x, Mutiny)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import LIKELY, Hit
from faultkit.code.rules.vocabulary.blocking_clients import blocks_on_jvm, is_done_by_then, is_referred_to
from faultkit.code.rules.vocabulary.call_paths import callers_through

_JAVA = lazy_regex(
    r"^((java\.lang\.)?Thread\.sleep|.*\bJdbcTemplate\.\w+|.*\bRestTemplate\.\w+|java\.nio\.file\.Files\.(read|write)\w+"
    r"|.*\.(bodyToMono|bodyToFlux|toEntity|Mono\.\w+)\(\)(\.\w+\(\))*\.block|java\.net\.http\.HttpClient\b.*\.send"
    r"|(java\.util\.concurrent\.)?(Completable|Listenable)?Future\.(get|join))$"
)
_BLOCK = ("block", "blockFirst", "blockLast", "blockOptional")
_ANNOTATIONS = lazy_regex(r"@\w+(\([^()]*\))?")
_REACTIVE = lazy_regex(r"\b(Mono|Flux|Uni|Multi|Single|Flowable|Completable)\s*<")
_ON_POOL = lazy_regex(r"subscribeOn|publishOn|boundedElastic|Schedulers\.|Dispatchers\.")
_WORKERS = (b"setworker(true)", b"threadingmodel.worker", b"virtual_thread")
"""Words of a text whose verticles run on threads that may wait."""


def blocking_on_loop(facts: Facts) -> Iterator[Hit]:
    """Yield blocking calls in methods that return a Mono or Flux: they run on the few threads of the loop."""
    if not facts.imports_any("reactor.core", "io.netty", "io.vertx", "io.smallrye.mutiny", "io.reactivex"):
        return
    for call in facts.calls:
        scope = facts.named_function_of(call)
        # A bare `block()` is a function that was given.
        blocks = call.method in _BLOCK and not call.arguments and bool(call.receiver_written)
        if scope is None or scope.is_async:
            continue
        if not (blocks or _JAVA.match(call.name) or blocks_on_jvm(call) or _is_plain_answer(call, facts)):
            continue
        if is_done_by_then(call, facts):
            continue
        if _is_on_loop(call, scope, facts):
            what = f"{call.written}() blocks a thread of the event loop until it is done"
            yield Hit(call.span, what, LIKELY)
            continue
        if _is_reactive(scope, facts):
            if not _ON_POOL.search(facts.text(scope.span)):
                what = f"{call.written}() blocks a thread of the event loop until it is done"
                yield Hit(call.span, what, LIKELY)
            continue
        for other in facts.scopes:
            if not other.name or not _is_reactive(other, facts) or not is_referred_to(scope, other, facts):
                continue
            if not _ON_POOL.search(facts.text(other.span)):
                what = f"{call.written}() blocks a thread of the event loop ({other.short_name}() runs it)"
                yield Hit(call.span, what, LIKELY)
                break
        for caller in callers_through(call, facts):
            around = facts.named_function_of(caller)
            if around is None or not (_is_reactive(around, facts) or _is_on_loop(caller, around, facts)):
                continue
            if _ON_POOL.search(facts.text(around.span)):
                continue
            what = f"{caller.written}() blocks a thread of the event loop (it calls {call.written}())"
            yield Hit(caller.span, what, LIKELY)


_OWN_THREADS = lazy_regex(r"@(ExecuteOn|Blocking|RunOnVirtualThread)\b")
_OF_CLASS = lazy_regex(r"@(ExecuteOn|Blocking|RunOnVirtualThread)\b[^;{}]*\bclass\b")
_THREAD_WORDS = (b"executeon", b"@blocking", b"runonvirtualthread")


def _has_own_threads(scope: Scope, facts: Facts) -> bool:
    """Return whether an annotation has a method run on threads that may wait: `@ExecuteOn(IO)`."""
    if not facts.syntax.has_any(*_THREAD_WORDS):
        return False
    return _OWN_THREADS.search(facts.text(scope.head)) is not None or (
        _OF_CLASS.search(facts.whole_text) is not None
    )


def _is_reactive(scope: Scope, facts: Facts) -> bool:
    """Return whether a method returns a Mono or another value that comes later, and the loop runs it."""
    if _has_own_threads(scope, facts):
        return False
    head = _ANNOTATIONS.sub("", facts.text(scope.head))
    declared = head.rpartition(")")[2] if facts.language == "kotlin" else head.partition("(")[0]
    return _REACTIVE.search(declared) is not None


_NETTY = frozenset(("channelRead", "channelRead0", "messageReceived", "userEventTriggered", "channelActive"))
_VERTX = frozenset(
    (
        "handler", "consumer", "setTimer", "setPeriodic", "onSuccess", "onComplete", "onFailure",
        "requestHandler", "bodyHandler", "webSocketHandler", "connectHandler", "localConsumer",
        "failureHandler", "respond", "exceptionHandler", "endHandler", "closeHandler",
    )
)  # fmt: skip


def _is_on_loop(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the loop of Netty or Vert.x runs a call."""
    around = facts.calls_around(call)
    if facts.imports_any("io.netty") and scope.short_name in _NETTY:
        return not any(each.method in ("submit", "execute", "runAsync", "supplyAsync") for each in around)
    if not facts.imports_any("io.vertx") or any(each.method == "executeBlocking" for each in around):
        return False
    if facts.syntax.has_any(*_WORKERS):
        return False
    return any(each.method in _VERTX for each in around) or scope.short_name in _given_to_loop(facts)


_REFERENCE = lazy_regex(r"(?:this|self|[A-Z]\w*)?::(\w+)")


@lru_cache(maxsize=4)
def _given_to_loop(facts: Facts) -> frozenset[str]:
    """Return the methods that Vert.x calls on its loop, given by their names: `consumer(a, this::answer)`."""
    return frozenset(
        found[1]
        for call in facts.calls_of_method(*_VERTX)
        for each in call.positional
        if "::" in each.value.text and (found := _REFERENCE.fullmatch(each.value.text)) is not None
    )


_EAGER = frozenset(("just", "justOrEmpty", "fromIterable", "fromStream", "fromArray", "item", "items"))
_STORE = lazy_regex(r"(?:[rR]epository|[rR]epo|[dD]ao|DAO|[mM]apper|[jJ]dbc\w*|[eE]ntityManager)$")
_OF_ROWS = lazy_regex(r"(?:select|insert|update|delete|find|query|count|list|get)(?:[A-Z]\w*)?$")
"""Methods of a mapper of rows; one that maps objects to others has `toOrder()`."""
_PLAIN = lazy_regex(r"^(?:java\.util\.)?(?:List|Set|Optional|Map|Collection|Iterable|Page|Slice)$")


def _is_plain_answer(call: Call, facts: Facts) -> bool:
    """Return whether a store gives its answer as a plain value: `Mono.just(orders.findById(id))`.

    A reactive store gives a Mono, which no one puts into another."""
    if not call.receiver_written or _STORE.search(call.receiver_written) is None:
        return False
    if call.receiver_written.endswith(("apper", "appers")) and _OF_ROWS.match(call.method) is None:
        return False
    around = facts.calls_around(call)
    if around and around[-1].method in _EAGER and re.match(r"(?:Mono|Flux|Uni|Multi)\b", around[-1].written):
        return not any(each.shape == "function" for each in (a.value for a in around[-1].arguments))
    if len(call.assigned) != 1:
        return False
    return any(
        each.call is call and _PLAIN.match(each.type) is not None
        for each in facts.assignments_to(call.assigned[0], call)
    )
