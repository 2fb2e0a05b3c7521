"""Functions and types that stand in for others in tests, outside of files of tests."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.facts.facts import Placed

_DOUBLE = lazy_regex(r"mock|fake|stub", re.IGNORECASE)
IS_FAKE = lazy_regex(r"Memory|Mock|Fake|Stub|Spy|Dummy|^Test|Tests?$")
"""Names of types that stand in for others in tests, and keep everything on purpose."""


def is_of_test_double(place: Placed, facts: Facts) -> bool:
    """Return whether the function around a place, or its type, is one for tests by its name."""
    scope = facts.named_function_of(place)
    return scope is not None and _DOUBLE.search(f"{scope.owner} {scope.short_name}") is not None
