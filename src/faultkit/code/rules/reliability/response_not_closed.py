"""Finds HTTP responses whose body is left open."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import GO, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.resources import is_closed_or_passed_on


def _check(facts: Facts) -> Iterator[Hit]:
    for request in http_requests(facts):
        call = request.call
        if request.library.name == "net/http":
            if _go_open(call, facts):
                yield Hit(call.span, f"the body that {call.written}() gives is never closed", LIKELY)
        elif _streams(call) and not is_closed_or_passed_on(call, facts):
            yield Hit(call.span, f"the answer that {call.written}() streams is not closed", LIKELY)


def _go_open(call: Call, facts: Facts) -> bool:
    if call.is_returned or not call.assigned:
        return call.is_discarded
    name = call.assigned[0]
    if name == "_":
        return True
    function = facts.function_of(call)
    if function is None:
        return False
    inside = list(facts.within(facts.calls, function.span))
    closed = any(each.written == f"{name}.Body.Close" for each in inside)
    given = any(argument.value.text == name for each in inside for argument in each.arguments)
    returned = any(
        step.kind == "return" and name in step.text.replace(",", " ").split()
        for step in facts.within(facts.steps, function.span)
    )
    return not (closed or given or returned)


def _streams(call: Call) -> bool:
    stream = call.argument("stream")
    if call.name == "urllib.request.urlopen":
        return True
    return stream is not None and stream.value.shape == "true" and call.name.startswith("requests.")


RULE = Rule(
    id="FK-R014",
    slug="response-not-closed",
    title="HTTP response not closed",
    why="The connection cannot be used again: each call costs a new one until the system has none left.",
    fix="Close the body on every way out (Go: defer resp.Body.Close() after the check of err; Python: with).",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *GO),
    check=_check,
)
