"""Queries of jobs whose condition leaves most of a table: all rows older than a time, all that are active.

A condition that compares a column with a value from outside (`customer_id = ?`) selects the rows of one
owner. One that compares times, or asks for a state, matches a share of the table, which grows with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.data_sizes import is_data
from faultkit.code.rules.vocabulary.jobs import is_job
from faultkit.code.rules.vocabulary.remote_calls import SqlCall, sql_calls
from faultkit.code.rules.vocabulary.row_queries import LIMIT, SUMS, TABLE

_BOUNDED_SQL = lazy_regex(r"\b(group\s+by|row_number|for\s+update\s+skip)\b", re.IGNORECASE)
_CHOSEN = lazy_regex(
    r"(?<![<>!])=\s*(\?|\$\d|:\w|%s|%\(|@\w|\{|#\{)|\bin\s*[({]|\bany\s*\(|\blike\b|\bexists\b|\b(id|uuid)\s*=",
    re.IGNORECASE,
)
"""Conditions that choose the rows of one owner, or some by their keys."""
_SHARE = lazy_regex(
    r"[<>]|\bis\s+(not\s+)?null\b|=\s*('[^']*'|true|false|\d+)|\bnot\s+\w+|\bbetween\b", re.IGNORECASE
)
_WHOLE = frozenset(
    ("queryForList", "fetch", "fetch_all", "QueryAsync", "Select", "SelectContext", "Query", "QueryContext",
     "query", "Queryx", "QueryxContext", "all", "execute")
)  # fmt: skip
_LIST_ENDS = {
    "python": lazy_regex(r"\.all$"),
    "javascript": lazy_regex(r"\.(toArray|findMany|find|findAll|lean|exec)$"),
    "go": lazy_regex(r"\.Find$"),
    "csharp": lazy_regex(r"\.(ToList|ToArray)(Async)?$"),
    "java": lazy_regex(r"\.(getResultList|find(All)?By\w+|findAllBy\w+)$"),
}
_LIST_ENDS["kotlin"] = _LIST_ENDS["java"]
_ENDS = frozenset(
    ("all", "toArray", "findMany", "find", "findAll", "lean", "Find", "ToList", "ToListAsync", "ToArray",
     "ToArrayAsync", "getResultList")
)  # fmt: skip
_BOUNDED = lazy_regex(
    r"limit|take|page|\btop\b|first|offset|cursor|skip|batch|chunk|iterator|maxresults|yield_per|stream|slice|Top\d",
    re.IGNORECASE,
)
_BY_TIME = lazy_regex(
    r"^find(All)?By\w*(Before|After|LessThan|GreaterThan|LessThanEqual|GreaterThanEqual|IsNull|IsNotNull|True|False)"
    r"(And\w+(Before|After|LessThan|GreaterThan|IsNull|IsNotNull|True|False))*$"
)
_REPOSITORY = lazy_regex(r"[rR]epo(sitory|sitories)?$|Dao$|DAO$|Repository$")


def broad_queries(facts: Facts) -> Iterator[Call]:
    """Yield queries of jobs that hold every row of a share of a table."""
    jobs = _jobs(facts)
    if not jobs:
        return
    for sql in sql_calls(facts):
        scope = facts.named_function_of(sql.call)
        if scope is None or scope not in jobs or facts.loops_around(sql.call):
            continue
        if _is_broad_sql(sql) and _is_taken(sql.call, scope, facts):
            yield sql.call
    known = {sql.call for sql in sql_calls(facts)}
    ends = _LIST_ENDS.get(facts.syntax.language.family)
    for scope in jobs if ends is not None else ():
        for call in facts.within(facts.calls, scope.body):
            if call in known or not (call.method in _ENDS or call.method.startswith("find")):
                continue
            assert ends is not None
            if ends.search(call.name) and not facts.loops_around(call) and _is_broad(call, scope, facts):
                yield call


def _jobs(facts: Facts) -> frozenset[Scope]:
    return frozenset(
        scope for scope in facts.scopes if scope.name and is_job(scope) and facts.route_of(scope) is None
    )


def _is_broad_sql(sql: SqlCall) -> bool:
    if sql.verb != "select" or SUMS.match(sql.sql.lstrip()) or sql.call.method not in _WHOLE:
        return False
    if LIMIT.search(sql.sql) or _BOUNDED_SQL.search(sql.sql):
        return False
    table, (_, _, where) = TABLE.search(sql.sql), sql.sql.lower().partition("where")
    if table is None or not _is_grown(table[1]) or not where:
        return False
    given = sql.call.argument(place=0)
    if given is not None and given.value.shape == "other" and re.search(r"\+\s*\w|\{\w", given.value.text):
        return False  # A part of the statement is not known.
    return _is_share(where)


def _is_share(where: str) -> bool:
    if _CHOSEN.search(where) or not _SHARE.search(where):
        return False
    # Between two bounds there are as many as happen in that time.
    return not (re.search(r"(?<![<-])>", where) and re.search(r"<(?!>)", where)) and "between" not in where


def _is_grown(table: str) -> bool:
    bare = table.rpartition(".")[2].strip("\"'`[]")
    return (
        is_data(bare)
        or is_data(f"{bare}s")
        or bare.endswith(("ations", "ments", "sessions", "carts", "coupons"))
    )


def _is_taken(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether all rows are held; some calls let them be read one by one."""
    if facts.language == "python" and call.method == "execute":
        taken = facts.within(facts.calls_of_method("fetchall", "all"), scope.body)
        return any(each.span.start >= call.span.start for each in taken)
    if facts.language == "go" and call.method.startswith("Query"):
        return any(each.name == "append" for each in facts.within(facts.calls, scope.body))
    if facts.language in ("java", "kotlin") and call.method == "query":
        return bool(call.assigned) or call.is_returned
    return call.method != "fetch" or (facts.language == "python" and call.is_awaited)


def _is_broad(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the condition of a query of an ORM leaves a share of the table."""
    text = facts.text(call.span)
    for name in re.findall(r"\b[a-z_]\w*\b", text)[:12]:
        made = [each for each in facts.own(facts.assignments, scope) if each.targets == (name,)]
        text += " ".join(
            each.value.text for each in made if each.value is not None and "select(" in each.value.text
        )
    if _BOUNDED.search(re.sub(r"['\"`].*?['\"`]|\bFirstName\w*", "", text)):
        return False
    return _CONDITIONS[facts.syntax.language.family](text, call)


def _python(text: str, call: Call) -> bool:
    if not re.search(r"\bselect\(|\.query\(|\.objects\.", text) or re.search(
        r"group_by|func\.|filter_by\(|\.in_\(", text
    ):
        return False
    found = re.search(r"\.(?:where|filter)\((.*)", text, re.DOTALL)
    if found is None or re.search(r"==\s*[a-z]|__in=|\b\w+=[a-z]\w*[,)]", found[1]):
        return False
    return re.search(r"[^-]>|<|\.is_\(|__(lt|lte|gt|gte|isnull)=", found[1]) is not None


def _javascript(text: str, call: Call) -> bool:
    first = call.argument(place=0)
    if call.method in ("find", "findAll", "findMany") and not call.is_awaited:
        return False
    if first is not None and first.value.shape == "function":
        return False
    return (
        re.search(
            r"\$(lt|lte|gt|gte)\b|\b(lt|lte|gt|gte):|\[Op\.(lt|lte|gt|gte)\]|LessThan\w*\(|MoreThan\w*\(",
            text,
        )
        is not None
        and re.search(r"\$in\b|\bin:|\bIn\(|\b\w*[iI]d\b\s*[:,}]|aggregate|group", text) is None
        and not (re.search(r"\b\$?gte?\b", text) and re.search(r"\b\$?lte?\b", text))
    )


def _go(text: str, call: Call) -> bool:
    if len(call.positional) != 1 or "&" not in call.positional[0].value.text:
        return False
    found = re.findall(r"Where\(\s*[\"`]([^\"`]*)", text)
    return bool(found) and _is_share(" and ".join(found)) and "Group(" not in text


def _csharp(text: str, call: Call) -> bool:
    found = re.search(r"\.Where\((.*)", text, re.DOTALL)
    if found is None or "GroupBy(" in text or not re.search(r"([cC]ontext|[dD]b)\b", text):
        return False
    if re.search(r"==\s*(?!true|false|null|\"|[A-Z]\w*\.[A-Z]|\d)\w|\.Contains\(|Id\s*==", found[1]):
        return False
    return re.search(r"[<>](?!\()|==", re.sub(r"=>|<[A-Z]\w*>", "", found[1])) is not None


def _java(text: str, call: Call) -> bool:
    if call.method == "getResultList":
        found = re.search(r"\bwhere\b(.*?)\"", text, re.IGNORECASE | re.DOTALL)
        return found is not None and "setMaxResults" not in text and _is_share(found[1])
    is_store = _REPOSITORY.search(call.receiver_written) or _REPOSITORY.search(call.receiver)
    if not is_store or not _BY_TIME.match(call.method) or call.is_managed:
        return False
    return len(call.positional) <= 2


_CONDITIONS = {
    "python": _python,
    "javascript": _javascript,
    "go": _go,
    "csharp": _csharp,
    "java": _java,
    "kotlin": _java,
}
