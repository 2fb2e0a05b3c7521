"""Finds HTTP calls that can wait for ever."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import (
    CERTAIN,
    CSHARP,
    GO,
    JAVA,
    JAVASCRIPT,
    KOTLIN,
    LIKELY,
    POSSIBLE,
    PYTHON,
    RUST,
    Hit,
    Rule,
    Severity,
)
from faultkit.code.rules.vocabulary.http_requests import http_requests


def _check(facts: Facts) -> Iterator[Hit]:
    for request in http_requests(facts):
        if request.timeout is not False:
            continue
        call, default_s = request.call, request.library.default_s
        if default_s is None:
            yield Hit(call.span, f"{call.written}() has no timeout and may wait for ever", CERTAIN)
        else:
            by = f"{request.library.name} allows {default_s:g} s"
            if not request.library.bounds_whole:
                by += " for each step and has no bound for the whole"
            what = f"{call.written}() has no timeout of its own: {by}"
            # A default of a few seconds holds up little; one of minutes does.
            severity: Severity = "medium" if default_s > 60 else "low"
            yield Hit(call.span, what, LIKELY if default_s > 60 else POSSIBLE, severity)


RULE = Rule(
    id="FK-R001",
    slug="http-call-without-timeout",
    title="HTTP call without a timeout",
    why="When the other side stops answering, the call holds its thread, connection and caller until "
    "all of them are "
    "used up: one slow dependency becomes an outage.",
    fix="Give the call or its client a timeout that is shorter than what your own callers wait.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
)
