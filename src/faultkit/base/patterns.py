"""Regular expressions of users and of documents, which must not be able to block the program.

RE2 has no lookarounds and no back references: patterns with them are wrong to it.
"""

from __future__ import annotations

from typing import Any


def compile_pattern(pattern: str) -> Any:
    """Compile a pattern. Raises ValueError if it is wrong.

    RE2, as in CEL, matches in linear time, so that no pattern and no text can block the program."""
    # Imported late: few files have patterns, and a stdio client waits for every import.
    import re2

    quiet = re2.Options()
    quiet.log_errors = False
    try:
        return re2.compile(pattern, quiet)
    except re2.error as error:
        why = error.args[0]
        raise ValueError(why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from None


def has_match(pattern: str, text: str) -> bool | None:
    """Return whether the pattern is found in a text; None if RE2 cannot read the pattern."""
    try:
        return compile_pattern(pattern).search(text) is not None
    except ValueError:
        return None
