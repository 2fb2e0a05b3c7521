"""Code that runs only if an answer over HTTP has a status of failure: `if (!res.ok) return [];`.

A status that may mean that there is nothing, such as 404, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.fact_values import Arm
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.empty_answers import unwrapped
from faultkit.code.rules.vocabulary.empty_values import is_empty_list
from faultkit.code.rules.vocabulary.failures import has_comment
from faultkit.code.rules.vocabulary.remote_calls import chain_of, remote_calls

_GOOD = r"(?:ok|IsSuccessStatusCode|isSuccessful|is_success|isSuccess|Successful)"
_CODE = (
    r"(?:status_code|statusCode|StatusCode|status|code|getStatusCode)(?:\(\))?"
    r"(?:\.(?:value|as_u16)(?:\(\))?)?"
)
_SUCCESS = r"(?:[\w.:]*\b(?:StatusOK|OK|Ok)|2\d\d|[345]00|399|299)"
_BAD = lazy_regex(
    rf"if\s*\(?\s*(?:(?:!|not\s)\s*(?P<not>\w+)(?:\.status(?:\(\))?)?\.{_GOOD}(?:\(\))?"
    rf"|(?P<is>\w+)\.(?:is_error|isError)(?:\(\))?"
    rf"|(?P<code>\w+)\.{_CODE}\s*(?:!==?|>=?)\s*{_SUCCESS})\s*\)?"
)
STATUS_WORDS = (b"tatus", b".ok", b"uccess", b".code", b"_error")
"""Parts of which one stands in each text that asks for a status."""
_GOES_ON = frozenset(("branch", "raise"))


_SHOWS = lazy_regex(
    r"(?:[\w.]*\.)?(?:handle|show|notify|display|toast)\w*$|console\.error$|toast\.|message\.error$"
)
"""Calls that show a failure to a user."""


def empty_by_status(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield the places that return an empty list because a request was refused or failed, with the list."""
    asked = {each.call for each in remote_calls(facts) if each.kind == "http"}
    for arm in facts.arms if asked and facts.syntax.has_any(*STATUS_WORDS) else ():
        if arm.leaves != "function" or arm.place != 0:
            continue
        head = facts.text(Span(arm.fork.start, arm.span.start)).strip("{: \n\t")
        found = _BAD.fullmatch(head) if len(head) < 120 else None
        if found is None or has_comment(facts.text(arm.span)):
            continue
        name = found["not"] or found["is"] or found["code"]
        if not _is_answer(name, arm, asked, facts):
            continue
        if any(_SHOWS.match(call.written) for call in facts.within(facts.calls, arm.span)):
            continue
        if (given := _returned(arm, facts)) is not None:
            yield given


def _is_answer(name: str, arm: Arm, asked: set[Call], facts: Facts) -> bool:
    """Return whether a name holds the answer of a request, also as in `execute().use { answer -> … }`."""
    if any(
        each.call is not None and not asked.isdisjoint((each.call, *chain_of(each.call)))
        for each in facts.assignments_to(name, arm)
    ):
        return True
    if not any(each.name == name for scope in facts.functions_around(arm) for each in scope.parameters):
        return False
    return any(
        call.method == "use" and not asked.isdisjoint(chain_of(call)) for call in facts.calls_around(arm)
    )


def _returned(arm: Arm, facts: Facts) -> tuple[Span, str] | None:
    """Return the empty list that an arm returns, whatever the status is."""
    steps = [*facts.within(facts.steps, arm.span)]
    returns = [step for step in steps if step.kind == "return"]
    if len(returns) != 1 or any(step.kind in _GOES_ON for step in steps):
        return None
    text = returns[0].text.strip().rstrip(";").strip()
    scope = facts.function_of(arm)
    if facts.language == "go":
        value, _, error = text.rpartition(",")
        is_list = value.strip() == "nil" and scope is not None and _gives_list(scope, facts)
        empty = error.strip() == "nil" and (is_list or is_empty_list(value))
    elif facts.language == "rust":
        empty = is_empty_list(text.removeprefix("Ok(").removesuffix(")") if text.startswith("Ok(") else text)
    else:
        empty = is_empty_list(unwrapped(text))
    return (returns[0].span, text) if empty else None


def _gives_list(scope: Scope, facts: Facts) -> bool:
    """Return whether the first result of a function is a list or a map (Go)."""
    return re.search(r"\)\s*\(\s*(?:\w+\s+)?(?:\[\]|map\[)", facts.text(scope.head)) is not None
