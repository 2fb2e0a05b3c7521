"""Calls of objects that stand for a store or a service: repositories, clients, queries.

Their types are declared elsewhere, so that their names and the form of the call must tell: the object is a
member or a parameter, it is called as things that wait are (awaited, with a context), and it is given a key.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_STORES = NamePattern(
    r"(?:^|[._a-z])(?:repo(?:sitor(?:y|ies))?s?|dao|daos|client|gateway|store|storage|api|mapper|queries|service|db|database"
    r"|directory|catalog|registry_?client|provider|backend|dal|orm|q)$",
    re.IGNORECASE,
)
_STORE_TYPES = NamePattern(
    r"(?:Repository|Repo|Dao|DAO|Client|Gateway|Api|API|Mapper|Queries|Service|Stub|ServiceClient)(?:Impl)?$"
)
_MEMORY = NamePattern(
    r"(?:^|[._])_?\w*(?:cache|map|index|lookup|dict|memo|set|list|config|settings|registry|factory|builder|loader|template"
    r"|log(?:ger)?|metrics?|tracer|lock|clock|random|encoder|parser|params?|headers?|options|by_?\w+)$",
    re.IGNORECASE,
)
_LOOKUPS = NamePattern(
    r"^_?(?:get|find|fetch|load|read|lookup|look_up|query|select|count|exists|sum|list|search|resolve|by|retrieve|latest"
    r"|current|price|balance|status)(?=_|[A-Z]|$|By)|^(?:By|Get|Find|Fetch|Load|Count|Exists|Lookup|List|Query|Select|Read)",
)
_KEYED = lazy_regex(
    r"(?:[._]|[a-z](?=I))(?:id|Id|ID|uuid|sku|Sku|SKU|key|email|slug|code|ref|number)s?(?:\(\)|\b)|\bid\b|get\w*Id\(\)"
    r"|\bsku\b|&?\w+\.\w+Request\{",
)


_CONTEXT = lazy_regex(r"\w*[cC]tx|\w+\.Context\(\)")


def is_store_call(call: Call, facts: Facts) -> bool:
    """Return whether a call asks a store or service for something."""
    # Arguments are asked for last: to read them takes long.
    if not call.receiver_written or not _is_collaborator(call, facts) or not _waits(call, facts):
        return False
    is_told = call.is_awaited or _STORE_TYPES.search(call.receiver) is not None
    return is_told or _LOOKUPS.search(call.method) is not None or _takes_context(call)


def is_store_lookup(call: Call, facts: Facts) -> bool:
    """Return whether a call asks a store or service for what belongs to a key."""
    if not call.receiver_written or not _LOOKUPS.search(call.method) or call.is_discarded:
        return False
    if call.method == "resolve" and facts.language in ("java", "kotlin"):
        return False  # Of a path.
    if not _waits(call, facts) or not _is_collaborator(call, facts):
        return False
    return any(_KEYED.search(each.value.text) for each in call.arguments)


def _is_collaborator(call: Call, facts: Facts) -> bool:
    """Return whether the object is a member or a parameter that is no collection."""
    owner = call.receiver_written.removeprefix("this.").removeprefix("self.")
    if _MEMORY.search(owner) or "(" in owner or "[" in owner or owner.startswith("super"):
        return False
    if _STORE_TYPES.search(call.receiver) or _STORES.search(owner):
        return True
    is_member = (
        call.receiver_written.startswith(("self.", "this.")) or f"self.{owner}" in facts.assigned_names
    )
    if facts.language in ("java", "kotlin", "csharp"):
        # Names of types tell more there; an awaited member without one is a collaborator, too.
        return is_member and call.is_awaited
    if facts.language == "go":
        return is_member and _takes_context(call)
    return is_member and call.is_awaited


def _waits(call: Call, facts: Facts) -> bool:
    """Return whether a call is written as one that goes out: awaited, or with a context and an error."""
    if facts.language == "go":
        return _takes_context(call) and len(call.assigned) == 2
    if facts.language == "java":
        return True
    if facts.language == "kotlin":
        scope = facts.named_function_of(call)
        return scope is not None and (scope.is_async or _STORE_TYPES.search(call.receiver) is not None)
    return call.is_awaited


def _takes_context(call: Call) -> bool:
    first = call.argument(place=0)
    return first is not None and _CONTEXT.fullmatch(first.value.text) is not None
