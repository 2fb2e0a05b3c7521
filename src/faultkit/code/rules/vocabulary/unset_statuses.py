"""Functions of a text that make answers to failures, and leave the status of the answer at success.

    def problem(status, title): return jsonify({"status": status, "title": title})
    const answer = (outcome) => NextResponse.json(outcome);      … return answer({ error: "failed" });

The first is given a status and only writes it into the body. The second has no status at all: what it answers
after a failure is a success to the client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.returned_values import own_function

_STATUSES = frozenset(
    ("status", "code", "status_code", "statusCode", "http_status", "httpStatus", "http_code")
)
_MAKERS = {
    "python": lazy_regex(r"(?:^|\.)(?:jsonify|JSONResponse|JsonResponse|ORJSONResponse|json_response)$"),
    "javascript": lazy_regex(r"^(?:NextResponse|Response|res|response|reply|c|ctx)\.(?:json|send)$"),
    "java": lazy_regex(r"^(?:ResponseEntity|Response)\.ok$"),
    "kotlin": lazy_regex(r"^(?:call\.respond|ResponseEntity\.ok)$"),
    "csharp": lazy_regex(r"^(?:Ok|Json|(?:Typed)?Results\.(?:Ok|Json))$"),
    "go": lazy_regex(r"(?:^|\.)Encode$"),
    "rust": lazy_regex(r"^(?:axum\.)?Json$"),
}
_FAILED = lazy_regex(
    r"\b[45]\d\d\b|\.(?:status_?[cC]ode|statusCode|status|code)\b"
    r"|(?:Status|HttpStatus|HttpStatusCode|HTTPStatus|StatusCodes?)(?:\.|::)?"
    r"(?:BAD|Bad|UNAUTH|Unauth|FORBID|Forbid|NOT_|Not|CONFLICT|Conflict|UNPROC|Unproc|TOO_|Too|INTERNAL|Internal|SERVICE"
    r"|Service|GATEWAY|Gateway)"
)
_SETS = lazy_regex(
    r"[sS]tatus_?[cC]ode\s*=[^=]|WriteHeader\(|\.status\(|writeHead\(|set_status\(|sendStatus\(|\.code\("
)


def unset_statuses(facts: Facts) -> Iterator[Span]:
    """Yield answers into whose body alone a function writes the status that it is given."""
    makes = _MAKERS.get(facts.syntax.language.family)
    for scope in facts.scopes if makes is not None else ():
        given = next((each.name for each in scope.parameters if each.name in _STATUSES), "")
        # In Go, all that can write an answer has a route.
        is_route = scope.route is not None and facts.language != "go"
        if not given or not scope.name or is_route or makes is None:
            continue
        answers = [call for call in facts.own(facts.calls, scope) if makes.search(call.written)]
        if len(answers) != 1 or not _is_only_in_body(given, answers[0], scope, facts):
            continue
        place = [each.name for each in scope.parameters].index(given)
        if any(_gives_failure(call, place, given) for call in facts.callers_of(scope)):
            yield answers[0].span


def _is_only_in_body(name: str, answer: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a variable stands in the first argument of an answer, and nowhere else in a function."""
    word = re.compile(rf"(?<![\w.\"']){re.escape(name)}\b(?!\s*[:=][^:=]|[\"'])")
    is_whole = answer.written == "jsonify" or not answer.positional
    body = facts.text(answer.span) if is_whole else answer.positional[0].value.text
    text = facts.text(scope.body)
    for call in facts.own(facts.calls, scope):
        if is_logging(call):
            text = text.replace(facts.text(call.span), "")
    return 0 < len(word.findall(body)) == len(word.findall(text)) and _SETS.search(text) is None


def _gives_failure(call: Call, place: int, name: str) -> bool:
    each = call.argument(name, place=place)
    return each is not None and _FAILED.search(each.value.text) is not None


def is_answered_plainly(call: Call, facts: Facts) -> bool:
    """Return whether a call runs a function of this text that answers with its argument, and no status."""
    makes = _MAKERS.get(facts.syntax.language.family)
    scope = own_function(call, facts)
    if makes is None or scope is None or scope.route is not None or not call.arguments:
        return False
    if any(each.name in _STATUSES for each in scope.parameters) or _SETS.search(facts.text(scope.body)):
        return False
    answers = [each for each in facts.own(facts.calls, scope) if makes.search(each.written)]
    return len(answers) == 1 and not _states(answers[0], facts)


def _states(answer: Call, facts: Facts) -> bool:
    """Return whether an answer is given a status besides its body."""
    text = facts.text(Span(answer.positional[0].value.span.end, answer.span.end)) if answer.positional else ""
    return re.search(r"[sS]tatus|\b\d{3}\b", text) is not None
