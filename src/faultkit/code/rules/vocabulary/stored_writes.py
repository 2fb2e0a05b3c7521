"""Writes to a database through an ORM or a repository, each of which is committed by itself.

Writes that only change objects in memory until a commit (`session.add`, `context.Orders.Add`) are not among
them; the commits are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_PRISMA = NamePattern(r"^(create|createMany|update|updateMany|upsert|delete|deleteMany)$")
_PRISMA_OWNER = NamePattern(r"(^|[._])(_?prisma\w*|db)\.\w+$")
_TYPEORM = NamePattern(
    r"^(save|insert|update|upsert|delete|softDelete|increment|decrement|remove|softRemove)$"
)
_SEQUELIZE = NamePattern(r"^(create|bulkCreate|update|destroy|increment|decrement|upsert)$")
_JAVASCRIPT = NamePattern(
    r"^(create|createMany|update|updateMany|upsert|delete|deleteMany|bulkCreate|destroy|increment|decrement|save|insert"
    r"|softDelete|remove|softRemove)$"
)
"""The methods of all three."""
_MODEL = NamePattern(r"^[A-Z][a-zA-Z]+$")
_TYPEORM_TYPE = NamePattern(r"(^|[./])(Repository|TreeRepository|MongoRepository|\w+Repository)$")
_TYPEORM_NAME = NamePattern(r"(^|[._])_?\w*(Repository|Repo)$")
_SPRING = NamePattern(
    r"^(save\w*|insert\w*|update\w*|delete\w*|remove\w*|upsert\w*|debit\w*|credit\w*|increment\w*|decrement\w*"
    r"|mark\w*|add[A-Z]\w*)$"
)
_SPRING_TYPE = NamePattern(r"(^|[./])\w*(Repository|Dao|DAO|Mapper)$")
_DJANGO = NamePattern(
    r"^[A-Z]\w*\.objects\.((\w+\(\)\.)*(create|update|delete|bulk_create|update_or_create))$"
)
_GORM = frozenset(("Create", "Save", "Updates", "Update", "Delete", "UpdateColumn", "Exec"))
_DIRECT = NamePattern(r"^(_?\w+)\.(save|delete)$")
_NO_MODEL = lazy_regex(
    r"^(self|cls|form|serializer|formset|super|file|image|img|fig|storage|buffer|doc|wb|os)$"
)


def stored_writes(facts: Facts) -> Iterator[Call]:
    """Yield calls that write and commit at once, in the order of the text."""
    find = _FINDERS.get(facts.language)
    return iter(()) if find is None else (call for call in facts.calls if find(call, facts))


def _javascript(call: Call, facts: Facts) -> bool:
    # To read arguments takes longest.
    if not call.is_awaited or not _JAVASCRIPT.match(call.method) or not call.arguments:
        return False
    if _PRISMA.match(call.method) and _PRISMA_OWNER.search(call.receiver_written):
        is_prisma = "prisma" in call.receiver_written.lower() or facts.imports_any("@prisma/client")
        return is_prisma and call.has("data", "where")
    if _SEQUELIZE.match(call.method) and _MODEL.match(call.receiver_written):
        is_sequelize = facts.imports_any("sequelize", "sequelize-typescript") or (
            re.search(rb"/models['\"]|bulkCreate\(|findByPk\(", facts.syntax.source) is not None
            and not facts.imports_any("mongoose", "mongodb")
        )
        return is_sequelize and not call.has("transaction") and "transaction" not in facts.text(call.span)
    if _TYPEORM.match(call.method) and facts.imports_any("typeorm", "@nestjs/typeorm"):
        type_ = type_of_receiver(call, facts)
        return bool(_TYPEORM_TYPE.search(type_) or _TYPEORM_NAME.search(call.receiver_written))
    return False


def _spring(call: Call, facts: Facts) -> bool:
    if not _SPRING.match(call.method) or not facts.imports_any("org.springframework") or not call.arguments:
        return False
    return _SPRING_TYPE.search(type_of_receiver(call, facts)) is not None


_SESSION = NamePattern(r"(^|[._])(session|db_session|db\.session|db)$")


def _python(call: Call, facts: Facts) -> bool:
    if call.method == "commit" and not call.arguments and _SESSION.search(call.receiver_written):
        # Each commit of a batch in a loop is one of many.
        return not facts.loops_around(call)
    if _has_django_models(facts):
        head = call.written.partition("(")[0]
        if _DJANGO.match(re.sub(r"^.*\.(?=[A-Z]\w*\.objects)", "", call.written)):
            return "using" not in head
        found = _DIRECT.match(call.written)
        return (
            found is not None and not _NO_MODEL.match(found[1]) and call.is_discarded and not call.positional
        )
    return False


@lru_cache(maxsize=4)
def _has_django_models(facts: Facts) -> bool:
    """Return whether a text uses models of Django. Asked for each call, so the text is looked at once."""
    return facts.imports_any("django") or b".objects.create(" in facts.syntax.source


def _go(call: Call, facts: Facts) -> bool:
    return call.method in _GORM and "gorm.io/gorm.DB" in call.name and "Begin" not in call.name


def _csharp(call: Call, facts: Facts) -> bool:
    return call.method in ("SaveChangesAsync", "SaveChanges") and bool(call.receiver_written)


_ON_CONNECTION = lazy_regex(r"&?(?:self\.)?(?:\w+\.)?(?:db|conn|connection|database|pool)")


def _rust(call: Call, facts: Facts) -> bool:
    if call.method not in ("insert", "update", "delete", "save", "exec") or not call.is_awaited:
        return False
    first = call.argument(place=0)
    return (
        facts.imports_any("sea_orm")
        and first is not None
        and len(call.arguments) == 1
        and _ON_CONNECTION.fullmatch(first.value.text) is not None
    )


_FINDERS = {
    "rust": _rust,
    "javascript": _javascript,
    "typescript": _javascript,
    "tsx": _javascript,
    "java": _spring,
    "kotlin": _spring,
    "python": _python,
    "go": _go,
    "csharp": _csharp,
}
