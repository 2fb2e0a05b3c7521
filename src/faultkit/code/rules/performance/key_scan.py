"""Finds scans of all keys in Redis."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, KOTLIN, LIKELY, PYTHON, RUST, Hit, Rule

_PATTERN = lazy_regex(r"(^|_|[a-z.])(pattern|glob)$", re.IGNORECASE)
_OWNER = lazy_regex(r"redis|jedis|(^|[._])(rdb|cache|store)$", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("keys", "Keys", "KEYS"):
        if _has_pattern(call, facts) and (
            _OWNER.search(call.receiver) or _OWNER.search(call.receiver_written)
        ):
            yield Hit(
                call.span, f"{call.written}() goes through every key while all other clients wait", LIKELY
            )


def _has_pattern(call: Call, facts: Facts) -> bool:
    """Return whether a pattern is given, also in a variable of this text or by a name that says so."""
    for each in call.positional:
        if each.value.shape == "name":
            values = [made.value for made in facts.assignments_to(each.value.text, call)]
            if any(value is not None and "*" in value.text for value in values):
                return True
            if not values and _PATTERN.search(each.value.text):
                return True
        elif "*" in each.value.text and each.value.shape in ("text", "other", "call"):
            return True
    return False


RULE = Rule(
    id="FK-P025",
    slug="key-scan",
    title="Scan of all keys",
    why="Redis does one thing at a time: while it scans millions of keys, every other client waits.",
    fix="Keep a set or sorted set of what you look for, or go through the keys with SCAN.",
    kind="performance",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *KOTLIN, *RUST),
    check=_check,
)
