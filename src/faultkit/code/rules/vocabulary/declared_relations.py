"""Relations that the classes of a text declare: SQLAlchemy, JPA and Exposed.

Where the declaration is seen, any use of a relation counts; elsewhere names must tell.
"""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.code.facts import Facts

_OF_JPA = re.compile(
    r"@(?P<kind>OneToMany|ManyToMany|ElementCollection|ManyToOne|OneToOne)\b(?P<options>(?:\((?:[^()]|\([^()]*\))*\))?)"
    r"(?:\s*@\w+(?:\((?:[^()]|\([^()]*\))*\))?)*"
    r"\s*(?:(?:private|protected|public|final|var|val|lateinit)\s+)*"
    r"(?:(?P<kotlin>\w+)\s*:|[\w.]+(?:<[^;=(){]*>)?\s+(?P<java>\w+)\s*[;=])"
)
_OF_EXPOSED = re.compile(
    r"\bva[lr]\s+(\w+)\s+by\s+[\w.]+\s+(?:optionalReferencedOn|referencedOn|referrersOn|optionalReferrersOn|via)\b"
)
_ITEM_TYPE = re.compile(r"Mapped\[\s*(?:list|List|set|Set)?\[?[\"']?(\w+)|relationship\(\s*[\"']?(\w+)")


@lru_cache(maxsize=4)
def lazy_fields(facts: Facts) -> frozenset[str]:
    """Return the fields of entities that are loaded when they are first read (JPA, Exposed)."""
    text = facts.whole_text
    found = {
        each["kotlin"] or each["java"]
        for each in _OF_JPA.finditer(text)
        if "EAGER" not in each["options"] and ("LAZY" in each["options"] or each["kind"] not in _ONE)
    }
    if facts.language == "kotlin":
        found |= {each[1] for each in _OF_EXPOSED.finditer(text)}
    return frozenset(found)


_ONE = frozenset(("ManyToOne", "OneToOne"))


@lru_cache(maxsize=4)
def relationships(facts: Facts) -> dict[tuple[str, str], str]:
    """Return the type of the related objects by class and name of the relation (SQLAlchemy)."""
    found: dict[tuple[str, str], str] = {}
    for each in facts.assignments:
        if not each.owner or each.value is None or "relationship(" not in each.value.text:
            continue
        if re.search(r"lazy\s*=\s*['\"](joined|selectin|subquery|immediate)", each.value.text):
            continue
        item = _ITEM_TYPE.search(facts.text(each.span))
        for target in each.targets:
            name = target.removeprefix("self.")
            found[each.owner.rpartition(".")[2], name] = "" if item is None else item[1] or item[2]
    return found
