"""Finds database connections and pools that are created for one request.

Evidence that it matters: each request, message or item makes one, or the function that makes it ends it, too.
A function whose callers are not seen is `POSSIBLE`. Clients of AWS for Go share the connections of their
session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.one_use import (
    ENDS,
    is_ended_here,
    is_for_one_use,
    is_global,
    is_kept,
    runs_seldom,
)
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once
from faultkit.code.rules.vocabulary.request_scopes import request_scope_of
from faultkit.code.rules.vocabulary.short_clients import frequency_of_client, may_be_short

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
_JAVASCRIPT = NamePattern(
    r"^(pg\.(Pool|Client)|mysql2?(/promise)?\.(createConnection|createPool)|mongodb\.MongoClient(\.connect)?|ioredis(\.Redis)?"
    r"|redis\.createClient|@prisma/client\.PrismaClient|mongoose\.(connect|createConnection)|knex|sequelize\.Sequelize"
    r"|amqplib\.connect|kafkajs\.Kafka)$"
)
_GO = NamePattern(
    r"^(database/sql\.Open|github\.com/jackc/pgx/v\d(/pgxpool)?\.(Connect|New)|gorm\.io/gorm\.Open"
    r"|github\.com/(redis/)?go-redis/(redis/)?v?\d*\.?NewClient|github\.com/jmoiron/sqlx\.(Open|Connect)"
    r"|go\.mongodb\.org/mongo-driver/mongo\.Connect)$"
)
_JAVA = NamePattern(
    r"(java\.sql\.DriverManager\.getConnection|MongoClients\.create|(^|\.)Jedis|HikariDataSource)$"
)
_JVM_CLIENTS = (
    r"(^|\.)(KafkaProducer|HikariDataSource|MongoClients\.create|RedisClient\.create|JedisPool|RedissonClient"
    r"|Redisson\.create|CqlSession\.builder\(\).*\.build|ElasticsearchClient"
    r"|(S3|Sqs|Sns|DynamoDb|SecretsManager|Kinesis|Lambda|Ses|Kms)(Async)?Client\.(create|builder\(\).*\.build)"
    r"|Amazon\w+ClientBuilder\.(defaultClient|standard\(\).*\.build)"
    r"|StorageOptions\.getDefaultInstance\(\)\.getService)$"
)
_ONE_USE = {
    "java": NamePattern(_JVM_CLIENTS),
    "kotlin": NamePattern(_JVM_CLIENTS),
    "go": NamePattern(
        r"^(database/sql\.Open|github\.com/jackc/pgx/v\d/pgxpool\.(Connect|New)|github\.com/jmoiron/sqlx\.(Open|Connect)"
        r"|gorm\.io/gorm\.Open|github\.com/(redis/)?go-redis/(redis/)?v?\d*\.?NewClient"
        r"|go\.mongodb\.org/mongo-driver(/v2)?/mongo\.Connect|github\.com/segmentio/kafka-go\.Writer"
        r"|github\.com/rabbitmq/amqp091-go\.Dial"
        r"|cloud\.google\.com/go/(storage|pubsub|bigquery|firestore)\.NewClient"
        r"|github\.com/aws/aws-sdk-go-v2/(service/\w+\.NewFromConfig|config\.LoadDefaultConfig)"
        r"|github\.com/aws/aws-sdk-go/service/\w+\.New)$"
    ),
    "csharp": NamePattern(
        r"^(RabbitMQ\.Client\.)?ConnectionFactory\.CreateConnection(Async)?$|(^|\.)(CosmosClient|MongoClient|ServiceBusClient|BlobServiceClient|QueueServiceClient|EventHubProducerClient"
        r"|ConnectionMultiplexer\.Connect(Async)?|ElasticClient|ElasticsearchClient|Amazon(S3|SQS|DynamoDB|"
        r"SimpleNotificationService|KeyManagementService)Client|ProducerBuilder\b.*\.Build"
        r"|SecretClient)$"
    ),
    "rust": NamePattern(
        r"^(sqlx\.(postgres\.|mysql\.)?(Pg|MySql|Sqlite)?Pool(Options)?\b.*\.connect(_with)?|mongodb\.Client\.with_uri_str"
        r"|redis\.Client\.open|lapin\.Connection\.connect|aws_sdk_\w+\.Client\.(new|from_conf)"
        r"|tokio_postgres\.connect|deadpool_\w+\..*\.create_pool)$"
    ),
}
"""Clients with connections or a pool of their own, which serve a whole process."""
_POOLED = frozenset(
    (
        "elasticsearch.Elasticsearch", "pymongo.MongoClient", "redis.Redis", "redis.from_url",
        "redis.Redis.from_url",
        "sqlalchemy.create_engine", "kafka.KafkaProducer", "confluent_kafka.Producer",
    )
)  # fmt: skip
"""Clients with a pool, which end with their last reference."""
_PRODUCERS = frozenset(("kafka.KafkaProducer", "confluent_kafka.Producer", "sqlalchemy.create_engine"))
_POOLS = NamePattern(r"(\.|^)(Pool|createPool|PrismaClient|Sequelize|Redis|ioredis|MongoClient)$|^knex$")
_CACHED = frozenset(("lru_cache", "cache", "cached_property", "fixture"))
_SETTINGS = lazy_regex(r"config|setting|option|knexfile", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_with_name(partial(_may_connect, facts.language)):
        is_client = _opens(call, facts.language) or (
            facts.language in _ONE_USE and _ONE_USE[facts.language].search(call.name) is not None
        )
        if is_client and (by := request_scope_of(call, facts)):
            yield Hit(call.span, f"{call.written}() connects anew: {by}", LIKELY)
            continue
        if _is_of_command(call, facts):
            continue
        if not _opens(call, facts.language):
            if facts.language in _ONE_USE and _is_for_one_use(call, facts):
                sure = LIKELY if frequency_of(call, facts) else POSSIBLE
                yield Hit(call.span, f"{call.written}() connects anew each time", sure)
            elif often := frequency_of_client(call, facts):
                what = f"{call.written}() is made, used and closed for every {often}"
                yield Hit(call.span, what, POSSIBLE if often == "call" else LIKELY)
            continue
        scope = facts.named_function_of(call) or facts.function_of(call)
        if scope is None:
            continue
        if call.is_returned or _is_handed_out(call, scope, facts):
            yield from _from_factory(call, scope, facts)
            continue
        if is_kept(call, scope, facts):
            continue
        frequency = frequency_of(call, facts)
        if frequency:
            yield Hit(call.span, f"{call.written}() connects anew for every {frequency}", LIKELY)
        elif _is_for_one_use(call, facts) or (
            facts.language == "java" and not runs_once(scope) and scope.parameters
        ):
            yield Hit(call.span, f"{call.written}() connects anew each time", POSSIBLE)


def _is_of_command(call: Call, facts: Facts) -> bool:
    """Return whether it runs once: in a command of an own process, or where services are registered."""
    scope = facts.named_function_of(call)
    ends = ("Command", "ServiceCollectionExtensions")
    return scope is not None and scope.owner.rpartition(".")[2].endswith(ends)


@lru_cache(maxsize=8192)
def _may_connect(language: str, name: str) -> bool:
    """Return whether a call of this name could make a connection or client: few could."""
    if may_be_short(name) or (language == "python" and name in _PYTHON):
        return True
    if language in _ONE_USE and _ONE_USE[language].search(name) is not None:
        return True
    return language not in ("python", "csharp", "rust") and _by_language(language).search(name) is not None


def _by_language(language: str) -> NamePattern:
    return _JAVA if language in ("java", "kotlin") else _GO if language == "go" else _JAVASCRIPT


def _is_handed_out(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function returns the connection that it made, as it is, or beside no error (Go)."""
    made = [name for name in call.assigned if facts.language != "go" or not name.startswith("err")]
    if len(made) != 1 or not made[0].isidentifier() or is_global(call, scope, facts):
        return False
    if facts.route_of(call) is not None:
        return False
    return any(
        step.kind == "return" and step.text.strip(" ;") in (made[0], f"{made[0]}, nil", f"{made[0]}, err")
        for step in facts.own(facts.steps, scope)
    )


def _is_for_one_use(call: Call, facts: Facts) -> bool:
    """Return whether a function with arguments makes one of these clients, uses it and drops it."""
    pattern = _ONE_USE.get(facts.language)
    if pattern is not None:
        is_known = pattern.search(call.name) is not None and not _shares_session(call, facts)
        return is_known and is_for_one_use(call, facts)
    return _opens(call, facts.language) and _is_ended(call, facts) and is_for_one_use(call, facts)


def _shares_session(call: Call, facts: Facts) -> bool:
    """Return whether a client of AWS has the connections of a session or settings from elsewhere (Go)."""
    if "/aws-sdk-go" not in call.name or "/service/" not in call.name:
        return False
    first, scope = call.argument(place=0), facts.named_function_of(call)
    made = {name for each in facts.own(facts.calls, scope) for name in each.assigned}
    return first is not None and first.value.text not in made


def _is_ended(call: Call, facts: Facts) -> bool:
    """Return whether a method (Python) or function (JavaScript) with arguments also ends the connection."""
    scope = facts.named_function_of(call)
    if scope is None or not any(each.name not in ("self", "cls") for each in scope.parameters):
        return False
    if facts.language == "python":
        if not scope.is_method and call.name not in _PRODUCERS:
            return False
        if call.name in _POOLED:
            return bool(facts.calls_on(call))
    used = [*facts.calls_on(call)]
    used += [each for one in used for each in facts.calls_on(one)]  # kafka.producer().disconnect()
    return any(each.method in ENDS for each in used)


_STOPS = lazy_regex(r"_*(?:cancel|kill|abort|stop)", re.IGNORECASE)


def _from_factory(call: Call, scope: Scope, facts: Facts) -> Iterator[Hit]:
    """Yield a connection that a function returns, if its callers make and drop one for each request."""
    text = facts.text(call.span)
    tail = facts.text(scope.body).rstrip().removesuffix("}").rstrip() if facts.language == "rust" else ""
    is_tail = tail.endswith((text, f"{text}.await", f"Ok({text})", f"Ok({text}?)", f"Ok({text}.await?)"))
    # `const pool = () => new Pool(…)`
    is_tail = is_tail or facts.text(scope.body).strip(" ();\n") == text.strip(" ();\n")
    is_whole = (
        is_tail
        or _is_handed_out(call, scope, facts)
        or any(
            step.kind == "return" and step.text.strip(" ;").removeprefix("await ") == text
            for step in facts.own(facts.steps, scope)
        )
    )
    if not is_whole or any(each.method in _CACHED for each in scope.decorators):
        return
    users = set[Scope]()
    for caller in facts.callers_of(scope):
        if caller.is_returned or any("." in name or "[" in name for name in caller.assigned):
            continue
        if (by := facts.named_function_of(caller)) is not None and _STOPS.match(by.short_name):
            continue  # To stop a query takes another connection.
        if (frequency := frequency_of(caller, facts)) in ("request", "message"):
            what = f"{caller.written}() connects anew, by {call.written}(), for every {frequency}"
            yield Hit(caller.span, what, LIKELY)
            return
        if is_ended_here(caller, facts):
            yield Hit(
                caller.span, f"{caller.written}() connects anew, by {call.written}(), each time", LIKELY
            )
            return
        user = facts.named_function_of(caller)
        if user is None or runs_seldom(user):
            continue
        if user.is_method:
            users.add(user)
        elif user.parameters and _POOLS.search(call.name) and _is_used_at_once(caller, facts):
            yield Hit(
                caller.span, f"{caller.written}() connects anew, by {call.written}(), each time", LIKELY
            )
            return
    if scope.is_method and users and "sqlite" not in call.name:
        one = min(users, key=lambda each: each.line)
        what = f"{call.written}() connects anew for each call of {one.short_name}()"
        yield Hit(call.span, what, POSSIBLE)


def _is_used_at_once(call: Call, facts: Facts) -> bool:
    return facts.syntax.source[call.span.end : call.span.end + 20].lstrip()[:1] == b"."


def _opens(call: Call, language: str) -> bool:
    if call.is_decorator:
        return False
    if language == "python":
        return call.name in _PYTHON
    if language in ("csharp", "rust"):
        return _ONE_USE[language].search(call.name) is not None
    return _by_language(language).search(call.name) is not None and (
        call.name != "knex" or _has_settings(call)
    )


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
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"onnect",
        b"create_",
        b"edis",
        b"ongo",
        b"otor",
        b"lastic",
        b"Producer",
        b"Pool",
        b"Client",
        b"knex",
        b"equelize",
        b"afka",
        b"database/sql",
        b"pgx",
        b"gorm",
        b"sqlx",
        b"Hikari",
        b"CqlSession",
        b"StorageOptions",
        b"cloud.google",
        b"lapin",
        b"aws_sdk",
        b"aws-sdk",
        b"deadpool",
        b"driver",
        b"Dial",
        b"Publisher",
    ),
)
