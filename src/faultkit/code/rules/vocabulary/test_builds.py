"""Code that only builds for tests or debugging have: `#[cfg(feature = "test_mode")]`, `#if DEBUG`."""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.code.facts import Facts
from faultkit.code.facts.facts import Placed

_CONDITION = re.compile(r"#\[cfg\(([^\]]*)\)\]\s*")
_OF_TESTS = re.compile(r"\b(?:test|debug_assertions)\b|\"[\w-]*(?:test|mock|dev)[\w-]*\"")
_DEBUG_REGION = re.compile(r"^[ \t]*#if DEBUG\b.*?^[ \t]*#(?:else|elif|endif)\b", re.MULTILINE | re.DOTALL)
_STATEMENT = 4000
"""Characters of a statement that are examined at most."""


def is_for_tests(place: Placed, facts: Facts) -> bool:
    """Return whether a condition of the compiler leaves a place out of the builds that are released."""
    if facts.language not in ("rust", "csharp"):
        return False
    return any(start <= place.span.start < end for start, end in _regions(facts))


@lru_cache(maxsize=4)
def _regions(facts: Facts) -> tuple[tuple[int, int], ...]:
    """Return the bytes of statements and blocks that only builds for tests have."""
    text = facts.whole_text
    if facts.language == "csharp":
        found = [(each.start(), each.end()) for each in _DEBUG_REGION.finditer(text)]
    else:
        found = [
            (each.end(), _end_of_statement(text, each.end()))
            for each in _CONDITION.finditer(text)
            if _OF_TESTS.search(each[1]) and "not(" not in each[1]
        ]
    return tuple((len(text[:start].encode()), len(text[:end].encode())) for start, end in found)


def _end_of_statement(text: str, start: int) -> int:
    """Return where a statement or block of Rust ends that begins at a place."""
    depth = 0
    for at in range(start, min(len(text), start + _STATEMENT)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth < 0 or (depth == 0 and text[at] == "}" and _ends_block(text, at)):
                return at
        elif depth == 0 and text[at] in ";,":
            return at
    return start


def _ends_block(text: str, at: int) -> bool:
    """Return whether a closing brace ends its statement: nothing goes on with what is before it."""
    return text[at + 1 : at + 40].lstrip()[:1] not in (".", "?", ";")
