"""Queries inside a loop that are not sent in each round: parts of another query, and reads behind a guard."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.remote_calls import RemoteCall

_OF_OUTER = lazy_regex(r"\bOuterRef\(")
_NESTS = r"(?:(?:Exists|Subquery|Prefetch|Q)\(\s*~?|__in\s*=\s*|queryset\s*=\s*)"
_ITERATED = lazy_regex(r"\.(?:map|flatMap|filter|peek)$")
_MANY = lazy_regex(r"[sS]tream|Flux|Multi\b|Observable|Flowable|[pP]age|Slice|Window")
_IN_MEMORY = lazy_regex(r"\.(?:Split|AsEnumerable|ToCharArray)\(")
_BY_KIND = lazy_regex(
    r"\btypeof\s+\w+\s*[!=]==?|\binstanceof\b|\bisinstance\(|\?\?\s*(?:await\s*)?$|\w\s+is\s+\w+\s*\?"
)
_COMPARED = lazy_regex(r"\b(\w+)\s*!==?\s*[\w.]|[\w.]\s*!==?\s*(\w+)\b")


def is_part_of_query(call: Call, facts: Facts) -> bool:
    """Return whether a query is only a part of another one: `Exists(rows.filter(…))` (Django)."""
    if facts.language != "python" or not facts.syntax.has_any(b"exists(", b"outerref", b"subquery("):
        return False
    if _OF_OUTER.search(facts.text(call.span)):
        return True
    if any(each.method in ("Exists", "Subquery") for each in facts.calls_around(call)):
        return True
    scope = facts.function_of(call)
    name = call.assigned[0] if len(call.assigned) == 1 else ""
    if scope is None or not name.isidentifier():
        return False
    after = facts.text(Span(call.span.end, scope.body.end))
    uses = len(re.findall(rf"(?<![\w.]){name}\b", after))
    return 0 < uses == len(re.findall(rf"\b{_NESTS}{name}\b", after))


def is_over_one(loop: Loop, facts: Facts) -> bool:
    """Return whether a function is given to an Optional, of which lists have no like (Java)."""
    if facts.language != "java" or loop.kind != "comprehension" or ".forEach" in facts.text(loop.head)[-12:]:
        return False
    base = re.match(r"\w*", loop.over.strip())
    made = facts.assignments_to(base[0], loop) if base is not None and base[0] else ()
    texts = (loop.over, *(f"{each.type} {each.value.text if each.value else ''}" for each in made))
    return not any(map(_MANY.search, texts))


def is_in_memory(remote: RemoteCall, facts: Facts) -> bool:
    """Return whether the rows of a query are parts of a text or of a list in memory (C#)."""
    inner = remote.through or remote.call
    return facts.language == "csharp" and _IN_MEMORY.search(facts.text(inner.span)) is not None


def is_for_other_kind(remote: RemoteCall, facts: Facts) -> bool:
    """Return whether a helper reads only if it is given a key: `typeof x === "object" ? x : find(x)`."""
    inner = remote.through
    if inner is None:
        return False
    line = facts.syntax.line_text(facts.syntax.line(inner.span.start))
    return _BY_KIND.search(line.partition(inner.written)[0]) is not None


def is_for_each_group(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether a round asks only if a value differs from that of the last round, and keeps it."""
    for step in facts.within(facts.steps, loop.body):
        if step.kind != "branch" or not is_within(call.span, step.span):
            continue
        text = facts.text(step.span)
        for found in _COMPARED.finditer(step.text):
            name = found[1] or found[2]
            if not name.isdigit() and re.search(rf"(?<![\w.]){name}\s*=(?!=)", text):
                return True
    return False
