"""Requests that are answered with an empty list because what they asked for has failed.

The list is the whole answer: clients see that there is nothing. What is only a part of an answer may be left
out on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Handler, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT
from faultkit.code.rules.vocabulary.answered_failures import answers_in, is_rpc
from faultkit.code.rules.vocabulary.dropped_failures import is_failure_of_work
from faultkit.code.rules.vocabulary.empty_values import is_empty_list, says_failed
from faultkit.code.rules.vocabulary.failures import has_comment, is_count_or_report

_OK = r"(?:20\d|(?:http|fiber)\.StatusOK|HttpStatusCode\.OK|StatusCode::OK|HttpStatus\.OK)"
_WRAPPED = lazy_regex(
    rf"^(?:return\s+)?(?:await\s+)?[\w.:]+!?(?:\((?:{_OK})?\)(?:\.|::)\w+)*"
    rf"\(\s*(?:{_OK}\s*,)?(.*?)(?:,\s*{_OK})?\s*\)[\s;]*$",
    re.DOTALL,
)
_WRAPPERS = frozenset(
    (
        "return", "await", "res", "response", "reply", "json", "Json", "send", "Ok", "ok", "OK", "jsonify",
        "status", "Results", "TypedResults", "ResponseEntity", "body", "c", "ctx", "JSON", "http",
        "StatusOK", "code", "call", "respond", "w", "200", "HttpResponse", "JSONResponse", "JsonResponse",
        "Response", "HttpStatusCode", "NextResponse", "json_response", "web", "content", "safe", "False",
        "StatusCode", "finish", "gctx", "NewEncoder", "Encode", "encoding", "items", "data", "results",
        "axum", "into_response", "context",
    )
)  # fmt: skip
"""Words of an answer that are no part of what it holds."""


def empty_answers(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield what makes an empty answer of a failure, with that answer as written."""
    is_any = any(scope.route is not None for scope in facts.scopes)
    if not is_any and not facts.syntax.has_any(*_RPC, *_GRAPHQL):
        return
    for each in facts.tries:
        scope = facts.route_of(each) or _rpc_of(each, facts)
        if scope is None or facts.handlers_around(each) or not _asks(each.body, facts):
            continue
        for handler in each.handlers:
            given = _given(handler, each, scope, facts)
            if given:
                yield handler.span, given
                break
    yield from _by_helpers(facts)
    yield from _defaults(facts)


def _by_helpers(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield handlers of functions that give a list of nothing after a failure, and with it the answer."""
    for each in facts.tries:
        scope = facts.function_of(each)
        if scope is None or not scope.name or scope.route is not None or not _asks(each.body, facts):
            continue
        for handler in each.handlers:
            returned = [step for step in facts.within(facts.steps, handler.body) if step.kind == "return"]
            given = returned[0].text.strip("; ") if len(returned) == 1 else ""
            if not (given and is_empty_list(given)) or not is_failure_of_work(handler):
                continue
            if "Optional" in given:
                continue  # The caller has to ask for it, and does something else without it.
            if has_comment(facts.text(handler.span)) or _has_branch(handler.body, facts):
                continue
            if _only_logs_beside(handler.body, [returned[0].span], facts) and any(
                _is_in_answer(call, facts) for call in facts.callers_of(scope)
            ):
                yield handler.span, given


def _is_in_answer(call: Call, facts: Facts) -> bool:
    """Return whether the result of a call is in an answer, and nothing else that was asked for is."""
    scope = facts.route_of(call)
    if scope is None:
        return False
    asked = {
        name
        for one in facts.within(facts.assignments, scope.body)
        if one.call is not None and one.call is not call and (one.call.is_awaited or "err" in one.targets)
        for name in one.targets
    }
    name = call.assigned[0] if call.assigned else ""
    for answer in answers_in(Span(call.span.start, scope.body.end), scope, facts):
        words = {*re.findall(r"[A-Za-z_]\w*", re.sub(r"\"[^\"]*\"|'[^']*'", "", facts.text(answer)))}
        if (name in words or is_within(call.span, answer)) and not words & (asked - {name, "err", "_"}):
            return True
    return False


_MESSAGE = lazy_regex(
    r"^(?:&?(?:new\s+)?(?:\w+\.)*[A-Z]\w*(?:\{\}|\(\))|[A-Z]\w*(?:\.|::)(?:getDefaultInstance|default)\(\)"
    r"|[A-Z]\w*\.newBuilder\(\)\.build\(\))(?:\s*,\s*nil)?$"
)
"""A message of gRPC without any part."""
_RPC = (b"grpc", b"streamobserver", b"servercallcontext", b"servicer", b"pb.", b"tonic")


def _rpc_of(each: Try, facts: Facts) -> Scope | None:
    scope = facts.function_of(each) if facts.syntax.has_any(*_RPC, *_GRAPHQL) else None
    if scope is None:
        return None
    return scope if is_rpc(scope, facts) or _resolves(scope, facts) else None


_GRAPHQL = (b"graphql", b"querymapping", b"resolver", b"strawberry", b"graphene")
_RESOLVES = frozenset(
    ("QueryMapping", "SchemaMapping", "DgsQuery", "DgsData", "Query", "ResolveField", "query")
)
_OF_QUERY = lazy_regex(r"(?:^|\.)(?:Query|QueryRoot|\w*[qQ]ueryResolver)$")


def _resolves(scope: Scope, facts: Facts) -> bool:
    """Return whether a function answers a query of GraphQL, of which `[]` says that there is nothing."""
    if any(each.method in _RESOLVES for each in scope.decorators) and facts.syntax.has_any(*_GRAPHQL):
        return True
    owner, _, name = scope.name.rpartition(".")
    return bool(name) and _OF_QUERY.search(scope.owner or owner) is not None


def _asks(body: Span, facts: Facts) -> bool:
    return any(
        (call.receiver_written or call.is_awaited) and not call.constructs and not is_logging(call)
        for call in facts.within(facts.calls, body)
    )


def unwrapped(text: str) -> str:
    """Return what an answer holds: `[]` of `return res.status(200).json([])`."""
    text = text.strip().removeprefix("return ").strip("; \n")
    for _ in range(4):
        found = _WRAPPED.match(text)
        if found is None or is_empty_list(text):
            break
        text = found[1].strip()
    return text


def _given(handler: Handler, each: Try, scope: Scope, facts: Facts) -> str:
    """Return the empty list that a handler answers with; empty if it does not."""
    if (handler.raises and facts.language != "go") or not is_failure_of_work(handler):
        return ""
    if has_comment(facts.text(handler.span)) or _has_branch(handler.body, facts):
        return ""
    answers = answers_in(handler.body, scope, facts)
    if len(answers) == 1:
        given = unwrapped(facts.text(answers[0]))
        is_empty = is_empty_list(given) or _is_emptied(given, each, scope, facts)
        if scope.route is None:  # Of gRPC.
            given = facts.text(answers[0]).strip().removeprefix("return ").strip("; ")
            is_empty = is_empty or _MESSAGE.match(given) is not None
        return given if is_empty and _only_logs_beside(handler.body, answers, facts) else ""
    if answers or any(step.kind in ("return", "raise") for step in facts.within(facts.steps, handler.body)):
        return ""
    end = max(each.span.end, handler.span.end)
    sets = [one for one in facts.within(facts.assignments, handler.body) if one.operator in ("=", ":=")]
    if (filled := _filled(each, end, scope, facts)) and _leaves_empty(filled, handler, facts):
        return f"{filled} as it was made"
    if not sets and _only_logs_beside(handler.body, [], facts):
        return _still_empty(each, end, scope, facts)
    if len(sets) != 1 or sets[0].value is None or len(sets[0].targets) != 1:
        return ""
    value, name = sets[0].value.text, sets[0].targets[0]
    if not (is_empty_list(value) or value == "nil") or not _only_logs_beside(
        handler.body, [sets[0].span], facts
    ):
        return ""
    return value if _is_whole_answer(name, end, scope, facts) else ""


def _still_empty(each: Try, end: int, scope: Scope, facts: Facts) -> str:
    """Return the list that a variable has before a try that sets it, if this variable is the whole answer."""
    for one in facts.within(facts.assignments, each.body):
        name = one.targets[0] if len(one.targets) == 1 else ""
        for before in facts.assignments_to(name, each) if name.isidentifier() else ():
            is_first = before.scope is one.scope and before.span.end <= each.span.start
            value = before.value.text if is_first and before.value is not None else ""
            if value and is_empty_list(value) and _is_whole_answer(name, end, scope, facts):
                return value
    return ""


_MADE = lazy_regex(r"(?i)new|newBuilder|\w*Builder|default|getDefaultInstance|create|dict|Map|of")


def _filled(each: Try, end: int, scope: Scope, facts: Facts) -> str:
    """Return the object that a function makes, that only a try fills, and that is the answer after it."""
    roots = [call.receiver_written for call in facts.within(facts.calls, each.body) if call.arguments]
    roots += [
        name for one in facts.within(facts.assignments, each.body) for name in one.targets if "." in name
    ]
    for name in dict.fromkeys(root.partition(".")[0].partition("[")[0] for root in roots):
        made = [one for one in facts.assignments_to(name, each) if name in one.targets and one.scope is scope]
        if len(made) != 1 or made[0].span.end > each.span.start or not _is_new(made[0]):
            continue
        known = re.compile(rf"(?<![\w.]){re.escape(name)}\.\w")
        parts = (Span(made[0].span.end, each.span.start), Span(end, scope.body.end))
        answers = [one for one in answers_in(parts[1], scope, facts) if one.start >= end]
        text = "".join(facts.text(part) for part in parts).replace(f"{name}.build()", name)
        is_answer = bool(answers) and any(re.search(rf"\b{name}\b", facts.text(one)) for one in answers)
        if is_answer and known.search(text) is None:
            return name
    return ""


def _is_new(made: Assignment) -> bool:
    """Return whether a variable is given an object without what was asked for."""
    if made.call is None:
        return made.value is not None and made.value.shape == "object"
    first = made.call
    while first.origin is not None:
        first = first.origin
    return not made.call.is_awaited and (
        first.constructs or made.call.constructs or _MADE.fullmatch(first.method) is not None
    )


def _leaves_empty(name: str, handler: Handler, facts: Facts) -> bool:
    """Return whether a handler only logs, or gives parts of the answer values of nothing."""
    given = [
        call.span
        for call in facts.within(facts.calls, handler.body)
        if call.receiver_written.partition(".")[0] == name
        and len(call.positional) == 1
        and _is_nothing(call.positional[0].value.text)
    ]
    sets = [
        one.span
        for one in facts.within(facts.assignments, handler.body)
        if "".join(one.targets[:1]).startswith(f"{name}.")
        and one.value is not None
        and _is_nothing(one.value.text)
    ]
    others = [one for one in facts.within(facts.assignments, handler.body) if one.span not in sets]
    return not others and _only_logs_beside(handler.body, [*given, *sets], facts)


def _is_nothing(text: str) -> bool:
    return is_empty_list(text) or text in ("0", "0L", "0.0", '""', "null", "nil", "None")


def _is_emptied(given: str, each: Try, scope: Scope, facts: Facts) -> bool:
    """Return whether an answer is that of the try with an empty list for what was asked for (JavaScript).

    The other members must not be what others were asked for: a mere part may be left out on purpose."""
    found = _EMPTIED.fullmatch(given)
    if found is None or facts.language not in JAVASCRIPT or says_failed(given):
        return False
    asked = {
        name
        for one in facts.within(facts.assignments, scope.body)
        if one.call is not None and one.call.is_awaited
        for name in one.targets
    }
    answers = [unwrapped(facts.text(one)) for one in answers_in(each.body, scope, facts)]
    others = {*re.findall(r"[A-Za-z_]\w*", given)} - {found[1]}
    return not others & asked and any(re.search(rf"[{{,]\s*{found[1]}\s*[,:}}]", one) for one in answers)


_MEMBER = r"\s*\w+(?:\s*:\s*[\w.]+)?\s*"
_EMPTIED = lazy_regex(rf"\{{(?:{_MEMBER},)*\s*(\w+)\s*:\s*\[\s*\]\s*(?:,{_MEMBER})*,?\s*\}}")
"""An object with one empty list."""


def _has_branch(body: Span, facts: Facts) -> bool:
    return any(step.kind == "branch" for step in facts.within(facts.steps, body))


def _only_logs_beside(body: Span, given: list[Span], facts: Facts) -> bool:
    others = [
        call
        for call in facts.within(facts.calls, body)
        if not any(is_within(call.span, one) for one in given)
    ]
    logs = [call for call in others if is_logging(call) or is_count_or_report(call)]
    return all(any(is_within(call.span, log.span) for log in logs) for call in others)


def _is_whole_answer(name: str, end: int, scope: Scope, facts: Facts) -> bool:
    """Return whether an answer behind a place holds one variable and nothing else."""
    answers = answers_in(Span(end, scope.body.end), scope, facts)
    words = [
        {*re.findall(r"[A-Za-z_]\w*", re.sub(r"\"[^\"]*\"|'[^']*'", "", facts.text(one)))} - _WRAPPERS
        for one in answers
        if one.start >= end
    ]
    return bool(words) and words[-1] == {name}


_DEFAULTS = {
    "rust": ("unwrap_or_else",),
    "kotlin": ("getOrElse", "getOrDefault"),
    **dict.fromkeys(JAVASCRIPT, ("catch",)),
}


def _defaults(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `load(…).await.unwrap_or_else(|err| { error!(…); Vec::new() })` and the like."""
    for call in facts.calls_of_method(*_DEFAULTS.get(facts.language, ())):
        scope, made = facts.route_of(call), call.origin
        while made is not None and made.method in ("onFailure", "inspect_err"):
            made = made.origin
        given = call.positional[0] if call.positional else None
        if scope is None or made is None or given is None or facts.comment_at(call):
            continue
        if facts.language == "rust" and not (
            made.is_awaited and re.match(r"(?:move\s*)?\|\s*\w+", given.value.text)
        ):
            continue
        if facts.language == "kotlin" and made.method != "runCatching":
            continue
        value = _value_of(given.value.text)
        made_here = [
            each.span
            for each in facts.within(facts.calls, given.value.span)
            if facts.text(each.span).strip() == value
        ]
        if not is_empty_list(value) or not _only_logs_beside(given.value.span, made_here, facts):
            continue
        names = [name for name in call.assigned if name.isidentifier()]
        if (names and _is_whole_answer(names[0], call.span.end, scope, facts)) or _is_answered(
            call, scope, facts
        ):
            yield call.span, value


def _value_of(function: str) -> str:
    """Return what a function gives: of `|err| { error!("…"); Vec::new() }` the last expression."""
    bare = re.sub(r"^(?:async\s+)?(?:\|[^|]*\||\(?\w*\)?\s*=>|\{\s*\w+\s*->)\s*", "", function.strip())
    bare = bare.strip().removeprefix("{").removesuffix("}").strip()
    last = re.split(r"[;\n]", bare.rstrip("; \n"))[-1].strip()
    return last.removeprefix("return ").strip()


def _is_answered(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a call stands in an answer, and nothing else does."""
    for answer in answers_in(scope.body, scope, facts):
        if is_within(call.span, answer) and unwrapped(facts.text(answer)).startswith(
            facts.text(call.span)[:20]
        ):
            return True
    return False
