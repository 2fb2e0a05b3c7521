"""Rows that a function reads, refuses for what a field holds, and then sets that field of.

`if coupon.redeemed_by: raise …`, then `coupon.redeemed_by = user` and a save: two requests at once both find
the field as it was. A number that is computed from the field is the business of lost updates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.exits import refuses_caller
from faultkit.code.rules.vocabulary.read_values import read_names
from faultkit.code.rules.vocabulary.refused_amounts import is_compared
from faultkit.code.rules.vocabulary.row_guards import CLAIM_GUARDS

_UPDATES = frozenset(
    (
        "update", "updateOne", "update_one", "findByIdAndUpdate", "findOneAndUpdate", "find_one_and_update",
        "updateById", "Update", "Updates", "UpdateOne", "set", "filter_update",
    )
)  # fmt: skip
_SAVES = frozenset(
    (
        "save", "Save", "saveAndFlush", "commit", "flush", "SaveChanges", "SaveChangesAsync", "persist",
        "merge", "update", "UpdateAsync", "SaveAsync", "CommitAsync",
    )
)  # fmt: skip


def claimed_rows(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield from where a field is looked at to where it is set, with the name of the field."""
    writing = {
        scope: None
        for call in facts.calls_of_method(*_SAVES, *_UPDATES)
        for scope in facts.functions_around(call)
        if scope.name
    }
    for scope in writing:
        rows = read_names(scope, facts)
        if not rows or CLAIM_GUARDS.search(facts.text(scope.span)):
            continue
        found = [*_claimed(scope, {*rows}, facts)]
        # A field that is compared by size, such as the end of a lease, is the surest sign of a claim.
        compared = (each for each in found if is_compared(each[1], facts.text(each[0])))
        yield from (next(compared, found[0]),) if found else ()


def _claimed(scope: Scope, rows: set[str], facts: Facts) -> Iterator[tuple[Span, str]]:
    for step in facts.within(facts.steps, scope.body):
        if step.kind != "branch":
            continue
        fields = [*_fields(step.text, rows, _given(scope, facts))]
        if not fields or not refuses_caller(step, facts):
            continue
        for row, field in fields:
            place = _set_later(row, field, Span(step.span.end, scope.body.end), scope, facts)
            if place is not None:
                yield Span(step.span.start, place.end), f"{row}.{field}"


_ACCESS = lazy_regex(
    r"(?<![\w.])(\w+)[!?]?(?:\.(?:get(?=[A-Z]))?(\w+)(\(\))?|\[[\"'](\w+)[\"']\])\s*(?![\w(])"
)
_STATE = lazy_regex(r"(?i)stat(?:e|us)$|phase$|stage$")


def _fields(text: str, rows: set[str], given: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the fields of rows whose state a condition looks at."""
    for found in _ACCESS.finditer(text):
        name = found[2] or found[4]
        if found[1] not in rows or not name or name.lower() in ("length", "size", "id", "count"):
            continue
        if _STATE.search(name) or not _is_compared(text, found.start(), found.end(), given):
            yield found[1], name


_EQUAL_BEHIND = lazy_regex(r"\s*(?:[!=]==?|\.[eE]quals\w*\()\s*([A-Za-z_][\w.?]*)")
_EQUAL_BEFORE = lazy_regex(r"([A-Za-z_][\w.?]*)\s*[!=]==?\s*$")
_CALLEE = lazy_regex(r"([A-Za-z_][\w.?]*)\s*$")
_NO_CALLEE = frozenset(("if", "while", "not", "and", "or", "in", "await", "bool"))


def _is_compared(text: str, start: int, end: int, given: set[str]) -> bool:
    """Return whether a part of a condition is compared with what the caller gave: a password, an owner.

    By `==`, or as an argument beside it: `verify(old, user.password_hash)`. Each request brings its own,
    so that two requests do not claim the same."""
    sides = (_EQUAL_BEHIND.match(text, end), _EQUAL_BEFORE.search(text[:start]))
    paths = [found[1] for found in sides if found is not None]
    opened = _unclosed(text, start)
    if opened is not None:
        callee, at = opened
        rest = re.match(r"(?:[^()]|\([^()]*\))*", text[end:])
        beside = text[at:start] + ("" if rest is None else rest[0])
        paths += [callee.rpartition(".")[0]] if callee.lower().endswith(".equals") else []
        paths += re.findall(r"(?<![\w.\"'])[A-Za-z_][\w.]*", beside)
    return any(
        re.split(r"[.?]", path)[0] in given and not path.rpartition(".")[2].isupper() for path in paths
    )


def _unclosed(text: str, start: int) -> tuple[str, int] | None:
    """Return the call among whose arguments an offset stands, with where these begin."""
    depth = 0
    for at in range(start - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if depth >= 0:
            continue
        callee = _CALLEE.search(text[:at])
        if callee is not None and callee[1] not in _NO_CALLEE:
            return callee[1], at + 1
        depth = 0
    return None


def _given(scope: Scope, facts: Facts) -> set[str]:
    """Return the names of what the caller gave."""
    return {one.name for each in (scope, *facts.functions_around(scope)) for one in each.parameters}


def _plain(name: str) -> str:
    return re.sub(r"^(?:set|Set|is|has)(?=[A-Z_])", "", name).replace("_", "").lower()


def _set_later(row: str, field: str, rest: Span, scope: Scope, facts: Facts) -> Span | None:
    """Return where the field is set, by an assignment and a save, or by an update without a condition."""
    for each in facts.within(facts.assignments, rest):
        owner, dot, name = each.targets[0].replace("?", "").partition(".") if each.targets else ("", "", "")
        if not dot or owner != row or _plain(name) != _plain(field) or each.operator != "=":
            continue
        if (
            each.value is not None
            and row not in re.findall(r"\w+", each.value.text)
            and _is_saved(row, each.span.end, scope, facts)
        ):
            return each.span
    for call in facts.within(facts.calls, rest):
        if (
            (
                call.receiver_written == row
                and call.method.startswith("set")
                and _plain(call.method) == _plain(field)
            )
            and call.positional
            and _is_saved(row, call.span.end, scope, facts)
        ):
            return call.span
        if call.method not in _UPDATES or not call.receiver_written:
            continue
        named = [each for each in call.arguments if _plain(each.name.rpartition(".")[2]) == _plain(field)]
        conditions = [each for each in named if re.match(r"(?:where|filter|query)\b", each.name)]
        given = [each for each in named if each not in conditions and "." in each.name]
        if given and not conditions and not _is_in_filter(call, field):
            return call.span
    return None


def _is_in_filter(call: Call, field: str) -> bool:
    """Return whether the first argument, which selects the rows of Mongo, names the field."""
    first = call.argument(place=0)
    return (
        len(call.positional) > 1
        and first is not None
        and any(_plain(word) == _plain(field) for word in re.findall(r"\w+", first.value.text))
    )


def _is_saved(row: str, after: int, scope: Scope, facts: Facts) -> bool:
    for call in facts.within(facts.calls, Span(after, scope.body.end)):
        if call.method not in _SAVES:
            continue
        if call.receiver_written == row or any(
            each.value.text.lstrip("&") == row for each in call.positional
        ):
            return True
        if call.method in ("commit", "flush", "SaveChanges", "SaveChangesAsync", "CommitAsync"):
            return True
    return False
