"""Calls that leave the process: SQL and its verbs, ORMs and query builders, HTTP and caches.

They are found by resolved names, by SQL texts and by the names of receivers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Value
from faultkit.code.facts.nesting import start_of
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.built_queries import LANGUAGES, built_query
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.service_clients import callers_by_type, type_of_receiver
from faultkit.code.rules.vocabulary.typed_stores import is_built, is_typed_read

_METHODS = frozenset(
    (
        "execute", "executemany", "executescript", "query", "Query", "QueryRow", "QueryContext",
        "QueryRowContext", "Exec", "ExecContext", "executeQuery", "executeUpdate", "queryForObject",
        "queryForList", "queryForMap",
        "update", "fetch", "fetchrow", "fetchval", "scalar", "scalars", "run", "all", "get", "exec",
        "raw", "MustExec", "Get", "GetContext", "Select", "SelectContext", "NamedExec", "NamedExecContext",
        "Queryx", "QueryxContext", "QueryRowx", "QueryRowxContext",
        "query_as", "query_scalar", "query_one", "query_opt", "query_row", "query_map",
        "QueryAsync", "QueryFirstAsync", "QueryFirstOrDefaultAsync", "QuerySingleAsync",
        "QuerySingleOrDefaultAsync", "ExecuteAsync", "ExecuteScalarAsync", "QueryFirst", "QuerySingle",
        "Execute",
        "FromSqlRaw", "ExecuteSqlRawAsync", "ExecuteSqlRaw", "QueryFirstOrDefault", "QuerySingleOrDefault",
    )
)  # fmt: skip
_THINGS = (
    r"(?:or\s+replace\s+)?(?:temp\w*\s+|unique\s+|materialized\s+)?(?:table|index|view|schema|database|type"
    r"|role|user|function|trigger|sequence|extension|column|procedure|policy)\b"
)
_SQL = lazy_regex(
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
    found = []
    # `jdbcClient.sql("…").update()` of Spring; elsewhere the name may mean anything.
    of_spring = ("sql",) if facts.language in ("java", "kotlin") else ()
    for call in facts.calls_of_method(*_METHODS, *of_spring):
        given = facts.within(facts.texts, Span(call.callee.end, call.span.end))
        sql = next((text.text for text in given if _verb(text.text)), "") or _named_sql(call, facts)
        if verb := _verb(sql):
            found.append(SqlCall(_end_of_chain(call, facts), verb, sql))
    return tuple(found)


def _end_of_chain(call: Call, facts: Facts) -> Call:
    """Return the call that sends the query: of `sqlx::query("…").bind(x).execute(db)` the last (Rust)."""
    if facts.language != "rust":
        return call
    for _ in range(40):
        later = next((each for each in facts.calls_on(call) if each.span.start == call.span.start), None)
        if later is None or call.is_awaited:
            break
        call = later
    return call


_ITERATES = frozenset(
    ("map", "forEach", "mapNotNull", "flatMap", "filter", "toList", "associate", "associateBy")
)


def _query_of(call: Call, facts: Facts) -> Call:
    """Return the call that ends a query that a call begins, before what goes through its rows."""
    if not is_built(call, facts):
        return call
    for _ in range(20):
        later = next((each for each in facts.calls_on(call) if each.span.start == call.span.start), None)
        if later is None or later.method in _ITERATES:
            break
        call = later
    return call


def _verb(text: str) -> str:
    found = _SQL.match(text)
    return next(each for each in found.groups() if each).lower() if found is not None else ""


_COMMAND = lazy_regex(r"new\s+CommandDefinition\(\s*([\w.]+)")


def _named_sql(call: Call, facts: Facts) -> str:
    for argument in call.positional[:2]:
        # Dapper: `new CommandDefinition(Sql, …)`
        wrapped = _COMMAND.match(argument.value.text) if facts.language == "csharp" else None
        if argument.value.shape == "name" or wrapped is not None:
            name = argument.value.text if wrapped is None else wrapped[1]
            if own := _text_before(name, call, facts):
                return own
            known = (_named_text(name, facts), _named_text(f"self.{name}", facts))
            if found := [each for each in known if each is not None]:
                return min(found, key=start_of).literal
    return ""


def _text_before(name: str, call: Call, facts: Facts) -> str:
    """Return the SQL that a function gives a variable last before a call; others may use the same name."""
    for each in reversed(facts.assignments_to(name, call)):
        value = each.value
        if each.scope is None or value is None or each.span.start > call.span.start:
            continue
        if value.shape == "text" and _verb(value.literal):
            return value.literal
    return ""


def _named_text(name: str, facts: Facts) -> Value | None:
    """Return the first text that a name is given."""
    values = (each.value for each in facts.assignments_of(name) if name in each.targets)
    return next((value for value in values if value is not None and value.shape == "text"), None)


def chain_of(call: Call) -> tuple[Call, ...]:
    """Return the calls that made the object of a call, the nearest first: of `a().b().c()` b and a."""
    found, origin = list[Call](), call.origin
    while origin is not None and len(found) < 20:
        found.append(origin)
        origin = origin.origin
    return tuple(found)


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


_STORES = NamePattern(
    r"(^|[._])(\w*repo(sitory)?|\w*Repository|\w*Repo|prisma|\w*[dD]ao|knex|entityManager|entity_manager|em|objects)"
    r"(\.\w+)?$"
)
_SESSIONS = NamePattern(r"(^|[._])(session|db_session|db|gorm|orm|conn|connection|cursor|cur|tx)$")
_READS = NamePattern(
    r"^(find|findOne|FindOne|findById|findByPk|findUnique|findFirst|findMany|findAll|find_one|find_by_id|findAllById|findBy[A-Z]\w*"
    r"|findOneBy|findOneOrFail|findOneByOrFail|countDocuments|findUniqueOrThrow|findFirstOrThrow|findBy|findAndCount|findAndCountAll"
    r"|get|get_by_\w+|getBy\w+|getOne|getReferenceById|first|First|Find|Take|Last|count|exists|existsBy\w+|scalar|one"
    r"|scalar_one|scalar_one_or_none|filter|fetch|fetchrow|fetchval|fetchOne|query|queryForObject|queryForList)$"
)
_WRITES = NamePattern(
    r"^(save|InsertOne|UpdateOne|DeleteOne|saveAndFlush|create|insert|insertOne|insert_one|update|updateOne|update_one|upsert|delete|deleteOne"
    r"|delete_one|remove|persist|merge|Save|Create|Delete|Updates|update_or_create|get_or_create|destroy)$"
)
_MONGO = NamePattern(
    r"^(findOne|FindOne|InsertOne|UpdateOne|DeleteOne|find_one|insertOne|insert_one|updateOne|update_one|deleteOne|delete_one|findById|findByPk"
    r"|findOneAndUpdate|find_one_and_update)$"
)
"""Methods that only databases have."""
_PRISMA = NamePattern(
    r"^(findUnique|findFirst|findUniqueOrThrow|findFirstOrThrow|findOneBy|findOneOrFail|findAndCountAll)$"
)
"""Methods that only databases have, of JavaScript: a stream in Java has `findFirst`, too."""
IN_BROWSER = ("window", "document", "globalThis")
"""Objects of a browser's page, which are no databases."""
_MODEL = NamePattern(r"(^|[._])[mM]odels\.[A-Z]\w*$|[mM]odel$")
"""A model by its name, such as `models.User` or `this.userModel`, which has queries as methods."""
_CLASS = NamePattern(r"(^|\.)[A-Z][a-z]\w*$")
_MODELS = lazy_regex(r"(^|/)(models?|entities|schemas?)(/|$)")
_ORMS = (
    "mongoose",
    "sequelize",
    "typeorm",
    "objection",
    "bookshelf",
    "sequelize-typescript",
    "@mikro-orm/core",
)
_STATICS = NamePattern(
    r"(^|\.)([A-Z]+|Array|Object|Promise|Map|Set|Reflect"
    r"|\w*(Service|Client|Api|API|Util\w*|Helper|Manager|Provider|Factory|Store))$"
)
_MODEL_CALLS = frozenset(("find", "findAll", "count", "countDocuments", "exists", "create", "update"))
_AWS = NamePattern(
    r"^boto3\.(client\(\)|resource\(\)(\.\w+\(\))?|resource\(\)\.\w+)\.(get|put|head|delete|update)_(item|object)$"
)
_CACHE = NamePattern(r"^(django\.core\.cache\.)cache\.(get|set|delete)$")
_QUERY = NamePattern(
    r"\b[A-Z]\w*\.query\.|\.query\(\)|\.select\(\)|\.scalars\(\)|\.Where\(\)|\.Model\(\)|\.Table\(\)"
)
_ENDS_QUERY = frozenset(
    (
        "first",
        "one",
        "one_or_none",
        "scalar",
        "count",
        "all",
        "First",
        "Find",
        "Take",
        "Count",
        "Scan",
        "Pluck",
    )
)
_SEARCH = NamePattern(
    r"(^|[._])(es|\w*elastic(_?search)?(_?(client|conn|connection|db))?\d?|opensearch(_?client)?)$",
    re.IGNORECASE,
)
_SPRING = NamePattern(
    r"WebClient\..*\.block$|RestTemplate\.(getFor|postFor|exchange|put|delete|patchFor)\w*$"
)
_REDIS = NamePattern(
    r"(^|[._])\w*redis(?!\w*(times?|locks?|keys?|config|settings|options|url|host|port|prefix|count|expiry|ttl)$)\w*$",
    re.IGNORECASE,
)
_REDIS_TYPES = NamePattern(
    r"(async_)?redis\.|ioredis|aioredis|github\.com/(redis/)?go-redis/|(redis\.clients\.)?[jJ]edis\b"
)
_PIPELINE = NamePattern(r"(^|[._])\w*(pipe|pipeline|multi|batch)$", re.IGNORECASE)
_REDIS_READS = frozenset(
    (
        "get", "hget", "hgetall", "exists", "ttl", "smembers", "Get", "HGet", "HGetAll", "Exists", "TTL",
        "SMembers", "hGet", "hGetAll", "sMembers", "zscore", "llen", "scard", "sismember", "SIsMember",
        "hexists", "hmget", "lrange", "zrange", "zrevrange", "zrank", "hkeys", "hvals", "HMGet", "ZRange",
        "LRange", "hmGet", "lRange", "zRange",
    )
)  # fmt: skip
_REDIS_WRITES = frozenset(
    ("set", "hset", "setex", "incr", "expire", "delete", "del", "sadd", "rpush", "lpush", "Set")
)


# Query builders of JavaScript: a chain that starts at a database or a table, sent when it is awaited.
_DATABASE = NamePattern(
    r"(^|[._])(db|database|trx|tx|transaction|supabase|conn|connection|dataSource|manager"
    r"|\w*[kK]nex|\w*Db|\w*Repo(sitory)?|repo(sitory)?)$"
)
_STARTS = frozenset(
    (
        "select", "from", "insert", "update", "delete", "selectFrom", "insertInto", "updateTable",
        "deleteFrom", "createQueryBuilder", "table", "into", "queryBuilder",
    )
)  # fmt: skip
_STARTS_ALONE = frozenset(("createQueryBuilder", "selectFrom", "insertInto", "updateTable", "deleteFrom"))
"""Methods that only query builders have, whatever their object is named."""
_BUILDS = frozenset(
    (
        "where", "whereIn", "andWhere", "orWhere", "whereNull", "whereNotNull", "whereRaw", "join",
        "leftJoin", "innerJoin", "first",
        "select", "insert", "update", "del", "delete", "orderBy", "limit", "returning",
        "pluck", "count", "increment", "decrement", "from", "set", "values", "eq", "upsert", "getOne",
        "getMany", "getRawOne", "getRawMany", "getCount", "execute", "executeTakeFirst", "onConflict",
        "executeTakeFirstOrThrow", "returningAll", "getOneOrFail", "getManyAndCount", "getRawAndEntities",
        "getExists",
    )
)  # fmt: skip
_CHANGES = frozenset(
    (
        "insert", "update", "del", "delete", "increment", "decrement", "upsert", "insertInto", "updateTable",
        "deleteFrom", "truncate",
    )
)  # fmt: skip


def is_query_start(call: Call) -> bool:
    """Return whether a query is built from here: `knex("posts")`, `db.select()`, `createQueryBuilder()`."""
    first = call.argument(place=0)
    if call.method in _STARTS_ALONE:
        return bool(call.receiver_written)
    if _DATABASE.search(call.written):
        return first is not None and first.value.shape in ("text", "other", "object", "name")
    return call.method in _STARTS and _DATABASE.search(call.receiver_written.replace("()", "")) is not None


def _built_query(call: Call, facts: Facts) -> RemoteCall | None:
    """Return `await knex("posts").where({id}).first()` as one call that leaves the process."""
    if not (call.is_awaited or call.is_returned) or call.method not in _BUILDS:
        return None
    chain = (call, *chain_of(call))
    start = next((at for at, each in enumerate(chain) if is_query_start(each)), None)
    if start is None or (start == 0 and call.method not in _CHANGES):
        return None
    methods = {each.method for each in chain[: start + 1]}
    return RemoteCall(call, "database", not methods & _CHANGES)


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
    language = facts.language
    in_javascript = language in ("javascript", "typescript", "tsx")
    has_builders = language in LANGUAGES
    has_orm = facts.imports_any(*_ORMS) or any(map(_MODELS.search, facts.imports.modules))
    for call in facts.calls:
        if call in seen or call.is_decorator:
            continue
        if in_javascript and call.name in ("undici.request", "undici.stream", "undici.pipeline"):
            yield RemoteCall(call, "http", not call.has("method"))
            continue
        if has_builders:
            if (asked := built_query(call, facts)) is not None:
                yield RemoteCall(call, *asked)
                continue
            if language != "kotlin":
                if is_typed_read(call, facts):
                    yield RemoteCall(_query_of(call, facts), "database", True)
                continue
        if language == "java" and (prepared := _prepared(call)) is not None:
            yield prepared
            continue
        if in_javascript and (built := _built_query(call, facts)) is not None:
            seen.update((call, *chain_of(call)))
            yield built
            continue
        if in_javascript:
            of_prisma = _PRISMA.match(call.method) is not None and bool(call.receiver_written)
            # Whether it is sent comes last: its arguments show that, and to read them takes long.
            if not (of_prisma or _by_name(call, has_orm) is not None or is_typed_read(call, facts)):
                continue
            if call.written.partition(".")[0].partition("(")[0] in IN_BROWSER or not _is_sent(call, facts):
                continue
            if of_prisma:
                yield RemoteCall(call, "database", True)
                continue
        if language == "go" and _is_stored_in_go(call, facts):
            yield RemoteCall(call, "database", True)
            continue
        if is_typed_read(call, facts):
            yield RemoteCall(_query_of(call, facts), "database", True)
            continue
        origin, found = call.origin, _by_name(call, has_orm)
        # In `repo.find(x).get()` only the first call leaves the process.
        if found is not None and (
            origin is None or (origin not in seen and _by_name(origin, has_orm) is None)
        ):
            yield found


_STORE_TYPE = NamePattern(r"(^|[./])\w*(Repository|Repo|Dao|DAO|Store|Queries|Querier)$")
_STORE_READS = NamePattern(
    r"^([gG]et|[fF]ind|[lL]oad|[fF]etch|[lL]ist|[cC]ount|[eE]xists|[lL]ookup)([A-Z]\w*)?$"
)


def _is_stored_in_go(call: Call, facts: Facts) -> bool:
    """Return whether a call reads from an object that is declared as a repository or a store (Go)."""
    first = call.argument(place=0) if _STORE_READS.match(call.method) else None
    if first is None or not re.search(r"ctx|[cC]ontext", first.value.text):
        return False
    type_ = type_of_receiver(call, facts)
    if not type_ and call.receiver.startswith("self."):
        # The type is declared in another file of the package.
        return _STORES.search(call.receiver_written) is not None
    return _STORE_TYPE.search(type_) is not None


def _prepared(call: Call) -> RemoteCall | None:
    """Return `statement.executeUpdate()` of JDBC, whose SQL was given to `prepareStatement`."""
    made = call.origin
    if made is None or made.method != "prepareStatement" or call.arguments:
        return None
    if call.method not in ("executeQuery", "executeUpdate", "execute"):
        return None
    first = made.argument(place=0)
    verb = "" if first is None else _verb(first.value.literal)
    return RemoteCall(call, "database", call.method == "executeQuery" or verb == "select")


def _is_sent(call: Call, facts: Facts) -> bool:
    """Return whether the answer is waited for, as that of every query is in JavaScript."""
    if call.is_awaited or call.is_returned or call.is_argument:
        return True
    if any(each.value.shape == "function" for each in call.positional):
        return True
    return any(_is_sent(each, facts) or each.method in ("then", "exec") for each in facts.calls_on(call))


@lru_cache(maxsize=8192)
def _may_be_remote(name: str, owner: str, method: str) -> bool:
    """Return whether the names of a call allow that it leaves the process. Those of most calls do not, and
    the same names come again in every file."""
    if _READS.match(method) or _WRITES.match(method) or method in _ENDS_QUERY or _SPRING.search(name):
        return True
    if _SEARCH.search(owner) or _REDIS.search(owner) or _REDIS_TYPES.match(name):
        return True
    return _AWS.match(name) is not None or _CACHE.match(name) is not None


def _by_name(call: Call, has_orm: bool) -> RemoteCall | None:
    owner, method = call.receiver_written, call.method
    if not owner or not _may_be_remote(call.name, owner, method):
        return None
    if _SPRING.search(call.name):
        return RemoteCall(call, "http", method.startswith(("getFor", "block")))
    if _SEARCH.search(owner) and method in ("index", "update", "get", "delete") and call.arguments:
        return RemoteCall(call, "database", method == "get")
    if _PIPELINE.search(owner) or "pipeline()" in call.receiver:
        return None
    if _REDIS.search(owner) or _REDIS_TYPES.match(call.receiver):
        if method in _REDIS_READS or method in _REDIS_WRITES:
            return RemoteCall(call, "cache", method in _REDIS_READS)
        return None
    if _AWS.match(call.name) or _CACHE.match(call.name):
        return RemoteCall(call, "cache", method.startswith(("get", "head", "describe")))
    if method in _ENDS_QUERY and _QUERY.search(call.name):
        return RemoteCall(call, "database", True)
    reads, writes = _READS.match(method) is not None, _WRITES.match(method) is not None
    if not reads and not writes:
        return None
    bare = owner.replace("()", "")
    if _STORES.search(bare) or _STORES.search(owner) or _STORES.search(call.receiver) or _MONGO.match(method):
        return RemoteCall(call, "database", reads)
    is_model = _MODEL.search(bare) or (has_orm and _CLASS.search(bare) and not _STATICS.search(bare))
    if method in _MODEL_CALLS and call.is_awaited and is_model:
        return RemoteCall(call, "database", reads)
    if _SESSIONS.search(bare) and call.arguments:
        # `db.get(key)` may be a dictionary with the name db; a model as first argument shows that it is not.
        first = call.argument(place=0)
        if method in ("get", "one") and (first is None or not first.value.text[:1].isupper()):
            return None
        return RemoteCall(call, "database", reads)
    return None


def _indirect(facts: Facts, direct: tuple[RemoteCall, ...]) -> Iterator[RemoteCall]:
    holders: dict[Scope, RemoteCall] = {}
    for each in direct:
        scope = facts.named_function_of(each.call)
        if scope is not None and scope.short_name:
            holders.setdefault(scope, each)
    for scope, each in holders.items():
        for call in (*facts.callers_of(scope), *callers_by_type(scope, facts)):
            if call is not each.call and facts.named_function_of(call) is not scope:
                yield RemoteCall(call, each.kind, each.is_read, each.call)
