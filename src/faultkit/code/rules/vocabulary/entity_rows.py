"""Rows of entities that a text declares: the query that a loop goes through, and what it loads with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Loop, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.brackets import end_of_bracket
from faultkit.code.rules.vocabulary.declared_relations import declared_relations

_NAMES = lazy_regex(r"['\"]([\w.]+)")


@dataclass(frozen=True, slots=True)
class EntityRows:
    """Rows that a loop goes through."""

    entity: str
    fetched: frozenset[str]
    """The relations that the query loads with them, in small letters."""


def entity_rows(loop: Loop, source: str, facts: Facts) -> EntityRows | None:
    """Return what a loop goes through if it is rows of an entity of this text; None if that is not known.

    `source` is the text of the query."""
    if not (table := declared_relations(facts)):
        return None
    if facts.language == "python":
        found = _python(source)
    elif facts.language == "csharp":
        found = _csharp(loop, source, facts)
    else:
        found = _jvm(loop, source, facts)
    if found is None or found[1] is None or found[0] not in table:
        return None
    return EntityRows(found[0], frozenset(each.lower() for each in found[1]))


_Rows = tuple[str, set[str] | None]


# Python: Django and SQLAlchemy.


_MODEL = lazy_regex(
    r"\b(?:query|select)\(\s*([A-Z]\w*)\s*[,)]|\b([A-Z]\w*)\.(?:query|objects)\b|\b([A-Z]\w*)\.select\("
)
_SHAPED = lazy_regex(r"\.(values|values_list|raw|with_entities|aggregate)\(")
_DJANGO_LOADS = lazy_regex(r"\.(?:select_related|prefetch_related)\(|\bprefetch_related_objects\(")
_LOADS = lazy_regex(
    r"\b(?:joinedload|selectinload|subqueryload|immediateload|contains_eager|lazyload|noload|raiseload)\("
)
_OPTIONS = lazy_regex(r"\.(?:options|select_related|prefetch_related)\(\s*(?!['\"]|\))")


def _python(source: str) -> _Rows | None:
    found = _MODEL.search(source)
    if found is None or _SHAPED.search(source):
        return None
    entity = found[1] or found[2] or found[3]
    fetched = set[str]()
    for start in (*_DJANGO_LOADS.finditer(source), *_LOADS.finditer(source)):
        given = _inside(source, start.end())
        names = [name for each in _NAMES.findall(given) for name in re.split(r"__|\.", each)]
        names += re.findall(r"\b[A-Z]\w*\.(\w+)", given)
        if not names:
            return entity, None
        fetched.update(names)
    if not fetched and (_OPTIONS.search(source) or _LOADS.search(source)):
        return entity, None  # Options that are made elsewhere.
    return entity, fetched


def _inside(text: str, start: int) -> str:
    """Return what stands in the parentheses that open before a place."""
    return text[start : end_of_bracket(text, start, ")")]


# Java and Kotlin: JPA, and Exposed.


_QUERY = lazy_regex(r"(?<!\w)([A-Za-z]\w*)\.(\w+)(?:\(\)|$)")
_OF_ENTITY = frozenset(("find", "all", "findAll", "list", "listAll", "stream", "streamAll", "wrapRows"))
"""Queries of a class of Exposed or Panache."""
_MANY = lazy_regex(r"^(List|Page|Slice|Set|Stream|Flux|Flow|Collection|Iterable|Window|Streamable)$")
_REPOSITORY = lazy_regex(r"(?:Repository|Repo|Dao|DAO)$")
FINDS = r"(?:find|list|get|query|search|read|stream)(?!\w*(?:With|Fetch|Join|Graph))\w*"
"""Methods of a repository that load rows without their relations, as an expression."""
_FINDS = lazy_regex(FINDS)
_JOINED = lazy_regex(
    r"join\s+fetch\s+\w+\.(\w+)|attributePaths\s*=\s*(?:[{\[]|arrayOf\()?([^)}\]]*)", re.IGNORECASE
)
_UNKNOWN = lazy_regex(r"@(?:\w+\.)?EntityGraph\((?!.*attributePaths)|nativeQuery", re.DOTALL)
LOADED_OTHERWISE = r"batch_fetch|BatchSize|Hibernate\.initialize|createEntityGraph|getEntityGraph|setHint"
"""Ways to load relations that no query of the text shows, as an expression (JPA)."""
_LOADED_OTHERWISE = lazy_regex(LOADED_OTHERWISE)
_EXPOSED_LOADS = lazy_regex(r"\.(?:with|load)\(")
_ONE = lazy_regex(r"(find|get|read|query)(By\w*Id(OrNull)?$|One|First(?!\d)|ReferenceById)")
_JPQL = lazy_regex(r"\bfrom\s+([A-Z]\w*)", re.IGNORECASE)


def _jvm(loop: Loop, source: str, facts: Facts) -> _Rows | None:
    if _LOADED_OTHERWISE.search(facts.whole_text):
        return None
    for name in _names_in_head(loop, facts):
        for owner, method in _QUERY.findall(name):
            if (rows := _of_query(owner, method, source, facts)) is None:
                continue
            # An Optional has `map`, too.
            if (
                method in _declared_methods(facts)
                or owner == rows[0]
                or _is_of_many(loop, method, name, facts)
            ):
                return rows
    if "createQuery(" in source and (found := _JPQL.search(source)):
        return found[1], joined_relations(source)
    return None


def _is_of_many(loop: Loop, method: str, name: str, facts: Facts) -> bool:
    if facts.language == "kotlin" or not is_within(loop.body, loop.span):
        return not _ONE.match(method)
    is_stream = (
        re.search(rf"\b{method}\(\)(\.\w+\(\))*\.(stream|parallelStream|getContent)\b", name) is not None
    )
    return loop.kind != "comprehension" or is_stream or method == "findAll"


def _names_in_head(loop: Loop, facts: Facts) -> list[str]:
    """Return the resolved names of what a loop goes through."""
    head = loop.span
    if is_within(loop.body, loop.span) and loop.body.start > loop.span.start:
        head = Span(loop.span.start, loop.body.start)
    return [
        *(each.name for each in facts.within(facts.accesses, head)),
        *(each.name for each in facts.calls if each.span.start <= head.start < each.span.end),
        *(each.name for each in facts.within(facts.calls, head)),
    ]


def _of_query(owner: str, method: str, source: str, facts: Facts) -> _Rows | None:
    if owner in declared_relations(facts) and method in _OF_ENTITY:
        loads = [_inside(source, each.end()) for each in _EXPOSED_LOADS.finditer(source)]
        return owner, {name for each in loads for name in re.findall(r"::(\w+)", each)} | (
            joined_relations(source) or set()
        )
    declared = _declared_methods(facts).get(method)
    if declared is not None:
        many, entity, annotations = declared
        if not _MANY.match(many):
            return None
        return entity, None if _UNKNOWN.search(annotations) else joined_relations(annotations)
    if not _FINDS.fullmatch(method) or not _REPOSITORY.search(owner):
        return None
    is_inherited = re.search(rf"\binterface\s+{owner}\b", facts.whole_text) is not None
    if not is_inherited and _JOINED.search(facts.whole_text):
        return None
    return _entity_of(owner, facts), set()


def joined_relations(text: str) -> set[str] | None:
    """Return the relations that queries of JPA load with their rows; None if some are not written out."""
    found = set[str]()
    for joined, paths in _JOINED.findall(text):
        names = [joined] if joined else [part for each in _NAMES.findall(paths) for part in each.split(".")]
        if not names:
            return None
        found.update(names)
    return found


def _entity_of(repository: str, facts: Facts) -> str:
    found = re.search(
        rf"\b{repository}\b\s*(?:extends|:)[^{{]*?\w+<\s*(?:\w+\s*:\s*)?(\w+)\s*,", facts.whole_text
    )
    return found[1] if found is not None else _REPOSITORY.sub("", repository)


_JAVA_METHOD = lazy_regex(r"^[ \t]*(?:public\s+)?(?:(\w+)<\s*(\w+)\s*>)\s+(\w+)\s*\(", re.MULTILINE)
_KOTLIN_METHOD = lazy_regex(
    r"^[ \t]*(?:suspend\s+)?fun\s+(\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*:\s*(?:(\w+)<\s*(\w+)\s*>)",
    re.MULTILINE,
)


@lru_cache(maxsize=4)
def _declared_methods(facts: Facts) -> dict[str, tuple[str, str, str]]:
    """Return the methods of this text that return several values: the list, the values, the annotations."""
    text = facts.whole_text
    found: dict[str, tuple[str, str, str]] = {}
    for each in (_KOTLIN_METHOD if facts.language == "kotlin" else _JAVA_METHOD).finditer(text):
        many, item, name = (each[2], each[3], each[1]) if facts.language == "kotlin" else each.groups()
        found[name] = (many, item, "\n".join(_annotations(text[: each.start()])))
    return found


def _annotations(before: str) -> Iterator[str]:
    """Yield the lines above a method, up to an empty one or the end of another declaration."""
    for line in reversed(before.rstrip("\n").split("\n")[-30:]):
        bare = line.strip()
        if not bare or bare.endswith(";") or (bare.endswith("{") and "@" not in bare) or bare == "}":
            return
        if re.match(r"(suspend\s+)?fun\s", bare):
            return
        yield bare


# C#: Entity Framework.


_TABLE = lazy_regex(
    r"\.([A-Z]\w*)\.(?:[\w()]+\.)*(?:ToList|ToListAsync|ToArray|ToArrayAsync|AsAsyncEnumerable)\b"
)
_INCLUDED = lazy_regex(r"Include\(\s*(?:\(?\w+\)?\s*=>\s*\w+!?\.(\w+)|\"([\w.]+)\"|(?=nameof))")
EF_PROJECTS = r"Select|ProjectTo|GroupBy|SelectMany|FromSql\w*"
"""Methods after which rows are no entities, as an expression."""
_PROJECTED = lazy_regex(rf"\.({EF_PROJECTS})\(\)\S*\.To(List|Array)|AutoInclude")


def _csharp(loop: Loop, source: str, facts: Facts) -> _Rows | None:
    for name in _names_in_head(loop, facts):
        found = _TABLE.search(name)
        if found is None or _PROJECTED.search(name):
            continue
        included = {
            part for one, path in _INCLUDED.findall(source) for part in (one or path).split(".") if part
        }
        is_known = "Include(" not in source or bool(included)
        return _entity_of_table(found[1], facts), included if is_known else None
    return None


def _entity_of_table(table: str, facts: Facts) -> str:
    declared = re.search(rf"DbSet<(\w+)>\s+{table}\b", facts.whole_text)
    if declared is not None:
        return declared[1]
    return next(
        (each for each in declared_relations(facts) if table in (f"{each}s", f"{each[:-1]}ies", f"{each}es")),
        table,
    )
