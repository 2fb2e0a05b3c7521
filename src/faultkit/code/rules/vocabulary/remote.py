"""Calls that leave the process: HTTP, databases, caches. Found by resolved names, SQL and receivers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.database import sql_calls
from faultkit.code.rules.vocabulary.http import http_requests

RemoteKind: TypeAlias = Literal["http", "database", "cache"]


@dataclass(frozen=True, slots=True)
class Remote:
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


def remotes(facts: Facts) -> tuple[Remote, ...]:
    """Return calls that leave the process, and calls of functions of this text that contain such a call."""
    direct = tuple(_direct(facts))
    return (*direct, *_through(facts, direct))


def _direct(facts: Facts) -> Iterator[Remote]:
    seen: set[Call] = set()
    for request in http_requests(facts):
        seen.add(request.call)
        yield Remote(request.call, "http", request.is_safe)
    for sql in sql_calls(facts):
        if sql.call not in seen:
            seen.add(sql.call)
            yield Remote(sql.call, "database", sql.verb in ("select", "with"))
    for call in facts.calls:
        if call in seen or call.is_decorator:
            continue
        made, found = call.origin, _by_name(call)
        # Of `repo.find(x).get()` only the first goes out.
        if found is not None and (made is None or (made not in seen and _by_name(made) is None)):
            yield found


def _by_name(call: Call) -> Remote | None:
    owner, method = call.receiver_written, call.method
    if not owner:
        return None
    if _SPRING.search(call.name):
        return Remote(call, "http", method.startswith("getFor"))
    if _REDIS.search(owner) or call.receiver.startswith(("redis.", "ioredis")):
        if method in _REDIS_READS or method in _REDIS_WRITES:
            return Remote(call, "cache", method in _REDIS_READS)
        return None
    reads, writes = _READS.match(method) is not None, _WRITES.match(method) is not None
    if not reads and not writes:
        return None
    if _STORES.search(owner) or _STORES.search(call.receiver):
        return Remote(call, "database", reads)
    if _MONGO.match(method):
        return Remote(call, "database", reads)
    bare = owner.replace("()", "")
    if _SESSIONS.search(bare) and (method not in _GENERIC or call.arguments):
        # `db.get(key)` may be a dictionary with the name db; a model as first argument shows that it is not.
        first = call.argument(place=0)
        if method in ("get", "one") and (first is None or not first.value.text[:1].isupper()):
            return None
        return Remote(call, "database", reads)
    if re.search(r"\.query\(\)|\.select\(\)|\.Where\(\)|\.Model\(\)", call.name) and method in (
        "first", "one", "one_or_none", "scalar", "count", "all", "First", "Find", "Take", "Count",
    ):  # fmt: skip
        return Remote(call, "database", True)
    return None


def _through(facts: Facts, direct: tuple[Remote, ...]) -> Iterator[Remote]:
    holders: dict[Scope, Remote] = {}
    for each in direct:
        scope = facts.named_function_of(each.call)
        if scope is not None and scope.short_name:
            holders.setdefault(scope, each)
    for scope, each in holders.items():
        for call in facts.callers_of(scope):
            if call is not each.call and facts.named_function_of(call) is not scope:
                yield Remote(call, each.kind, each.is_read, each.call)
