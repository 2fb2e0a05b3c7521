"""Finds database connections and pools that are created for one request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once

_PYTHON = frozenset(
    (
        "psycopg2.connect", "psycopg.connect", "psycopg.AsyncConnection.connect", "pymysql.connect",
        "MySQLdb.connect", "mysql.connector.connect", "pyodbc.connect", "asyncpg.connect",
        "asyncpg.create_pool", "aiomysql.connect", "sqlalchemy.create_engine",
        "sqlalchemy.ext.asyncio.create_async_engine", "redis.Redis", "redis.StrictRedis", "redis.from_url",
        "redis.Redis.from_url", "redis.asyncio.Redis", "redis.asyncio.from_url", "pymongo.MongoClient",
        "motor.motor_asyncio.AsyncIOMotorClient", "elasticsearch.Elasticsearch", "pika.BlockingConnection",
        "kafka.KafkaProducer", "confluent_kafka.Producer",
    )
)  # fmt: skip
_JAVASCRIPT = re.compile(
    r"^(pg\.(Pool|Client)|mysql2?(/promise)?\.(createConnection|createPool)|mongodb\.MongoClient(\.connect)?|ioredis(\.Redis)?"
    r"|redis\.createClient|@prisma/client\.PrismaClient|mongoose\.(connect|createConnection)|knex|sequelize\.Sequelize"
    r"|amqplib\.connect|kafkajs\.Kafka)$"
)
_GO = re.compile(
    r"^(database/sql\.Open|github\.com/jackc/pgx/v\d(/pgxpool)?\.(Connect|New)|gorm\.io/gorm\.Open"
    r"|github\.com/(redis/)?go-redis/(redis/)?v?\d*\.?NewClient|github\.com/jmoiron/sqlx\.(Open|Connect)"
    r"|go\.mongodb\.org/mongo-driver/mongo\.Connect)$"
)
_JAVA = re.compile(
    r"(java\.sql\.DriverManager\.getConnection|MongoClients\.create|(^|\.)Jedis|HikariDataSource)$"
)
_MAKES = re.compile(
    r"^(get|open|create|new|make|acquire|connect)\w*(connection|conn|client|pool)$", re.IGNORECASE
)
_DECLARED = re.compile(rb"\b(const|let|var|val)\s+$")
_CACHED = frozenset(("lru_cache", "cache", "cached_property", "fixture"))
_SETTINGS = re.compile(r"config|setting|option|knexfile", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if not _opens(call, facts.language):
            continue
        scope = facts.named_function_of(call) or facts.function_of(call)
        if scope is None:
            continue
        if call.is_returned:
            yield from _from_factory(call, scope, facts)
            continue
        if _is_kept(call, scope, facts):
            continue
        frequency = frequency_of(call, facts)
        if frequency:
            yield Hit(call.span, f"{call.written}() connects anew for every {frequency}", LIKELY)
        elif facts.language == "java" and not runs_once(scope) and scope.parameters:
            yield Hit(call.span, f"{call.written}() connects anew each time", POSSIBLE)


def _from_factory(call: Call, scope: Scope, facts: Facts) -> Iterator[Hit]:
    """Yield a connection that a function returns, if its callers make and drop one for each request."""
    text = facts.text(call.span)
    is_whole = any(
        step.kind == "return" and step.text.strip(" ;").removeprefix("await ") == text
        for step in facts.own(facts.steps, scope)
    )
    if not is_whole or any(each.method in _CACHED for each in scope.decorators):
        return
    for caller in facts.callers_of(scope):
        if caller.is_returned or any("." in name or "[" in name for name in caller.assigned):
            continue
        if (frequency := frequency_of(caller, facts)) in ("request", "message"):
            what = f"{call.written}() connects anew for every {frequency} that calls {scope.short_name}()"
            yield Hit(call.span, what, LIKELY)
            return


def _is_kept(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the connection is kept in a field, or the function is there to make one."""
    if any("." in name for name in call.assigned) or _MAKES.search(scope.short_name):
        return True
    if _is_global(call, scope, facts):
        return True
    fields = {f"self.{name}" for name in call.assigned}
    return facts.language == "java" and not fields.isdisjoint(facts.assigned_names)


def _is_global(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether it goes to a variable of the file: `if (!pool) pool = new Pool()`."""
    if facts.language == "python":
        return not facts.globals_in(scope).isdisjoint(call.assigned)
    made = [each for each in facts.assignments if each.call is call]
    if any(each.operator == ":=" or _DECLARED.search(_before(each, facts)) for each in made):
        return False  # A variable of the function, whatever the file has of the same name.
    return not facts.file_names.isdisjoint(call.assigned)


def _before(each: Assignment, facts: Facts) -> bytes:
    return facts.syntax.source[max(0, each.span.start - 8) : each.span.start]


def _opens(call: Call, language: str) -> bool:
    if call.is_decorator:
        return False
    if language == "python":
        return call.name in _PYTHON
    pattern = {"go": _GO, "java": _JAVA}.get(language, _JAVASCRIPT)
    if pattern.search(call.name) is None:
        return False
    return call.name != "knex" or _has_settings(call)


def _has_settings(call: Call) -> bool:
    """Return whether settings are given: `knex({client: "pg"})` connects, `knex("posts")` is a query."""
    first = call.argument(place=0)
    if first is None:
        return False
    if first.value.shape == "object":
        return call.has("client", "connection", "dialect") or call.spreads
    return first.value.shape == "name" and _SETTINGS.search(first.value.text) is not None


RULE = Rule(
    id="FK-P003",
    slug="connection-per-call",
    title="Database connection made for each call",
    why="Connecting costs more than most queries, and a database takes only so many connections: a burst of "
    "requests locks out all clients.",
    fix="Make one pool for the process, with a maximum, and borrow connections from it.",
    kind="performance",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
