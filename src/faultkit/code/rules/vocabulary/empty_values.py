"""Values that hold nothing: what code gives in place of an answer that it did not get."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex

_NOTHING = (
    r"(?:\[\]|\{\}|\(\)|None|null|nil|undefined|0|0L|0\.0|\"\"|''|``|false|False|empty\w+(?:<[^<>]*>)?\(\)"
    r"|\w*[a-z]Of(?:<[^<>]*>)?\(\)|(?:List|Set|Map|Optional)\.(?:of|empty)\(\)|Collections\.empty\w+\(\)"
    r"|Vec::new\(\)|vec!\[\]|new\s+\w+(?:<[^<>]*>)?\(\)|Array\.Empty<[^<>]*>\(\)|\[\][\w.*]+\{\}|list\(\)|dict\(\))"
)
_FIELD = rf"(?:[\"'\w]+\s*[=:]\s*)?{_NOTHING}"
_FIELDS = rf"{_FIELD}(?:\s*,\s*{_FIELD})*\s*,?"
_MADE = lazy_regex(
    rf"^(?:&?(?:new\s+)?[A-Z]\w*(?:(?:\.|::)\w+)*(?:<[^<>]*>)?\s*\(\s*{_FIELDS}\s*\)"
    rf"|(?:&?[A-Za-z]\w*(?:(?:\.|::)\w+)*\s*)?\{{\s*(?:{_FIELDS})?\s*\}}"
    rf"|\(?{_FIELD}(?:\s*,\s*{_FIELD})+\)?"
    r"|[A-Z]\w*(?:<[^<>]*>)?(?:\.|::)(?:empty|Empty|EMPTY|default|NONE)(?:\(\))?)$"
)
_LIST = lazy_regex(
    r"\[\]|\{\}|\bempty|\bEmpty|EMPTY|Of(?:<[^<>]*>)?\(\)|\.of\(\)|vec!|Vec::|\bnil\b|list\(\)|default\b"
)


_SAYS_FAILED = lazy_regex(
    r"(?i)\b(?:is_?)?(?:ok|success|successful|succeeded|valid|available|healthy|loaded)[\"']?\s*[=:]\s*false\b"
)
"""A field by which an object says that it is no answer."""


def says_failed(text: str) -> bool:
    """Return whether an object says of itself that it is no answer: `{ ok: false, items: [] }`."""
    return _SAYS_FAILED.search(text) is not None


def is_made_of_nothing(text: str) -> bool:
    """Return whether an expression makes an object of empty parts: `FarePage(emptyList(), null)`."""
    if len(text) > 200 or says_failed(text):
        return False
    return _MADE.match(text) is not None and _LIST.search(text) is not None


_EMPTY_LIST = lazy_regex(
    r"^(?:\[\]|\(\)|list\(\)|set\(\)|new (?:List|Array|ArrayList|HashSet|Set)\b.*|Array\.Empty<.*>\(\)"
    r"|Enumerable\.Empty<.*>\(\)"
    r"|Collections\.empty(?:List|Set)\(\)|(?:List|Set|Stream)\.(?:of|empty)\(\)|empty(?:List|Set)(?:<[^<>]*>)?\(\)"
    r"|(?:mutable)?[lL]istOf(?:<[^<>]*>)?\(\)|setOf(?:<[^<>]*>)?\(\)|\[\][\w.*]+\{\}|make\(\[\].*, 0\)"
    r"|Vec::new\(\)|vec!\[\]"
    r"|Vec::default\(\)|Default::default\(\)|Page\.empty\(\)|Flux\.empty\(\))$",
    re.DOTALL,
)


def is_empty_list(text: str) -> bool:
    """Return whether an expression is a list of nothing, or an object that holds only such."""
    bare = text.strip()
    return _EMPTY_LIST.match(bare) is not None or is_made_of_nothing(bare)
