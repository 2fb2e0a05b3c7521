"""Lists that are short by nature, of which a task for each item is no flood.

They are written out, kept by the object, made of constants, or named after what an installation has few
of. Rows of a query, parts of a request and lines of a file are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.fact_values import Value
from faultkit.code.rules.vocabulary.concurrency_limits import ALL_PARTS

_MAPS = lazy_regex(r"\.(map|flatMap|Select)\s*(<[^()]*>)?\(")
_HELD = lazy_regex(r"&?(self|this)\.[\w.]+?(\.(iter|into_iter|keys|values|items|entries)\(\))?")
"""Members, which are set with the object and few; what a method of theirs returns is not."""
_FEW_NAMES = lazy_regex(
    r"(node|broker|plugin|package|callback|address(e)?|listener|hook|process(e)?|prefix(e)?|module|middleware|handler"
    r"|shard|replica|peer|backend|provider|region|server|interface|stat|component|extension|service|listener"
    r"|migration|stage|adapter|driver|engine|field|column|arg|param|dep|child(ren)?|connection|carrier|gateway"
    r"|exchange|mirror|upstream|check)s?(_by_\w+)?$",
    re.IGNORECASE,
)
"""Names of things of which a program has few."""
_FEW_ITEMS = lazy_regex(
    r"(?:^|_|(?<=[a-z]))(?:broker|role|socket|stat|process|shard|replica|node|peer|region|fork|ws|port_?pair|conn|connection|client"
    r"|websocket)(?:_?ids?|_?names?)?$",
    re.IGNORECASE,
)
"""Names of items of which there are few, or that are open connections, which others limit."""


def are_few(items: Iterable[str]) -> bool:
    """Return whether the names of the items of a loop say that there are few."""
    first = next((each.rpartition(" ")[2] for each in items if each not in ("_", "i", "index")), "")
    return _FEW_ITEMS.search(first) is not None


_MADE_HERE = lazy_regex(
    r"(?:\w+\.)*_?(?:generate|create|make|build|split|chunk|range|repeat)\w*\("
    r"|\[\]$|list\(\)$|\{\}$|new \w+<?.*\(\)$",
    re.IGNORECASE,
)
_ONE_ANSWER = lazy_regex(r"(?:await\s+)?(?:axios|fetch|got|ky|requests|httpx)\b", re.IGNORECASE)
"""What is asked of another service comes in pages, whose size that service limits."""
_GROUPED = lazy_regex(r"(?:\b|_)[gG]roup(?:ed)?_?[bB]y\w*\(")


def may_be_many(source: str, call: Call, facts: Facts) -> bool:
    """Return whether items are loaded, received or given, so that nothing here limits how many there are."""
    if _GROUPED.search(facts.text(call.span)) or any(
        are_few(loop.targets) for loop in facts.loops_around(call)
    ):
        return False
    name = re.match(r"[&*\s]*(?:range\s+)?(?:Object\.\w+\(\s*)?([A-Za-z_]\w*)", source)
    if name is None:
        return True
    values = [
        each.value.text.strip()
        for each in facts.assignments_to(name[1], call)
        if each.value is not None and name[1] in each.targets
    ]
    return not values or not all(
        _MADE_HERE.match(text) or _ONE_ANSWER.match(text) or _GROUPED.search(text) for text in values
    )


_LOADED = lazy_regex(r"(?:\(?\s*await|yield)\b|.*\.await\b", re.DOTALL)
_WITH_CONTEXT = lazy_regex(r"[\w.]+\(\s*\w*[cC]tx\b")


def are_loaded(source: str, call: Call, facts: Facts) -> bool:
    """Return whether the items come from outside the process: what gives them is awaited, or takes a context.

    A list that a caller in another file gives is none."""
    name = re.match(r"[&*\s]*([A-Za-z_]\w*)", source)
    if name is None or source == ALL_PARTS:
        return True
    made = [each for each in facts.assignments_to(name[1], call) if each.value is not None]
    return any(
        _LOADED.match(each.value.text) or _WITH_CONTEXT.match(each.value.text)
        for each in made
        if each.value is not None and each.scope is not None
    )


def is_few(source: str, call: Call, facts: Facts) -> bool:
    """Return whether the number of items is fixed: a literal, a constant, or a member of the object."""
    bare = re.sub(r"\.(iter|into_iter|keys|values|items|entries|filter)\(.*", "", source, flags=re.DOTALL)
    bare = re.sub(r"^Object\.\w+\((.*)\)$", r"\1", bare, flags=re.DOTALL)
    own = facts.in_words_of(call, "self.")
    # A variable of the function goes before a field of the same name.
    is_local = any(each.scope is not None for each in facts.assignments_to(bare, call))
    if bare.startswith(own) or (not is_local and f"self.{bare}" in facts.file_names):
        bare = f"self.{bare.removeprefix(own)}"
    if _is_known(source) or _HELD.fullmatch(bare) or _FEW_NAMES.search(bare):
        return True
    if not source.isidentifier():
        return False
    return any(
        _is_fixed(each.value, call, facts)
        for each in facts.assignments_to(source, call)
        if each.value is not None
    )


def _is_fixed(value: Value, call: Call, facts: Facts) -> bool:
    """Return whether a list is written out, a table of constants, or made of such item by item."""
    text = value.text.strip()
    if _OF_CONSTANT.fullmatch(text) or _OF_MEMBER.fullmatch(text):
        return True
    if value.shape != "list" or text in ("[]", "()"):
        return False
    if _MADE_OF.search(text):
        made_of = iterated(text.rstrip(")]} \n"))
        return re.search(r"\bfor\b", text) is not None and _is_known(made_of)
    return True


_OF_MEMBER = lazy_regex(
    r"(?:list|sorted|tuple|set|frozenset|Array\.from)\(\s*(?:self|this)\.[\w.#]+(?:\.(?:get|values|keys|items)\([^()]*(?:\(\))?\))?\s*\)"
    r"|\[\s*\.\.\.this\.[\w.#]+(?:\.(?:values|keys)\(\))?\s*\]|(?:self|this)\.[\w.#]+\.(?:values|keys|copy|ToArray|toList)\(\)"
)
"""A copy of what the object keeps: `list(self._members.get(room, ()))`."""
_MADE_OF = lazy_regex(r"\bfor\b|\.\.\.|(?<![\w\s)\]])\s*\*\w")
"""Lists that are made of others: `[Item(row) for row in rows]`, `[...known, ...found]`."""
_OF_CONSTANT = lazy_regex(
    r"(?:Object\.(?:entries|keys|values)|list|sorted|tuple|Array\.from)\(\s*(?:\w+\.)*[A-Z][A-Z0-9_]+(?:\.\w+\(\))?\s*\)"
    r"|(?:\w+\.)*[A-Z][A-Z0-9_]+(?:\.\w+(?:\(\))?)?"
)
"""The entries of a table of constants: `Object.entries(BACKENDS)`."""


def _is_known(over: str) -> bool:
    """Return whether the number is fixed: a literal, a constant, or a range of numbers."""
    return (
        re.fullmatch(
            r"[\[({].*[\])}]|([\w.]+\.)?[A-Z][A-Z0-9_]*|\d+\.\.=?\w+|range\(.*"
            r"|Enumerable\.Range\(.*|Array\.from\(\s*\{\s*length.*|(?:new )?Array\(\d.*"
            r"|(?:_|lodash)\.(?:times|range)\(.*",
            over,
            re.DOTALL,
        )
        is not None
    )


def iterated(given: str) -> str:
    """Return what the items come from, without what is done with each of them."""
    mapped = _MAPS.search(given)
    if mapped is not None:
        return given[: mapped.start()].strip()
    return given.rpartition(" in ")[2].strip(" )]}\n")
