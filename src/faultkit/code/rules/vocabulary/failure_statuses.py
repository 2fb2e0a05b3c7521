"""Statuses of failure that a text states, by which its clients are told of other failures."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Place, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.error_handlers import all_answer_with_200
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_NAMES = (
    r"(?:Bad_?Request|Not_?Found|Conflict|Unauthori[sz]ed|Forbidden|Gone|Unprocessable\w*|Too_?Many_?Requests"
    r"|Internal_?Server_?Error|Bad_?Gateway|Service_?Unavailable|Gateway_?Timeout|Payment_?Required|Problem\w*)"
)
_FAILURE_STATUS = TextPattern(
    rf"(?i:status\w*|code|\berror|abort|problem|respond\w*|send\w*|reply|answer|fail\w*)[\s\"'(=:,.]{{1,4}}[45]\d\d\b"
    rf"|,\s*[45]\d\d\s*[);\n]|HTTP_[45]\d\d|(?:\b|Status|_)(?i:{_NAMES})(?:Exception|Error|\b(?![\"'.]))"
    r"|http\.Error\(|HTTPException|HTTPError\(|Http404|ResponseStatusException|createError\(|Exception\(\s*[45]\d\d"
)
_FLAG = lazy_regex(
    r"[\"']?\b([sS]uccess|[oO]k|OK|[eE]rror)[\"']?\s*[:,=]\s*(?:[fF]alse|1\b|[\"'](?:error|fail\w*))"
)
_ASKS = lazy_regex(
    r"_*(?i:validate|verify|check|test|probe|ping|preview|try|dry_?run|diagnos\w*|lookup)(?![a-z])"
)


def is_own_protocol(answer: Span, facts: Facts) -> bool:
    """Return whether the status 200 may be a rule between server and client, who looks at the body.

    No other failure of the text has a status of failure; or the function asks whether something works, or
    refuses other requests with the same body; or all handlers of exceptions answer so; or its answers have
    a flag for success and failure, and none of them has such a status."""
    scope = facts.named_function_of(Place(answer)) or facts.function_of(Place(answer))
    if not _FAILURE_STATUS.is_in(facts.whole_text):
        return True
    if scope is None:
        return False
    if _ASKS.match(scope.short_name) and not re.search(r"\b[tT]rue\b", facts.text(answer)):
        return True
    if all_answer_with_200(scope, facts) or _refuses_alike(answer, scope, facts):
        return True
    body = facts.text(scope.body)
    flag = _FLAG.search(facts.text(answer))
    if flag is None or _FAILURE_STATUS.search(body):
        return False
    works = r"(?:[tT]rue|0)\b" if flag[1].lower() != "error" else r"(?:[fF]alse|0)\b"
    return re.search(rf"[\"']?\b{flag[1]}[\"']?\s*[:,=]\s*{works}", body) is not None


_MADE_BY = lazy_regex(r"(?:return\s+)?([\w.]+\(\s*(?:new\s*)?\{?\s*[\"']?(?i:err\w*)\b[\"']?\s*[:=])")
"""A body that begins with the error: `Json(new { error =`."""


def _refuses_alike(answer: Span, scope: Scope, facts: Facts) -> bool:
    """Return whether a function answers the same way outside of its handlers: `return Json({ error: "too
    large" })`."""
    found = _MADE_BY.match(facts.text(answer))
    made = "" if found is None else found[1]
    return bool(made) and any(
        step.span != answer and made in step.text and not facts.handlers_around(step)
        for step in facts.own(facts.steps, scope)
        if step.kind == "return" and _FAILURE_STATUS.search(step.text) is None
    )
