"""Addresses of databases and brokers, which hold the password of their user."""

from __future__ import annotations

import re

from faultkit.code.facts import Call, Facts
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_NAMES = re.compile(
    r"^_*(?:get_?|\w+_)?(?:dsn|(?:database|db|postgres|pg|mysql|mongo(?:db)?|amqp|rabbit(?:mq)?|broker)_?ur[il]"
    r"|conn(?:ection)?_?str(?:ing)?)$",
    re.IGNORECASE,
)
_WORDS = (b"dsn", b"url", b"uri", b"conn")
"""One of them is in each such name."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_HIDDEN = re.compile(
    r"redact|mask|sanit|scrub|obfusc|omit|strip|without|hide|safe|replace|render_as_string", re.I
)
_OTHER = re.compile(rb"sentry|Sentry|raven", re.IGNORECASE)
"""The DSN of Sentry is no secret."""
_DATABASES = TextPattern(
    rb"postgres|mysql|mariadb|mongo|amqp|rabbit|sqlalchemy|\bpgx\b|\bsqlx\b|database|npgsql|sqlserver|asyncpg|psycopg|gorm",
    re.IGNORECASE,
)


def may_name_connection_string(facts: Facts) -> bool:
    """Return whether a text has a database and a word without which `is_connection_string` is False."""
    return facts.syntax.has_any(*_WORDS) and _DATABASES.search(facts.syntax.source) is not None


def is_connection_string(name: str, place: Placed, facts: Facts) -> bool:
    """Return whether a variable, field or getter of this name is an address with a password in it."""
    last = name.replace("()", "").rpartition(".")[2]
    if not _NAMES.match(_CAMEL.sub("_", last)) or _OTHER.search(facts.syntax.source):
        return False
    if _HIDDEN.search(name) or not _DATABASES.search(facts.syntax.source):
        return False
    if facts.language in ("java", "kotlin") and (
        b"jdbc" in facts.syntax.source or any(len(each.arguments) > 2 for each in _opened(facts))
    ):
        return False  # JDBC is given the password beside the address.
    made = facts.assignments_to(last, place) if last.isidentifier() else ()
    return not any(each.value is not None and _HIDDEN.search(each.value.text) for each in made)


def _opened(facts: Facts) -> tuple[Call, ...]:
    """Return the calls `DriverManager.getConnection(url, user, password)`."""
    return facts.calls_named("java.sql.DriverManager.getConnection", "DriverManager.getConnection")
