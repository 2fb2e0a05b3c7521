"""Finds related objects that an ORM loads one by one, in a loop over the result of a query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, JAVA, JAVASCRIPT, KOTLIN, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.applied_functions import (
    applied_functions,
    given_lists,
    given_to_callers,
    wrapped_items,
)
from faultkit.code.rules.vocabulary.brackets import end_of_bracket
from faultkit.code.rules.vocabulary.data_sizes import base_name
from faultkit.code.rules.vocabulary.declared_relations import declared_relations
from faultkit.code.rules.vocabulary.entity_rows import (
    EF_PROJECTS,
    FINDS,
    LOADED_OTHERWISE,
    entity_rows,
    joined_relations,
)
from faultkit.code.rules.vocabulary.listing_loops import ends_with_round, works_on_items
from faultkit.code.rules.vocabulary.relation_reads import relation_reads
from faultkit.code.rules.vocabulary.returned_values import returned_values

_FIELDS = lazy_regex(
    r"^(name|title|email|username|first_name|last_name|full_name|display_name|slug|phone|address|city|company|currency"
    r"|country|price|sku|number|get_\w+)$"
)
"""Fields by which a related object shows: `order.customer.name`. A date or a file has others."""
_PLAIN = lazy_regex(
    r"(^_|date|time|_at|_on|file|image|photo|avatar|thumbnail|attachment|picture|status|state|type|kind|role|level|mode"
    r"|method|data|json|config|meta|settings|field|option|enum)$|^(meta|self|cls|session|request|context)",
    re.IGNORECASE,
)
"""Attributes that are values and no related objects."""
_MANAGER_CALLS = frozenset(
    ("all", "filter", "exclude", "count", "exists", "first", "last", "get", "order_by")
)
_NAMES = lazy_regex(r"['\"](\w+)")
_SHORT_LINES = 25


def _check(facts: Facts) -> Iterator[Hit]:
    find = {"python": _python, "java": _java, "kotlin": _kotlin, "csharp": _csharp}.get(
        facts.language, _javascript
    )
    if facts.language == "java":
        yield from _collected(facts)
    seen = set[Span]()
    for loop in (*facts.loops, *_through_functions(facts)):
        if not loop.targets or not re.fullmatch(r"(const |let )?(self\.)?\w+", loop.targets[0]):
            continue
        item = loop.targets[0].rpartition(" ")[2]
        shown: set[str] = set()
        source = _source(loop, facts)
        if (rows := entity_rows(loop, source, facts)) is not None:
            for read in relation_reads(item, rows.entity, loop.body, facts):
                relation = f"{read.owner}.{read.relation}"
                if (
                    relation not in shown
                    and read.span not in seen
                    and read.relation.lower() not in rows.fetched
                    and not _is_set(read.span, facts)
                ):
                    shown.add(relation)
                    seen.add(read.span)
                    row = f"{read.row}.{read.relation}" if read.row != "self" else relation
                    each = "row" if item in ("self", "it") else item
                    what = f"{row} is loaded by a query of its own for every {each}"
                    yield Hit(read.span, what, POSSIBLE if _is_of_little(loop, facts) else LIKELY)
            continue
        for span, relation, confidence in find(loop, item, source, facts):
            if relation not in shown:
                shown.add(relation)
                what = f"{relation} is loaded by a query of its own for every {item}"
                yield Hit(span, what, POSSIBLE if _is_of_little(loop, facts) else confidence)


def _is_of_little(loop: Loop, facts: Facts) -> bool:
    """Return whether one more read matters little: each row is written or sent as well, or there is one
    round."""
    return works_on_items(loop, facts) or ends_with_round(loop, facts)


def _through_functions(facts: Facts) -> Iterator[Loop]:
    """Yield functions that get each item of a list, as loops over that list."""
    for each in applied_functions(facts):
        if facts.text(each.scope.body).count("\n") > _SHORT_LINES:
            continue  # A piece of work, beside which a query counts little.
        yield Loop("each", each.at.span, each.scope.body, each.at.line, each.over, (each.item,))
    for call, over, field, scope in wrapped_items(facts):
        if facts.text(scope.body).count("\n") <= _SHORT_LINES:
            yield Loop("each", call.span, scope.body, call.line, over, (f"self.{field}",))
    table = declared_relations(facts)
    for call in facts.calls_of_method("map", "flatMap", "mapNotNull") if table else ():
        # Methods of an entity by reference, `Order::toView`, and functions of Python, `map(view, orders)`.
        given = call.positional
        found = re.fullmatch(r"(\w+)::(\w+)", given[0].value.text) if given else None
        for scope in facts.functions_named(found[2]) if found is not None and found[1] in table else ():
            if found is not None and scope.name == f"{found[1]}.{found[2]}" and not scope.parameters:
                over = facts.text(call.callee).rpartition(".")[0]
                yield Loop("each", call.span, scope.body, call.line, over, ("self",))
        if call.name == "map" and len(given) == 2 and facts.language == "python":
            for scope in facts.scopes:
                is_given = scope.span == given[0].value.span or scope.short_name == given[0].value.text
                if is_given and len(scope.parameters) == 1:
                    item = scope.parameters[0].name
                    yield Loop("each", call.span, scope.body, call.line, given[1].value.text, (item,))


def _source(loop: Loop, facts: Facts) -> str:
    """Return the query whose result the loop goes through: its own text, or what its variable was given."""
    if "object_list" in loop.over:
        # The list of a view of Django.
        made = [facts.text(each.body) for each in facts.functions_named("get_queryset")]
        if made:
            return " ".join(made)
    if "get_queryset(" in loop.over or ("object_list" in loop.over and not base_name(loop.over)):
        # The query of a view of Django is a field of its class.
        return " ".join(
            each.value.text
            for each in facts.assignments
            if each.value is not None and each.targets[0].rpartition(".")[2] == "queryset"
        )
    base = base_name(loop.over)
    source = _values(base, loop, facts) if base else loop.over
    if base and not source:
        # A parameter: callers in this text have the query.
        given = given_to_callers(base, loop, facts)
        source = " ".join(_values(name, call, facts) for call, name in given)
    # `session.scalars(statement)`, or a function of this text that asks.
    named = " ".join(_values(name, loop, facts) for name in _STATEMENT.findall(source))
    for _ in range(_PAGE_LEVELS):
        pages = [name for found in _OF_PAGES.findall(f"{source} {named}") for name in found if name]
        more = " ".join(value for name in pages if (value := _values(name, loop, facts)) not in named)
        named = f"{named} {more}"
    returned = " ".join(_returned(each, facts) for each in _called(source, base, loop, facts)[:2])
    return f"{source} {named} {returned}"


def _called(source: str, base: str, loop: Loop, facts: Facts) -> list[Scope]:
    """Return the functions of this text that make the rows of a loop; none if several have that name."""
    calls = [each.call for each in facts.assignments_to(base, loop)] if base else []
    names = {each.name for each in calls if each is not None and "." in each.name}
    found = [each for each in facts.scopes if each.name in names]
    around = next(facts.functions_around(loop), None)
    for short in dict.fromkeys(_CALLED.findall(source)):
        own = facts.functions_named(short)
        if len(own) > 1 and around is not None:
            own = tuple(each for each in own if each.owner == around.owner)
        found += own if len(own) == 1 else ()
    return found


def _returned(scope: Scope, facts: Facts) -> str:
    """Return the expressions that a function returns, and those that its variables in them were given."""
    values = [facts.text(each) for each in returned_values(scope, facts)]
    names = {name for each in values for name in _ROOT.findall(each)}
    given = [
        each.value.text
        for each in facts.own(facts.assignments, scope)
        if each.value is not None and names & {*each.targets}
    ]
    return " ".join((*given, *values))


def _values(name: str, place: Placed, facts: Facts) -> str:
    given = [each.value.text for each in facts.assignments_to(name, place) if each.value is not None]
    return " ".join(given)


def _parts_of(written: str, item: str) -> list[str]:
    """Return the parts of a path whose first is the item, also if that is a field: `self.loan`."""
    if not written.startswith(f"{item}."):
        return []
    return [item, *written[len(item) + 1 :].split(".")]


_PAGE_LEVELS = 2
_OF_PAGES = lazy_regex(
    r"(?:\bpaginate_queryset|\bPaginator|\bpaginate|\bfilter_queryset|\blist|\bislice|\biter|\bchunked|\benumerate|\bsorted)"
    r"\(\s*(\w+)\s*[,)]|\b(\w+)\.(?:get_page|page)\(|^\s*(\w+)\[[^\]]*:[^\]]*\]\s*$"
)
"""Calls that take a part of what a query returns: a page of `Paginator(orders, 50)`."""
_STATEMENT = lazy_regex(r"\.(?:scalars|execute|exec|unique|fetch_all)\(\s*(\w+)")
_CALLED = lazy_regex(r"(?<![\w.])(?:self\.|this\.|await )?(\w+)\(")
_ROOT = lazy_regex(r"(?<![\w.])([A-Za-z_]\w*)")


_Found = tuple[Span, str, float]


# Python: Django and SQLAlchemy.


def _python(loop: Loop, item: str, source: str, facts: Facts) -> Iterator[_Found]:
    if re.search(r"\b[A-Z]\w*\.objects\b", source) and not re.search(r"\.(values|values_list|raw)\(", source):
        yield from _django(loop, item, source, facts)
        return
    found = re.search(r"\b(?:query|select)\(\s*([A-Z]\w*)\s*\)|\b([A-Z]\w*)\.query\b", source)
    if found and not re.search(r"load\(|\.options\(|contains_eager|with_entities", source):
        yield from _sqlalchemy(loop, item, found[1] or found[2], facts)


def _django(loop: Loop, item: str, source: str, facts: Facts) -> Iterator[_Found]:
    joined = _named("select_related", source)
    fetched = _named("prefetch_related", source)
    for span, relation in _members(loop, item, facts):
        if joined is not None and fetched is not None and relation not in joined | fetched:
            yield span, f"{item}.{relation}", LIKELY
    for call in facts.within(facts.calls, loop.body):
        parts = _parts_of(call.written, item)
        if len(parts) != 3 or parts[2] not in _MANAGER_CALLS or _PLAIN.search(parts[1]):
            continue
        # `.filter(…)` asks again even if all were loaded before; `text.count("x")` is no query.
        is_query = any(each.name for each in call.arguments) or not call.arguments
        is_loaded = parts[2] == "all" and (fetched is None or parts[1] in fetched)
        if is_query and not is_loaded:
            yield call.span, f"{item}.{parts[1]}", LIKELY


def _named(method: str, source: str) -> set[str] | None:
    """Return the relations that a query loads with it; None if they are not written out."""
    named = set[str]()
    for found in re.finditer(rf"\.{method}\(", source):
        names = _NAMES.findall(source[found.end() : end_of_bracket(source, found.end(), ")")])
        if not names:
            return None
        named.update(name.partition("__")[0] for name in names)
    return named


def _members(loop: Loop, item: str, facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `customer` of each `order.customer.name`."""
    read = [(each.span, each.written) for each in facts.within(facts.accesses, loop.body)]
    read += [(each.span, each.written) for each in facts.within(facts.calls, loop.body)]
    for span, written in sorted(read):
        parts = _parts_of(written, item)
        if len(parts) < 3 or _PLAIN.search(parts[1]) or "(" in parts[1]:
            continue
        if _FIELDS.match(parts[2]):
            yield span, parts[1]


def _sqlalchemy(loop: Loop, item: str, model: str, facts: Facts) -> Iterator[_Found]:
    if any(each.owner == model for each in facts.assignments):
        return  # A model of this text, of which all is known.
    for span, relation in sorted((*_members(loop, item, facts), *_collections(loop, item, facts))):
        yield span, f"{item}.{relation}", POSSIBLE


def _collections(loop: Loop, item: str, facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `books` of `for book in author.books` and `len(author.books)`."""
    plural = re.compile(rf"{item}\.([a-z_]+s)")
    for inner in facts.within(facts.loops, loop.body):
        if found := plural.fullmatch(inner.over):
            yield inner.head, found[1]
    for call in facts.within(facts.calls, loop.body):
        first = call.argument(place=0)
        found = None if first is None else plural.fullmatch(first.value.text)
        if call.name in ("len", "list", "sorted", "sum") and found and not _PLAIN.search(found[1]):
            yield call.span, found[1]


# Java: JPA.


_REPOSITORY = lazy_regex(rf"(?i:repo(sitory)?|dao)\.{FINDS}\(")
_FETCHES = lazy_regex(r"join\s+fetch|EntityGraph|fetch\s*=\s*FetchType\.EAGER|projection", re.IGNORECASE)
_ALL_FETCHED = lazy_regex(
    rf"{LOADED_OTHERWISE}|FetchType\.EAGER|projection|EntityGraph\(\s*[\"\w]+\s*\)|EntityGraph\(\s*value",
    re.IGNORECASE,
)
_RESULTS = lazy_regex(r"\.getResult(List|Stream)\(")
_READ = frozenset(("size", "stream", "isEmpty", "forEach", "iterator", "get", "contains"))
_GETTER = lazy_regex(r"get([A-Z]\w*)")
_SHOWN = lazy_regex(
    r"get((First|Last|Full|Display|Company|Short|User)?[nN]ame|Title|Email|Username|Phone|Address|City|Code|Price|Sku)"
)
_VALUES = lazy_regex(
    r"(Date|Time|At|Status|State|Type|Kind|Role|Level|Mode|Enum|Id|Key|Value|Class|Metadata|File)$"
)


def _java(loop: Loop, item: str, source: str, facts: Facts) -> Iterator[_Found]:
    base = base_name(loop.over)
    made = [each.call for each in facts.assignments_to(base, loop) if each.call is not None] if base else []
    made += [] if base else facts.within(facts.calls, loop.head)
    names = " ".join(f"{each.name}(" for each in made)
    if not (_REPOSITORY.search(f"{source} {names}") or _RESULTS.search(f"{source} {loop.over}")):
        return
    fetched = _fetched(facts)
    if fetched is None:
        return
    for inner in facts.within(facts.loops, loop.body):
        found = re.fullmatch(rf"{item}\.get([A-Z]\w*s)\(\)(\.stream\(\))?", inner.over)
        if found and inner.kind == "each" and found[1].lower() not in fetched:
            yield inner.head, f"{item}.get{found[1]}()", POSSIBLE
    for call, relation in given_lists(item, loop.body, facts):
        if relation.lower() not in fetched:
            yield call.span, f"{item}.get{relation}()", POSSIBLE
    for call in facts.within(facts.calls, loop.body):
        parts = _parts_of(call.written, item)
        if len(parts) < 3 or not (getter := _GETTER.fullmatch(parts[1])):
            continue
        is_list = getter[1].endswith("s") and parts[2] in _READ
        is_one = not getter[1].endswith("s") and _SHOWN.fullmatch(parts[2]) is not None
        if (is_list or is_one) and not _VALUES.search(getter[1]) and getter[1].lower() not in fetched:
            yield call.span, f"{item}.{parts[1]}()", POSSIBLE


@lru_cache(maxsize=4)
def _fetched(facts: Facts) -> set[str] | None:
    """Return the relations that some query of this text loads with its rows; None if that may be any."""
    if _ALL_FETCHED.search(facts.whole_text):
        return None
    found = joined_relations(facts.whole_text)
    return None if found is None else {name.lower() for name in found}


# Kotlin: JPA. C#: Entity Framework.


_JPA = ("jakarta.persistence", "javax.persistence", "org.springframework.data.jpa")
_READ_OF_MANY = frozenset(
    (
        "size", "count", "sumOf", "map", "filter", "forEach", "isEmpty", "joinToString", "Count", "Sum",
        "Select", "Where", "Any", "First", "OrderBy", "ToList", "Max", "Min", "any", "none", "first", "last",
    )
)  # fmt: skip
_READ_OF_ONE = lazy_regex(
    r"^(name|title|email|username|fullName|firstName|lastName|displayName|code|sku|price|country"
    r"|Name|Title|Email|UserName|FullName|FirstName|LastName|DisplayName|Code|Sku|Price|Country)$"
)
_EF = lazy_regex(r"\b_?(?i:db|context|dbContext|ctx|dbCtx)\w*\.([A-Z]\w+)\b")
_EF_ENDS = lazy_regex(r"\.(ToListAsync|ToList|ToArrayAsync|AsAsyncEnumerable|ToArray)\(")
_EF_LOADED = lazy_regex(rf"\.(Include|ThenInclude|{EF_PROJECTS})\b|AutoInclude")


_EXPOSED_ROWS = lazy_regex(r"(?<![\w.])[A-Z][a-z]\w*\.(find|all|wrapRows)(\(\)\.\w+)*\(")
_EXPOSED_LOADED = lazy_regex(r"\.(with|load)\(|eager")


def _kotlin(loop: Loop, item: str, source: str, facts: Facts) -> Iterator[_Found]:
    made = " ".join(f"{each.name}(" for each in facts.within(facts.calls, loop.span))
    base = base_name(loop.over)
    given = [each.call for each in facts.assignments_to(base, loop) if each.call is not None] if base else []
    names = " ".join(f"{each.name}(" for each in given)
    if facts.imports_any("org.jetbrains.exposed") and _EXPOSED_ROWS.search(f"{names} {made}"):
        # Rows of a DAO; `with(Order::customer)` loads the relation for all of them.
        if not _EXPOSED_LOADED.search(f"{source} {facts.text(loop.span)}"):
            yield from ((span, f"{item}.{each}", POSSIBLE) for span, each in _parts(loop, item, facts))
        return
    if not facts.imports_any(*_JPA) or not _REPOSITORY.search(f"{source} {names} {made}"):
        return
    fetched = _fetched(facts)
    if fetched is None:
        return
    for span, relation in _parts(loop, item, facts):
        if relation.lower() not in fetched:
            yield span, f"{item}.{relation}", POSSIBLE


def _csharp(loop: Loop, item: str, source: str, facts: Facts) -> Iterator[_Found]:
    if not _EF.search(source) or not _EF_ENDS.search(source) or _EF_LOADED.search(source):
        return
    if _EF_LOADED.search(loop.over):
        return
    for span, relation in _parts(loop, item, facts):
        yield span, f"{item}.{relation}", POSSIBLE


def _parts(loop: Loop, item: str, facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `tasks` of `p.tasks.size`, `p.tasks.count { … }` and `for (t in p.tasks)`, and `lead` of
    `p.lead.name`."""
    read = [(each.span, each.written) for each in facts.within(facts.accesses, loop.body)]
    read += [(each.span, each.written) for each in facts.within(facts.calls, loop.body)]
    for span, written in sorted(read):
        parts = _parts_of(re.sub(r"\(\)|[?!]", "", written), item)
        if len(parts) < 3 or _PLAIN.search(parts[1]) or _VALUES.search(parts[1]):
            continue
        is_list = parts[1].endswith("s") and parts[2] in _READ_OF_MANY
        is_one = not parts[1].endswith("s") and _READ_OF_ONE.match(parts[2]) is not None
        if is_list or (is_one and parts[1].lower() not in ("address", "money", "price")):
            yield span, parts[1]
    for inner in facts.within(facts.loops, loop.body):
        found = re.fullmatch(rf"{item}\.(\w+s)", inner.over)
        if found and not _PLAIN.search(found[1]) and inner.kind == "each":
            yield inner.head, found[1]


def _is_set(span: Span, facts: Facts) -> bool:
    """Return whether a relation is given a value here, which loads nothing."""
    return re.match(rb"\s*=(?!=)", facts.syntax.source[span.end : span.end + 8]) is not None


def _collected(facts: Facts) -> Iterator[Hit]:
    """Yield lists that a collector reads: `findAll().stream().collect(toMap(…, t -> t.getXs().size()))`."""
    for call in facts.calls_of_method("size"):
        found = re.fullmatch(r"(\w+)\.(get[A-Z]\w*s)\.size", call.written)
        scope = facts.function_of(call)
        if found is None or scope is None or not any(each.name == found[1] for each in scope.parameters):
            continue
        around = [each for each in facts.calls_around(call) if each.method == "collect"]
        if any(_REPOSITORY.search(each.name) for each in around) and not _FETCHES.search(facts.whole_text):
            what = f"{found[1]}.{found[2]}() is loaded by a query of its own for every {found[1]}"
            yield Hit(call.span, what, POSSIBLE)


# JavaScript: Sequelize, TypeORM, Mongoose.


_FINDS = lazy_regex(r"\.(findAll|findAndCountAll|find|findMany|getMany)\(")
_GETS = lazy_regex(r"(get|count)([A-Z]\w*)|populate|\$relatedQuery|loadRelation|load")


def _is_waited_for(call: Call, facts: Facts) -> bool:
    """Return whether a call is awaited, itself or among others of `Promise.all([…])`."""
    return call.is_awaited or any(each.name.startswith("Promise.all") for each in facts.calls_around(call))


def _javascript(loop: Loop, item: str, source: str, facts: Facts) -> Iterator[_Found]:
    if not _FINDS.search(source) or re.search(r"\.find\(\s*\(?\w*\)?\s*=>", source):
        return
    for call in facts.within(facts.calls, loop.body):
        found = _GETS.fullmatch(call.method)
        if found is None or call.receiver_written != item or not _is_waited_for(call, facts):
            continue
        if found[2] is None or not call.positional or call.positional[0].value.shape == "object":
            yield call.span, f"{item}.{call.method}()", LIKELY
    if re.search(r"relations|leftJoinAndSelect|innerJoinAndSelect|include", source):
        return
    for step in facts.within(facts.steps, loop.body):
        waits = re.fullmatch(rf"{item}\.(\w+)", step.text.strip()) if step.kind == "await" else None
        # `await attachment.buffer` reads a file.
        if waits is not None and not re.search(
            r"(?i)buffer|stream|content|body|promise|ready|done", waits[1]
        ):
            yield step.span, f"{item}.{waits[1]}", LIKELY


RULE = Rule(
    id="FK-P027",
    slug="lazy-relation-in-loop",
    title="A query for every related object",
    why="One query for the list is followed by one for each of its rows: a page of a hundred rows asks the "
    "database a hundred and one times.",
    fix="Load the relation with the list: select_related or prefetch_related, selectinload, include, "
    "JOIN FETCH or an entity graph.",
    kind="performance",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA, *CSHARP, *KOTLIN),
    check=_check,
)
