"""Calls that leave the process: SQL and its verbs, queries that return rows, HTTP and caches.

They are found by resolved names, by SQL texts and by the names of receivers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.rules.vocabulary.http_requests import http_requests

_METHODS = frozenset(
    (
        "execute", "executemany", "executescript", "query", "Query", "QueryRow", "QueryContext",
        "QueryRowContext", "Exec", "ExecContext", "executeQuery", "executeUpdate", "queryForObject",
        "update", "fetch", "fetchrow", "fetchval", "scalar", "scalars", "run", "all", "get", "exec",
        "raw", "MustExec",
    )
)  # fmt: skip
_THINGS = (
    r"(?:or\s+replace\s+)?(?:temp\w*\s+|unique\s+|materialized\s+)?(?:table|index|view|schema|database|type"
    r"|role|user|function|trigger|sequence|extension|column|procedure|policy)\b"
)
_SQL = re.compile(
    r"^\s*(?:--[^\n]*\n\s*)*(?:"
    r"(?P<loud>SELECT|INSERT|UPDATE|DELETE|REPLACE|MERGE|UPSERT|WITH)\s"
    r"|(?i:(?P<read>select)\s(?=.*(?:\bfrom\b|[(*\d])))"
    r"|(?i:(?P<into>insert|replace|merge|upsert)\s+(?:or\s+\w+\s+|ignore\s+)?into\b)"
    r"|(?i:(?P<set>update)\s(?=.*\bset\b))"
    r"|(?i:(?P<from>delete)\s+from\b)"
    r"|(?i:(?P<as>with)\s(?=.*\bas\b.*\b(?:select|insert|update|delete)\b))"
    rf"|(?i:(?P<shape>create|alter|drop|truncate)\s+{_THINGS})"
    r"|(?i:(?P<end>begin|commit|rollback)\s*(?:;|$|transaction\b|work\b|to\b|immediate\b|exclusive\b))"
    r")",
    re.DOTALL,
)
"""A verb and what must follow it: `Replace` alone is a word. In capitals, the verb is enough."""
_WRITE_VERBS = frozenset({"insert", "update", "delete", "replace", "merge", "upsert"})


@dataclass(frozen=True, slots=True)
class SqlCall:
    """A call that sends SQL."""

    call: Call
    verb: str
    """The verb in lower case: `select`, `insert`."""
    sql: str
    """The literal part of the statement."""

    @property
    def is_write(self) -> bool:
        return self.verb in _WRITE_VERBS


@lru_cache(maxsize=4)
def sql_calls(facts: Facts) -> tuple[SqlCall, ...]:
    """Return calls that are given SQL as text, also in a template or wrapped as in `text("…")`."""
    starts = sorted((text for text in facts.texts if _verb(text.text)), key=lambda each: each.span)
    found = []
    for call in facts.calls:
        if call.method not in _METHODS:
            continue
        inside = [
            text for text in starts if call.callee.end <= text.span.start and text.span.end <= call.span.end
        ]
        sql = inside[0].text if inside else _named_sql(call, facts)
        if verb := _verb(sql):
            found.append(SqlCall(call, verb, sql))
    return tuple(found)


def _verb(text: str) -> str:
    found = _SQL.match(text)
    return next(each for each in found.groups() if each).lower() if found is not None else ""


def _named_sql(call: Call, facts: Facts) -> str:
    for argument in call.positional[:2]:
        if argument.value.shape == "name":
            for each in facts.assignments:
                if (
                    argument.value.text in each.targets
                    and each.value is not None
                    and each.value.shape == "text"
                ):
                    return each.value.literal
    return ""


# Queries that return many rows.


_ONE_ROW = frozenset(
    (
        "QueryRow", "QueryRowContext", "queryForObject", "fetchrow", "fetchval", "scalar", "get",
        "fetchone", "first", "one", "scalar_one", "scalar_one_or_none", "one_or_none", "fetchmany",
        "partitions", "yield_per", "iterator", "execution_options", "stream", "cursor",
    )
)  # fmt: skip
_SUMS = re.compile(
    r"select\s+(distinct\s+)?(count|sum|max|min|avg|exists|1\b|now|version|nextval|pg_)\b", re.IGNORECASE
)
_LIMIT = re.compile(r"\b(limit|top\s*\(?\d|fetch\s+(first|next)|rownum|returning)\b", re.IGNORECASE)
_BY_KEY = re.compile(
    r"where\b.*?(?<![\w])(\w+\.)?(id|uuid|key|email|slug|code|sku|token|hash|username)\s*=(?!.*\bor\b)",
    re.IGNORECASE | re.DOTALL,
)
_NARROWS = re.compile(
    r"\.(filter|filter_by|where|Where|limit|Limit|take|Take|paginate|slice|first|skip|Scopes|paging)\(\)"
)
_CHOOSES = re.compile(r"\.(where|filter|filter_by|group_by|having|limit)\(|\bfunc\.|\bexists\(")
_LIMITS = re.compile(r"limit|take|page|top|first|offset|cursor|skip|batch|chunk", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A query that returns rows."""

    call: Call
    is_narrowed: bool
    """Whether a condition selects among the rows."""
    is_limited: bool
    is_one: bool
    """Whether it selects by a key, or only one row is read."""


def row_queries(facts: Facts) -> tuple[RowQuery, ...]:
    """Return queries that return rows, by SQL or by an ORM."""
    return (*_sql(facts), *_orm(facts))


def _sql(facts: Facts) -> Iterator[RowQuery]:
    for sql in sql_calls(facts):
        if sql.verb != "select" or _SUMS.match(sql.sql.lstrip()):
            continue
        narrowed = re.search(r"\b(where|having)\b", sql.sql, re.IGNORECASE) is not None
        limited = _LIMIT.search(facts.text(sql.call.span)) is not None or _LIMIT.search(sql.sql) is not None
        yield RowQuery(sql.call, narrowed, limited, _is_one(sql, facts))


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


_MANY: dict[str, re.Pattern[str]] = {
    "python": re.compile(
        r"(\.query\(\).*|\.select\(\).*|\.scalars\(\)|\.execute\(\)|\.objects(\.\w+\(\))*)\.all$"
    ),
    "javascript": re.compile(
        r"\.(findMany|findAll)$|\.find\(\)(\.\w+\(\))*\.(toArray|lean|exec)$|(^|\.)[A-Z]\w+\.find$|[rR]epo(sitory)?\.find$"
    ),
    "go": re.compile(r"^[\w./()]*(db|DB|gorm\w*)(\.\w+\(\))*\.Find$"),
    "java": re.compile(r"[rR]epo(sitory)?\.findAll$|\.createQuery\(\)(\.\w+\(\))*\.getResultList$"),
}


def _orm(facts: Facts) -> Iterator[RowQuery]:
    language = "javascript" if facts.language in ("typescript", "tsx") else facts.language
    known = {sql.call for sql in sql_calls(facts)}
    for call in facts.calls:
        if call in known or not _MANY[language].search(call.name) or call.is_decorator:
            continue
        chain = _chain(call)
        if any(each in known for each in chain):
            continue
        if language == "python" and call.name.endswith(".objects.all") and not _is_read(call, facts):
            continue
        if (
            language == "javascript"
            and call.method == "find"
            and not call.is_awaited
            and not call.is_returned
        ):
            continue
        text = " ".join(facts.text(each.span) for each in (call, *facts.calls_on(call)))
        if language == "python" and (built := _built(chain, facts)) is not None:
            if not built or _CHOOSES.search(built):
                continue
            text += built
        narrowed = bool(_NARROWS.search(call.name)) or _is_filtered(call, chain)
        limited = _LIMITS.search(re.sub(r"['\"`].*?['\"`]", "", text)) is not None
        options = call.argument(place=0)
        if options is not None and options.value.shape in ("name", "other", "call") and language != "go":
            limited = True  # The options are unknown, and may hold a limit.
        one = any(each.method in _ONE_ROW for each in facts.calls_on(call))
        yield RowQuery(call, narrowed, limited, one)


def _built(chain: tuple[Call, ...], facts: Facts) -> str | None:
    """Return the builder calls of `query` in `session.execute(query).all()`; empty if they are unknown."""
    for each in chain:
        if each.method not in ("execute", "scalars") or not each.positional:
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
        return " ".join(texts)
    return None


def _chain(call: Call) -> tuple[Call, ...]:
    found, origin = list[Call](), call.origin
    while origin is not None and len(found) < 20:
        found.append(origin)
        origin = origin.origin
    return tuple(found)


def _is_filtered(call: Call, chain: tuple[Call, ...]) -> bool:
    """Return whether a filter is given: `find({status: 1})`, `findMany({where: …})`."""
    for each in (call, *chain):
        if each.method == "find" and any(one.name for one in each.arguments):
            return True
        if each.has("where"):
            return True
    return False


def _is_read(call: Call, facts: Facts) -> bool:
    """Return whether a Django query is evaluated, which happens when it is iterated."""
    text = facts.text(call.span)
    if any(loop.over == text and is_within(call.span, loop.span) for loop in facts.loops):
        return True
    names = {*call.assigned}
    if any(loop.over in names for loop in facts.loops):
        return True
    texts = {text, *names}
    return any(
        call.argument(place=0) is not None and call.arguments[0].value.text in texts
        for call in facts.calls_named("list", "len")
    )


# All calls that leave the process, directly or through a function of this text.


RemoteKind: TypeAlias = Literal["http", "database", "cache"]


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """A call that leaves the process."""

    call: Call
    kind: RemoteKind
    is_read: bool
    """Whether it reads only; unknown counts as a change."""
    through: Call | None = None
    """The call inside a function of this text, if `call` calls that function."""


_STORES = re.compile(
    r"(^|[._])(\w*repo(sitory)?|\w*Repository|\w*Repo|prisma|\w*[dD]ao|knex|entityManager|entity_manager|em|objects)"
    r"(\.\w+)?$"
)
_SESSIONS = re.compile(
    r"(^|[._])(session|db_session|db|gorm|orm|conn|connection|cursor|cur|tx|collection|coll)$"
)
_READS = re.compile(
    r"^(find|findOne|findById|findByPk|findUnique|findFirst|findMany|findAll|find_one|find_by_id|findAllById|findBy[A-Z]\w*"
    r"|get|get_by_\w+|getBy\w+|getOne|getReferenceById|first|First|Find|Take|Last|count|exists|existsBy\w+|scalar|one"
    r"|scalar_one|scalar_one_or_none|filter|fetch|fetchrow|fetchval|fetchOne|query|queryForObject|queryForList)$"
)
_WRITES = re.compile(
    r"^(save|saveAndFlush|create|insert|insertOne|insert_one|update|updateOne|update_one|upsert|delete|deleteOne"
    r"|delete_one|remove|persist|merge|Save|Create|Delete|Updates|update_or_create|get_or_create|destroy)$"
)
_MONGO = re.compile(
    r"^(findOne|find_one|insertOne|insert_one|updateOne|update_one|deleteOne|delete_one|findById|findByPk"
    r"|findOneAndUpdate|find_one_and_update)$"
)
_SPRING = re.compile(r"RestTemplate\.(getFor|postFor|exchange|put|delete|patchFor)\w*$")
_REDIS = re.compile(r"(^|[._])\w*redis\w*$", re.IGNORECASE)
_REDIS_READS = frozenset(("get", "hget", "hgetall", "exists", "ttl", "smembers", "Get", "HGet", "HGetAll"))
_REDIS_WRITES = frozenset(
    ("set", "hset", "setex", "incr", "expire", "delete", "del", "sadd", "rpush", "lpush", "Set")
)
_GENERIC = frozenset(
    ("get", "first", "filter", "count", "find", "create", "update", "delete", "remove", "merge", "one")
)
"""Methods that dictionaries and lists also have: they mean a database only on an object that is named so."""


@lru_cache(maxsize=4)
def remote_calls(facts: Facts) -> tuple[RemoteCall, ...]:
    """Return calls that leave the process, and calls of functions of this text that contain such a call."""
    direct = tuple(_direct(facts))
    return (*direct, *_indirect(facts, direct))


def _direct(facts: Facts) -> Iterator[RemoteCall]:
    seen: set[Call] = set()
    for request in http_requests(facts):
        seen.add(request.call)
        yield RemoteCall(request.call, "http", request.is_safe)
    for sql in sql_calls(facts):
        if sql.call not in seen:
            seen.add(sql.call)
            yield RemoteCall(sql.call, "database", sql.verb in ("select", "with"))
    for call in facts.calls:
        if call in seen or call.is_decorator:
            continue
        origin, found = call.origin, _by_name(call)
        # In `repo.find(x).get()` only the first call leaves the process.
        if found is not None and (origin is None or (origin not in seen and _by_name(origin) is None)):
            yield found


def _by_name(call: Call) -> RemoteCall | None:
    owner, method = call.receiver_written, call.method
    if not owner:
        return None
    if _SPRING.search(call.name):
        return RemoteCall(call, "http", method.startswith("getFor"))
    if _REDIS.search(owner) or call.receiver.startswith(("redis.", "ioredis")):
        if method in _REDIS_READS or method in _REDIS_WRITES:
            return RemoteCall(call, "cache", method in _REDIS_READS)
        return None
    reads, writes = _READS.match(method) is not None, _WRITES.match(method) is not None
    if not reads and not writes:
        return None
    if _STORES.search(owner) or _STORES.search(call.receiver):
        return RemoteCall(call, "database", reads)
    if _MONGO.match(method):
        return RemoteCall(call, "database", reads)
    bare = owner.replace("()", "")
    if _SESSIONS.search(bare) and (method not in _GENERIC or call.arguments):
        # `db.get(key)` may be a dictionary with the name db; a model as first argument shows that it is not.
        first = call.argument(place=0)
        if method in ("get", "one") and (first is None or not first.value.text[:1].isupper()):
            return None
        return RemoteCall(call, "database", reads)
    if re.search(r"\.query\(\)|\.select\(\)|\.Where\(\)|\.Model\(\)", call.name) and method in (
        "first", "one", "one_or_none", "scalar", "count", "all", "First", "Find", "Take", "Count",
    ):  # fmt: skip
        return RemoteCall(call, "database", True)
    return None


def _indirect(facts: Facts, direct: tuple[RemoteCall, ...]) -> Iterator[RemoteCall]:
    holders: dict[Scope, RemoteCall] = {}
    for each in direct:
        scope = facts.named_function_of(each.call)
        if scope is not None and scope.short_name:
            holders.setdefault(scope, each)
    for scope, each in holders.items():
        for call in facts.callers_of(scope):
            if call is not each.call and facts.named_function_of(call) is not scope:
                yield RemoteCall(call, each.kind, each.is_read, each.call)
