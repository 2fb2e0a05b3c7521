"""Lists that grow with the data of a program, in contrast to those that grow with its code or settings.

Work that grows with the square of a list matters only if the list can be long. Types do not say so, but names
do: there may be a million `orders`, and there are a handful of `plugins`.
"""

from __future__ import annotations

import re

from faultkit.code.facts import Facts, Loop

_DATA = re.compile(
    r"(row|line|record|event|entry|entrie|item|order|user|customer|product|message|msg|transaction|log|chunk|post"
    r"|comment|document|doc|member|payment|invoice|ticket|job|task|file|article|reading|sample|metric|point|email"
    r"|notification|account|contact|subscription|alert|id|result|word|name|object|visit|session|request|response"
    r"|page|image|track|book|sale|purchase|employee|student|match|review|rating|price|url|link|vertex|vertice"
    r"|interval|trace|change|commit|packet|measurement|movie|song|city|citie|player|score|asset|lead|device"
    r"|shipment|booking|reservation|trade|quote|hit|crawl|domain|token|value|element|decision|node|edge)s?$"
    r"|(people|data|input|stdin|corpus|queue|backlog|pending|inbox|frontier|feed|inventory|catalog(ue)?|history)$",
    re.IGNORECASE,
)
_FEW = re.compile(
    r"(arg|argv|option|setting|config|plugin|provider|backend|handler|listener|hook|header|column|field|table|param"
    r"|locale|language|role|permission|server|host|broker|mode|kind|type|flag|env|default|allow|deny|exclude"
    r"|include|valid|known|supported|required|reserved|missing|extra)(_?names?|_?ids?|s)?$"
    r"|^(args|argv|opts|env|cfg)|config|setting|option",
    re.IGNORECASE,
)
_SHORT_NAME = re.compile(r"[xyz]s|arr|lst")
"""Names that say nothing."""
_WRAPPERS = frozenset(
    (
        "values", "items", "keys", "entries", "list", "sorted", "Object", "length", "len", "size", "range",
        "enumerate", "reversed", "i", "self", "this", "all", "stream", "toArray", "tuple", "set", "get",
    )
)  # fmt: skip
_QUEUE = re.compile(
    r"queue|pending|backlog|todo|frontier|buffer|waiting|jobs|tasks|messages|events|open_?list", re.I
)
_READS = re.compile(r"\b(read\w*|[nN]ext|Scan|hasNext\w*|poll)\(")
_SOURCES = re.compile(
    r"\b(fetchall|fetch_all|readlines|readAllLines|splitlines|split|findAll|findMany|find|query|Query|all|json"
    r"|toArray|getResultList|ReadFile|readFile\w*|scan|select)\("
)


def last_word(over: str) -> str:
    """Return the name of a list: of `list(self.orders.values())` orders."""
    bare = re.sub(r"([\"'`]).*?\1", "", over)
    words = re.findall(r"[A-Za-z_]\w*", bare)
    named = [word for word in words if word not in _WRAPPERS] or words
    return named[-1] if named else ""


def is_data(over: str) -> bool:
    """Return whether the name of a list says that it grows with the data."""
    word = last_word(over)
    if _FEW.search(word) or re.search(r"config|setting|option", over, re.IGNORECASE):
        return False
    return _DATA.search(word) is not None or _SHORT_NAME.fullmatch(word) is not None


def is_queue(name: str) -> bool:
    """Return whether the name of a list says that work waits in it."""
    return _QUEUE.search(last_word(name)) is not None


def is_over_data(loop: Loop, facts: Facts) -> bool:
    """Return whether a loop may have many rounds: it reads on, or its list grows with the data."""
    if loop.kind in ("while", "count", "endless") and _READS.search(facts.text(loop.head)):
        return True
    if is_data(loop.over) or _SOURCES.search(loop.over):
        return True
    if not loop.over.isidentifier():
        return False
    return any(
        each.value is not None and _SOURCES.search(each.value.text)
        for each in facts.assignments_to(loop.over, loop)
        if not _FEW.search(loop.over)
    )
