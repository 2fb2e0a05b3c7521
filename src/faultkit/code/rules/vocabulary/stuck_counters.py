"""Counters and pauses of retries that do not change: the tries never end, or the pause never grows.

while (attempt < MAX) {                        while True:
  try { return await send(); }                     delay = 0.5
  catch (error) { await pause(); continue; }       try: ...
  attempt++;                                       except OSError: sleep(delay); delay *= 2
}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Loop, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.waits import waits_in

COUNTED = (
    r"(?:attempt|retr(?:y|ies)|(?-i:(?:(?<![a-z])tr(?:y|ies)|Tr(?:y|ies)|(?<![A-Z])TR(?:Y|IES))(?![a-z])))"
)
"""Words for tries inside a name; `entries` and `country` are none."""
_COUNT = rf"(?:self\.|this\.)?_?\w*{COUNTED}\w*"
_CONDITION = lazy_regex(rf"(?<![\w.])({_COUNT})\s*(?:<=?|>=?|!=)\s*[\w.]+|[\w.]+\s*(?:>=?|<)\s*({_COUNT})\b")
_CHANGES = r"(?<![\w.]){0}\s*(?:\+\+|--|[-+*]=|:?=[^=])|(?:\+\+|--){0}\b|\bfor\b[^\n]*\b{0}\b\s+in\b"
_OLD_VALUE = lazy_regex(rb"(?<![=!<>+*/-])=\s*(\w+)(?:\+\+|--)")
"""`attempt = attempt++`"""
_COUNTS = lazy_regex(_COUNT.encode(), re.IGNORECASE)
_POWER = lazy_regex(
    r"(?<![\w.])(?:2|2\.0|10)\s*\^\s*\(?(?:\w+\.)?(?:\w*(?:attempt|retr(?:y|ies)|tries|count|try)\w*|[ink])\b",
    re.IGNORECASE,
)
_NUMBER = lazy_regex(
    r"[\d_.]+[a-zA-Z]?|[\d\s*]*time\.\w+(\s*\*\s*\d+)?|Duration[.:\w]*\(\d+\)|TimeSpan\.From\w+\([\d.]+\)"
)


def stuck_counters(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield counters of tries that do not count, with what is wrong."""
    if not facts.syntax.has_any(b"attempt", b"retr", b"tries"):
        return
    for loop in facts.loops:
        if loop.kind not in ("while", "endless"):
            continue
        name = _counter(loop, facts)
        if name and (place := _never_rises(name, loop, facts)) is not None:
            yield place, f"{name} does not change on the way to the next try, so the tries never end"
        elif (reset := _starts_anew(loop, facts, _COUNT)) is not None:
            yield reset.span, f"{reset.targets[0]} starts anew in every round, so the tries never end"
    source = facts.syntax.source
    for match in _OLD_VALUE.finditer(source) if b"++" in source or b"--" in source else ():
        old = match[1]
        before = source[max(0, match.start() - 60) : match.start()].rstrip()
        if _COUNTS.fullmatch(old) and re.search(rb"(?<![\w.])" + re.escape(old) + rb"$", before):
            what = f"this sets {old.decode()} to its old value, so the tries never end"
            yield Span(match.start(1), match.end()), what


_LIMIT = lazy_regex(r"(?i:max|limit|total|deadline)|^[A-Z_0-9.]+$")


def _counter(loop: Loop, facts: Facts) -> str:
    """Return the variable that a condition compares with a limit of tries; empty if the other side counts."""
    found = _CONDITION.search(loop.over) if loop.kind == "while" else None
    if found is None:
        return ""
    sides: list[str] = re.findall(r"[A-Za-z_][\w.]*", found[0])
    counters = [each for each in sides if not _LIMIT.search(each)]
    changed = {name for each in facts.within(facts.assignments, loop.body) for name in each.targets}
    return next((each for each in counters if each in changed), (counters or [""])[0])


def stuck_pauses(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield pauses between tries that were meant to grow and do not, with what is wrong."""
    if facts.language != "kotlin" and facts.syntax.has_any(b"2 ^", b"2^", b"10 ^", b"2.0 ^"):
        for step in facts.steps_of("binary"):
            if step.word == "^" and _POWER.match(facts.text(step.span)):
                yield step.span, f"{facts.text(step.span)} is an exclusive or, so the pause does not grow"
    for loop in facts.loops:
        if loop.kind == "comprehension" or not (waits := waits_in(loop, facts)):
            continue
        given = {
            word for call in waits for each in call.arguments for word in re.findall(r"\w+", each.value.text)
        }
        if facts.language == "go":
            given |= {*re.findall(r"time\.(?:After|NewTimer|Sleep)\((\w+)\)", facts.text(loop.body))}
        names = "|".join(re.escape(name) for name in given if not name.isdigit())
        if names and (reset := _starts_anew(loop, facts, names, waits)) is not None:
            yield reset.span, f"{reset.targets[0]} starts anew in every round, so the pause does not grow"


def _never_rises(name: str, loop: Loop, facts: Facts) -> Span | None:
    """Return the loop, or the `continue` that leaves the counter as it was."""
    scope = facts.named_function_of(loop)
    changes = re.compile(_CHANGES.format(re.escape(name)))
    text = facts.text(loop.span)
    outside = "" if scope is None else facts.text(Span(loop.span.end, scope.span.end))
    found = [facts.syntax.place_of(each, loop.span.start) for each in changes.finditer(text)]
    if "." in name and scope is not None:
        return None  # A method may change a field.
    if not found:
        # Functions that are written before the loop may count.
        before = "" if scope is None else facts.text(Span(scope.span.start, loop.span.start))
        calls = any(facts.within(facts.calls, loop.body))
        counted = (
            len(changes.findall(before)) > 1 or changes.search(outside) or re.search(rf"&(mut )?{name}", text)
        )
        return loop.head if calls and not counted else None
    first = min(each.start for each in found)
    if first < loop.body.start:
        return None
    for step in facts.within(facts.steps, loop.body):
        if step.kind != "continue" or step.span.start > first or facts.loops_around(step)[-1:] != (loop,):
            continue
        if facts.handlers_around(step):
            return step.span
    return None


def _starts_anew(loop: Loop, facts: Facts, names: str, waits: tuple[Call, ...] = ()) -> Assignment | None:
    """Return the first statement of a loop, if it sets what the same round then raises."""
    for each in facts.within(facts.assignments, loop.body):
        if any(call.span.start < each.span.start for call in facts.within(facts.calls, loop.body)):
            return None
        value = each.value
        if value is None or len(each.targets) != 1 or facts.loops_around(each)[-1:] != (loop,):
            continue
        if each.operator not in ("=", ":="):
            continue  # `attempt += 1` counts.
        name = each.targets[0]
        if not re.fullmatch(names, name, re.IGNORECASE) or not _is_start(value.text):
            continue
        if any(is_within(each.span, arm.span) for arm in facts.within(facts.arms, loop.body)):
            continue
        raised = [
            one
            for one in facts.within(facts.assignments, Span(each.span.end, loop.body.end))
            if one.targets == (name,)
            and facts.loops_around(one)[-1:] == (loop,)
            and (one.operator in ("++", "+=", "*=", "--", "-=") or _raises(one, name))
        ]
        # A pause that is computed and then kept, such as a base with a random part, is right.
        if raised and not any(call.span.start > raised[0].span.end for call in waits):
            return each
    return None


def _is_start(text: str) -> bool:
    return (
        _NUMBER.fullmatch(text.strip()) is not None
        or re.fullmatch(r"(?:[\w]+\.)*_?[A-Z][A-Z0-9_]+", text) is not None
    )


def _raises(each: Assignment, name: str) -> bool:
    return (
        each.value is not None
        and re.search(rf"(?<![\w.]){re.escape(name)}\s*[*+]", each.value.text) is not None
    )
