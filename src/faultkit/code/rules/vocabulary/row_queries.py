"""Queries that return rows, by SQL or by an ORM, and what bounds the number of rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import SqlCall, chain_of, sql_calls
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_ONE_ROW = frozenset(
    (
        "QueryRow", "QueryRowContext", "queryForObject", "fetchrow", "fetchval", "scalar", "get",
        "fetchone", "first", "one", "scalar_one", "scalar_one_or_none", "one_or_none", "fetchmany",
        "partitions", "yield_per", "iterator", "execution_options", "stream", "cursor",
        "fetch_one", "fetch_optional", "query_one", "query_opt",
    )
)  # fmt: skip
SUMS = lazy_regex(
    r"select\s+(distinct\s+)?(1\b|exists\b|nextval\b|pg_"
    r"|(?:(?!\bfrom\b).)*?\b(count|sum|max|min|avg|total|bool_and|bool_or|\w+_agg)\s*\()",
    re.IGNORECASE | re.DOTALL,
)
"""Columns that are computed from many rows: the answer is one row, or one for each group."""
TABLE = lazy_regex(r"\bfrom\s+(?:only\s+)?([^\s,;()]+)", re.IGNORECASE)
_ANY_TABLE = lazy_regex(
    r"\bfrom\s+[\"'`\[]*(\{|\$\{|[\"'`]\s*\+\s*)[\w.()]+\}?[\"'`\]]*\s*;?[\"'`]*$", re.IGNORECASE
)
"""A statement that ends with a table that is put in: `f"SELECT * FROM {table}"`."""
_SMALL = lazy_regex(
    r"^[\"'`\[]?(information_schema|pg_|sqlite_|sys\.|mysql\.|performance_schema|v\$|dual\b|unnest|generate_series"
    r"|json_|\w*(config|setting|migration|version|role|permission|currenc|countr|languag|locale|time_?zone|flag|plan)\w*)",
    re.IGNORECASE,
)
"""Tables that grow with the program and not with its data: catalogues, settings, roles."""
LIMIT = lazy_regex(r"\b(limit|top\s*\(?\d|fetch\s+(first|next)|rownum|returning)\b", re.IGNORECASE)
_BY_KEY = lazy_regex(
    r"where\b.*?(?<![\w])(\w+\.)?(id|uuid|key|email|slug|code|sku|token|hash|username)\s*=(?!.*\bor\b)",
    re.IGNORECASE | re.DOTALL,
)
_NARROWS = lazy_regex(
    r"\.(filter|filter_by|where|Where|limit|Limit|take|Take|paginate|slice|first|skip|Scopes|paging"
    r"|Not|Or|Association|Preload|InnerJoins|setMaxResults|andWhere|group_by|distinct|values_list)\(\)"
)
_CHOOSES = lazy_regex(r"\.(where|filter|filter_by|group_by|having|limit)\(|\bfunc\.|\bexists\(")
_LIMITS = lazy_regex(
    r"limit|take|page|top|first|offset|cursor|skip|batch|chunk|iterator|maxresults|yield_per|stream",
    re.IGNORECASE,
)
_SHAPES_ONLY = frozenset(
    (
        "include", "attributes", "order", "orderBy", "select", "raw", "relations", "transaction", "nest",
        "sort", "lean", "populate", "logging", "paranoid", "subQuery", "with", "columns", "context",
        "withRelated", "require",
    )
)  # fmt: skip
"""Options that say what a row looks like; any other may choose among the rows."""


_CONDITION = lazy_regex(r"\bwhere\s*:")


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A query that returns rows."""

    call: Call
    is_narrowed: bool
    """Whether a condition selects among the rows."""
    is_limited: bool
    is_one: bool
    """Whether it selects by a key, or only one row is read."""
    table: str | None = None
    """The table or model; None if it is not known."""


@lru_cache(maxsize=4)
def row_queries(facts: Facts) -> tuple[RowQuery, ...]:
    """Return queries that return rows, by SQL or by an ORM."""
    return (*_sql(facts), *_orm(facts))


def _sql(facts: Facts) -> Iterator[RowQuery]:
    for sql in sql_calls(facts):
        if sql.verb != "select" or SUMS.match(sql.sql.lstrip()) or _is_part(sql.call):
            continue
        table = TABLE.search(sql.sql)
        given = sql.call.argument(place=0)
        if table is None and (given is None or not _ANY_TABLE.search(given.value.text)):
            continue
        if table is not None and _SMALL.match(table[1]):
            continue
        narrowed = table is not None and _narrowed(sql, table.end())
        limited = LIMIT.search(facts.text(sql.call.span)) is not None or LIMIT.search(sql.sql) is not None
        name = None if table is None else table[1].strip("\"'`[]").rpartition(".")[2]
        yield RowQuery(sql.call, narrowed, limited, _is_one(sql, facts), name)


def _is_part(call: Call) -> bool:
    """Return whether the text is a part of another query: `query.with("recent", knex.raw("SELECT …"))`."""
    return call.is_argument and not call.is_awaited and call.method in ("raw", "text")


def _narrowed(sql: SqlCall, after: int) -> bool:
    """Return whether a condition chooses among the rows, or may stand in a part that is put in later."""
    if re.search(r"\b(where|having|group\s+by)\b", sql.sql, re.IGNORECASE):
        return True
    given = sql.call.argument(place=0)
    if given is None or given.value.shape in ("text", "name"):
        return False
    # "SELECT * FROM " + table is everything; "SELECT * FROM users " + clause is unknown.
    rest = given.value.text.partition(sql.sql[max(0, after - 12) : after])[2]
    return re.search(r"[+{%]|\.format\(|\bformat\(", rest) is not None


def _is_one(sql: SqlCall, facts: Facts) -> bool:
    if sql.call.method in _ONE_ROW or _BY_KEY.search(sql.sql):
        return True
    if any(each.method in _ONE_ROW for each in facts.calls_on(sql.call)) and facts.language != "java":
        return True
    if facts.language != "python":
        return False
    # cur.execute(…) and, after it, cur.fetchone().
    scope, owner = facts.function_of(sql.call), sql.call.receiver_written
    later = [
        call
        for call in facts.calls
        if call.receiver_written == owner
        and call.span.start > sql.call.span.start
        and facts.function_of(call) is scope
        and (call.method in _ONE_ROW or call.method in ("fetchall", "execute"))
    ]
    return bool(later) and later[0].method in _ONE_ROW


_MANY: dict[str, NamePattern] = {
    "python": NamePattern(
        r"(\.query\(\).*|(^|\.)[A-Z]\w*\.query(\.\w+\(\))*|\.select\(\).*|\.scalars\(\)|\.exec(?:ute)?\(\)|\.objects(\.\w+\(\))*)\.all$"
    ),
    "javascript": NamePattern(
        r"\.findMany$|\.find\(\)(\.\w+\(\))*\.(toArray|lean|exec)$"
        r"|((^|\.)[A-Z]\w*|[rR]epo(sitory)?|[mM]odel|[rR]epository\(\))\.(find|findAll)$"
    ),
    "go": NamePattern(r"^[\w./()]*(db|DB|gorm\w*)(\.\w+\(\))*\.Find$"),
    "java": NamePattern(r"[rR]epo(sitory)?\.findAll$|\.createQuery\(\)(\.\w+\(\))*\.getResultList$"),
    "csharp": NamePattern(
        r"\.[A-Z]\w*(\.(Include|ThenInclude|AsNoTracking|AsQueryable|OrderBy\w*|ThenBy\w*)\(\))*"
        r"\.(ToList|ToArray)(Async)?$"
    ),
}
_MANY["kotlin"] = _MANY["java"]
_CONTEXT = lazy_regex(r"(^|[._])(db|\w*[dD]b|\w*[cC]ontext)\.[A-Z]\w*(\.\w+\(\))*$")
"""A set of Entity Framework, by the name of its context: `_db.Users`."""
_NOT_MODELS = frozenset(("Array", "Object", "Promise", "Map", "Set", "Reflect", "JSON"))


def _orm(facts: Facts) -> Iterator[RowQuery]:
    language = facts.syntax.language.family
    known = {sql.call for sql in sql_calls(facts)}
    if language not in _MANY:
        return
    for call in facts.calls if language == "javascript" else facts.calls_with_name(_MANY[language].search):
        if call in known or call.is_decorator:
            continue
        if not _MANY[language].search(call.name) and not (
            language == "javascript"
            and (_is_on_repository(call, facts) or _MANY[language].search(call.written))
        ):
            continue
        chain = chain_of(call)
        if any(each in known for each in chain) or not _ORM[language](call, chain, facts):
            continue
        if language == "csharp":
            # The pattern takes no condition or limit; what follows works on the list, which has all rows.
            yield RowQuery(call, False, False, False, _model(call, chain, facts))
            continue
        # A stream of Java reads a list that has been loaded.
        later = () if language in ("java", "kotlin") else facts.calls_on(call)
        text = " ".join(facts.text(each.span) for each in (call, *later))
        if language == "python" and (built := _built(chain, facts)) is not None:
            if not built or _CHOOSES.search(built):
                continue
            text += built
        narrowed = bool(_NARROWS.search(call.name)) or _is_filtered(call, chain)
        limited = _LIMITS.search(re.sub(r"['\"`].*?['\"`]", "", text)) is not None
        options = call.argument(place=0)
        if (
            options is not None
            and options.value.shape in ("name", "other", "call")
            and language not in ("go", "csharp")
        ):
            limited = True  # The options are unknown, and may hold a limit.
        one = any(each.method in _ONE_ROW for each in later)
        yield RowQuery(call, narrowed, limited, one, _model(call, chain, facts))


_REPOSITORY = lazy_regex(r"(^|[./])\w*Repository$|(^|[./])Model$")


def _is_on_repository(call: Call, facts: Facts) -> bool:
    """Return whether a list is asked for on a field that is declared as a repository or a model."""
    if call.method not in ("find", "findAll", "findMany"):
        return False
    return _REPOSITORY.search(type_of_receiver(call, facts)) is not None


def _is_python_query(call: Call, chain: tuple[Call, ...], facts: Facts) -> bool:
    if call.arguments:
        return False
    return not call.name.endswith(".objects.all") or _is_read(call, facts)


def _is_javascript_query(call: Call, chain: tuple[Call, ...], facts: Facts) -> bool:
    if call.method == "find" and not call.is_awaited and not call.is_returned:
        return False
    given = call.argument(place=0)
    if given is not None and given.value.shape in ("function", "text", "number"):
        return False
    return call.receiver_written.rpartition(".")[2] not in _NOT_MODELS


def _is_go_query(call: Call, chain: tuple[Call, ...], facts: Facts) -> bool:
    """Return whether rows are read into a slice: `Find(&users)`, not `Find(&user, id)`."""
    if len(call.positional) != 1:
        return False
    name = call.positional[0].value.text.lstrip("&")
    types = [facts.text(each.span) for each in facts.assignments_to(name, call)]
    types += [
        facts.text(scope.span).partition("{")[0]
        for scope in facts.functions_around(call)
        if any(each.name == name for each in scope.parameters)
    ]
    return not types or any("[]" in each for each in types)


def _is_java_query(call: Call, chain: tuple[Call, ...], facts: Facts) -> bool:
    if call.method != "getResultList":
        return True
    made = next((each for each in chain if each.method == "createQuery"), None)
    first = None if made is None else made.argument(place=0)
    return (
        first is not None
        and first.value.shape == "text"
        and not re.search(r"\b(where|group\s+by|join)\b", first.value.text, re.IGNORECASE)
    )


def _is_csharp_query(call: Call, chain: tuple[Call, ...], facts: Facts) -> bool:
    """Return whether a set of a context is read; a change tracker or a local view is none."""
    owner = call.receiver_written
    if not _CONTEXT.search(owner) or re.search(r"\.(Local|ChangeTracker|Entries|Database|Model)\b", owner):
        return False
    return "HttpContext" not in owner


_ORM: dict[str, Callable[[Call, tuple[Call, ...], Facts], bool]] = {
    "python": _is_python_query,
    "javascript": _is_javascript_query,
    "go": _is_go_query,
    "java": _is_java_query,
    "kotlin": _is_java_query,
    "csharp": _is_csharp_query,
}


def _model(call: Call, chain: tuple[Call, ...], facts: Facts) -> str | None:
    """Return the model: of `prisma.user.findMany()` user, of `session.query(User).all()` User."""
    for each in (call, *chain):
        first = each.argument(place=0)
        if each.method in ("query", "select", "Find", "collection") and first is not None:
            return re.sub(r"\W+", "", first.value.text) or None
    if facts.language == "python":
        if ".objects" in call.name:
            return call.written.partition(".objects")[0].rpartition(".")[2]
        found = re.search(r"\bselect\((\w+)", _built(chain, facts) or "")
        return None if found is None else found[1]
    if call.method == "getResultList":
        found = TABLE.search(facts.text(call.span))
        return None if found is None else found[1]
    if facts.language == "csharp":
        found = re.search(r"\.([A-Z]\w*)(\.\w+\(\))*$", call.receiver_written)
        return None if found is None else found[1]
    owner = call.receiver_written.replace("()", "").rpartition(".")[2]
    bare = re.sub(r"_?([rR]epo(sitory)?|[mM]odel|find)$", "", owner)
    return bare or None


_BEGINS_QUERY = lazy_regex(r"\b(select|query|text|union\w*)\(|\.select\b|\bselect\s", re.IGNORECASE)


def _built(chain: tuple[Call, ...], facts: Facts) -> str | None:
    """Return the builder calls of `query` in `session.execute(query).all()`; empty if they are unknown."""
    for each in chain:
        if each.method not in ("execute", "scalars", "exec") or not each.positional:
            continue
        given = each.positional[0].value
        if given.shape != "name":
            return given.text
        scope = facts.function_of(each)
        texts = [
            one.value.text
            for one in facts.assignments
            if given.text in one.targets and one.value is not None and facts.function_of(one) is scope
        ]
        # What is made of a query that the function was given may have its conditions.
        return " ".join(texts) if any(map(_BEGINS_QUERY.search, texts)) else ""
    return None


def _is_filtered(call: Call, chain: tuple[Call, ...]) -> bool:
    """Return whether a filter is given: `find({status: 1})`, `findMany({where: …})`."""
    for each in (call, *chain):
        names = {one.name.partition(".")[0] for one in each.arguments if one.name}
        if names and each.method == "find" and "repo" not in each.receiver_written.lower():
            return True
        first = each.argument(place=0)
        if each is not call and each.method == "find" and first is not None and first.value.shape != "object":
            return True  # A filter from elsewhere.
        if each.method not in ("find", "findAll", "findMany"):
            continue
        # A condition on an included table is an inner join (Sequelize).
        if names - _SHAPES_ONLY or (first is not None and _CONDITION.search(first.value.text)):
            return True
    return False


def _is_read(call: Call, facts: Facts) -> bool:
    """Return whether a Django query is evaluated, which happens when it is iterated."""
    text = facts.text(call.span)
    if any(loop.over == text and is_within(call.span, loop.span) for loop in facts.loops):
        return True
    scope, names = facts.function_of(call), {*call.assigned}
    if any(loop.over in names and facts.function_of(loop) is scope for loop in facts.loops):
        return True
    texts = {text, *names}
    return any(
        each.argument(place=0) is not None
        and each.arguments[0].value.text in texts
        and facts.function_of(each) is scope
        for each in facts.calls_named("list", "len")
    )


_OF_CONTEXT = lazy_regex(r"(^|[._])(\w*[cC]ontext|db|_db)\.[A-Z]\w*")
_RUNS_QUERY = lazy_regex(
    r"^(To(List|Array|Dictionary|HashSet)|First|Single|Any|All|Count|LongCount|Sum|Max|Min|ExecuteUpdate|ExecuteDelete)"
    r"(OrDefault)?Async$|^AsAsyncEnumerable$"
)


def is_in_database_query(place: Placed, facts: Facts) -> bool:
    """Return whether a lambda becomes SQL: `db.Users.Where(u => ids.Contains(u.Id))` (C#)."""
    if facts.language != "csharp":
        return False
    for call in facts.calls_around(place):
        later: Call | None = call
        for _ in range(8):
            if later is None:
                break
            if _OF_CONTEXT.search(later.written) or _RUNS_QUERY.match(later.method):
                return True
            later = next(iter(facts.calls_on(later)), None)
    return False
