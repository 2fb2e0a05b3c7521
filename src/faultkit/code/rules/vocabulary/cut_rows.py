"""Queries without a limit of whose rows a program keeps a page: `rows.OrderBy(…).Take(50)`, `rows[:50]`.

The condition of the query is right; what is missing is its order and limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Place, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import chain_of
from faultkit.code.rules.vocabulary.row_queries import row_queries

_CUTS = {
    "csharp": ("Take", "Skip", "TakeLast", "GetRange"),
    "java": ("limit", "skip", "subList"),
    "kotlin": ("take", "drop", "takeLast", "subList"),
    "javascript": ("slice",),
    "rust": ("take", "skip"),
}
_BETWEEN = frozenset(
    (
        "OrderBy", "OrderByDescending", "ThenBy", "ThenByDescending", "Order", "OrderDescending", "Where",
        "Select", "AsEnumerable", "ToList", "Reverse", "Skip", "Take", "stream", "sorted", "filter", "map",
        "skip", "sortedBy", "sortedByDescending", "sortedWith", "asSequence", "toList", "reversed", "drop",
        "sort", "toSorted", "reverse", "iter", "into_iter", "getContent", "orEmpty", "rev",
    )
)  # fmt: skip
"""Methods between the rows and the cut that take or give one row each."""
_MATERIALIZES = frozenset(("ToListAsync", "ToArrayAsync", "ToList", "ToArray", "AsEnumerable"))
EF_TABLE = r"(?:[cC]ontext|[dD]b|[cC]tx)\.(?:[A-Z]\w*|Set\(\))"
"""A table of Entity Framework, as an expression."""
_OF_TABLE = NamePattern(rf"{EF_TABLE}\.")
_BOUNDED = lazy_regex(r"\.(Take|Skip|GroupBy|Distinct|First\w*|limit|take|Find)\(\)")
_FINDER = lazy_regex(r"(?:Repository|Repo|Dao|DAO|Mapper)\.(?:find|list|get|search|query)(?:All|\w*By)\w*$")
_LIMITED_NAME = lazy_regex(r"Top\d*|First\d*|Page|Limit|Latest|ById(?:In)?$|ByIds$")
_PAGE = lazy_regex(r"(?i)page|limit|size|max|top")
_LENGTHS = lazy_regex(r"\.(Count|Length|length|size|isEmpty|isNotEmpty|Any|len|is_empty)\b")

_SORTS = lazy_regex(r"(^|\.)(sort|sorted|Sort\w*|sort_by\w*|Slice|SliceStable)$")


@dataclass(frozen=True, slots=True)
class CutRows:
    """A query of whose rows a page is kept."""

    load: Call
    by: str
    """What cuts: `Take()`, `a slice`."""


def cut_rows(facts: Facts) -> Iterator[CutRows]:
    """Yield queries with a condition and no limit, of whose rows nothing but a page is used."""
    for load in loads_of_matching(facts):
        scope = facts.function_of(load)
        if scope is None:
            continue
        cut = _cut_by_method(load, scope, facts) or _cut_by_slice(load, scope, facts)
        if cut is not None and not _is_used_whole(load, cut[0], scope, facts):
            yield CutRows(load, cut[1])


@lru_cache(maxsize=4)
def loads_of_matching(facts: Facts) -> tuple[Call, ...]:
    """Return queries with a condition and no limit that load all rows that match."""
    return tuple(_loads_of_matching(facts))


def _loads_of_matching(facts: Facts) -> Iterator[Call]:
    if facts.language == "csharp":
        with_tables = facts.imports_any("Microsoft.EntityFrameworkCore")
        for call in facts.calls_of_method(*_MATERIALIZES):
            is_query = (with_tables and call.method.endswith("Async")) or _OF_TABLE.search(call.name)
            if is_query and not _BOUNDED.search(call.name):
                yield call
        return
    if facts.language in ("java", "kotlin"):
        for call in facts.calls_with_name(_FINDER.search):
            if _LIMITED_NAME.search(call.method):
                continue
            if not any(_PAGE.search(each.value.text) for each in call.arguments):
                yield call
        return
    for rows in row_queries(facts):
        if not rows.is_narrowed or rows.is_one:
            continue
        if not rows.is_limited or _is_without_limit(rows.call, facts):
            yield rows.call
    if facts.language == "python":
        known = {rows.call for rows in row_queries(facts)}
        for call in facts.calls_of_method("all", "list"):
            if call not in known and _is_python_query(call, facts):
                yield call


def _is_without_limit(call: Call, facts: Facts) -> bool:
    """Return whether options are written out and have no limit, whatever follows (JavaScript)."""
    first = call.argument(place=0)
    if facts.syntax.language.family != "javascript" or first is None or first.value.shape != "object":
        return False
    return call.has("where") and not call.spreads and not call.has("take", "limit", "first", "cursor", "skip")


def _is_python_query(call: Call, facts: Facts) -> bool:
    """Return whether a call loads the rows of `session.scalars(select(…).where(…))` or of a Django query."""
    if call.method == "list":
        first = call.argument(place=0)
        text = "" if first is None or call.name != "list" else first.value.text
        if text.isidentifier():
            given = [each.value for each in facts.assignments_to(text, call) if each.value is not None]
            text = given[0].text if len(given) == 1 else ""
        return re.search(r"\.objects\.(filter|exclude)\(", text) is not None and not _BOUNDS.search(text)
    made = [each for each in chain_of(call) if each.method in ("scalars", "execute")]
    text = facts.text_with_values(made[0]) if made else ""
    return "select(" in text and ".where(" in text and not _BOUNDS.search(text)


_BOUNDS = lazy_regex(
    r"\.(limit|fetch|slice|first|yield_per|paginate|get|group_by|distinct)\(|\[[^\]]*:|func\."
)


_Cut = tuple[Span, str]


def _cut_by_method(load: Call, scope: Scope, facts: Facts) -> _Cut | None:
    methods = _CUTS.get(facts.syntax.language.family, ())
    for call in facts.within(facts.calls_of_method(*methods), scope.body) if methods else ():
        chain = chain_of(call)
        if not call.arguments or call.span.start < load.span.start:
            continue
        if facts.syntax.language.family == "javascript" and len(call.arguments) != 2:
            continue
        if load in chain:
            between = chain[: chain.index(load)]
        elif (chain[-1] if chain else call).receiver_written in holders(load, facts):
            between = chain
        else:
            continue
        if all(each.method in _BETWEEN for each in between) and not facts.loops_around(call):
            return call.span, f"{call.method}()"
    return None


def _cut_by_slice(load: Call, scope: Scope, facts: Facts) -> _Cut | None:
    """Return `rows[:limit]` or `sorted(rows, …)[:limit]` after a load, outside of loops."""
    if facts.language not in ("python", "go"):
        return None
    after = Span(load.span.end, scope.body.end)
    text = facts.text(after)
    for name in holders(load, facts):
        bare = re.escape(name)
        for found in re.finditer(
            rf"(?<![\w.])(?:sorted\(\s*{bare}\b[^\n\[\]]*\)|{bare})\[([^\[\]:]*):([^\[\]:]*)\]", text
        ):
            place = facts.syntax.place_of(found, after.start)
            first, last = found[1].strip(), found[2].strip()
            is_head = first in ("", "0") and bool(last) and not last.startswith("-")
            is_page = re.search(r"(?i)offset|start|skip|page", first) is not None and bool(last)
            if (is_head or is_page) and last != "0" and not facts.loops_around(Place(place)):
                return place, "a slice"
    return None


def holders(load: Call, facts: Facts) -> set[str]:
    """Return the variables that hold the rows of a query."""
    names = {word for name in load.assigned for word in [name.strip("{} ")] if word.isidentifier()}
    if load.method == "execute" and facts.language == "python":
        later = (
            call
            for call in facts.calls_of_method("fetchall", "all")
            if call.span.start > load.span.start
            and facts.function_of(call) is facts.function_of(load)
            and (call.receiver_written == load.receiver_written or load in chain_of(call))
        )
        names = {name for call in [*later][:1] for name in call.assigned}
    if facts.language == "go":
        names |= {
            each.value.text[1:] for each in load.arguments if re.fullmatch(r"&[a-z]\w*", each.value.text)
        }
        return names - {"err", "_"}
    for each in facts.assignments:
        if each.value is not None and is_within(load.span, each.value.span) and each.operator == "=":
            names |= {name for name in each.targets if name.isidentifier()}
    return names - {"err", "_"}


def _is_used_whole(load: Call, cut: Span, scope: Scope, facts: Facts) -> bool:
    """Return whether the rows are used otherwise, but for their number."""
    if is_within(load.span, cut):
        return False
    names = holders(load, facts)
    end = scope.body.end
    for each in facts.within(facts.assignments, Span(load.span.end, end)):
        if is_within(cut, each.span) and not names.isdisjoint(each.targets):
            end = each.span.start  # From here on the name holds the page.
    sorts = [each.span for each in facts.calls if _SORTS.search(each.written)]
    for read in facts.within(facts.accesses, Span(load.span.end, end)):
        root = re.match(r"\w+", read.written)
        if root is None or root[0] not in names or is_within(read.span, cut):
            continue
        before = facts.text(Span(max(0, read.span.start - 6), read.span.start))
        if _LENGTHS.search(read.written) or before.endswith("len("):
            continue
        if not any(is_within(read.span, span) for span in sorts):
            return True
    return False
