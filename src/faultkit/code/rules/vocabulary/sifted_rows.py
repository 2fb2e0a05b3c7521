"""Rows of a whole table of which the program that loads them keeps a part, or computes a number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.cut_rows import EF_TABLE
from faultkit.code.rules.vocabulary.data_sizes import is_few
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import chain_of
from faultkit.code.rules.vocabulary.row_queries import row_queries

_WHOLE_TABLE = (
    rf"{EF_TABLE}"
    r"(?:\.(?:Include|ThenInclude|AsNoTracking|AsQueryable|AsSplitQuery|OrderBy\w*|ThenBy\w*|TagWith)\(\))*"
    r"\.(?:ToList|ToListAsync|ToArray|ToArrayAsync|AsEnumerable|AsAsyncEnumerable)$"
)
_REPOSITORY = r"[rR]epo(?:sitory)?"
_LISTED = r"(?:[fF]indAll|[gG]etAll|[lL]istAll|selectAll|All|List|find_all|get_all|list_all)(?:Async)?$"
_OF_JVM = rf"(?:{_REPOSITORY}|Dao|DAO|[mM]apper)\.{_LISTED}"
_LOADS = {
    "csharp": NamePattern(rf"{_WHOLE_TABLE}|{_REPOSITORY}\w*\.{_LISTED}"),
    "java": NamePattern(rf"{_OF_JVM}|^[A-Z]\w*\.listAll$"),
    "kotlin": NamePattern(rf"{_OF_JVM}|(?:^|\.)[A-Z]\w*\.selectAll$"),
    "python": NamePattern(rf"(?:{_REPOSITORY}|_dao|Dao)\.{_LISTED}|^[A-Z]\w*\.(?:all|select)$|\.find$"),
    "rust": NamePattern(
        r"(?:^|\.)[A-Z]\w*\.find\(\)(?:\.order_by\w*\(\))*\.all$|^(?:\w+\.)*[a-z_]+\.(?:table\.)?load$"
    ),
    "javascript": NamePattern(rf"(?:{_REPOSITORY}|Dao)\.{_LISTED}"),
}
_SIFTS = frozenset(
    (
        "filter", "Where", "filterNot", "partition", "find", "firstOrNull", "first", "First",
        "FirstOrDefault",
        "Single", "SingleOrDefault", "Any", "any", "none", "count", "Count", "Sum", "sumOf", "sumBy", "sum",
        "reduce", "Skip", "Take", "drop", "take", "slice", "skip", "limit", "some", "every", "subList",
        "anyMatch", "noneMatch", "mapToInt", "mapToLong", "mapToDouble", "maxByOrNull", "minByOrNull",
        "Max", "Min", "Average", "max", "min", "RemoveAll", "removeIf", "retain", "position",
        "single", "singleOrNull", "find_map", "filter_map", "findLast", "size", "Chunk",
    )
)  # fmt: skip
"""Methods of lists that give a part of it, or a number."""
_OTHERS = frozenset(("minus", "subtract", "Except", "filterNot", "partition", "forEach", "ForEach"))
"""Methods of lists that use the rows which a condition drops."""
_OF_ALL = frozenset(("first", "First", "count", "Count", "Any", "any", "single", "none", "FirstOrDefault"))
"""Methods that need no condition."""
_STREAMS = frozenset(
    ("stream", "iter", "into_iter", "asSequence", "AsEnumerable", "AsQueryable", "toList", "map", "sorted",
     "OrderBy", "sortedBy", "sortedByDescending", "parallelStream", "orderBy", "spliterator", "orEmpty")
)  # fmt: skip
_NARROWS = lazy_regex(r"\.(where|andWhere|orWhere|limit|Where|Take|filter_by)\(\)")
_NO_ROWS = lazy_regex(r"^(err|error|e|ok)\b|\bnil\b")


@dataclass(frozen=True, slots=True)
class Sifted:
    """A load of all rows of a table, and what then chooses among them."""

    load: Call
    by: str
    """What chooses: `filter()`, `if`."""


@lru_cache(maxsize=4)
def sifted_rows(facts: Facts) -> tuple[Sifted, ...]:
    """Return loads of all rows of a table after which this text chooses among them."""
    found = []
    for load in _loads(facts):
        scope = facts.function_of(load)
        if scope is not None and (by := _sifted_by(load, scope, facts)):
            found.append(Sifted(load, by))
    return tuple(found)


def _loads(facts: Facts) -> Iterator[Call]:
    """Yield calls that load all rows of a table that grows with the data."""
    seen = set[Call]()
    for rows in row_queries(facts):
        if rows.is_narrowed or rows.is_limited or rows.is_one or rows.call in seen:
            continue
        seen.add(rows.call)
        if rows.table is None or not _is_small(rows.table):
            yield rows.call
    language = facts.syntax.language.family
    pattern = _LOADS.get(language)
    for call in () if pattern is None else facts.calls_with_name(pattern.search):
        if call not in seen:
            names = (call.receiver, call.receiver_written)
            if _is_unlimited(call, facts) and not any(_is_small(each.replace("()", "")) for each in names):
                yield call


def _is_small(table: str) -> bool:
    bare = re.sub(r"(Repository|Repo|Dao|DAO|Mapper|_repo|_dao|repository)$", "", table.rpartition(".")[2])
    return is_few(bare) or is_looked_up(bare) or _SETTINGS.search(bare) is not None


_SETTINGS = lazy_regex(r"config|setting|role|permission|currenc|countr|locale", re.IGNORECASE)
_LOOKED_UP = lazy_regex(
    r"(type|brand|kind|status|statuse|unit|genre|colou?r|countrie|country|currenc(y|ie)|language|locale|region"
    r"|role|permission|setting|badge|categor(y|ie)|tier|plan|level|priorit(y|ie)|feature|template|theme|holiday)s?$",
    re.IGNORECASE,
)


def is_looked_up(table: str) -> bool:
    """Return whether a table has a few rows that others refer to, and that a page shows whole."""
    return _LOOKED_UP.search(table) is not None


def _is_unlimited(call: Call, facts: Facts) -> bool:
    if facts.language == "rust":
        if call.method == "load":
            first = call.argument(place=0)
            return facts.imports_any("diesel", "diesel_async") and first is not None
        return facts.imports_any("sea_orm")
    if facts.language == "kotlin" and call.method == "selectAll":
        later = (each.method for each in facts.calls if call in chain_of(each))
        return not {*later} & {"where", "andWhere", "limit", "adjustWhere", "fetchBatchedResults"}
    if facts.language == "python" and call.method in ("find", "all", "select"):
        return _is_python_load(call, facts)
    given = [each for each in call.arguments if not re.search(r"[tT]oken|^ct$|cancel", each.value.text)]
    if facts.language == "csharp":
        return not given and "HttpContext" not in call.name and ".Local" not in call.name
    return not given


def _is_python_load(call: Call, facts: Facts) -> bool:
    """Return whether all documents of a collection, or all objects of a model, are asked for."""
    if call.method == "find":
        known = facts.imports_any("pymongo", "motor") or "collection" in call.receiver_written
        first = call.argument(place=0)
        later = [each.method for each in facts.calls_on(call)]
        is_all = first is None or first.value.text.replace(" ", "") == "{}"
        return known and is_all and not {*later} & {"limit", "batch_size", "skip"}
    imports = ("tortoise", "beanie") if call.method == "all" else ("peewee",)
    return facts.imports_any(*imports) and not call.arguments and not facts.calls_on(call)


def _sifted_by(load: Call, scope: Scope, facts: Facts) -> str:
    """Return what chooses among the rows in the function that loads them; empty if nothing does."""
    names = _holders(load, scope, facts)
    if _is_passed_on(names, load, scope, facts):
        return ""
    if facts.language != "python":
        parts = [
            call
            for call in facts.within(facts.calls, scope.body)
            if (call.method in _SIFTS or call.method in _OTHERS) and _is_on(load, call)
        ]
        if len({facts.text(each.span) for each in parts if each.method in _OTHERS or _is_half(each)}) > 1:
            return ""  # Each half is used: `rows.filter(a)` and `rows.filter(not a)`, `rows.minus(known)`.
        for call in parts:
            if call.method in _SIFTS and _has_condition(call):
                return f"{call.method}()"
    for loop in facts.within(facts.loops, scope.body):
        if (
            loop.span.start >= load.span.start
            and _is_over(loop, load, names, facts)
            and _chooses(loop, facts)
            and not _is_needed_again(loop, load, names, scope, facts)
        ):
            return "if"
    return _cut_out(names, load, scope, facts)


def _is_half(call: Call) -> bool:
    return call.method in ("filter", "filterNot", "Where", "partition")


def _is_needed_again(loop: Loop, load: Call, names: set[str], scope: Scope, facts: Facts) -> bool:
    """Return whether other code needs the rows that a loop passes over: code after it, or another round."""
    outer = facts.loops_around(loop)
    if outer and not is_within(load.span, outer[-1].span):
        return True
    after = facts.text(Span(loop.span.end, scope.body.end))
    return any(
        re.search(
            rf"(?<![\w.\"']){re.escape(name)}\b(?!\s*[:=][^=]|\.(?:Err|[cC]lose|Count|length)\b)", after
        )
        for name in names
    )


def _holders(load: Call, scope: Scope, facts: Facts) -> set[str]:
    """Return the variables that hold the rows."""
    names = {name for name in load.assigned if name.isidentifier()}
    if facts.language == "go" and load.method == "Find" and load.positional:
        return {load.positional[0].value.text.lstrip("&")}
    if facts.language == "go" and load.method.startswith("Select"):
        return {each.value.text.lstrip("&") for each in load.positional if each.value.text.startswith("&")}
    if facts.language == "python" and load.method == "execute":
        after = [
            call
            for call in facts.within(facts.calls_of_method("fetchall", "all"), scope.body)
            if call.span.start > load.span.start
            and (call.receiver_written == load.receiver_written or load in chain_of(call))
        ]
        names |= {name for call in after[:1] for name in call.assigned}
    for each in facts.within(facts.assignments, scope.body):
        if (
            each.value is not None
            and each.value.span.start <= load.span.start < load.span.end <= each.value.span.end
        ):
            names |= {
                name for name in each.targets if name.isidentifier() and name not in ("err", "error", "_")
            }
    return names


def _is_on(load: Call, call: Call) -> bool:
    """Return whether a method is called on the rows, or on a stream of them."""
    chain = chain_of(call)
    if load not in chain:
        return False
    between = chain[: chain.index(load)]
    return not any(_NARROWS.search(f".{each.method}()") for each in between) and all(
        each.method in _STREAMS or each.method in _SIFTS for each in between
    )


def _has_condition(call: Call) -> bool:
    """Return whether a call says what to choose; a named function may ask more than a query can."""
    if call.method in ("sum", "mapToInt", "mapToLong", "mapToDouble"):
        return True
    if call.method in ("max", "min", "size"):
        return False
    if call.method in _OF_ALL:
        return bool(call.arguments)
    if not call.arguments:
        # A lambda of Kotlin may stand outside the parentheses.
        return True
    return call.arguments[0].value.shape != "name" or call.method in (
        "Skip",
        "Take",
        "drop",
        "take",
        "skip",
        "limit",
        "slice",
    )


def _is_over(loop: Loop, load: Call, names: set[str], facts: Facts) -> bool:
    bare = re.sub(
        r"\.(iterator|iter|into_iter|values|scalars|all|asSequence)\(\)|^&|^list\(|\)$", "", loop.over
    )
    if bare in names or loop.over in names:
        return True
    if facts.language == "go" and loop.kind in ("while", "endless"):
        return any(loop.over == f"{name}.Next()" for name in names)
    return loop.span.start <= load.span.start and load.span.end <= loop.body.start and loop.kind != "while"


def _chooses(loop: Loop, facts: Facts) -> bool:
    """Return whether each round begins with a condition on the item."""
    text = facts.text(loop.span)
    if loop.kind == "comprehension" and facts.language == "python":
        return re.search(r"\bif\b(?!.*\belse\b)", text, re.DOTALL) is not None
    items = [name.rpartition(" ")[2] for name in loop.targets if name != "_"]
    if loop.kind == "comprehension" or not (items or facts.language == "go"):
        return False
    branches = [step for step in facts.within(facts.steps, loop.body) if step.kind == "branch"]
    branches = [step for step in branches if not _NO_ROWS.search(step.text.strip("( "))]
    inner = [each.body for each in facts.within(facts.loops, loop.body)]
    for step in branches:
        if any(body.start <= step.span.start < body.end for body in inner):
            continue
        if items and not any(re.search(rf"\b{re.escape(item)}\b", step.text) for item in items):
            continue
        if not items and "." not in step.text:
            continue
        # What the condition guards takes the whole rest of the round, or goes on with the next row.
        rest = facts.text(Span(step.span.end, loop.body.end)).strip(" \n\t}")
        return not rest or "continue" in facts.text(step.span)
    return False


def _cut_out(names: set[str], load: Call, scope: Scope, facts: Facts) -> str:
    """Return what cuts a part out of the rows, `rows[start:end]`; empty if nothing does."""
    if facts.language not in ("python", "go", "rust"):
        return ""
    after = facts.text(Span(load.span.end, scope.body.end))
    for name in names:
        if re.search(rf"(?<![\w.]){re.escape(name)}\[[^\[\]]*:[^\[\]]*\]", after) and not re.search(
            rf"(?<![\w.]){re.escape(name)}\[:0\]", after
        ):
            return "a slice"
    return ""


def _is_passed_on(names: set[str], load: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether all rows are returned as well."""
    return any(
        step.kind == "return" and step.text.strip().rstrip(";").partition(",")[0].strip() in names
        for step in facts.within(facts.steps, scope.body)
        if step.span.start > load.span.end
    )
