"""JavaScript: finds promises that are started, and left without a handler while another is awaited.

const scoring = risk.score(transfer);         If `score` rejects while `find` is awaited, or if the
const account = await accounts.find(id);      function returns before it awaits `scoring`, nothing
const score = await scoring;                  handles the rejection: Node.js ends the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope, Step, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.rejections import handles_all, may_reject, returns_promise, throws
from faultkit.code.rules.vocabulary.waits import is_sleep

_HANDLED = lazy_regex(r"\.catch\s*\(|\.then\s*\([^()]*(\([^()]*\)[^()]*)*,|\.finally\s*\(")
_NEVER_REJECTS = lazy_regex(r"^(Promise\.(allSettled|resolve|withResolvers)|Promise)$")
_WAITS = lazy_regex(r"sleep|delay|timeout|wait|tick|once$", re.IGNORECASE)
"""Names of calls whose promise is fulfilled by a clock or by another part of the program."""


def _check(facts: Facts) -> Iterator[Hit]:
    for each in facts.assignments:
        call, scope = each.call, each.scope
        if call is None or scope is None or call.is_awaited or len(each.targets) != 1 or each.operator != "=":
            continue
        name = each.targets[0]
        if not name.isidentifier() or not scope.is_async or not _may_reject(call, each, facts):
            continue
        awaited = _first_use(name, each, scope, facts)
        if awaited is None:
            continue
        left = _left_before(each, awaited, scope, facts)
        if left:
            what = f"nothing handles a rejection of {call.written}() before line {awaited.line}: {left}"
            yield Hit(Span(each.span.start, call.callee.end), what, LIKELY)


def _may_reject(call: Call, each: Assignment, facts: Facts) -> bool:
    if call.constructs or _NEVER_REJECTS.match(call.name) or is_sleep(call) or _WAITS.search(call.method):
        return False
    if each.value is None or _HANDLED.search(each.value.text):
        return False
    own = facts.functions_named(call.method) if call.receiver in ("", "self") else ()
    if any(handles_all(scope, facts) for scope in own):
        return False
    return not own or any(
        may_reject(scope, facts) or throws(scope, facts) or returns_promise(scope, facts) for scope in own
    )


def _first_use(name: str, each: Assignment, scope: Scope, facts: Facts) -> Step | None:
    """Return the first use of a variable, if that awaits it and nothing else."""
    rest = Span(each.span.end, scope.body.end)
    place = _first_place(name, rest, facts)
    if place is None:
        return None
    for step in facts.within(facts.steps, rest):
        if step.kind == "await" and is_within(place, step.span) and facts.function_of(step) is scope:
            text = facts.text(step.span).removeprefix("await").strip()
            all_of = _ALL_OF.fullmatch(text)
            return step if text == name or (all_of is not None and all_of[1] == name) else None
    return None


_ALL_OF = lazy_regex(r"Promise\.all\(\s*(\S.*?)\s*\)", re.DOTALL)
_PART_OF_NAME = lazy_regex(r"[\w$.]")
_NO_USE = lazy_regex(r"[\w$]|\s*:")


def _first_place(name: str, span: Span, facts: Facts) -> Span | None:
    """Return where a variable is first used in a span; a key of this name is no use."""
    text = facts.text(span)
    start = text.find(name)
    while start >= 0:
        is_whole = start == 0 or _PART_OF_NAME.match(text, start - 1) is None
        if is_whole and _NO_USE.match(text, start + len(name)) is None:
            begin = span.start + len(text[:start].encode())
            return Span(begin, begin + len(name.encode()))
        start = text.find(name, start + 1)
    return None


def _left_before(each: Assignment, awaited: Step, scope: Scope, facts: Facts) -> str:
    """Return why the promise may reject before it is awaited; empty if nothing comes in between."""
    for step in facts.own(facts.within(facts.steps, Span(each.span.end, awaited.span.start)), scope):
        if step.kind == "await" and not facts.are_exclusive(step, awaited):
            return f"line {step.line} waits for another first"
        if step.kind in ("return", "raise"):
            return f"line {step.line} leaves before"
    return ""


RULE = Rule(
    id="FK-R173",
    slug="promise-awaited-late",
    title="Promise left without a handler while another is awaited",
    why="If it rejects in the meantime, or the function returns early, the rejection is unhandled: Node.js "
    "ends the process with all its requests.",
    fix="Await both with Promise.all, or start it where it is awaited.",
    kind="reliability",
    severity="medium",
    languages=JAVASCRIPT,
    check=_check,
    words=(b"await",),
)
