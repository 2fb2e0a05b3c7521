"""Addresses of databases and brokers, which hold the password of their user."""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.facts import Placed

_NAMES = lazy_regex(
    r"^_*(?:get_?|\w+_)?(?:dsn|(?:database|db|postgres|pg|mysql|mongo(?:db)?|amqp|rabbit(?:mq)?|broker)_?ur[il]"
    r"|conn(?:ection)?_?str(?:ing)?)$",
    re.IGNORECASE,
)
_WORDS = (b"dsn", b"url", b"uri", b"conn")
"""One of them is in each such name."""
_CAMEL = lazy_regex(r"(?<=[a-z])(?=[A-Z])")
_HIDDEN = lazy_regex(
    r"redact|mask|sanit|scrub|obfusc|omit|strip|without|hide|safe|replace|render_as_string", re.I
)
_OTHER = lazy_regex(rb"sentry|Sentry|raven", re.IGNORECASE)
"""The DSN of Sentry is no secret."""
_DATABASES = (
    b"postgres", b"mysql", b"mariadb", b"mongo", b"amqp", b"rabbit", b"sqlalchemy", b"redis", b"database",
    b"npgsql", b"sqlserver", b"asyncpg", b"psycopg", b"gorm",
)  # fmt: skip
_SHORT_DATABASES = lazy_regex(rb"\b(?:pgx|sqlx)\b", re.IGNORECASE)


def may_name_connection_string(facts: Facts) -> bool:
    """Return whether a text has a database and a word without which `is_connection_string` is False."""
    return facts.syntax.has_any(*_WORDS) and _has_database(facts)


@lru_cache(maxsize=4)
def _has_database(facts: Facts) -> bool:
    syntax = facts.syntax
    return syntax.has_any(*_DATABASES) or (
        syntax.has_any(b"pgx", b"sqlx") and _SHORT_DATABASES.search(syntax.source) is not None
    )


def is_connection_string(name: str, place: Placed, facts: Facts) -> bool:
    """Return whether a variable, field or getter of this name is an address with a password in it."""
    if not _has_database(facts):
        return False
    last = name.replace("()", "").rpartition(".")[2]
    if not (_NAMES.match(_CAMEL.sub("_", last)) or _is_opened(name, place, facts)) or _OTHER.search(
        facts.syntax.source
    ):
        return False
    if _HIDDEN.search(name):
        return False
    if facts.language in ("java", "kotlin") and (
        b"jdbc" in facts.syntax.source or any(len(each.arguments) > 2 for each in _opened(facts))
    ):
        return False  # JDBC is given the password beside the address.
    made = facts.assignments_to(last, place) if last.isidentifier() else ()
    return not any(each.value is not None and _HIDDEN.search(each.value.text) for each in made)


_PLAIN_NAME = lazy_regex(r"(?:ur[il]|address|addr|target)s?$", re.IGNORECASE)
_OPENS = lazy_regex(
    r"(?:Client::open|from_url|fromURL|create_engine|create_async_engine|connect_robust|create_pool|createClient|createPool"
    r"|PgPool::connect\w*|\.connect(?:_lazy|_with)?|amqp\.Dial\w*|ParseURL|pgxpool\.New|MongoClient|ConnectionMultiplexer"
    r"\.Connect\w*|mongoose\.connect)\(\s*(?:ctx,\s*|\{\s*url:\s*)?&?([\w.]+)"
)


def _is_opened(name: str, place: Placed, facts: Facts) -> bool:
    """Return whether a function opens a database or broker by this name: `redis.from_url(url)`."""
    scope = facts.named_function_of(place) if _PLAIN_NAME.search(name) else None
    return scope is not None and any(
        found.removeprefix("self.") == name.removeprefix("self.")
        for found in _OPENS.findall(facts.text(scope.body))
    )


def _opened(facts: Facts) -> tuple[Call, ...]:
    """Return the calls `DriverManager.getConnection(url, user, password)`."""
    return facts.calls_named("java.sql.DriverManager.getConnection", "DriverManager.getConnection")
