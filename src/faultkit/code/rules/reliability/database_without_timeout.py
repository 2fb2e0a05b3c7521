"""Finds connections to databases and caches that can wait for ever.

Evidence that it matters: host and settings are written out here, and no limit is among them. An address that
a caller or a setting gives may contain a limit, and is `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import GO, JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.waits import is_bounded

_TIMEOUTS: dict[str, tuple[str, ...]] = {
    "psycopg2.connect": ("connect_timeout", "options"),
    "psycopg.connect": ("connect_timeout", "options"),
    "psycopg.AsyncConnection.connect": ("connect_timeout", "options"),
    "asyncpg.connect": ("timeout", "command_timeout"),
    "asyncpg.create_pool": ("timeout", "command_timeout"),
    "pymysql.connect": ("connect_timeout", "read_timeout"),
    "MySQLdb.connect": ("connect_timeout", "read_timeout"),
    "mysql.connector.connect": ("connection_timeout", "connect_timeout"),
    "redis.Redis": ("socket_timeout", "connection_pool"),
    "redis.StrictRedis": ("socket_timeout", "connection_pool"),
    "redis.asyncio.Redis": ("socket_timeout", "connection_pool"),
    "redis.from_url": ("socket_timeout",),
    "redis.Redis.from_url": ("socket_timeout",),
    "redis.asyncio.from_url": ("socket_timeout",),
    "sqlalchemy.create_engine": ("connect_args", "creator", "pool"),
    "sqlalchemy.ext.asyncio.create_async_engine": ("connect_args", "creator", "pool"),
    "pymongo.MongoClient": ("timeoutMS", "socketTimeoutMS", "serverSelectionTimeoutMS"),
    "motor.motor_asyncio.AsyncIOMotorClient": ("timeoutMS", "socketTimeoutMS", "serverSelectionTimeoutMS"),
    "pg.Pool": ("connectionTimeoutMillis", "statement_timeout", "query_timeout"),
    "pg.Client": ("connectionTimeoutMillis", "statement_timeout", "query_timeout"),
}
_OF_DEPLOYMENT = lazy_regex(
    r"(os\.environ|getenv|process\.env|settings|config)\b.*(URL|URI|DSN|url|uri|dsn)", re.DOTALL
)
"""Addresses that come from the deployment, which can set a timeout there."""
_SHOWN = dict.fromkeys(
    ("sqlalchemy.create_engine", "sqlalchemy.ext.asyncio.create_async_engine"), "connect_args with a timeout"
)


_REDIS_OFF = lazy_regex(r"\b(?:Read|Write)Timeout:\s*-[12]\b")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "go":
        if facts.imports_any("github.com/redis/go-redis/v9", "github.com/go-redis/redis/v8"):
            for found in _REDIS_OFF.finditer(facts.whole_text):
                what = f"{found[0]} switches the limit off, and commands may wait for ever"
                yield Hit(facts.syntax.place_of(found), what, LIKELY)
        return
    for name, timeouts in _TIMEOUTS.items():
        for call in facts.calls_named(name):
            if call.spreads or call.has(*timeouts):
                continue
            if (
                call.positional
                and call.positional[0].value.shape == "name"
                and name in ("pg.Pool", "pg.Client")
            ):
                continue
            if any("timeout" in each.value.text.lower() for each in call.positional):
                continue
            if any(_OF_DEPLOYMENT.search(each.value.text) for each in call.arguments):
                continue
            if any(each.value.literal.startswith("sqlite") for each in call.positional):
                # A file on this machine: its driver waits for 5 s by itself.
                continue
            if _is_for_worker(call, facts) or (name in _LIMITED_EACH and _has_limits_in_each(facts)):
                continue
            wanted = _SHOWN.get(name, " or ".join(timeouts[:2]))
            yield Hit(
                call.span, f"{call.written}() sets no {wanted}", POSSIBLE if _is_given(call) else LIKELY
            )


def _is_given(call: Call) -> bool:
    """Return whether the address, which can have a limit, is not written here: `connect(self.dsn)`."""
    first = call.argument("dsn", "url", "conninfo", "connectionString", place=0)
    if first is None or first.value.shape in ("text", "object"):
        return False
    return not call.has("host", "hostname", "hosts")


_LIMITED_EACH = frozenset(("asyncpg.connect", "asyncpg.create_pool"))
_STATEMENTS = ("execute", "executemany", "fetch", "fetchrow", "fetchval", "copy_records_to_table")


def _has_limits_in_each(facts: Facts) -> bool:
    """Return whether each statement of this text is given a limit of its own."""
    sent = [each for each in facts.calls_of_method(*_STATEMENTS) if each.arguments]
    return bool(sent) and all(each.has("timeout") or is_bounded(each, facts) for each in sent)


def _is_for_worker(call: Call, facts: Facts) -> bool:
    """Return whether no request waits for it: that of a subscriber, of BullMQ, of a consumer."""
    if call.name == "ioredis":
        settings = call.argument("maxRetriesPerRequest")
        listens = any(each.method in ("subscribe", "psubscribe") for each in facts.calls_on(call))
        return listens or (settings is not None and settings.value.shape == "none")
    scope = facts.function_of(call)
    return scope is not None and any(
        each.method in ("poll", "consume", "receive_message", "getone") and facts.loops_around(each)
        for each in facts.within(facts.calls, scope.body)
    )


RULE = Rule(
    id="FK-R002",
    slug="database-without-timeout",
    title="Database or cache connection without a timeout",
    why="A database that accepts the connection and then does not answer blocks every request that needs it.",
    fix="Set a connect timeout and a statement or socket timeout where the connection or pool is made.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO),
    check=_check,
)
