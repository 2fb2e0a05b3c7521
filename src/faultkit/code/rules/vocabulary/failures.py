"""Code that runs only after an error, and functions that answer requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Node, Span

_REQUESTS = frozenset({"req", "_req", "request", "_request"})
_RESPONSES = frozenset({"res", "response", "reply", "resp"})
_CHECKED = lazy_regex(r"^\(?\s*(e|err|error|ex|\w*Err|\w*Error)\s*(!==?\s*(null|undefined)\s*)?\)?$")
"""The condition of `if (err)`."""
_NEXT_ROUTES = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
"""Names of the functions that Next.js calls for the methods of a route."""
_ERROR_DECORATORS = frozenset({"exception_handler", "errorhandler", "app_errorhandler", "ExceptionHandler"})
_ERROR_NAME = lazy_regex(r"^(e|ex|exc|err|error|exception|cause|throwable|t)$")
_SOCKETS = ("websocket", "websocket_route")
_COMMENT = lazy_regex(r"(?:#|//|/\*)\W*\w")


def is_handler(scope: Scope) -> bool:
    """Return whether a function answers requests: it has a route, or the parameters `(req, res)`."""
    if scope.route is not None:
        return not any(each.method in _SOCKETS for each in scope.decorators)
    if scope.name in _NEXT_ROUTES or is_error_handler(scope):
        return True
    given = scope.parameters
    if any(each.type == "aiohttp.web.Request" for each in given):
        return True
    return len(given) >= 2 and given[0].name in _REQUESTS and given[1].name in _RESPONSES


def is_error_handler(scope: Scope) -> bool:
    """Return whether a framework calls the function with errors that nothing has caught."""
    # Most functions have fewer parameters.
    names = [each.name for each in scope.parameters] if len(scope.parameters) > 1 else []
    if len(names) in (3, 4) and names[0].startswith("err") and names[1] in _REQUESTS:
        return names[2] in _RESPONSES  # Express, Fastify
    if len(names) == 2 and (names[0] == "call" or names[1] in ("c", "host")):
        # Ktor's `exception<E> { call, cause -> … }`, Hono's `onError`, filters of Nest.
        error = names[1] if names[0] == "call" else names[0]
        return _ERROR_NAME.match(error) is not None
    if scope.short_name == "process_exception" and names[-2:] == ["request", "exception"]:
        return True  # Middleware of Django.
    methods = {each.method for each in scope.decorators}
    return not methods.isdisjoint(_ERROR_DECORATORS) and "ResponseStatus" not in methods


def handler_around(place: Placed, facts: Facts) -> Scope | None:
    """Return the function around a place that answers requests, or None."""
    return next((scope for scope in facts.functions_around(place) if is_handler(scope)), None)


def is_clean_up(place: Placed, facts: Facts) -> bool:
    """Return whether code stands in a handler or a `finally`, where an error may be under way already."""
    return facts.is_in_finally(place) or bool(facts.handlers_around(place))


_CASE = lazy_regex(r"case\s+(?:\w*[eE]rr\s*!=\s*nil|errors\.(?:Is|As)\()")


@dataclass(frozen=True, slots=True)
class FailureBlock:
    """Code that runs only after an error."""

    span: Span
    failed: Scope | None = None
    """The function, if the error is that of the whole request: it stands around all handlers, or a framework
    calls it with what none of them has caught. Then there is no other answer."""


_REPORTS = lazy_regex(
    r"^(inc|increment|Inc|Increment|observe|[rR]ecord_?[eE]xception|[rR]ecord_?[eE]rror|[cC]apture_?[eE]xception"
    r"|[cC]apture_?[mM]essage|[sS]et_?[sS]tatus|labels|with_label_values|WithLabelValues|counter|Counter"
    r"|print_?[sS]tack_?[tT]race|format_exc)$"
)
"""Calls that count or report an error."""
_COUNTS = lazy_regex(r"counter|metric|stats|meter", re.IGNORECASE)
_EMPTIES = lazy_regex(
    r"empty|Empty|[a-z]+Of$|of$|new$|list$|dict$|set$|ArrayList$|HashMap$|List$|Dictionary$"
)
"""Calls that make an empty value, if they are given none."""


def is_count_or_report(call: Call) -> bool:
    """Return whether a call only counts an error, or reports it elsewhere."""
    return _REPORTS.match(call.method) is not None or _COUNTS.search(call.receiver_written) is not None


def has_comment(text: str) -> bool:
    """Return whether a handler, as written, has a comment with words: it may say why nothing is done."""
    return _COMMENT.search(text) is not None


_ONE_CODE = lazy_regex(r"\bwhen\s*\(.*(?:Number|Code|State|Reason)\w*\s*(?:==|is\b(?!\s+not))", re.DOTALL)


def is_for_one_code(handler: Handler, facts: Facts) -> bool:
    """Return whether a filter takes one kind of error: `catch (SqlException e) when (e.Number == 7)` (C#)."""
    return facts.language == "csharp" and _ONE_CODE.search(facts.text(handler.head)) is not None


def only_reports(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler logs or counts an error, and then goes on or returns as if there were none."""
    if handler.raises:
        return False
    calls = list(facts.within(facts.calls, handler.body))
    logs = [call for call in calls if is_logging(call)]
    return (
        bool(logs)
        and not any(facts.within(facts.assignments, handler.body))
        and all(
            is_count_or_report(call)
            or (not call.arguments and _EMPTIES.match(call.method))
            or any(is_within(call.span, log.span) for log in logs)
            for call in calls
        )
    )


def failure_blocks(facts: Facts) -> Iterator[FailureBlock]:
    """Yield the code that runs only after an error: handlers, functions given to `.catch`, `if (err) …`."""
    for each in facts.tries:
        for handler in each.handlers:
            failed = None if handler.raises or not handler.is_broad else _middleware_around(each, facts)
            yield FailureBlock(handler.body, failed)
    for scope in facts.scopes:
        if is_error_handler(scope):
            yield FailureBlock(scope.body, None if _is_fastify(scope) else scope)
    if facts.language == "go":
        yield from (FailureBlock(arm.span) for arm in facts.arms if _CASE.match(facts.text(arm.span)[:40]))
    if facts.language == "kotlin":
        for call in facts.calls_of_method("onFailure", "getOrElse", "recover"):
            given = call.argument(place=0)
            if given is not None and given.value.shape == "function":
                yield FailureBlock(given.value.span)
    if facts.language not in ("javascript", "typescript", "tsx"):
        return
    for call in facts.calls_of_method("catch", "then"):
        given = call.argument(place=0 if call.method == "catch" else 1)
        if given is not None and given.value.shape == "function":
            yield FailureBlock(given.value.span)
    yield from map(FailureBlock, failed_branches(facts, _CHECKED))


_OUTCOME = lazy_regex(
    r"^\(?\s*(?:(?:!|not\s+)\s*\w*(?:[oO]utcome|[rR]esult|res|[sS]ettled|[sS]aved|[rR]eceipt|[aA]ttempt)\w*"
    r"\.(?:ok|success|succeeded|isOk\(\)|isSuccess|IsSuccess|Succeeded|is_ok\(\))"
    r"|\w*(?:[oO]utcome|[rR]esult|[sS]ettled|[aA]ttempt)\w*\."
    r"(?:isErr\(\)|isFailure|IsFailure|failed|error|Error|err|is_err\(\)|is_error)"
    r"|\w+\.status\s*===?\s*[\"']rejected[\"'])\s*\)?$"
)
"""What says that an object which holds the outcome of some work holds a failure."""


def failed_branches(facts: Facts, condition: re.Pattern[str] = _OUTCOME) -> Iterator[Span]:
    """Yield what runs if a condition holds: by default one that says that some work has failed."""
    for step in facts.steps_of("branch"):
        if condition.match(step.text) and (block := node_at(step.span, facts)) is not None:
            inner = block.child_by_field_name("consequence") or block.child_by_field_name("body")
            if inner is not None:
                yield Span(inner.start_byte, inner.end_byte)


_NEXT = lazy_regex(
    r"^(?:self\.)?_?(?:call_next|get_response|next)(?:\.Invoke)?$|(?:^|\.)\w*[cC]hain\.doFilter$"
)


def _middleware_around(each: Try, facts: Facts) -> Scope | None:
    """Return the middleware that tries the rest of the chain: `await next()`, `chain.doFilter(…)`."""
    if any(_NEXT.match(call.written) for call in facts.within(facts.calls, each.body)):
        scope = facts.function_of(each)
        # `next` of an iterator has none of these beside it.
        return (
            scope
            if scope is not None and (len(scope.parameters) >= 2 or facts.language == "csharp")
            else None
        )
    return None


def _is_fastify(scope: Scope) -> bool:
    """Return whether the framework sets the status of a failure before it calls the function."""
    return any(each.name == "reply" for each in scope.parameters)


def node_at(span: Span, facts: Facts) -> Node | None:
    """Return the outermost node that has exactly this span."""
    node = facts.syntax.root.descendant_for_byte_range(span.start, span.end)
    while (
        node is not None
        and node.parent is not None
        and (node.parent.start_byte, node.parent.end_byte) == (span.start, span.end)
        and node.parent.parent is not None
    ):
        node = node.parent
    return node
