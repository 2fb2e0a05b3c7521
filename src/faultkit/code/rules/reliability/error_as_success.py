"""Finds request handlers that answer an error with a status of success.

It is shown if the same file answers other failures with a status of failure: then its clients look at it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Place, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.answers import unanswered_failures
from faultkit.code.rules.vocabulary.cut_answers import cut_answers
from faultkit.code.rules.vocabulary.error_handlers import (
    OTHER_RESULTS,
    all_answer_with_200,
    answers_without_status,
)
from faultkit.code.rules.vocabulary.failed_answers import LANGUAGES, failed_answers
from faultkit.code.rules.vocabulary.failure_statuses import is_own_protocol
from faultkit.code.rules.vocabulary.failures import (
    FailureBlock,
    failed_branches,
    failure_blocks,
    handler_around,
    is_handler,
)
from faultkit.code.rules.vocabulary.health_checks import blind_checks
from faultkit.code.rules.vocabulary.said_failures import says_failure
from faultkit.code.rules.vocabulary.stated_success import stated_successes
from faultkit.code.rules.vocabulary.unset_statuses import is_answered_plainly, unset_statuses

_KEYS = r"(?:[eE]rror|[eE]rrors|[eE]rr|[eE]xception|[eE]rror_?[mM]essage|[eE]rror_?[mM]sg)"
_NO_ERROR = r"(?!\s*(?:None|null|nil|undefined|false|False|''|\"\")\b)"
_ERROR_BODY = lazy_regex(
    rf"[\"']{_KEYS}\\?[\"']\s*[:,]{_NO_ERROR}|[{{,(]\s*{_KEYS}\s*[:=](?!=){_NO_ERROR}|\{{\s*(?:error|err)\s*[,}}]"
    r"|[\"']?\b(?:success|Success|ok|OK|Ok)[\"']?\s*[:,=]\s*(?:False|false)\b"
    r"|[\"']?\bstatus[\"']?\s*[:,=]\s*[\"'](?:error|fail\w*)[\"']"
)
_STATUS = lazy_regex(
    r"\.status\(|\.status\s*=[^=]|status_?[cC]ode\s*=[^=]|\bstatus\s*=[^=]|\bstatus:\s*[^\"'\s]|WriteHeader\("
    r"|writeHead\(|http\.Error\(|\.code\(|\bAbort\w*\(|sendStatus\(|SendStatus\(|\.sendError\(|\.setStatus\("
    r"|HTTPException|\babort\(|set_status\(|\bstatus\s*,|\bstatus\s*\}"
)
_SUCCESS = lazy_regex(
    r"\.(?:status|code|Status)\(\s*(?:20\d|(?:http|fiber)\.StatusOK|HttpStatus\.OK\w*|StatusCodes\.OK)\s*\)"
    r"|\bstatus(?:_code)?\s*[=:]\s*(?:20\d|\w*\.?HTTP_200_OK|HTTPStatus\.OK)\b"
)
_MIDDLEWARE = (b"next(", b"call_next", b"get_response", b"dofilter", b"process_exception")
_OTHER_PROTOCOLS = (b"jsonrpc", b"graphql", b"dialogflow", b"alexa", b"response_type")
"""Protocols whose errors are answers with the status 200."""
_PYTHON = frozenset(
    (
        "jsonify",
        "JSONResponse",
        "JsonResponse",
        "Response",
        "json_response",
        "ORJSONResponse",
        "UJSONResponse",
    )
)
_SENDS = frozenset({"json", "send", "jsonp"})
_GO_CODED = frozenset({"JSON", "IndentedJSON", "PureJSON", "SecureJSON", "String"})
_MADE_OF_ERROR = lazy_regex(r"(?:\.|new )\w*(?:[eE]rror|[fF]ail)\w*\(|\be\w*\.get(?:Localized)?Message\(\)")
"""A body that a function for errors makes, or that holds the text of the exception."""
_PROXIED = lazy_regex(r"[\"']?statusCode[\"']?\s*:\s*200\b")
"""The answer of a function behind a gateway."""
_PAIR = lazy_regex(r"[)\]}\"'\w]\s*,\s*[\w.]+\s*$")
"""The end of `return body, status`."""


def _check(facts: Facts) -> Iterator[Hit]:
    hits = [*_found(facts)]
    texts = Counter(" ".join(facts.text(hit.span).split()) for hit in hits if hit.message == _ANSWERED)
    for hit in hits:
        # What several handlers answer in the same words is a rule between server and client.
        is_rule = texts[" ".join(facts.text(hit.span).split())] > 1
        yield replace(hit, confidence=POSSIBLE) if is_rule else hit


def _found(facts: Facts) -> Iterator[Hit]:
    for span in blind_checks(facts):
        yield Hit(span, "this health check says yes although what it asks for has failed", LIKELY)
    if facts.syntax.has_any(*_OTHER_PROTOCOLS):
        return
    seen = set[Span]()
    for span, what in answers_without_status(facts):
        seen.add(span)
        scope = facts.named_function_of(Place(span))
        is_rule = scope is not None and all_answer_with_200(scope, facts)
        yield Hit(span, what, POSSIBLE if is_rule else LIKELY)
    for span in cut_answers(facts):
        seen.add(span)
        yield Hit(span, "the answer ends here as if it were whole, although a part is missing", LIKELY)
    for span in unset_statuses(facts):
        seen.add(span)
        yield Hit(span, "the status is only written into the body, so that the client sees 200", LIKELY)
    if facts.language in LANGUAGES:
        stated = [*stated_successes(facts)]
        for span in (*failed_answers(facts), *stated):
            if not any(is_within(span, each) or is_within(each, span) for each in seen):
                seen.add(span)
                yield Hit(span, _ANSWERED, LIKELY if span in stated else _confidence(span, facts))
        return
    for span in stated_successes(facts):
        seen.add(span)
        yield Hit(span, _ANSWERED, LIKELY)
    is_any = any(map(is_handler, facts.scopes)) or facts.syntax.has_any(*_MIDDLEWARE)
    if not is_any and b"statusCode" not in facts.syntax.source:
        return
    for each, handler in unanswered_failures(facts) if facts.language == "go" else ():
        seen.add(handler.span)
        # What the program has made itself can mostly be encoded.
        sure = POSSIBLE if "json.Marshal" in facts.text(each.body) else LIKELY
        yield Hit(handler.span, "this returns without an answer, so the client sees the status 200", sure)
    for block in (*failure_blocks(facts), *map(FailureBlock, failed_branches(facts))):
        route = block.failed or handler_around(block, facts)
        if route is None:
            for step in facts.within(facts.steps, block.span):
                if step.kind == "return" and _PROXIED.search(step.text) and _is_error(step.text):
                    yield Hit(step.span, _ANSWERED, _confidence(step.span, facts))
            continue
        is_error = _is_any if block.failed is not None else _is_error
        for span in _answers(block.span, route, is_error, facts):
            if _REDIRECT.search(facts.text(span)):
                continue
            if not any(is_within(span, each) or is_within(each, span) for each in seen):
                seen.add(span)
                yield Hit(span, _ANSWERED, _confidence(span, facts))


_REDIRECT = lazy_regex(r"redirect", re.IGNORECASE)
"""An answer that sends the client to another address."""
_ANSWERED = "this answers an error with a status of success"


def _confidence(answer: Span, facts: Facts) -> float:
    """Return how sure it is that the status misleads; an error that leaves no trace at all is worse."""
    handlers = facts.handlers_around(Place(answer))
    is_lost = bool(handlers) and not (
        handlers[-1].uses_error or any(map(is_logging, facts.within(facts.calls, handlers[-1].body)))
    )
    return POSSIBLE if is_own_protocol(answer, facts) and not is_lost else LIKELY


def _answers(block: Span, route: Scope, is_error: _Asks, facts: Facts) -> Iterator[Span]:
    calls = [call for call in facts.within(facts.calls, block) if is_error(_body(call, facts))]
    if facts.language == "go":
        # `fmt.Fprintf(w, "failed: %v", err)`
        writes = (call for call in facts.within(facts.calls, block) if call.name.startswith("fmt.Fprint"))
        calls += [call for call in writes if re.search(r"\berr\b|[eE]rror|[fF]ail", _body(call, facts))]
    if facts.language == "python":
        yield from _python(block, route, is_error, facts)
    elif facts.language == "go":
        yield from _go(calls, block, facts)
    elif facts.language == "java":
        yield from _java(block, route, is_error, facts)
    else:
        yield from _javascript(calls, block, route, is_error, facts)


def _body(call: Call, facts: Facts) -> str:
    return facts.text(Span(call.callee.end, call.span.end))


_Asks: TypeAlias = Callable[[str], bool]


def _is_any(text: str) -> bool:
    """Return whether anything is said: of a request that has failed as a whole, it is about the failure."""
    return len(text) > 2


_VERDICT = lazy_regex(r"[\"']?\b(?:is_?)?[vV]alid[\"']?\s*[:=]\s*[fF]alse|[\"']warnings?[\"']\s*:")
"""Answers to the question whether something is valid, and those of success with a remark."""


def _is_error(text: str) -> bool:
    if _VERDICT.search(text):
        return False
    return _ERROR_BODY.search(text) is not None or says_failure(text)


def _python(block: Span, route: Scope, is_error: _Asks, facts: Facts) -> Iterator[Span]:
    framework = "" if route.route is None else route.route.framework
    if re.search(r"\bstatus(_code)?\s*=[^=]|set_status\(", _outside_calls(facts.text(route.body))):
        return
    if framework == "tornado":
        yield from _written(block, is_error, facts)
    for step in facts.within(facts.steps, block):
        text = step.text.strip()
        if step.kind != "return" or facts.function_of(step) is not route or not is_error(text):
            continue
        found = re.match(r"([\w.]+)\(", text)
        name = found[1].rpartition(".")[2] if found else ""
        if name == "HttpResponse" and "json.dumps(" in text:
            name = "JsonResponse"
        if name == "json" and facts.imports_any("sanic.response"):
            name = "json_response"
        plain = framework not in ("django", "aiohttp", "tornado") and (
            (text.startswith("{") and text.endswith("}")) or _is_model(name, text)
        )
        if name not in _PYTHON and not plain and not _by_own_function(step.span, text, facts):
            continue
        stated = _PAIR.search(text) or re.search(r"\bstatus(_code)?\s*=", text) or _positional_status(text)
        if _SUCCESS.search(text) or not stated:
            yield step.span


def _by_own_function(returned: Span, text: str, facts: Facts) -> bool:
    """Return whether a function of this text makes the answer, and gives it no status."""
    calls = (call for call in facts.within(facts.calls, returned) if facts.text(call.span) == text)
    return any(is_answered_plainly(call, facts) for call in calls)


def _is_model(name: str, text: str) -> bool:
    """Return whether an expression makes an object that says that something failed: `Quote(detail="…")`."""
    is_made = (
        name[:1].isupper() and not name.endswith(("Response", "Exception", "Error")) and text.endswith(")")
    )
    return is_made and says_failure(text)


def _written(block: Span, is_error: _Asks, facts: Facts) -> Iterator[Span]:
    """Yield what Tornado writes: `self.write({"error": …})`."""
    for call in facts.within(facts.calls, block):
        if call.written in ("self.write", "self.finish") and is_error(_body(call, facts)):
            yield call.span


def _outside_calls(text: str) -> str:
    """Return a text without the arguments of its calls."""
    while (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    return text


def _positional_status(text: str) -> bool:
    """Return whether the last argument is a status: `Response(body, 400)`."""
    return re.search(r",\s*(?:status\.)?[\w.]*\d{3}\w*\s*\)$", text) is not None


def _javascript(
    calls: list[Call], block: Span, route: Scope, is_error: _Asks, facts: Facts
) -> Iterator[Span]:
    text = facts.text(block)
    for call in calls:
        owner = call.receiver_written
        head = owner.partition(".")[0].partition("(")[0]
        whole = facts.text(call.span)
        if call.method in _SENDS and head in ("res", "response", "reply", "resp"):
            if _SUCCESS.search(whole) or not _STATUS.search(text):
                yield call.span
        elif call.is_returned and is_answered_plainly(call, facts):
            yield call.span
        elif call.method != "json":
            continue
        elif head in ("NextResponse", "Response"):
            if not _STATUS.search(whole):
                yield call.span
        elif head == "c" and len(call.positional) == 1 and not _STATUS.search(text):
            yield call.span
    if not _STATUS.search(text):
        for each in facts.within(facts.assignments, block):
            if each.targets in (("ctx.body",), ("ctx.response.body",)) and is_error(facts.text(each.span)):
                yield each.span
        replies = len(route.parameters) > 1 and route.parameters[1].name == "reply"
        if replies or (route.route is not None and route.route.framework in ("nest", "fastify")):
            for step in facts.within(facts.steps, block):
                if step.kind == "return" and step.text.startswith("{") and is_error(step.text):
                    yield step.span


def _go(calls: list[Call], block: Span, facts: Facts) -> Iterator[Span]:
    text = facts.text(block)
    for call in calls:
        first = call.argument(place=0)
        code = "" if first is None else first.value.text
        if call.method in _GO_CODED and call.receiver_written in ("c", "ctx", "context"):
            if code in ("200", "http.StatusOK", "fiber.StatusOK") or (
                len(call.positional) == 1
                and "Status(" not in facts.text(call.span)
                and not _STATUS.search(text)
            ):
                yield call.span
            continue
        if code == "w" and call.receiver_written in ("", "self") and _is_plain_writer(call, facts):
            if not _STATUS.search(text):
                yield call.span
            continue
        writes = code == "w" if call.name.startswith("fmt.Fprint") else call.written == "w.Write"
        encodes = call.method == "Encode" and "NewEncoder(w)" in facts.text(call.span)
        if (writes or encodes) and not _STATUS.search(text):
            yield call.span


def _is_plain_writer(call: Call, facts: Facts) -> bool:
    """Return whether a function of this text writes a body as JSON and never a status (Go)."""
    own = facts.functions_named(call.method)
    return (
        len(own) == 1
        and "NewEncoder(w)" in (text := facts.text(own[0].body))
        and not _STATUS.search(text)
        and len(call.positional) == 2
    )


def _java(block: Span, route: Scope, is_error: _Asks, facts: Facts) -> Iterator[Span]:
    stated = _STATUS.search(facts.text(block))
    for step in facts.within(facts.steps, block):
        text = step.text.strip()
        if step.kind != "return":
            continue
        if re.match(r"(new )?(ResponseEntity|Response)\b", text):
            ok = re.match(r"(ResponseEntity|Response)\s*\.ok\(|.*HttpStatus\.OK\b", text, re.DOTALL)
            if ok and (is_error(text) or _MADE_OF_ERROR.search(text) or _is_filled(text, block, facts)):
                yield step.span
        elif not stated and _is_java_error(text, route, facts):
            yield step.span
    for call in facts.within(facts.calls, block):
        if stated or not is_error(_body(call, facts)):
            continue
        if call.method in ("write", "print", "println") and call.receiver.endswith("getWriter()"):
            yield call.span
        elif call.method == "put":
            # A map that is filled here and returned as it is.
            returned = [step.text for step in facts.within(facts.steps, route.body) if step.kind == "return"]
            if call.receiver_written in returned:
                yield call.span


def _is_java_error(text: str, route: Scope, facts: Facts) -> bool:
    if _JAVA_MAP.match(text):
        return _is_error(text)
    return _JAVA_BODY.match(text) is not None and _is_body(route, facts) and says_failure(text)


_JAVA_MAP = lazy_regex(r"(Collections\.singletonMap|Map\.of)\(")
_JAVA_BODY = lazy_regex(r"(new )?[A-Z]\w*(<\w*>)?[.(]")
_NO_BODY = lazy_regex(r"ModelAndView|ProblemDetail|ErrorResponse\.|ResponseStatusException")


def _is_body(route: Scope, facts: Facts) -> bool:
    """Return whether what a function returns is written as the body of an answer."""
    result = re.search(rf"([\w.<>\[\], ]+)\s+{re.escape(route.short_name)}\s*\(", facts.text(route.head))
    if result is not None and OTHER_RESULTS.search(result[1]):
        return False  # What makes the answer gives it a status, here or in another file.
    if facts.syntax.has_any(b"@restcontroller", b"@responsebody", b"@path"):
        return _NO_BODY.search(facts.text(route.span)) is None and "@ResponseStatus" not in facts.text(
            route.head
        )
    return False


def _is_filled(text: str, block: Span, facts: Facts) -> bool:
    """Return whether a map of the block that the answer holds was filled with an error."""
    return any(
        call.method == "put"
        and _is_error(_body(call, facts))
        and re.search(rf"\b{re.escape(call.receiver_written)}\b", text) is not None
        for call in facts.within(facts.calls, block)
    )


RULE = Rule(
    id="FK-R042",
    slug="error-answered-as-success",
    title="Error answered with a status of success",
    why="Clients, retries, caches, load balancers and alerts take the failure for an answer: it is stored, "
    "shown and never counted.",
    fix="Answer with a status of 4xx or 5xx beside the body that says what went wrong.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
