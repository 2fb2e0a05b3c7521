"""Bodies of answers that say that something failed, by their words: `{"message": "stock is not available"}`.

Only for code that runs after an error. What is asked from another source there is an answer of its own.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex

_LITERAL = lazy_regex(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`")
_FAILED = lazy_regex(
    r"\bfail|\berror|unavailable|\bunable\b|\bcould(?:n.?t| not)\b|\bcan(?:not|'t)\b|went wrong|\bproblem"
    r"|\btimed? ?out\b|\btry (?:it )?(?:again|later)"
    r"|\bnot (?:be|available|possible|processed|reachable|responding)\b"
    r"|\bexception\b|\bdown\b|\brejected\b|\brefused\b|\bdeclined\b",
    re.IGNORECASE,
)
_ERROR = r"(?:e|ex|exc|err|error|cause|exception|it)"
_TEXT_OF_ERROR = lazy_regex(
    rf"\b(?:str|repr|format)\({_ERROR}\)|\b{_ERROR}\??\.(?:message|Message|getMessage\(\)"
    r"|getLocalizedMessage\(\)|localizedMessage|Error\(\)|to_string\(\)|toString\(\))"
)
_MADE_OF_ERROR = lazy_regex(r"(?:^|[._:])\w*(?:[eE]rror|[fF]ail(?:ed|ure)?)\w*$")
_CALLEE = lazy_regex(r"([\w.:!]+)\s*(?:<[\w<>?, ]*>)?\s*[({]")
_PLAIN = frozenset(
    (
        "json", "send", "jsonify", "ok", "status", "body", "build", "of", "into", "into_response",
        "to_string", "to_owned", "to", "mapOf", "listOf", "emptyList", "emptyMap", "singletonMap", "str",
        "repr", "dumps", "stringify", "getMessage", "getLocalizedMessage", "toString", "format", "respond",
        "respondText", "now", "entity", "json_response", "new", "write", "print", "println", "end", "jsonp",
        "dict", "isoformat", "time", "getId", "writeAsString", "buildJsonObject", "put", "dto", "code",
        "Errorf", "Sprintf", "error", "json!", "format!", "vec!", "return", "await", "async", "if", "else",
        "when",
    )
)  # fmt: skip
"""Calls that put a body together, and ask nothing."""
_LONGEST = 600


def says_failure(text: str) -> bool:
    """Return whether an expression says in words that something failed, and asks for nothing else."""
    if len(text) > _LONGEST:
        return False
    said = any(_is_said(found, text) for found in _LITERAL.finditer(text))
    calls = _callees(text)
    said = said or _TEXT_OF_ERROR.search(text) is not None or any(map(_MADE_OF_ERROR.search, calls))
    return said and all(map(_is_plain, calls))


def asks_nothing(text: str) -> bool:
    """Return whether an expression only puts a body together: no other source is asked for its parts."""
    return all(map(_is_plain, _callees(text)))


def _callees(text: str) -> list[str]:
    return _CALLEE.findall(_LITERAL.sub("''", text))


def _is_said(found: re.Match[str], text: str) -> bool:
    literal = next((part for part in found.groups() if part is not None), "")
    if literal.startswith(("/", "http")) or _FAILED.search(literal) is None:
        return False
    # Keys: `"error": …`, `"error" to …`, `"error", …`
    after = text[found.end() : found.end() + 8].lstrip()
    is_key = after.startswith((":", "to ", "=>")) or (literal.isidentifier() and after.startswith(","))
    return not is_key


def _is_plain(callee: str) -> bool:
    last = re.split(r"[.:]+", callee)[-1]
    return last in _PLAIN or last[:1].isupper() or _MADE_OF_ERROR.search(callee) is not None
