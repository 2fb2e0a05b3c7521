"""Regular expressions of matchers: whether Prometheus can read one, and whether it matches the empty text.

Prometheus reads RE2. What RE2 has and Python has not is taken as right, what RE2 has not is named.
"""

from __future__ import annotations

import re
import warnings

_UNCLASSED = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]", re.DOTALL)
"""Escapes and classes: what they hold is no operator."""
_REFUSED = (
    (re.compile(r"\(\?(?:=|!|<=|<!)"), "looking ahead or behind is not known to RE2"),
    (re.compile(r"\(\?>|\(\?\("), "this group is not known to RE2"),
    (re.compile(r"[*+?}][*+]|\*\*|\?\?\?"), "a repetition of a repetition is not known to RE2"),
)
_BACK_REFERENCE = re.compile(r"\\[1-9]|\(\?P=")
_ONLY_RE2 = re.compile(r"\\[pPzQEC]|\[\[?\^?:|\[.*?\[:|\(\?[a-zA-Z]*U|(?<!^)\(\?[ims-]+[:)]|\(\?<\w|\\x\{")


def problem_of_pattern(pattern: str) -> str | None:
    bare = _UNCLASSED.sub("a", pattern)
    for refused, why in _REFUSED:
        if refused.search(bare):
            return why
    if _BACK_REFERENCE.search(re.sub(r"\\\\", "", pattern)):
        return "a reference back to a group is not known to RE2"
    if _ONLY_RE2.search(pattern):
        return None
    try:
        _compiled(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    return None


def matches_empty(pattern: str) -> bool:
    """As Prometheus asks: from the first to the last character. False if Python cannot tell."""
    if _ONLY_RE2.search(pattern):
        return False
    return _compiled(pattern).fullmatch("") is not None


def _compiled(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern, re.DOTALL)
