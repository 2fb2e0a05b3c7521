"""Operators of streams that subscribe again after a failure: flows of Kotlin, Reactor, RxJava, RxJS.

`retry` without arguments has no limit in all of them, and none of them waits unless it is told to. What goes
on with a pause for as long as its subscriber lives is no retry without a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Argument, Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.retry_loops import Retry
from faultkit.code.rules.vocabulary.waits import is_sleep

_JAVA_STREAMS = (
    "io.reactivex",
    "io.reactivex.rxjava3",
    "io.reactivex.rxjava2",
    "rx",
    "reactor.core.publisher",
)
_FLOWS = "kotlinx.coroutines.flow"
_PAUSES = lazy_regex(
    r"\b(delay\w*|sleep|timer|backoff\w*|Backoff\w*|fixedDelay|interval|debounce|pause|wait\w*|interval\w*)\s*[(:{]"
    r"|delayElement|delaySubscription|\bdelay\b"
)
_ENDS = lazy_regex(
    r"\b(take|takeWhile|zipWith|zip|range|limit|maxAttempts|max|maxInARow|throwError|error|takeUntil|scan|index)\s*[(:]"
    r"|(?<![-=])>=?|<=?|\bthrow\b"
)
_ENDLESS = lazy_regex(
    r"(Long|Int|Integer|Number)\.(MAX_VALUE|MAX_SAFE_INTEGER|POSITIVE_INFINITY)|Infinity|-1"
)
_OF_CLIENT = lazy_regex(r"\b(bodyToMono|bodyToFlux|Mono|Flux|exchangeToMono)\b")
"""Known without imports: see `retry_policies`."""
_SEVERAL = 3


def operators(facts: Facts) -> Iterator[Retry]:
    """Yield the retries by operators of streams that are told neither to wait nor to give up."""
    found = facts.calls_of_method("retry", "retryWhen", "Retry")
    if not found:
        return
    for languages, modules, find in _KINDS:
        if facts.language in languages and facts.imports_any(*modules):
            for call in found:
                if (made := find(call, facts)) is not None:
                    yield made
            return


def _retry(call: Call, waits: bool | None, limited: bool | None) -> Retry:
    # The finding points at the operator, and not at the whole chain.
    place = Span(call.callee.end - len(call.method), call.span.end)
    # One finding is enough: without a limit, the missing pause is a part of it.
    return Retry("helper", place, call.span, call, None, None if limited is False else waits, None, limited)


def _function(call: Call) -> Argument | None:
    return next((each for each in call.arguments if each.value.shape == "function"), None)


def _waits_in(given: Argument | None, facts: Facts) -> bool:
    if given is None:
        return False
    span = given.value.span
    return any(is_sleep(each) for each in facts.within(facts.calls, span)) or (
        _PAUSES.search(given.value.text) is not None
    )


def _of_flow(call: Call, facts: Facts) -> Retry | None:
    if "." not in facts.text(call.callee) or call.method == "Retry":
        return None
    given = _function(call)
    waits = _waits_in(given, facts)
    if call.method == "retryWhen":
        if given is None:
            return None
        ends = _ENDS.search(given.value.text) is not None
        return None if waits else _retry(call, False, ends)
    limit = next((each for each in call.arguments if each is not given), None)
    if limit is not None and limit.value.shape in ("name", "function") and given is None:
        return None  # The predicate is written elsewhere.
    endless = limit is None or _ENDLESS.fullmatch(limit.value.text) is not None
    return None if waits else _retry(call, False, not endless)


def _of_stream(call: Call, facts: Facts) -> Retry | None:
    """Return `retry` of Reactor or Rx as a retry; what `retryWhen` of Reactor is given is known elsewhere."""
    if "." not in facts.text(call.callee) or _OF_CLIENT.search(call.name):
        return None
    if call.method == "retryWhen":
        given = _function(call)
        if given is None or _waits_in(given, facts):
            return None
        return _retry(call, False, _ENDS.search(given.value.text) is not None)
    if not call.arguments:
        return _retry(call, False, False) if _is_stream(call, facts) else None
    first = call.arguments[0]
    if first.value.shape == "number" and _is_stream(call, facts):
        return _retry(call, False, True)
    if first.value.shape == "function" and _is_stream(call, facts):
        return _retry(call, False, _ENDS.search(first.value.text) is not None)
    return None


_CHAINED = lazy_regex(
    r"\.(map|flatMap|concatMap|switchMap|filter|doOn\w+|subscribeOn|observeOn|subscribe|blockingGet|timeout|onError\w+"
    r"|Select|SelectMany|Where|Subscribe|Timeout|Do|publishOn|mapNotNull|switchIfEmpty|defer|fromCallable|just|create"
    r"|using|interval|bodyToMono|bodyToFlux|collectList|then|merge|Defer|FromAsync|Catch|ObserveOn|block)\b"
)


def _is_stream(call: Call, facts: Facts) -> bool:
    """Return whether operators of streams stand beside a `retry`."""
    after = facts.syntax.source[call.span.end : call.span.end + 80].decode("utf-8", "replace").lstrip()
    return _CHAINED.search(facts.text(call.span)) is not None or _CHAINED.match(after) is not None


def _of_rxjs(call: Call, facts: Facts) -> Retry | None:
    if not call.name.startswith("rxjs"):
        return None
    if call.method == "retryWhen":
        given = _function(call)
        if given is None or _waits_in(given, facts):
            return None
        return _retry(call, False, _ENDS.search(given.value.text) is not None)
    if not call.arguments:
        return _retry(call, False, False)
    count = call.argument("count", place=0)
    if call.has("delay"):
        return None
    if count is None or _ENDLESS.fullmatch(count.value.text):
        return _retry(call, False, False)
    several = count.value.text.isdigit() and int(count.value.text) > _SEVERAL
    return _retry(call, False, True) if several else None


_KINDS: tuple[tuple[tuple[str, ...], tuple[str, ...], Callable[[Call, Facts], Retry | None]], ...] = (
    (("kotlin",), (_FLOWS,), _of_flow),
    (("java", "kotlin"), _JAVA_STREAMS, _of_stream),
    (("csharp",), ("System.Reactive.Linq", "System.Reactive"), _of_stream),
    (("javascript", "typescript", "tsx"), ("rxjs",), _of_rxjs),
)
"""Languages, what a text imports, and how its operators are read."""
