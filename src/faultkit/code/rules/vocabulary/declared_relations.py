"""Relations of entities that an ORM loads when they are read, as the classes of a text declare them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Facts

_SQLALCHEMY = lazy_regex(r"^(?:\w+\.)?relationship\(\s*(?:lambda:\s*)?['\"]?([A-Z]\w*)?")
_LOADED_WITH = lazy_regex(r"\blazy\s*=\s*(?:['\"](?!select['\"]|true)|False)")
"""Strategies of SQLAlchemy other than a query at the first read."""
_MAPPED = lazy_regex(r"Mapped\[[^=]*?([A-Z]\w*)['\"]?\s*(?:\|\s*None)?\s*\]*['\"]?\s*=")
_DJANGO = lazy_regex(
    r"^(?:\w+\.)?(ForeignKey|OneToOneField|ManyToManyField)\(\s*(?:to\s*=\s*)?['\"]?([\w.]+)"
)
_RELATED_NAME = lazy_regex(r"related_name\s*=\s*['\"]([a-z]\w*)['\"]")
_JPA_ONE = lazy_regex(r"@(?:\w+:)?(?:\w+\.)*(?:ManyToOne|OneToOne)\b[^@]*\bLAZY\b")
_JPA_MANY = lazy_regex(r"@(?:\w+:)?(?:\w+\.)*(?:OneToMany|ManyToMany|ElementCollection)\b(?![^@]*\bEAGER\b)")
_JPA_GROUPED = lazy_regex(r"@(?:\w+:)?(?:\w+\.)*(?:BatchSize|Fetch)\(")
_OF_MANY = lazy_regex(r"\b\w*(?:List|Set|Collection|Iterable|Map)<(?:[\w.]+,\s*)?(?:out )?(\w+)>")
_EXPOSED = lazy_regex(
    r"\bby\s+(\w+)\s+(?:referencedOn|optionalReferencedOn|backReferencedOn|optionalBackReferencedOn"
    r"|(referrersOn|optionalReferrersOn|via))\b"
)
_VIRTUAL = lazy_regex(r"public\s+virtual\s[^{]*\{\s*get;[^}]*\bset;")
_CSHARP_VALUES = frozenset(
    ("DateTime", "DateTimeOffset", "Guid", "TimeSpan", "DateOnly", "TimeOnly", "String", "Decimal", "Uri")
)
_WORDS = (
    b"relationship(", b"foreignkey(", b"onetoonefield(", b"manytomanyfield(", b"@manyto", b"@oneto",
    b":manyto", b":oneto", b"@elementcollection", b"referencedon", b"referrerson", b" via ",
    b"virtual",
)  # fmt: skip
"""One of them is in each text that declares relations."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that is loaded by a query when it is read."""

    target: str
    """The class of the related object or objects; empty if it is not known."""
    is_many: bool
    is_proxy: bool = False
    """Whether the object itself and its key are known without a query, as in JPA."""


@lru_cache(maxsize=4)
def declared_relations(facts: Facts) -> dict[str, dict[str, Relation]]:
    """Return the relations that are loaded when they are read, by entity and name."""
    found: dict[str, dict[str, Relation]] = {}
    if not facts.syntax.has_any(*_WORDS):
        return found
    read = {"python": _python, "java": _jpa, "kotlin": _kotlin, "csharp": _csharp}.get(facts.language)
    for each in facts.assignments if read is not None else ():
        if not each.owner or each.scope is not None or read is None:
            continue
        relation = read(each, facts)
        if relation is None:
            continue
        name = each.targets[0].removeprefix("self.")
        found.setdefault(_short(each.owner), {})[name] = relation
        back = _RELATED_NAME.search(each.value.text) if each.value is not None else None
        if back is not None and relation.target:
            many = "OneToOne" not in facts.text(each.span)
            found.setdefault(relation.target, {})[back[1]] = Relation(_short(each.owner), many)
    return found


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _python(each: Assignment, facts: Facts) -> Relation | None:
    text = "" if each.value is None else each.value.text
    if made := _DJANGO.match(text):
        target = _short(made[2])
        return Relation(_short(each.owner) if target == "self" else target, made[1] == "ManyToManyField")
    made = _SQLALCHEMY.match(text)
    if made is None or _LOADED_WITH.search(text):
        return None
    written = facts.text(each.span)
    mapped = _MAPPED.search(written)
    target = made[1] or (mapped[1] if mapped is not None else "")
    is_many = re.search(r"Mapped\[\s*['\"]?\w*([lL]ist|[sS]et)\[", written) is not None
    return Relation(target, is_many or each.targets[0].endswith("s"))


def _jpa(each: Assignment, facts: Facts) -> Relation | None:
    written = facts.text(each.span)
    if "@" not in written or _JPA_GROUPED.search(written):
        return None
    if _JPA_ONE.search(written):
        return Relation(_short(each.type), False, is_proxy=True)
    if _JPA_MANY.search(written):
        inner = _OF_MANY.search(written)
        return Relation("" if inner is None else inner[1], True)
    return None


def _kotlin(each: Assignment, facts: Facts) -> Relation | None:
    if made := _EXPOSED.search(facts.text(each.span)):
        return Relation(made[1], bool(made[2]))
    return _jpa(each, facts)


def _csharp(each: Assignment, facts: Facts) -> Relation | None:
    """Return what proxies of Entity Framework load: `public virtual Customer Customer { get; set; }`."""
    written = facts.text(each.span)
    if not _VIRTUAL.match(written) or each.type in _CSHARP_VALUES or not each.type[:1].isupper():
        return None
    if inner := _OF_MANY.search(written):
        return Relation(inner[1], True)
    return Relation(_short(each.type), False)
