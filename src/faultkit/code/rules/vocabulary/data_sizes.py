"""Lists that grow with the data of a program, in contrast to those that grow with its code or settings.

Work that grows with the square of a list matters only if the list can be long. Types do not say so, but names
do: there may be a million `orders`, and there are a handful of `plugins`.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Loop

_DATA = lazy_regex(
    r"(row|line|record|event|entry|entrie|item|order|user|customer|product|message|msg|transaction|chunk|post|comment"
    r"|document|doc|payment|invoice|ticket|article|reading|sample|metric|email|notification|account|contact"
    r"|subscriber|visit|employee|student|review|sale|purchase|shipment|booking|reservation|trade|device|movie|book"
    r"|song|city|citie|player|sensor|measurement|photo|image|url|word|alert|job|log|lead|patient|asset|vehicle"
    r"|neighbo(u)?r|vertex|vertice|stock|symbol|sku|score|rating|vote|follower|friend|guest|member)s?$"
    r"|(people|inventory|catalog(ue)?|history|feed|inbox|backlog|frontier|corpus|stdin|_ids|[a-z]Ids|^ids|^data)$",
    re.IGNORECASE,
)
_FEW = lazy_regex(
    r"(arg|argv|option|setting|config|plugin|provider|backend|handler|listener|hook|header|column|field|table|param"
    r"|locale|language|role|permission|server|host|broker|mode|kind|type|flag|env|default|allow|deny|exclude"
    r"|include|valid|known|supported|required|reserved|missing|extra|definition)(_?names?|_?ids?|s)?$"
    r"|^(args|argv|opts|env|cfg)|config|setting|option",
    re.IGNORECASE,
)
_SHORT_NAME = lazy_regex(r"[xyz]s|arr|lst")
"""Names that say nothing."""
_OWNERS = lazy_regex(
    r"^(self|this|req|request|res|resp|response|r|body|data|ctx|context|c|event|payload|result|results|page|state|input"
    r"|params|json|args|db|store|repo|app|input|message|msg)$"
)
"""Objects whose lists may be long; the `lines` of an `order` are few."""
_WRAPPERS = lazy_regex(
    r"\.(values|items|keys|entries|iter|stream|all|toArray|copy|list|models|rows|getContent|get\w*All)\(\)|\.(iterator|yield_per)\([^()]*\)"
)
_FUNCTIONS = lazy_regex(
    r"\b(list|sorted|len|range|enumerate|reversed|tuple|set|iter|Object\.\w+)\(|\.(length|size)\b"
)
_ITEMS = lazy_regex(
    r"row|record|order|user|customer|product|transaction|payment|invoice|comment|employee|student|post|article|ticket"
)
"""Items of which there are many, whatever their list is called: `for user in incoming`."""
_NAMELESS = frozenset(
    ("list", "all", "result", "results", "values", "array", "arr", "collection", "them", "input")
)
"""Lists that are named by what they are: the name of the item says more."""
_QUEUE = lazy_regex(r"queue|backlog|frontier|jobs|messages|events|open_?list", re.I)
_STEP = lazy_regex(r"\+=\s*(?![12]\b)\w")
_READS = lazy_regex(r"\b(read\w*|[nN]ext|Scan|hasNext\w*|poll)\(")
_SOURCES = lazy_regex(
    r"\b(fetchall|fetch_all|readlines|readAllLines|splitlines|split|findAll|findMany|find|query|Query|all|json"
    r"|toArray|getResultList|ReadFile|readFile\w*|scan|select)\("
)


_TYPED = (
    r"(?:\w*(?:List|Collection|Enumerable|Iterable|Seq)<([A-Z]\w*)>|\b([A-Z]\w*)\[\])\s+NAME\b"
    r"|\bNAME\s*:?\s*(?:&(?:'\w+ )?(?:mut )?)?"
    r"(?:\w*(?:List|Collection|Iterable|Sequence|Array|Vec|list)[<\[]|\[\]?\*?)([A-Z]\w*)[>\]]?"
    r"|\bNAME\??:\s*(?:readonly )?([A-Z]\w*)\[\]"
)
"""Declarations of a list by the type of its items, in all languages."""


def last_word(over: str) -> str:
    """Return the name of a list: of `list(self.orders.values())` orders."""
    bare = _FUNCTIONS.sub("", _WRAPPERS.sub("", re.sub(r"([\"'`]).*?\1", "", over)))
    words = re.findall(r"[A-Za-z_]\w*", bare)
    return words[-1] if words else ""


def base_name(over: str) -> str:
    """Return the variable of a list: of `list(found.rows)` found; empty if it is none."""
    bare = _FUNCTIONS.sub("", _WRAPPERS.sub("", over)).rstrip(")")
    found = re.fullmatch(
        r"(?:&(?:mut )?)?(\w+)(\.(rows|models|data|items|results|Items|body|object_list))*", bare.strip()
    )
    # `self` holds everything: the list itself is a field.
    return "" if found is None or found[1] in ("self", "this") else found[1]


def is_data(over: str) -> bool:
    """Return whether the name of a list says that it grows with the data."""
    word = last_word(over)
    path = re.fullmatch(
        r"(?:\w+\()?(\w+)(?:\.#?\w+(?:\(\))?)+\)?", over.removeprefix("self.").removeprefix("this.")
    )
    if path is not None and not _OWNERS.match(path[1]) and not _DATA.search(path[1]):
        owned = re.search(r"\.(values|items|keys|entries|iter|stream)\(\)\)?$", over)
        if owned is None or over.count(".") > 1:
            return False
    if _FEW.search(word) or re.search(r"config|setting|option", over, re.IGNORECASE):
        return False
    return _DATA.search(word) is not None or _SHORT_NAME.fullmatch(word) is not None


def is_few(over: str) -> bool:
    """Return whether the name of a list says that it grows with code or settings."""
    return _FEW.search(last_word(over)) is not None


_OF_ONE = lazy_regex(
    r"(segment|strateg(y|ie)|index|indice|idx|model|credential|route|endpoint|environment|scope|polic(y|ie)|plan|region|version"
    r"|variant|tool|source|sort_?order|existing_?order|key_?part)(_?ids?|_?names?|s|es)?$",
    re.IGNORECASE,
)


def is_short_by_nature(over: str) -> bool:
    """Return whether a list holds parts of one thing, or things of which an installation has dozens."""
    return _OF_ONE.search(last_word(over)) is not None


def is_queue(name: str) -> bool:
    """Return whether the name of a list says that work waits in it."""
    return _QUEUE.search(last_word(name)) is not None


def is_given(loop: Loop, facts: Facts) -> bool:
    """Return whether the caller of a function around gives the list, so that it may be long."""
    base = base_name(loop.over)
    return bool(base) and any(
        each.name == base for scope in facts.functions_around(loop) if scope.name for each in scope.parameters
    )


_KEYS = lazy_regex(
    r"(?:^|[._\"'\[(&!]|(?<=[a-z]))(id|uuid|guid|sku|email|e_?mail|url|ref|reference|isbn|ean|iban|phone|number|code|key|hash"
    r"|slug|address|username|plate|barcode|vin|zip)s?(?:\(\)|[\"'\])]|$)",
    re.IGNORECASE,
)


def is_key(text: str) -> bool:
    """Return whether an expression names what rows are told apart by: `row.email`, `order.getId()`."""
    return _KEYS.search(text.strip()) is not None


def is_in_steps(loop: Loop, facts: Facts) -> bool:
    """Return whether each round takes a batch: `for (let i = 0; i < n; i += 100)`."""
    return loop.kind == "count" and _STEP.search(facts.text(loop.head)) is not None


def is_over_data(loop: Loop, facts: Facts) -> bool:
    """Return whether a loop may have many rounds: it reads on, or its list grows with the data."""
    if loop.kind in ("while", "count", "endless") and _READS.search(facts.text(loop.head)):
        return True
    if is_data(loop.over) or _SOURCES.search(loop.over):
        return True
    named = _DATA if last_word(loop.over) in _NAMELESS else _ITEMS
    if not is_few(loop.over) and any(named.fullmatch(name.rpartition(" ")[2]) for name in loop.targets):
        return True
    base = base_name(loop.over)
    if base and not _FEW.search(loop.over) and _DATA.search(_type_of_items(base, loop, facts)):
        return True
    return any(
        each.value is not None and _SOURCES.search(each.value.text)
        for each in (facts.assignments_to(base, loop) if base else ())
        if not _FEW.search(loop.over)
    )


def _type_of_items(name: str, loop: Loop, facts: Facts) -> str:
    """Return the type of the items of a list that a caller gives: of `List<Payment> ours` Payment."""
    for scope in facts.functions_around(loop):
        if scope.name and any(each.name == name for each in scope.parameters):
            head = facts.text(scope.head)
            if "<" not in head and "[" not in head:
                return ""
            found = re.search(_TYPED.replace("NAME", name), head)
            return "" if found is None else next((each for each in found.groups() if each), "")
    return ""
