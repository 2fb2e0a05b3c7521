"""Handlers that take everything, bugs included, and go on as if nothing were."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.source.findings.facts import Facts, Handler, Try
from faultkit.source.findings.facts.handlers import is_logging
from faultkit.source.findings.rule import CERTAIN, JAVA, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.source.syntax import Span

_ALL = frozenset({"BaseException", "builtins.BaseException", "Throwable", "java.lang.Throwable"})


def _check(facts: Facts) -> Iterator[Hit]:
    for each in facts.tries:
        for handler in each.handlers:
            # An empty one is a matter of `swallowed-error`.
            if handler.is_broad and not handler.raises and not handler.is_empty:
                confidence = _confidence(each, handler, facts)
                if confidence:
                    what = ", ".join(handler.types) or "everything"
                    head = Span(handler.span.start, max(handler.span.start + 1, handler.body.start))
                    yield Hit(head, f"this catches {what} and does not raise it again", confidence)


def _confidence(each: Try, handler: Handler, facts: Facts) -> float:
    if not handler.types or any(name in _ALL for name in handler.types):
        return 0.0 if handler.uses_error else CERTAIN
    logs = any(
        is_logging(call) and call.method in ("exception", "error", "critical", "warning", "warn")
        for call in facts.within(facts.calls, handler.body)
    )
    if logs and (
        handler.uses_error
        or "exc_info" in facts.text(handler.body)
        or "exception(" in facts.text(handler.body)
    ):
        # At a boundary (an endless loop, an answer to a client) this is how it is done.
        return 0.0
    # Who hands the error itself to somebody has not lost it.
    if handler.uses_error:
        return 0.0
    # `return False` after one call is a question that was answered with no.
    return POSSIBLE if handler.exits and len(list(facts.within(facts.calls, each.body))) < 3 else LIKELY


RULE = Rule(
    id="FK-R010",
    slug="broad-catch",
    title="Catch of everything",
    why="Bugs, cancellation and lack of memory look the same as the failure that was meant, and are "
    "hidden with it.",
    fix="Catch the errors that you can handle, by their types, and let the others go up.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVA),
    check=_check,
)
