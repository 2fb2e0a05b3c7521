"""Lists of an object that are emptied only after their items were sent, and have no limit.

While the other side is down, each item that comes stays. A list that is emptied in any case, that is swapped
before the sending, or that drops or refuses items beyond a size, is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_places import has_name, is_followed
from faultkit.code.rules.vocabulary.stores import drops_when_large
from faultkit.code.rules.vocabulary.test_doubles import IS_FAKE

_EMPTY = lazy_regex(
    r"^(\[\]|nil|list\(\)|vec!\[\]|Vec::new\(\)|new\(\)|new List<[^()]*>\(\)|\[\]\w+\{\}|\w[\w.]*\[:0\])$"
)
_CLEARS = frozenset(("clear", "Clear"))
_ADDS = frozenset(("append", "push", "add", "Add", "addLast", "appendleft"))
_SENDS = lazy_regex(
    r"send|post|write|flush|publish|insert|upload|deliver|ship|store|save|bulk|push|produce|export|emit|copy|put|index|execute|ingest",
    re.IGNORECASE,
)

_MAKES = lazy_regex(
    r"_*(build|make|create|init\w*|compute|calculate|validate|parse|get|set)(_|[A-Z])|(deep)?copy$"
)
"""Methods that make something of the items, such as an index or a copy."""


def unsent_items(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield where an item is added to a list that only a successful send empties."""
    seen = set[str]()
    for place, name, scope in _emptied(facts):
        if name in seen or not scope.owner or IS_FAKE.search(scope.owner):
            continue
        if not _is_sent_before(name, place, scope, facts):
            continue
        added = next(_added(name, scope, facts), None)
        if added is not None and not drops_when_large(name, facts):
            seen.add(name)
            yield added, name


def _emptied(facts: Facts) -> Iterator[tuple[Assignment | Call, str, Scope]]:
    """Yield where a member is emptied by a method."""
    made_in = ("__init__", "constructor")
    for each in facts.assignments:
        scope = each.scope
        # To read the value takes longest.
        if len(each.targets) != 1 or not each.targets[0].startswith("self.") or scope is None:
            continue
        if scope.short_name not in made_in and each.value is not None and _EMPTY.match(each.value.text):
            yield each, each.targets[0][5:], scope
    for call in facts.calls_of_method(*_CLEARS):
        scope = facts.named_function_of(call)
        name = re.sub(r"^(self|this)\.", "", call.receiver_written)
        if scope is None or not name.lstrip("#").isidentifier() or scope.short_name in made_in:
            continue
        if f"self.{name}" in facts.assigned_names:
            yield call, name, scope


_IS_EMPTIED = lazy_regex(r"\s*(?:=|\.clear|\.length\s*=)")


def _is_sent_before(name: str, place: Assignment | Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a call before it sends the items, and its failure leaves them in the list."""
    if facts.is_in_finally(place) or facts.handlers_around(place):
        return False
    before = Span(scope.body.start, place.span.start)
    sent = [
        call
        for call in facts.within(facts.calls, before)
        if _SENDS.search(call.method)
        and not _MAKES.match(call.method)
        and not is_logging(call)
        and any(has_name(name, each.value.text) for each in call.arguments)
        and not _is_on(call, name)
    ]
    if not sent or not all(_may_leave(each, facts) for each in sent):
        return False
    # A handler that empties the list drops the items.
    later = facts.text(Span(place.span.end, scope.body.end))
    return not is_followed(name, _IS_EMPTIED, later)


def _may_leave(call: Call, facts: Facts) -> bool:
    """Return whether a call may fail by its language, and its failure skips what follows."""
    if facts.language in ("javascript", "typescript", "tsx", "csharp", "rust"):
        return call.is_awaited
    if facts.language == "go":
        return bool(call.assigned) and call.assigned[-1].lower().endswith("err")
    return True


def _added(name: str, flush: Scope, facts: Facts) -> Iterator[Span]:
    """Yield where another method of the object adds an item that it was given, and does not wait."""
    for call in facts.calls_of_method(*_ADDS):
        scope = facts.named_function_of(call)
        if scope is None or scope is flush or scope.owner != flush.owner or not _is_on(call, name):
            continue
        if facts.loops_around(call) or not call.positional:
            continue
        if _is_given(call.positional[0].value.text, scope) and not _waits(scope, facts):
            yield call.span
    for each in facts.assignments if facts.language == "go" else ():
        scope = each.scope
        if scope is None or scope is flush or each.targets != (f"self.{name}",) or each.value is None:
            continue
        found = re.match(rf"append\((?:\w+\.)?{re.escape(name)},\s*(.+)\)$", each.value.text, re.DOTALL)
        if found is not None and _is_given(found[1], scope) and not facts.loops_around(each):
            yield each.span


def _is_on(call: Call, name: str) -> bool:
    return re.sub(r"^(self|this)\.", "", call.receiver_written) == name


def _is_given(text: str, scope: Scope) -> bool:
    words = {*re.findall(r"[A-Za-z_]\w*", text)}
    return any(each.name in words for each in scope.parameters if each.name not in ("self", "cls"))


def _waits(scope: Scope, facts: Facts) -> bool:
    return any(each.is_awaited for each in facts.own(facts.calls, scope))
