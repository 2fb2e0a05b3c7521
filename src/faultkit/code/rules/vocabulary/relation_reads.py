"""Reads of declared relations in code that runs for every row of a query, through the functions of a text.

A row is followed into the functions that it is given to and into the methods of its class, its relations into
the loops over them. What a query loads with its rows is left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Access, Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.applied_functions import Applied, given_functions
from faultkit.code.rules.vocabulary.declared_relations import Relation, declared_relations

_LEVELS = 4
_GETTER = lazy_regex(r"(?:get|is)([A-Z])(\w*)")
_KEYS = frozenset(("id", "getId", "uuid", "getUuid", "pk", "Id"))
_WRITES = frozenset(
    ("add", "remove", "append", "clear", "addAll", "removeIf", "removeAll", "set", "extend", "plusAssign")
)
_WRAPPED = lazy_regex(r"\(\)|[?!]|\[\]")


@dataclass(frozen=True, slots=True)
class RelationRead:
    """A relation of a row that is read."""

    span: Span
    row: str
    """The variable that holds the row."""
    relation: str
    owner: str
    """The entity that declares it."""
    through: tuple[str, ...]
    """The relations that lead to it from the row of the query, itself the last."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Code in which a variable holds a row."""

    row: str
    entity: str
    body: Span
    through: tuple[str, ...] = ()
    is_own: bool = False
    """Whether it is a method of the entity, where its relations have no prefix (Java, Kotlin)."""


def relation_reads(row: str, entity: str, body: Span, facts: Facts) -> Iterator[RelationRead]:
    """Yield the relations that are read in a piece of code that runs for every row of an entity.

    The row is `self` in a method of the entity."""
    table = declared_relations(facts)
    seen = set[tuple[str, Span]]()
    places = [_Place(row, entity, body, is_own=row == "self")]
    for _ in range(_LEVELS):
        later = list[_Place]()
        for place in places:
            if (place.row, place.body) in seen or place.entity not in table:
                continue
            seen.add((place.row, place.body))
            for read in _read_in(place, facts):
                yield from _loaded(read, place, facts)
            later += _reached(place, facts)
        places = later


@dataclass(frozen=True, slots=True)
class _Path:
    """What is read of a row: `customer`, `name` of `order.customer.name`."""

    span: Span
    parts: tuple[str, ...]
    is_called: bool


def _read_in(place: _Place, facts: Facts) -> Iterator[_Path]:
    relations = declared_relations(facts)[place.entity]
    for each in sorted(
        (
            *((one.span, one.written, False) for one in facts.within(facts.accesses, place.body)),
            *((one.span, one.written, True) for one in facts.within(facts.calls, place.body)),
        )
    ):
        span, written, is_called = each
        parts = _parts(written)
        if parts[0] == place.row and len(parts) > 1:
            yield _Path(span, parts[1:], is_called)
        elif place.is_own and parts[0] in relations and facts.language != "python":
            yield _Path(span, parts, is_called)


def _parts(written: str) -> tuple[str, ...]:
    """Return the parts of a path, and those that getters read by the names of their fields."""
    return tuple(_field(each) for each in _WRAPPED.sub("", written).split("."))


def _field(name: str) -> str:
    found = _GETTER.fullmatch(name)
    return name if found is None or name in _KEYS else f"{found[1].lower()}{found[2]}"


def _loaded(read: _Path, place: _Place, facts: Facts) -> Iterator[RelationRead]:
    """Yield the relations that a path loads."""
    table = declared_relations(facts)
    entity, through = place.entity, place.through
    for at, name in enumerate(read.parts):
        relation = table.get(entity, {}).get(name)
        if relation is None:
            return
        through = (*through, name)
        rest = read.parts[at + 1 :]
        if (span := _loads_at(relation, name, rest, read, place, facts)) is not None:
            yield RelationRead(span, place.row, name, entity, through)
        entity = relation.target


def _loads_at(
    relation: Relation, name: str, rest: tuple[str, ...], read: _Path, place: _Place, facts: Facts
) -> Span | None:
    """Return where a relation is loaded that a path names; None if it is not."""
    if relation.is_many:
        return None if rest and rest[0] in _WRITES else read.span
    if not relation.is_proxy:
        return read.span
    if rest:
        return None if rest[0] in _KEYS else read.span
    # A proxy that a variable holds is loaded when one of its fields is read.
    held = {
        target
        for each in facts.within(facts.assignments, place.body)
        if each.value is not None and is_within(read.span, each.value.span)
        for target in each.targets
        if _parts(each.value.text)[-1] == name
    }
    uses: tuple[Access | Call, ...] = (
        *facts.within(facts.accesses, place.body),
        *facts.within(facts.calls, place.body),
    )
    return min(
        (
            each.span
            for each in uses
            if len(parts := _parts(each.written)) > 1 and parts[0] in held and parts[1] not in _KEYS
        ),
        default=None,
    )


def _reached(place: _Place, facts: Facts) -> Iterator[_Place]:
    """Yield the code that gets the row, or rows of one of its relations."""
    relations = declared_relations(facts)[place.entity]
    for loop in facts.within(facts.loops, place.body):
        parts = _parts(loop.over)
        at = 1 if parts[0] == place.row else 0
        relation = relations.get(parts[at]) if len(parts) > at and (at or place.is_own) else None
        if relation is not None and relation.target and loop.targets:
            item = loop.targets[0].rpartition(" ")[2]
            yield _Place(item, relation.target, loop.body, (*place.through, parts[at]))
    for each in _given(facts):
        parts = _parts(each.over)
        if is_within(each.at.span, place.body) and parts[0] == place.row and len(parts) > 1:
            relation = relations.get(parts[1])
            if relation is not None and relation.target:
                yield _Place(each.item, relation.target, each.scope.body, (*place.through, parts[1]))
    for call in facts.within(facts.calls, place.body):
        yield from _given_to(call, place, facts)
    for read in _read_in(place, facts):
        for scope in _methods(facts).get((place.entity, read.parts[0]), ()):
            yield _Place("self", place.entity, scope.body, place.through, is_own=True)


def _given_to(call: Call, place: _Place, facts: Facts) -> Iterator[_Place]:
    """Yield the body of a function of this text that gets the row."""
    for at, argument in enumerate(call.arguments):
        if argument.value.text != place.row:
            continue
        for scope in facts.functions_named(call.method, "constructor", "__init__"):
            if scope.short_name in ("constructor", "__init__") and scope.owner != call.method:
                continue
            names = [each.name for each in scope.parameters if each.name not in ("self", "cls")]
            if (argument.name or at < len(names)) and (not argument.name or argument.name in names):
                yield _Place(argument.name or names[at], place.entity, scope.body, place.through)


@lru_cache(maxsize=4)
def _methods(facts: Facts) -> dict[tuple[str, str], list[Scope]]:
    """Return methods by their class and the field that they read."""
    found: dict[tuple[str, str], list[Scope]] = {}
    for scope in facts.scopes:
        if scope.name:
            # An extension of Kotlin has a name with the entity, and no owner or that of the class around it.
            owners = {scope.owner, scope.name.rpartition(".")[0]} - {""}
            for entity in sorted({each.rpartition(".")[2] for each in owners}):
                found.setdefault((entity, _field(scope.short_name)), []).append(scope)
    return found


@lru_cache(maxsize=4)
def _given(facts: Facts) -> tuple[Applied, ...]:
    return tuple(given_functions(facts))
