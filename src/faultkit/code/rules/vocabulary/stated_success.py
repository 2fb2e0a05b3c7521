"""Calls that are given a status of success together with a body that says that something failed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.said_failures import says_failure
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_OK = lazy_regex(
    r"^(?:200|(?:http|fiber)\.StatusOK|(?:http\.)?StatusCodes?\.OK|HttpStatusCode\.OK|HttpStatus\.OK|StatusCode::OK"
    r"|HTTPStatus\.OK|status\.HTTP_200_OK|StatusCodes\.Status200OK|HttpStatusCode\.OK\.value)$"
)
_STATED = TextPattern(rb"200|OK")
_KEY = r"(?:[eE]rrors?|[eE]rr|[eE]rror_?[mM]essage|[eE]rror_?[mM]sg)"
_NONE = r"(?!\s*(?:None|null|nil|undefined|false|False|''|\"\"|``|\[\]))"
_BODY = lazy_regex(
    rf"[\"']{_KEY}[\"']\s*(?:[:,]|to\b){_NONE}|[{{,(]\s*{_KEY}\s*[:=](?!=){_NONE}"
    r"|[\"']?\b(?:success|Success|ok)[\"']?\s*(?:[:,=]|to\b)\s*(?:False|false)\b"
)
_FAILED_STATE = lazy_regex(r"\b[sS]tatus[\"']?\s*[:=]\s*[\"'](?:error|fail\w*)[\"']", re.IGNORECASE)
_WORDS = (b"statusok", b"200", b"statuscode", b"httpstatus")
_TUPLE = lazy_regex(
    r"\(\s*StatusCode::OK\s*,\s*(?:(?:\w+::)*[jJ]son\(&?(?:json!\()?|json!\()[^;]{0,20}?\{[^;{}]{0,200}"
)


def stated_successes(facts: Facts) -> Iterator[Span]:
    """Yield calls such as `respond(w, http.StatusOK, map[string]string{"error": "failed"})`."""
    if not facts.syntax.has_any(*_WORDS):
        return
    # To read the arguments of all calls takes long, and few calls have such a status inside.
    places = [found.start() for found in _STATED.finditer(facts.syntax.source)]
    for call in facts.calls if places else ():
        first = bisect_left(places, call.span.start)
        if first == len(places) or places[first] >= call.span.end or len(call.positional) < 2:
            continue
        if not any(_OK.match(each.value.text) for each in call.positional[:3]):
            continue
        bodies = [each.value.text for each in call.positional if each.value.shape not in ("name", "number")]
        if any(len(text) < 600 and (_BODY.search(text) or _FAILED_STATE.search(text)) for text in bodies):
            yield call.span
    if facts.language == "rust":
        for found in _TUPLE.finditer(facts.whole_text):
            if _BODY.search(found[0]) or says_failure(found[0]):
                yield facts.syntax.place_of(found)
