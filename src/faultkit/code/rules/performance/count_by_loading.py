"""Finds rows that are loaded only to be counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import sql_calls
from faultkit.code.rules.vocabulary.row_queries import row_queries

_PYTHON = lazy_regex(r"(\.all|\.fetchall|\.objects(\.\w+\(\))*\.(all|filter|exclude))$")
_JAVA = lazy_regex(
    r"(find(All)?\w*|list\w*)\(\)(\.stream\(\))?\.(size|isEmpty|count)$|getResultList\(\)\.(size|isEmpty)$"
)
_JAVASCRIPT = lazy_regex(r"(findMany|findAll|find|toArray)\(\)\.length$")
_CSHARP = lazy_regex(r"\.(ToListAsync|ToArrayAsync|ToList|ToArray)\(\)\.(Count|Length|Any)$")
_ONE_OR_MANY = lazy_regex(r"^find(?!All|\w*s(?:By|$))\w*$")
_REPOSITORY = lazy_regex(r"(Repository|Repo|Dao|DAO|repository)\.\w+\(\)")
_LOADS = {
    "python": NamePattern(
        r"\.(all|fetchall|scalars\(\)\.all|objects(\.\w+\(\))*\.(all|filter|exclude)|to_list|fetch)$"
    ),
    "javascript": NamePattern(r"\.(findMany|findAll|find|toArray|getMany|lean|exec)$"),
    "java": NamePattern(r"(Repository|Repo|Dao|DAO|repository)\.(find|list|get)\w*$|\.getResultList$"),
    "csharp": NamePattern(r"\.(ToListAsync|ToArrayAsync)$|[cC]ontext(\.\w+(\(\))?)*\.ToList$"),
    "go": NamePattern(r"gorm\.io/gorm\.DB(\.\w+\(\))*\.Find$|\.(Select|SelectContext)$"),
    "rust": NamePattern(r"\.(fetch_all|load|all)$"),
}
_LOADS["kotlin"] = _LOADS["java"]
_COUNTED = {
    "python": r"\blen\(\s*{0}\s*\)",
    "javascript": r"\b{0}\??\.length\b",
    "java": r"\b{0}\.(?:size|isEmpty)\(\)",
    "kotlin": r"\b{0}\.(?:size\b|count\(\)|isEmpty\(\)|isNotEmpty\(\)|any\(\))",
    "csharp": r"\b{0}\.(?:Count\b(?!\(\w)|Length\b|Any\(\)|Count\(\))",
    "go": r"\blen\(\s*{0}\s*\)",
    "rust": r"\b{0}\.(?:len|is_empty)\(\)",
}


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Span]()
    for hit in (*_at_once(facts), *_by_variable(facts)):
        if hit.span not in seen:
            seen.add(hit.span)
            yield hit


def _at_once(facts: Facts) -> Iterator[Hit]:
    """Yield `len(query.all())`, `repository.findByOwner(id).size()`."""
    for call in facts.calls_named("len", "bool") if facts.language == "python" else ():
        first = call.argument(place=0)
        if first is None:
            continue
        for each in facts.within(facts.calls, first.value.span):
            if each.span == first.value.span and _is_prefetched(each, facts):
                continue
            if each.span == first.value.span and _PYTHON.search(each.name) and not call.is_decorator:
                what = f"{call.written}() takes all rows of {each.written}() only to count them"
                yield Hit(call.span, what, POSSIBLE if _is_of_one(each, call, facts) else CERTAIN)
    if facts.language in ("java", "kotlin"):
        for call in facts.calls_of_method("size", "isEmpty", "count"):
            made = call.origin
            if made is None or not _JAVA.search(call.name) or f"{made.method}(" not in facts.text(call.span):
                continue
            if _REPOSITORY.search(call.name) or "getResultList" in call.name:
                # An Optional has `isEmpty`, too.
                may_be_one = call.method == "isEmpty" and _ONE_OR_MANY.search(made.method) is not None
                sure = POSSIBLE if may_be_one else CERTAIN
                yield Hit(call.span, "this takes all rows only to count them", sure)
    read_on = facts.language in ("csharp", "kotlin") or (
        facts.language in JAVASCRIPT and b"await" in facts.syntax.source
    )
    ends_so = partial(facts.syntax.source.endswith, (b".length", b".Count", b".Length", b".size"))
    for read in facts.accesses.where(ends_so) if read_on else ():
        if read.origin is None:
            continue
        text = facts.text(read.span)
        is_one = (
            (_JAVASCRIPT.search(read.name) and "await" in text)
            or (
                facts.language == "csharp"
                and "(" in text
                and _CSHARP.search(read.name)
                and _is_of_set(read.name)
            )
            or (facts.language == "kotlin" and _REPOSITORY.search(read.name) and "(" in text)
        )
        if is_one and not _LIMITED.search(text):
            yield Hit(read.span, f"{read.origin.written}() takes all rows only to count them", LIKELY)


def _is_of_one(query: Call, counted: Call, facts: Facts) -> bool:
    """Return whether the rows belong to one object, `order.lines.all()`, which may have few, and are counted
    once."""
    is_relation = query.method == "all" and ".objects" not in query.name and "()" not in query.name
    return is_relation and facts.language == "python" and not facts.loops_around(counted)


def _is_prefetched(call: Call, facts: Facts) -> bool:
    """Return whether a query of this text has loaded the relation with its rows: `driver.trips.all()`."""
    if call.method != "all" or call.written.count(".") < 2 or "prefetch" not in facts.whole_text:
        return False
    relation = re.escape(call.receiver_written.rpartition(".")[2])
    return (
        re.search(rf"[pP]refetch(?:_related)?\([^;]*?['\"](?:\w+__)?{relation}\b", facts.whole_text)
        is not None
    )


def _by_variable(facts: Facts) -> Iterator[Hit]:
    """Yield rows whose variable is read once, for its length."""
    language = facts.syntax.language.family
    queries = {rows.call for rows in row_queries(facts) if not rows.is_limited and not rows.is_one}
    sent = {each.call for each in sql_calls(facts)}
    loads = {*facts.calls_with_name(_LOADS[language].search)}
    for call in facts.calls if queries or loads else ():
        if call not in queries and not (call in loads and _is_query(call, sent, facts)):
            continue
        scope, name = facts.function_of(call), _holder(call, facts)
        if scope is None or not name:
            continue
        after = facts.text(Span(call.span.end, scope.body.end))
        # `rows:` names an argument or a key; `for row in rows:` reads them.
        used = re.findall(rf"\bin {name}\b|(?<![\w.]){name}\b(?!\s*:)", after)
        counted = re.findall(_COUNTED[language].format(name), after)
        if counted and len(used) == len(counted) and not _is_more(call, facts):
            text = facts.text(call.span)
            if call.method == "fetchall":
                text = facts.text(scope.span)  # The query stands in the call before.
            if (
                _LIMITED.search(text)
                or _RETURNED.search(text)
                or (facts.language == "csharp" and not _is_of_set(call.name))
            ):
                continue
            # As many rows as ids are given, or those of one object: a count saves little.
            few = _BY_IDS.search(text) or _OF_PARENT.search(call.method) or _is_of_one(call, call, facts)
            sure = POSSIBLE if few else LIKELY
            yield Hit(call.span, f"{call.written}() takes all rows only to count them", sure)


_LIMITED = lazy_regex(r"\b(?:limit|take|first|top)\s*:|\.(?:[lL]imit|[tT]ake|first|First|top)\(|\bLIMIT\b")
_RETURNED = lazy_regex(r"\bRETURNING\b")
"""Rows that a statement has changed."""
_BY_IDS = lazy_regex(r"\b\w*[iI]ds\b|\bIn\(|\binArray\(|\.in_\(|__in\b|\$in\b|Op\.in\b")
_OF_PARENT = lazy_regex(r"By\w*Id(?:And\w+)?$")
_OF_SET = lazy_regex(
    r"\.To(List|Array)Async\b|(^|[._])_?(db|\w*[cC]ontext|\w*Db|session|repo(sitory)?|\w*[rR]epository)\b|\bSet<?\w*>?\(\)"
)


def _is_of_set(name: str) -> bool:
    """Return whether the rows are those of a database (C#): `ToArray()` of another list loads nothing."""
    return _OF_SET.search(name) is not None


_LOCKS = lazy_regex(r"for_?update|skip_?locked|\bwith_lock|\.lock\(", re.IGNORECASE)
_MORE = lazy_regex(r"\b(group|lock|having|distinct)\b\s*:")


def _is_more(call: Call, facts: Facts) -> bool:
    """Return whether a query groups or locks its rows, which a count does not."""
    text = facts.text(call.span)
    return _LOCKS.search(text) is not None or (
        facts.language in JAVASCRIPT and _MORE.search(text) is not None
    )


def _is_query(call: Call, sent: set[Call], facts: Facts) -> bool:
    if facts.language == "go":
        return "gorm" in call.name or call in sent
    if facts.language == "rust":
        return call.is_awaited or facts.imports_any("diesel")
    if facts.language in JAVASCRIPT:
        given = call.argument(place=0)
        return call.is_awaited and (given is None or given.value.shape == "object")
    if facts.language == "python":
        return call.method != "fetch" or call.is_awaited
    return True


def _holder(call: Call, facts: Facts) -> str:
    """Return the variable that holds the rows; empty if there is none or more than one."""
    if facts.language == "go":
        given = [each.value.text[1:] for each in call.positional if each.value.text.startswith("&")]
        return given[0] if len(given) == 1 and given[0].isidentifier() else ""
    return call.assigned[0] if len(call.assigned) == 1 and call.assigned[0].isidentifier() else ""


RULE = Rule(
    id="FK-P022",
    slug="count-by-loading",
    title="Rows loaded only to be counted",
    why="The database sends every row over the network for a number that it could compute itself.",
    fix="Ask for COUNT(*) or EXISTS: .count(), .exists(), countDocuments().",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    by_default=False,
    words=(
        b"len(", b"bool(", b".length", b"size", b"Empty", b"Count", b"Length", b"Any(", b"any(", b"is_empty",
        b"count",
    ),
)  # fmt: skip
