"""Health checks, and those among them that say yes although what they ask for has failed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_PATH = lazy_regex(
    r"/(health|healthz|ready|readyz|readiness|live|livez|liveness|status|ping|alive|up)\w*/?$", re.IGNORECASE
)
_NAME = NamePattern(
    r"^_?(health|healthz|readyz?|readiness|live(z|ness)?|is_?healthy|is_?ready|health_?check|check_?health(Async)?)$",
    re.IGNORECASE,
)
_YES = lazy_regex(
    r"(?<![nN])Healthy\(|Health\.up\(|\bUP\b|[\"'](ok|up|healthy|pass|alive)[\"']|\bTrue\b|\btrue\b|\.ok\(|\bOk\(|StatusOK|\b200\b",
    re.IGNORECASE,
)
_PLAIN_YES = lazy_regex(r"(?<![nN])Healthy\(|Health\.up\(")
_NO = lazy_regex(
    r"Unhealthy|Degraded|down\(|outOfService|50[0-9]|StatusCode|ServiceUnavailable|SERVICE_UNAVAILABLE|status_code|HTTPException"
    r"|[\"'](down|error|unhealthy|fail\w*|degraded)[\"']|\bFalse\b|\bfalse\b|WriteHeader|http\.Error|sendStatus|\.status\(|raise\b|throw\b"
    r"|panic|exit",
    re.IGNORECASE,
)


_DECIDES = lazy_regex(
    r"\b50[0-9]\b|StatusCode|status_code|statusCode|[sS]ervice_?Unavailable|SERVICE_UNAVAILABLE|HTTPException|\.status\(|\.code\("
    r"|WriteHeader|http\.Error|sendStatus|\braise\b|\bthrow\b|\bpanic|\babort\(|,\s*status\b\)?|status\s*=\s*\w*code|Problem\("
    r"|HttpStatus"
)
"""What gives an answer another status than 200."""


def blind_checks(facts: Facts) -> Iterator[Span]:
    """Yield handlers of errors in health checks after which the check says yes."""
    for scope in facts.scopes if facts.tries else ():
        if not _is_check(scope):
            continue
        for each in facts.tries:
            if facts.function_of(each) is not scope:
                continue
            for handler in each.handlers:
                text = facts.text(handler.body)
                for call in filter(is_logging, facts.within(facts.calls, handler.body)):
                    text = text.replace(facts.text(call.span), "")
                returns = [step for step in facts.within(facts.steps, handler.body) if step.kind == "return"]
                if returns and all(_PLAIN_YES.search(step.text) for step in returns):
                    yield returns[0].span
                    continue
                if not returns and any(facts.within(facts.assignments, handler.body)):
                    if scope.route is not None and _DECIDES.search(facts.text(scope.span)) is None:
                        answers = [
                            each.span.end
                            for kind in (facts.steps, facts.calls)
                            for each in facts.own(kind, scope)
                            if each.span.start >= handler.span.end
                        ]
                        yield Span(handler.span.start, max(answers, default=handler.span.end))
                    continue
                if _NO.search(text):
                    continue
                if returns:
                    yes = all(_YES.search(step.text) for step in returns)
                else:
                    calls = facts.within(facts.calls, handler.body)
                    yes = all(map(is_logging, calls)) and _says_yes_later(handler.span.end, scope, facts)
                if yes:
                    yield handler.head


def _is_check(scope: Scope) -> bool:
    path = "" if scope.route is None else scope.route.path
    # `/servers/{id}/status` asks for the state of a thing.
    is_path = bool(path) and _PATH.search(path) is not None and not re.search(r"[{:<\[]", path)
    return is_path or _NAME.match(scope.short_name) is not None


def _says_yes_later(end: int, scope: Scope, facts: Facts) -> bool:
    later = facts.text(Span(end, scope.body.end))
    return (
        _YES.search(later) is not None and _NO.search(later.replace("WriteHeader(http.StatusOK)", "")) is None
    )
