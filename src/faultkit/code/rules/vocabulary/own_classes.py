"""Classes of a project that have the plain name of a class of a library."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts

_PACKAGE = lazy_regex(rb"^package\s+[\w.]+", re.MULTILINE)


def is_of_own_package(call: Call, facts: Facts) -> bool:
    """Return whether a call makes an object of a class that a file of Java or Kotlin does not import.

    The imports of a file that states its package are complete: what is not among them is of that package.
    """
    if facts.language not in ("java", "kotlin") or not facts.imports.names:
        return False
    head = call.written.partition(".")[0].partition("(")[0]
    if not head[:1].isupper() or head in facts.imports.names or call.name.startswith(head):
        return False
    package = call.name.partition(f".{head}")[0]
    if package.startswith("java.lang") or package in facts.imports.modules:
        return False
    return _PACKAGE.search(facts.syntax.source) is not None
