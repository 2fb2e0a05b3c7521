"""Queries of Rust, C# and Kotlin: ORMs and stores whose calls do not show SQL."""

from __future__ import annotations

import re
from typing import Literal

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts

LANGUAGES = ("rust", "csharp", "kotlin")
_CONNECTION = lazy_regex(r"(^|[._&\s])(mut\s+)?\*?(conn|connection|con|db|pool|tx)\b")
_DIESEL_READS = frozenset(("load", "first", "get_result", "get_results"))
_REDIS_OWNER = lazy_regex(r"(^|[._])(con|conn|connection|\w*redis\w*|cache)$", re.IGNORECASE)
_REDIS_READS = frozenset(("get", "mget", "hget", "hgetall", "exists", "ttl", "smembers", "zrange", "lrange"))
_REDIS_WRITES = frozenset(
    ("set", "set_ex", "hset", "del", "incr", "expire", "sadd", "lpush", "rpush", "publish")
)

Kind = Literal["database", "cache"]


def built_query(call: Call, facts: Facts) -> tuple[Kind, bool] | None:
    """Return what a call asks, and whether it only reads; None if it is no query."""
    if facts.language == "rust":
        return _rust(call, facts)
    if facts.language == "kotlin":
        return _kotlin(call, facts)
    return _csharp(call)


_EXPOSED_WRITES = frozenset(
    (
        "insert",
        "insertIgnore",
        "insertAndGetId",
        "insertIgnoreAndGetId",
        "upsert",
        "replace",
        "update",
        "deleteWhere",
    )
)


def _kotlin(call: Call, facts: Facts) -> tuple[Kind, bool] | None:
    """Return `Products.insert { … }` of Exposed, whose tables are objects."""
    if call.method not in _EXPOSED_WRITES or not facts.imports_any("org.jetbrains.exposed"):
        return None
    owner = call.receiver_written
    return ("database", False) if owner[:1].isupper() and owner.isidentifier() else None


_EF_READS = lazy_regex(
    r"^(First|FirstOrDefault|Single|SingleOrDefault|Last|LastOrDefault|ToList|ToArray|ToDictionary|Any|All|Count"
    r"|LongCount|Sum|Max|Min|Average|Find|Load)Async$"
)
_CONTEXT = lazy_regex(r"(^|[._])_?\w*([cC]ontext|[dD]b|[dD]bContext)\.[A-Z]\w*$")
_STACK_READS = lazy_regex(r"^(StringGet|HashGet|HashGetAll|KeyExists|SetMembers|ListRange)(Async)?$")
_STACK_WRITES = lazy_regex(
    r"^(StringSet|HashSet|KeyDelete|KeyExpire|StringIncrement|SetAdd|ListLeftPush)(Async)?$"
)


_REDIS_COMMAND = lazy_regex(
    r"\bcmd\(\s*\"(H?M?GET|HGETALL|GETRANGE|EXISTS|P?TTL|SMEMBERS|SCARD|SISMEMBER|LRANGE|LLEN|Z(REV)?RANGE\w*|ZSCORE|ZCARD"
    r"|HKEYS|HVALS|HLEN|HEXISTS|TYPE|XRANGE|XLEN)\"",
    re.IGNORECASE,
)
"""Commands of Redis that only read."""


def _csharp(call: Call) -> tuple[Kind, bool] | None:
    method, owner = call.method, call.receiver_written
    if not owner or (owner in ("Task", "ValueTask")):
        return None
    if method in ("SaveChangesAsync", "SaveChanges"):
        return "database", False
    if _EF_READS.match(method) or (method == "Find" and call.arguments and _CONTEXT.search(owner)):
        return "database", True
    if _STACK_READS.match(method) and call.arguments:
        return "cache", True
    if _STACK_WRITES.match(method) and call.arguments:
        return "cache", False
    return None


def _rust(call: Call, facts: Facts) -> tuple[Kind, bool] | None:
    if call.method in (*_DIESEL_READS, "execute") and facts.imports_any("diesel", "diesel_async"):
        last = call.positional[-1].value.text if call.positional else ""
        if _CONNECTION.search(last):
            return "database", call.method in _DIESEL_READS
    if call.method == "query_async" and "redis" in call.name:
        return "cache", _REDIS_COMMAND.search(facts.text(call.span)) is not None
    known = call.method in _REDIS_READS or call.method in _REDIS_WRITES
    if not known or not call.arguments or not _REDIS_OWNER.search(call.receiver_written):
        return None
    is_redis = facts.imports_any("redis", "deadpool_redis", "bb8_redis", "fred")
    return ("cache", call.method in _REDIS_READS) if is_redis else None
