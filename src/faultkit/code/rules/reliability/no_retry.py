"""Finds idempotent requests that are not retried."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import GO, JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.repetition import is_retried


def _check(facts: Facts) -> Iterator[Hit]:
    for request in http_requests(facts):
        if not request.is_safe or request.library.name in ("got",) or is_retried(request.call, facts):
            continue
        alone = facts.route_of(request.call) is not None
        what = f"{request.call.written}() is tried once, though {request.method} may be repeated safely"
        yield Hit(request.call.span, what, LIKELY if alone else POSSIBLE)


RULE = Rule(
    id="FK-R005",
    slug="no-retry-on-idempotent-call",
    title="Repeatable call without a retry",
    why="A connection that breaks once in a thousand times, or a dependency that restarts, is seen "
    "by users as an error.",
    fix="Retry it a few times with growing, jittered waits, within the time that your caller allows.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO),
    check=_check,
    by_default=False,
)
