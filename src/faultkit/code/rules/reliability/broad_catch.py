"""Finds handlers that catch everything, bugs included, and continue."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Try
from faultkit.code.facts.build import is_logging
from faultkit.code.rules.rule import CERTAIN, JAVA, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.failures import has_comment, is_clean_up
from faultkit.code.rules.vocabulary.remote_calls import remote_calls

_ALL = frozenset({"BaseException", "builtins.BaseException", "Throwable", "java.lang.Throwable"})

_REPORTS = lazy_regex(
    r"warn|report|handle_?error|trace_?back|_exc$|capture_?exception|^_*(raise|throw|fail|abort|reject)|Failure$"
    r"|failed$|exc_info|set_?exception|^err$",
    re.IGNORECASE,
)
"""Names of functions that report the current error, or end with another one."""
_NEAR = lazy_regex(
    r"^_*(int|float|str|bool|len|get\w*|find\w*|parse\w*|decode|encode|split|strip|lower|upper|format|from\w*|to\w*"
    r"|is\w*|has\w*|gmtime|localtime|strptime|valueOf|substring|match|search|group|cast|name|type|getattr"
    r"|eval|list|tuple|dict|set|sorted|next|stat|add|append|trim|nextToken|intValue|size|toArray)$"
)
_IGNORED = lazy_regex(r"(ignore|expected|unused|swallow|_+$|_*ignored)", re.IGNORECASE)
_DIRECTIVE = lazy_regex(
    r"(?:#|//|/?\*+)\s*(?:pylint|noqa|nosec|type:|pragma|NOSONAR|NOPMD|todo|fixme|xxx)\b.*", re.IGNORECASE
)
_ASKS = lazy_regex(r"^_*(is|has|can|could|supports|should)_?|able$|^_?check", re.IGNORECASE)
"""Names of functions that answer yes or no."""


def _check(facts: Facts) -> Iterator[Hit]:
    for each in facts.tries:
        for handler in each.handlers:
            # An empty handler belongs to `swallowed-error`.
            if handler.is_broad and not handler.raises and not handler.is_empty:
                confidence = _confidence(each, handler, facts)
                if confidence:
                    what = ", ".join(handler.types) or "everything"
                    yield Hit(handler.head, f"this catches {what} and does not raise it again", confidence)


def _confidence(each: Try, handler: Handler, facts: Facts) -> float:
    # A handler that passes the error on does not lose it, and at a boundary (an endless loop, a response to a
    # client) it is right to log everything.
    if handler.uses_error or _reports_error(handler, facts) or _answers_no(each, handler, facts):
        return 0.0
    if _is_explained(handler, facts) or _is_lookup(each, handler, facts) or is_clean_up(handler, facts):
        return 0.0
    if not handler.types or any(name in _ALL for name in handler.types):
        return 0.0 if re.search(r"^\s*(from \S+ )?import\b", facts.text(handler.body)) else CERTAIN
    if any(not is_logging(call) and not call.constructs for call in facts.within(facts.calls, handler.body)):
        return 0.0  # It does something about it.
    return POSSIBLE if handler.exits and len(list(facts.within(facts.calls, each.body))) < 3 else LIKELY


def _is_explained(handler: Handler, facts: Facts) -> bool:
    """Return whether a comment, or the name of the error, says why everything is caught."""
    text = facts.text(handler.span)
    return _IGNORED.match(handler.name) is not None or has_comment(_DIRECTIVE.sub("", text))


def _is_lookup(each: Try, handler: Handler, facts: Facts) -> bool:
    """Return whether a value is looked up or converted in one step, and a default stands in for it."""
    calls = list(facts.within(facts.calls, each.body))
    remote = {one.call for one in remote_calls(facts)}
    if any(call.is_discarded or call in remote for call in calls):
        return False
    gives = [
        *(one for one in facts.within(facts.assignments, handler.body) if one.value is not None),
        *(step for step in facts.within(facts.steps, handler.body) if step.kind == "return" and step.text),
    ]
    inside = [*facts.within(facts.calls, handler.body)]
    lines = facts.text(each.body).strip("{} \n").count("\n")
    return bool(gives) and lines < 6 and len(inside) <= 1 and all(map(_is_near, calls))


def _is_near(call: Call) -> bool:
    """Return whether a call, by its name, converts or looks up something in memory."""
    return _NEAR.match(call.method) is not None or call.constructs


def _reports_error(handler: Handler, facts: Facts) -> bool:
    inside = list(facts.within(facts.calls, handler.body))
    if any(_REPORTS.search(call.method) and not is_logging(call) for call in inside):
        return True
    return "exc_info" in facts.text(handler.body) or any(
        is_logging(call) and call.method == "exception" for call in inside
    )


def _answers_no(each: Try, handler: Handler, facts: Facts) -> bool:
    """Return whether `return False` after one or two calls answers a question with no."""
    returns = [step for step in facts.within(facts.steps, handler.body) if step.kind == "return"]
    scope = facts.named_function_of(handler)
    if scope is not None and scope.short_name in ("__str__", "__repr__", "__del__"):
        return True
    if scope is None or not returns or len(list(facts.within(facts.calls, each.body))) > 2:
        return False
    named = _ASKS.search(scope.short_name)
    # isatty() of a wrapper calls isatty() of the wrapped object.
    passed_on = any(call.method == scope.short_name for call in facts.within(facts.calls, each.body))
    return bool(named) or (passed_on and all(step.text == "False" for step in returns))


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
    by_default=False,
)
