"""Lists, maps and texts that a function makes in memory, and that end with it."""

from __future__ import annotations

from faultkit.code.facts import Call, Facts
from faultkit.code.facts.fact_values import Value
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_TYPES_IN_MEMORY = NamePattern(
    r"(?:^|[.:])(?:(?:Weak|Hash|Tree|LinkedHash|BTree|ConcurrentHash)?(?:Map|Set)|FormData|URLSearchParams|Headers|Array"
    r"|ArrayList|LinkedList|ArrayDeque|List|Dictionary|StringBuilder|StringBuffer|StringWriter|MemoryStream|StringIO"
    r"|BytesIO|ByteArrayOutputStream|OrderedDict|Counter)$"
)
_MAKES_IN_MEMORY = NamePattern(
    r"^(?:collections\.)?(?:list|dict|set|defaultdict|OrderedDict|Counter|deque|bytearray)$|^hashlib\.\w+$|^hmac\.new$"
    r"|(?:^|\.)(?:createHash|createHmac|mutable(?:List|Map|Set)Of)$"
    r"|(?:^|[.:])(?:Vec|VecDeque|String|HashMap|HashSet|BTreeMap|BTreeSet)(?:\.|::)(?:new|with_capacity)$"
)
"""Calls that make a value which ends with its function."""


def is_of_local(call: Call, facts: Facts) -> bool:
    """Return whether a call changes a list, map or text that its function has made."""
    made = facts.assignments_to(call.receiver_written, call) if call.receiver_written.isidentifier() else ()
    return bool(made) and all(
        each.scope is not None and each.value is not None and _is_in_memory(each.value, each.call)
        for each in made
    )


def _is_in_memory(value: Value, made: Call | None) -> bool:
    if made is None:
        return value.shape in ("list", "object")
    if made.constructs and _TYPES_IN_MEMORY.search(made.name):
        return True
    return _MAKES_IN_MEMORY.search(made.name) is not None
