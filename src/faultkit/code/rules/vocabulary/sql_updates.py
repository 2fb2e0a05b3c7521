"""Numbers of a table that a function reads by one statement and changes by another.

A statement is a text in the function, or a constant of the file that is given to a call there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope, is_within
from faultkit.code.facts.fact_values import Text
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.exits import refuses_caller

_VERB = lazy_regex(r"\s*(select|update)\b", re.IGNORECASE)
_HAS_VERB = lazy_regex(rb"select|update", re.IGNORECASE)
_SETS = lazy_regex(r"update\s+(\w+)\s+set\s+(\w+)\s*=\s*(?:\?|\$\d|%s|:\w+|@\w+|%\(\w+\)s)", re.IGNORECASE)
_COUNTS = lazy_regex(r"update\s+([\w.]+)\s+set\s+(\w+)\s*=\s*\2\s*[+-](.*)", re.IGNORECASE | re.DOTALL)
_FOR_UPDATE = lazy_regex(r"\bfor\s+(no\s+key\s+)?update\b|updlock", re.IGNORECASE)
_COMPARES = lazy_regex(r"(?<![-=<>])[<>]=?(?![<>])")


class Statement(NamedTuple):
    """A SELECT or UPDATE that a function sends."""

    verb: str
    sql: str
    scope: Scope
    span: Span
    """The call that is given the statement, with all that is bound to it; else the text."""


@lru_cache(maxsize=4)
def _statements(facts: Facts) -> tuple[Statement, ...]:
    if not (facts.syntax.has_any(b"select") and facts.syntax.has_any(b"update")):
        return ()
    # Most texts are no queries: those are not made.
    source = facts.syntax.source
    texts = facts.texts.where(lambda start, end: _HAS_VERB.search(source, start, end) is not None)
    found: list[Statement] = []
    for text in texts:
        verb = _VERB.match(text.text)
        if verb is not None:
            found += _sent(text, verb[1].lower(), facts)
    return tuple(found) if len({each.verb for each in found}) == 2 else ()


def _sent(text: Text, verb: str, facts: Facts) -> Iterator[Statement]:
    """Yield where a text is sent: here, or by calls that are given the constant that holds it."""
    sql = f"{text.text}{_continued(text, facts)}".strip()
    scope = facts.function_of(text)
    if scope is not None:
        yield Statement(verb, sql, scope, _sender(text, scope, facts))
        return
    holders = [each for each in facts.assignments if each.scope is None and is_within(text.span, each.span)]
    names = {target.rpartition(".")[2] for each in holders for target in each.targets}
    for call in facts.calls if names else ():
        user = facts.function_of(call)
        if user is not None and any(
            each.value.shape == "name" and each.value.text.rpartition(".")[2] in names
            for each in call.positional
        ):
            yield Statement(verb, sql, user, call.span)


_CONTINUED = lazy_regex(rb"\s*\+?\s*[fr$@]?(?:\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`([^`]*)`)")
"""A literal that is joined to the one before: `"UPDATE t SET n = ?" + " WHERE id = ?"`."""


def _continued(text: Text, facts: Facts) -> str:
    """Return the literals that are joined to the end of a text."""
    parts: list[str] = []
    at = text.span.end
    while (found := _CONTINUED.match(facts.syntax.source, at)) is not None:
        parts.append((found[1] or found[2] or found[3] or b"").decode("utf-8", "replace"))
        at = found.end()
    return "".join(parts)


def _sender(write: Text, scope: Scope, facts: Facts) -> Span:
    """Return the call that is given a query, with all that is bound to it."""
    around = [call for call in facts.calls_around(write) if is_within(call.span, scope.body)]
    if not around:
        return write.span
    start = around[0].span.start
    chain = [each.span.end for each in facts.within(facts.calls, scope.body) if each.span.start == start]
    return Span(start, max(chain))


def written_back(facts: Facts) -> Iterator[tuple[Statement, str, str]]:
    """Yield statements that set a column to a value that was computed from what was read, with the names of
    the table and the column."""
    sent = _statements(facts)
    for write in sent:
        found = _SETS.match(write.sql) if write.verb == "update" else None
        if found is None:
            continue
        before = [*_read_before(write, found[1], found[2], facts)]
        if (
            (
                before
                and any(
                    step.kind == "binary"
                    and step.word in ("+", "-")
                    and min(before) < step.span.end
                    and not any(side.shape == "text" for side in step.sides)
                    for step in facts.within(facts.steps, write.scope.body)
                )
            )
            or (
                before
                and any(
                    each.operator in ("+=", "-=", "++", "--")
                    and min(before) < each.span.start < write.span.start
                    and each.targets[0].rpartition(".")[2].lower() == found[2].replace("_", "").lower()
                    for each in facts.within(facts.assignments, write.scope.body)
                )
            )
            or any(_is_summed_by_method(place, write, facts) for place in before)
        ):
            yield write, found[1], found[2]


_SUMS = lazy_regex(
    r"(?:(?:checked|saturating|wrapping|overflowing)_)?(?:add|sub)|subtract|plus|minus|Add|Sub|addExact|subtractExact"
)
"""Methods that add and subtract: those of Rust that look for overflow, and those of decimal numbers."""


def _is_summed_by_method(place: int, write: Statement, facts: Facts) -> bool:
    """Return whether a method makes a sum of what is read at a place: `balance.checked_add(cents)`."""
    sums = [
        each
        for each in facts.within(facts.calls, Span(place, write.span.end))
        if _SUMS.fullmatch(each.method) and each.arguments and not each.is_discarded
    ]
    held = {*_held_at(place, write, facts), *_assigned_at(place, write, facts)} if sums else set[str]()
    return any(
        held & {*re.findall(r"\w+", text)}
        for each in sums
        for text in (each.receiver_written, *(one.value.text for one in each.positional))
    )


_PARSES = lazy_regex(
    r"json\.(?:Unmarshal|loads)|JSON\.parse|from_(?:str|value|slice)|readValue|readTree|Deserialize|decodeFromString|orjson\.loads"
)
_MAKES = lazy_regex(
    r"json\.(?:Marshal|dumps)|JSON\.stringify|to_(?:string|value|vec)\(|writeValueAsString|\bSerialize|encodeToString|orjson\.dumps"
)


def documents_rewritten(facts: Facts) -> Iterator[tuple[Statement, str, str]]:
    """Yield statements that set a column to a document that was read from it, changed and made anew, with the
    names of the table and the column."""
    for write in _statements(facts):
        found = _SETS.match(write.sql) if write.verb == "update" else None
        if found is None or re.search(rf"\bwhere\b.*\b{found[2]}\b", write.sql, re.IGNORECASE | re.DOTALL):
            continue
        before = [*_read_before(write, found[1], found[2], facts)]
        text = facts.text(Span(min(before), write.span.end)) if before else ""
        if _PARSES.search(text) and _MAKES.search(text):
            yield write, found[1], found[2]


def counted_after_check(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield where a number of a table is compared with a limit, and then changed by a statement that does
    not compare it again; with the name of the column."""
    reported = set[Scope]()
    for write in _statements(facts):
        found = _COUNTS.match(write.sql) if write.verb == "update" and write.scope not in reported else None
        if found is None or re.search(rf"\bwhere\b.*\b{found[2]}\b", found[3], re.IGNORECASE | re.DOTALL):
            continue
        places = (
            place
            for read in _reads_of(found[1], found[2], facts)
            for place in _read_at(read, write.scope, facts)
            if place < write.span.start and _is_refused(read, place, write, facts)
        )
        first = next(places, None)
        if first is not None:
            reported.add(write.scope)
            yield Span(first, write.span.end), found[2]


_TAKES = lazy_regex(r"update\s+([\w.]+)\s+set\s+(.*?)\s+where\s+(.*)", re.IGNORECASE | re.DOTALL)
_SET_TO = lazy_regex(
    r"(\w+)\s*=\s*(?:\?|\$\d+|%s|:\w+|@\w+|%\(\w+\)s|'[^']*'|\$\{[^}]*\}|true|false|\d+\b|\{\w*\}|now\(\))",
    re.IGNORECASE,
)
_STILL = lazy_regex(
    r"version|xmin|updated_at|revision|etag|\bin\s*\(\s*select|\bexists\b|\bis\s+null", re.IGNORECASE
)


def taken_after_check(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield where a column of a row is looked at to refuse it, and then set by a statement that does not
    look at it again; with the name of the column."""
    reported = set[Scope]()
    for write in _statements(facts):
        found = _TAKES.match(write.sql) if write.verb == "update" and write.scope not in reported else None
        if found is None or _STILL.search(found[3]):
            continue
        for column in _SET_TO.findall(found[2]):
            if re.search(rf"\b{column}\b", found[3], re.IGNORECASE):
                break  # The statement itself asks whether the row is still as it was.
            places = (
                place
                for read in _reads_of(found[1], column, facts)
                for place in _read_at(read, write.scope, facts)
                if place < write.span.start and _is_refused_for(column, read, place, write, facts)
            )
            by_condition = _refused_by_condition(found[1], column, write, facts)
            first = next(chain(places, by_condition), None)
            if first is not None:
                reported.add(write.scope)
                yield Span(first, write.span.end), column
                break


_WORD = r"(?:'|true\b|false\b|null\b|not\b|\d)"
_NO_ROW = lazy_regex(r"\.fetch(?:one|all|val|row)\(|NoRows|RowNotFound|NoResult|EmptyResult|DoesNotExist")


def _refused_by_condition(table: str, column: str, write: Statement, facts: Facts) -> Iterator[int]:
    """Yield where a function asks for rows by what the column holds, and leaves if there are none:
    `SELECT count(*) FROM seat WHERE label = ? AND state = 'FREE'`."""
    # A name that is looked for and then given is refused by a constraint; a state is a word of the code.
    is_state = re.search(rf"\b{re.escape(column)}\s*=\s*{_WORD}", write.sql, re.IGNORECASE) is not None
    asks = re.compile(
        rf"select\b.*\bfrom\s+{re.escape(table)}\b.*\bwhere\b.*\b{re.escape(column)}\b"
        + ("" if is_state else rf"\s*(?:=|<>|!=|is)\s*{_WORD}"),
        re.IGNORECASE | re.DOTALL,
    )
    for read in _statements(facts):
        if read.verb != "select" or not asks.match(read.sql) or _FOR_UPDATE.search(read.sql):
            continue
        for place in _read_at(read, write.scope, facts):
            between = Span(place, write.span.start)
            held = {*_held_at(place, write, facts), *_assigned_at(place, write, facts)}
            if place < write.span.start and any(
                step.kind == "branch"
                and (held & {*re.findall(r"\w+", step.text)} or _NO_ROW.search(step.text))
                and refuses_caller(step, facts)
                for step in facts.within(facts.steps, between)
            ):
                yield place


def _assigned_at(place: int, write: Statement, facts: Facts) -> set[str]:
    """Return the variables that hold what is read at a place, or what is made of it, without errors."""
    found = set[str]()
    cursor = next((each.receiver_written for each in facts.calls if each.span.start == place), "")
    for each in facts.within(facts.assignments, Span(write.scope.body.start, write.span.start)):
        if each.value is None or each.span.end <= place:
            continue
        value = each.value.text
        reads = each.value.span.start <= place < each.value.span.end
        if reads or found & {*re.findall(r"\w+", value)} or (cursor and f"{cursor}.fetch" in value):
            names = (name for target in each.targets for name in re.findall(r"[A-Za-z_]\w*", target))
            found.update(name for name in names if not name.lower().endswith("err") and name != "_")
    return found


_MISSING = lazy_regex(r"!\s*\w+\b(?!\s*[.(])|\b\w+\s*(?:===?|is)\s*(?:null|None|nil|undefined)\b")


def _is_refused_for(column: str, read: Statement, place: int, write: Statement, facts: Facts) -> bool:
    """Return whether the function leaves between the two because of what the column holds."""
    if re.match(rf"select\s+(?:\w+\.)?{re.escape(column)}\s+from\b", read.sql, re.IGNORECASE):
        # The one value that is read has a name of its own: `if (!"FREE".equals(current))`.
        values = _assigned_at(place, write, facts)
        if values and any(
            step.kind == "branch"
            and values & {*re.findall(r"\w+", _MISSING.sub("", step.text))}
            and refuses_caller(step, facts)
            for step in facts.within(facts.steps, Span(place, write.span.start))
        ):
            return True
    held = "|".join(re.escape(name.replace("_", "")) for name in {column, *_held_at(place, write, facts)})
    between = Span(place, write.span.start)
    return any(
        step.kind == "branch"
        and re.search(
            rf"(?:^|[^a-z])(?:get|is|has)?(?:{held})(?![a-z])", step.text.replace("_", ""), re.IGNORECASE
        )
        and refuses_caller(step, facts)
        for step in facts.within(facts.steps, between)
    )


def _held_at(place: int, write: Statement, facts: Facts) -> Iterator[str]:
    """Yield the variables that hold the one value that is read at a place: by name, or by `Scan(&holder)`."""
    for call in facts.within(facts.calls, Span(place, write.span.start)):
        if call.span.start != place:
            continue
        filled = [each.value.text[1:] for each in call.positional if each.value.text.startswith("&")]
        yield from (name for name in filled if name.isidentifier()) if len(filled) == 1 else ()


def _is_refused(read: Statement, place: int, write: Statement, facts: Facts) -> bool:
    """Return whether the function leaves between the two because there are too many."""
    asks = _COMPARES.search(re.split(r"\bfrom\b", read.sql, maxsplit=1, flags=re.IGNORECASE)[0]) is not None
    between = Span(place, write.span.start)
    return any(
        step.kind == "branch"
        and (asks or _COMPARES.search(step.text) is not None)
        and any(arm.leaves == "function" for arm in facts.arms if arm.fork == step.span)
        for step in facts.within(facts.steps, between)
    )


def _reads_of(table: str, column: str, facts: Facts) -> Iterator[Statement]:
    reads = re.compile(
        rf"select\b.*(\*|\b{re.escape(column)}\b).*\bfrom\s+{re.escape(table)}\b", re.IGNORECASE | re.DOTALL
    )
    for each in _statements(facts):
        if each.verb == "select" and reads.match(each.sql) and not _FOR_UPDATE.search(each.sql):
            yield each


def _read_before(write: Statement, table: str, column: str, facts: Facts) -> Iterator[int]:
    for read in _reads_of(table, column, facts):
        yield from (place for place in _read_at(read, write.scope, facts) if place < write.span.start)


def _read_at(read: Statement, scope: Scope, facts: Facts) -> Iterator[int]:
    """Yield where a function reads by a query: its own, or that of a function of this text that it calls."""
    if read.scope is scope:
        yield read.span.start
    elif read.scope.name:
        callers = facts.callers_of(read.scope)
        yield from (call.span.start for call in callers if facts.function_of(call) is scope)
