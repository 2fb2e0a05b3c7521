"""Reads of a database that show by the declared type of their object, or by the ORM that a text imports."""

from __future__ import annotations

from functools import lru_cache

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_STORE = NamePattern(r"(^|[./])I?\w*(Repository|Repo|Dao|DAO|Queries|Querier|QueryService)$")
_JPA = NamePattern(r"(^|[./])(EntityManager|StatelessSession|Session)$")
_JPA_MADE = NamePattern(r"(openSession|getCurrentSession|openStatelessSession|createEntityManager)\(\)\.\w+$")
_JPA_READS = frozenset(
    ("createQuery", "createNativeQuery", "createNamedQuery", "createSQLQuery", "find", "get", "getReference")
)
_JDBC = NamePattern(r"(^|[./])(Named(Parameter)?)?Jdbc(Template|Operations|Client)$")
_READS = NamePattern(
    r"^_?([gG]et|[fF]ind|[lL]oad|[fF]etch|[lL]ist|[cC]ount|[eE]xists|[lL]ookup|[rR]ead|[aA]ny|[sS]um|[sS]earch)"
    r"([A-Z_]\w*)?$"
)
_MODEL_READS = frozenset(
    (
        "find", "findOne", "findById", "findOneBy", "findBy", "count", "countBy", "countDocuments", "exists",
        "findAndCount", "findOneByOrFail", "findOneOrFail", "existsBy", "sum", "distinct", "aggregate",
        "estimatedDocumentCount", "findAll", "findByPk",
    )
)  # fmt: skip
_MODEL = NamePattern(r"(^|[./])(\w*Repository|\w*Model|EntityRepository)$")
_PRISMA = NamePattern(r"(^|\.)_?prisma(Service|Client)?\.\w+$")
_PRISMA_READS = frozenset(("count", "aggregate", "groupBy", "findMany", "findFirst", "findUnique"))
_SEA_ORM = NamePattern(
    r"\.(find|find_by_id|find_related|find_also_related|select_only)(\(\)\.\w+)*\(\)\.(one|all|count)$"
)
_EXPOSED = NamePattern(r"^[A-Z]\w*\.(selectAll|select|find|findById|slice)$")
_PEEWEE = NamePattern(
    r"^[A-Z]\w*\.(select|get|get_or_none|get_by_id)$|^models\.[A-Z]\w*\.(select|get|get_or_none)$"
)
_TORTOISE = NamePattern(r"^([a-z_]+\.)*[A-Z]\w*\.(get|get_or_none|filter|all|find_one|find|exists)$")


_NAMES = frozenset(
    (
        *_JPA_READS, *_MODEL_READS, *_PRISMA_READS, "selectAll", "slice", "get_or_none", "get_by_id",
        "filter", "all", "find_one", "one",
    )
)  # fmt: skip


@lru_cache(maxsize=8192)
def _may_read(method: str) -> bool:
    """Return whether a method is one that is looked at: most are not, and the same come again."""
    is_known = method in _NAMES or method.startswith(("query", "select", "fetch", "count"))
    return is_known or _READS.match(method) is not None


def is_typed_read(call: Call, facts: Facts) -> bool:
    """Return whether a call asks a database, by the type of its object or by the ORM of this text.

    Arguments are looked at last: to read them takes longest."""
    if not _may_read(call.method):
        return False
    find = _BY_LANGUAGE.get(facts.language)
    return find is not None and bool(call.receiver_written) and find(call, facts)


def is_built(call: Call, facts: Facts) -> bool:
    """Return whether a read only begins a query, which the calls on it complete."""
    if facts.language in ("java", "kotlin"):
        if call.method.startswith("select") and type_of_receiver(call, facts).endswith("DSLContext"):
            return True
        if call.method.startswith("create") and call.method in _JPA_READS:
            return True
        return facts.language == "kotlin" and _EXPOSED.match(call.written) is not None
    return facts.language == "python" and call.method in ("select", "filter", "all", "find")


def _is_on_store(call: Call, facts: Facts) -> bool:
    return _READS.match(call.method) is not None and _STORE.search(type_of_receiver(call, facts)) is not None


def _java(call: Call, facts: Facts) -> bool:
    if _is_on_store(call, facts):
        return True
    method = call.method
    # Of MyBatis; a mapper of values has other methods.
    is_found = method.startswith(("find", "list", "load")) and bool(call.arguments)
    if is_found and type_of_receiver(call, facts).endswith("Mapper"):
        return True
    if not (method.startswith(("query", "select", "fetch", "count")) or method in _JPA_READS):
        return False
    type_ = type_of_receiver(call, facts) if call.arguments else ""
    if method.startswith("query"):
        return _JDBC.search(type_) is not None
    if method.startswith(("select", "fetch")) and type_.endswith("DSLContext"):
        return True  # jOOQ.
    if method.startswith(("select", "count")):
        return type_.endswith("Mapper")  # MyBatis.
    if method not in _JPA_READS or not call.arguments:
        return False
    return (_JPA.search(type_) or _JPA_MADE.search(call.name)) is not None and not _is_write(call, facts)


def _is_write(call: Call, facts: Facts) -> bool:
    """Return whether a query of JPA is one that changes rows: `createQuery(…).executeUpdate()`."""
    ends = facts.calls_of_method("executeUpdate", "execute")
    return any(each.span.start == call.span.start for each in ends)


def _kotlin(call: Call, facts: Facts) -> bool:
    if facts.imports_any("org.jetbrains.exposed") and _EXPOSED.match(call.written):
        return True
    return _java(call, facts)


def _csharp(call: Call, facts: Facts) -> bool:
    return (call.is_awaited or call.is_returned) and _is_on_store(call, facts) and bool(call.arguments)


def _javascript(call: Call, facts: Facts) -> bool:
    if not (call.is_awaited or call.is_returned or call.is_argument):
        return False
    if call.method in _PRISMA_READS and _PRISMA.search(call.receiver_written):
        return True
    if call.method not in _MODEL_READS and not _READS.match(call.method):
        return False
    if not call.arguments or any(each.value.shape == "function" for each in call.positional):
        return False
    if call.method in _MODEL_READS and _MODEL.search(type_of_receiver(call, facts)):
        return True
    return _is_on_store(call, facts)


def _python(call: Call, facts: Facts) -> bool:
    if facts.imports_any("peewee") and _PEEWEE.match(call.written):
        return True
    if facts.imports_any("tortoise", "beanie", "ormar") and _TORTOISE.match(call.written):
        return bool(call.arguments) and (call.is_awaited or is_built(call, facts))
    return _is_on_store(call, facts) and bool(call.arguments)


def _rust(call: Call, facts: Facts) -> bool:
    if facts.imports_any("sea_orm") and call.is_awaited:
        return _SEA_ORM.search(call.name) is not None
    return _is_on_store(call, facts) and call.is_awaited and bool(call.arguments)


_BY_LANGUAGE = {
    "java": _java,
    "kotlin": _kotlin,
    "csharp": _csharp,
    "javascript": _javascript,
    "typescript": _javascript,
    "tsx": _javascript,
    "python": _python,
    "rust": _rust,
}
