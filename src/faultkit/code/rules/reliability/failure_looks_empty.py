"""Finds failed lookups that look like an empty answer.

It is shown if a remote call fails without a log line or a word about it, or if the empty answer is that of a
request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Place, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.nesting import start_of
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.reliability.failed_result_cached import failures_in_cached_functions
from faultkit.code.rules.reliability.failure_taken_for_data import (
    catches_failures,
    fails_at,
    failures_acted_on,
)
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.answered_failures import is_write
from faultkit.code.rules.vocabulary.bad_statuses import STATUS_WORDS, empty_by_status
from faultkit.code.rules.vocabulary.command_lines import is_for_browser
from faultkit.code.rules.vocabulary.empty_answers import empty_answers
from faultkit.code.rules.vocabulary.failures import is_for_one_code, only_reports
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.service_clients import service_calls

_EMPTY = lazy_regex(
    r"(return\s+|=>\s*|->\s*)?\(?("
    r"\[\]|\{\}|None|null|nil|undefined|0|0\.0|\"\"|''|``|false|False|list\(\)|dict\(\)|set\(\)|\(\)"
    r"|Collections\.empty\w+\(\)|(List|Set|Map|Optional)\.(of|empty)\(\)"
    r"|new (ArrayList|HashMap|List|Dictionary)<[^>]*>\(\)"
    r"|Array\.Empty<[^>]*>\(\)|Enumerable\.Empty<[^>]*>\(\)|empty(List|Map|Set)(<[^>]*>)?\(\)|listOf(<[^>]*>)?\(\)"
    r"|BigDecimal\.ZERO|vec!\[\]|Vec::new\(\)"
    r")\)?\s*;?"
)
_OFFERS = lazy_regex(
    r"cache|suggest|recommend|related|preview|hint|optional|best_?effort|try_|^try[A-Z]|is_|has_|exists|avail|ping|health|version|check",
    re.I,
)
"""Functions whose answer is welcome but not needed, or whose answer is the failure."""
_BESIDE = lazy_regex(
    r"cache|suggest|recommend|related|preview|hint|optional|best_?effort|usage_?(?:data|report)|telemetr",
    re.I,
)
"""Requests whose answer is welcome but not needed."""
_RUST_DEFAULTS = frozenset(("unwrap_or_default", "unwrap_or", "unwrap_or_else", "ok"))
_KOTLIN_DEFAULTS = frozenset(("getOrDefault", "getOrNull", "getOrElse"))


def _check(facts: Facts) -> Iterator[Hit]:
    found = (*_answers(facts), *_of_requests(facts), *_of_statuses(facts), *_of_runners(facts))
    # What the program then does, or keeps in a cache, says more about the same answer.
    worse = [*failures_acted_on(facts)] if found else []
    if found and facts.language == "python":
        worse += failures_in_cached_functions(facts)
    if facts.language in ("java", "kotlin"):
        yield from _futures(facts)
    seen = set[Span]()
    # A page shows one user for a moment that there is nothing.
    in_browser = bool(found) and is_for_browser(facts)
    for place, hit in found:
        if hit.span not in seen and not any(is_within(each.span, place) for each in worse):
            seen.add(hit.span)
            yield replace(hit, confidence=POSSIBLE) if in_browser else hit


def _of_requests(facts: Facts) -> Iterator[tuple[Span, Hit]]:
    """Yield hits for empty lists that are the whole answer of a request."""
    for span, given in empty_answers(facts):
        scope = facts.function_at(span) or facts.named_function_of(Place(span))
        name = "" if scope is None else f"{scope.name} {'' if scope.route is None else scope.route.path}"
        if not _BESIDE.search(name) and not _WELCOME.search(name):
            what = f"when the call fails, the request is answered with {given} as if there were nothing"
            yield span, Hit(span, what, LIKELY)


def _of_statuses(facts: Facts) -> Iterator[tuple[Span, Hit]]:
    """Yield hits for empty lists in place of an answer whose status is one of failure."""
    for span, given in empty_by_status(facts):
        scope = facts.named_function_of(Place(span))
        name = "" if scope is None else scope.name
        if not _OFFERS.search(name) and not _WELCOME.search(name):
            what = f"when the status is one of failure, {given} is given as if there were nothing"
            yield span, Hit(span, what, LIKELY)


def _of_runners(facts: Facts) -> Iterator[tuple[Span, Hit]]:
    """Yield hits for functions that run writes which they are given, and give nothing if one fails."""
    for each in facts.tries:
        scope = facts.function_of(each)
        given = {one.name for one in scope.parameters} if scope is not None and scope.name else set[str]()
        runs = (call.written.partition(".")[0] for call in facts.within(facts.calls, each.body))
        if scope is None or given.isdisjoint(runs) or _is_welcome_only(scope):
            continue
        for handler in each.handlers:
            empty = _given(handler, facts)
            is_silent = not handler.uses_error and not any(
                facts.within(facts.steps_of("raise"), handler.body)
            )
            if empty is None or not (handler.is_broad and is_silent) or _says(handler, facts):
                continue
            functions = (
                one.value.span
                for call in facts.callers_of(scope)
                for one in call.arguments
                if one.value.shape == "function"
            )
            if any(is_write(call, facts) for span in functions for call in facts.within(facts.calls, span)):
                what = f"what {scope.short_name}() is given writes, and {empty} hides that it failed"
                yield handler.body, Hit(handler.span, what, LIKELY)


def _says(handler: Handler, facts: Facts) -> bool:
    logged = any(map(is_logging, facts.within(facts.calls, handler.body)))
    return (
        logged or bool(facts.comment_at(handler)) or re.search(r"//|#", facts.text(handler.body)) is not None
    )


def _answers(facts: Facts) -> Iterator[tuple[Span, Hit]]:
    """Yield hits, each with the handler or the call that gives the empty answer."""
    asked = {each.call for each in remote_calls(facts) if each.kind != "cache" and each.is_read}
    asked |= {*service_calls(facts)}
    if not asked:
        return
    ordered = tuple(sorted(asked, key=start_of))
    for each in facts.tries:
        if not any(True for _ in facts.within(ordered, each.body)):
            continue
        for handler in each.handlers:
            yield from ((handler.body, hit) for hit in _handled(each, handler, facts))
    if facts.language in JAVASCRIPT:
        yield from ((hit.span, hit) for hit in _promises(asked, facts))
    if facts.language in ("rust", "kotlin"):
        yield from ((hit.span, hit) for hit in _defaults(asked, facts))


def _handled(each: Try, handler: Handler, facts: Facts) -> Iterator[Hit]:
    scope = facts.function_of(each)
    if scope is None or handler.raises or not catches_failures(handler, facts):
        return
    if is_for_one_code(handler, facts):
        return
    given = _given(handler, facts)
    if given is None or _is_welcome_only(scope) or _is_answer(given, scope, facts):
        return
    what = f"when the call fails, {given} is given as if that were the answer"
    calls = [*facts.within(facts.calls, handler.body)]
    logged = handler.uses_error or any(is_logging(call) or _LOGS.search(call.method) for call in calls)
    if not (logged or facts.comment_at(handler) or re.search(r"//|#", facts.text(handler.body))):
        yield Hit(handler.span, what, POSSIBLE if _is_documented(given, scope, facts) else LIKELY)
    elif (
        scope.owner
        and only_reports(handler, facts)
        and _ASKS.match(scope.short_name)
        and not _WELCOME.search(scope.name)
        and given.lower() != "false"
        and not (given in ("null", "None", "undefined") and _may_be_none(scope, facts))
    ):
        yield Hit(handler.span, what, POSSIBLE)


_LOGS = lazy_regex(r"^_*(?:log|report|capture)(?:_|[A-Z]|$)")
"""Methods of a class or a framework that write the error that is being handled to a log."""


def _is_answer(given: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a function says only whether something works, so that a failure is a no."""
    if given.lower() != "false":
        return False
    returns = [step.text.strip("; ") for step in facts.own(facts.steps, scope) if step.kind == "return"]
    return {text.lower() for text in returns} <= {"true", "false"}


_ON_FAILURE = lazy_regex(
    r"on (?:any )?(?:error|failure)|(?:if|when)\b.{0,40}\bfail|cannot be|could not be|unavailable", re.I
)


def _is_documented(given: str, scope: Scope, facts: Facts) -> bool:
    """Return whether the text above a function, or its first lines, says what it gives after a failure."""
    first = facts.line(scope)
    above = [facts.syntax.line_text(at) for at in range(max(1, first - 12), first)]
    kept = list[str]()
    for line in reversed(above):
        if line.strip() and not line.strip().startswith(("*", "/*", "//", "///", "#", "@", "[")):
            break
        kept.append(line)
    lines = [*kept, facts.text(scope.body)[:400] if facts.language == "python" else ""]
    return any(given.lower() in line.lower() and _ON_FAILURE.search(line) for line in lines)


_OPTIONAL = lazy_regex(r"\?\s*=?\s*$|\|\s*(null|None|undefined)|Optional\[")


def _may_be_none(scope: Scope, facts: Facts) -> bool:
    """Return whether a private function says that it may have no answer, so that its callers must ask."""
    head = facts.text(scope.head)
    is_private = "private" in head or scope.short_name.startswith("_")
    return is_private and _OPTIONAL.search(head.rstrip("{ :\n")) is not None


_ASKS = lazy_regex(r"_*(?i:get|find|load|list|fetch|search|query|read|lookup|is|has|count|balance|all)")
_WELCOME = lazy_regex(
    r"cache|suggest|recommend|metric|stat|avatar|icon|image|thumb|banner|feature|flag|health", re.I
)


def _given(handler: Handler, facts: Facts) -> str | None:
    """Return the empty value that a handler gives; None if it gives something else."""
    for step in facts.within(facts.steps, handler.body):
        if step.kind == "return":
            return _empty_in(step.text, facts)
    if facts.language == "kotlin":
        lines = [line.strip() for line in facts.text(handler.body).strip("{} \n").splitlines()]
        return lines[-1] if lines and _EMPTY.fullmatch(lines[-1]) else None
    return None


def _empty_in(text: str, facts: Facts) -> str | None:
    if facts.language == "go":
        parts = [part.strip() for part in text.split(",")]
        if len(parts) == 1:
            return text if _GO_LIST.fullmatch(text.strip()) else None
        is_lost = len(parts) > 1 and parts[-1] == "nil" and all(_EMPTY.fullmatch(part) for part in parts)
        return text if is_lost else None
    bare = text.strip().rstrip(";")
    return bare if bare and _EMPTY.fullmatch(bare) else None


_GO_LIST = lazy_regex(r"\[\][\w.*]+\{\}|map\[[\w.]+\][\w.*\[\]]+\{\}|make\((?:\[\]|map\[)[^()]*\)")
"""Lists of nothing, as the only result of a function: that of one that cannot say that it failed."""


def _is_welcome_only(scope: Scope) -> bool:
    return _OFFERS.search(scope.short_name) is not None or _BESIDE.search(scope.owner) is not None


def _promises(asked: set[Call], facts: Facts) -> Iterator[Hit]:
    """Yield `fetch(…).catch(() => [])`."""
    for call in facts.calls_of_method("catch"):
        given = call.argument(place=0)
        if given is None or given.value.shape != "function" or facts.comment_at(call):
            continue
        body = given.value.text.partition("=>")[2].strip()
        if not _EMPTY.fullmatch(body) or body in ("{}", "undefined", "null"):
            continue
        source: Call | None = call.origin
        while source is not None and source not in asked:
            source = source.origin
        scope = facts.named_function_of(call)
        if source is not None and _is_told(call, facts):
            continue
        if source is not None and (scope is None or not _is_welcome_only(scope)):
            yield Hit(
                call.span,
                f"when {source.written}() fails, {body} is given as if that were the answer",
                POSSIBLE,
            )


def _is_told(call: Call, facts: Facts) -> bool:
    """Return whether the value is only used in the error that is thrown next."""
    around = [
        arm for arm in facts.within(facts.arms, _block_of(call, facts)) if is_within(call.span, arm.span)
    ]
    if not around or not call.assigned:
        return False
    steps = facts.within(facts.steps, Span(call.span.end, around[-1].span.end))
    return any(step.kind == "raise" for step in steps)


def _block_of(call: Call, facts: Facts) -> Span:
    scope = facts.function_of(call)
    return call.span if scope is None else scope.body


_LAST = lazy_regex(r"(?:return\s+|->\s*\{?\s*|\n\s*)([^\n;{}]+?)\s*;?\s*\}?\s*$")
_NOTHING = lazy_regex(r"(?:Mono|Flux|Uni|Maybe)\.(?:empty\(\)|just\((.*)\))")


_THROWS = lazy_regex(r"\bthrow\b|\w*[tT]hrow\w*\(|failedFuture\(|Mono\.error\(")


def _is_of_cache(call: Call) -> bool:
    """Return whether the first call of a chain asks a cache, of which nothing has to be in it."""
    first = call
    while first.origin is not None:
        first = first.origin
    return "cache" in first.written.lower()


def _futures(facts: Facts) -> Iterator[Hit]:
    """Yield `future.exceptionally(e -> null)`, `mono.onErrorReturn(0)` and the like."""
    for call in facts.calls_of_method("exceptionally", "onErrorReturn", "onErrorResume"):
        given = call.positional[-1].value.text if call.positional else ""
        scope = facts.named_function_of(call)
        if scope is None or _is_welcome_only(scope) or _WELCOME.search(scope.name) or facts.comment_at(call):
            continue
        if len(call.positional) > 1 or _THROWS.search(given):
            continue  # Some errors only, or none.
        if call.origin is not None and (_is_of_cache(call) or is_write(call.origin, facts)):
            continue
        if call.origin is not None and call.origin.method in (
            "thenAccept",
            "thenRun",
            "thenAcceptAsync",
            "then",
        ):
            continue  # A future without a value.
        last = _LAST.search(given)
        text = (given if last is None else last[1]).strip()
        nothing = _NOTHING.fullmatch(text)
        if nothing is not None:
            text = "null" if nothing[1] is None else nothing[1]
        if _EMPTY.fullmatch(text):
            what = f"{call.written}() makes every failure look like an empty answer"
            yield Hit(call.span, what, POSSIBLE)


def _defaults(asked: set[Call], facts: Facts) -> Iterator[Hit]:
    """Yield `fetch_all(&pool).await.unwrap_or_default()` and `runCatching { … }.getOrNull()`."""
    names = _RUST_DEFAULTS if facts.language == "rust" else _KOTLIN_DEFAULTS
    for call in facts.calls_of_method(*names):
        scope = facts.named_function_of(call)
        if call.is_discarded or facts.comment_at(call) or (scope is not None and _is_welcome_only(scope)):
            continue
        first = call.argument(place=0)
        text = "" if first is None else first.value.text.strip("{} ")
        if first is not None and not _EMPTY.fullmatch(text):
            continue
        if _is_asked_for(call, text, facts):
            continue
        source = call.origin
        while (
            facts.language == "kotlin" and source is not None and source.method in ("onFailure", "onSuccess")
        ):
            source = source.origin
        if source is None:
            continue
        if facts.language == "kotlin":
            block = source.argument(place=0) if source.method == "runCatching" else None
            found = block is not None and any(is_within(each.span, block.value.span) for each in asked)
        else:
            found = source in asked and fails_at(call, facts)
        if found:
            what = f"{call.written}() makes a failed call look like an empty answer"
            # A variable that may be null has to be asked before it is used (Kotlin).
            is_asked = call.method == "getOrNull" and bool(call.assigned)
            yield Hit(call.span, what, POSSIBLE if is_asked else LIKELY)


_LEAVES_WITHOUT = lazy_regex(r"\s*\?:\s*(?:return|throw|run\s*\{)")


def _is_asked_for(call: Call, given: str, facts: Facts) -> bool:
    """Return whether a failure has a branch of its own: `if sent().await.unwrap_or(false) {…} else {…}`."""
    after = facts.text(Span(call.span.end, call.span.end + 60))
    if _LEAVES_WITHOUT.match(after):
        return True
    # `unwrap_or_default()` of a yes or no.
    if given != "false" and not (call.method == "unwrap_or_default" and re.match(r"\s*\{", after)):
        return False
    return any(
        arm.place > 0 and arm.fork.start <= call.span.start and call.span.end <= arm.span.start
        for arm in facts.within(facts.arms, _block_of(call, facts))
        if not any(
            one.fork == arm.fork and is_within(call.span, one.span)
            for one in facts.within(facts.arms, arm.fork)
        )
    )


RULE = Rule(
    id="FK-R134",
    slug="failure-looks-empty",
    title="Failure that looks like an empty answer",
    why="Callers cannot tell an outage from no data: they show zero, skip work, or remove what seems gone.",
    fix="Let the error go up, or return something that says that the answer is not known; log it at least.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"except",
        b"catch",
        b"err != nil",
        b"unwrap_or",
        b".ok()",
        b"runCatching",
        b"exceptionally",
        b"onError",
        *STATUS_WORDS,
    ),
)
