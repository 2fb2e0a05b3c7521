r"""Properties of characters in regular expressions: `\p{L}`, `\p{Lu}`, `\p{IsAlphabetic}`, `\p{Punct}`. Pure.

Categories are read from Unicode in the blocks where punctuation and spaces stand: Latin, general punctuation
and that of Chinese and Japanese. All other code points count as letters of no case, so that sets have few
ranges.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TypeAlias

from faultkit.base.patterns import lazy_regex

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Code points from and up to, both included, in order, without overlaps."""

_LAST = 0x10FFFF
_BLOCKS = ((0, 0x17F), (0x2000, 0x206F), (0x3000, 0x303F))
_PREFIX = lazy_regex(
    r"^(?:Is|In)(?=[A-Z])|^(?:gc|general_?category|sc|scx|script|script_?extensions)=", re.IGNORECASE
)
_CATEGORIES = {
    "letter": ("L",), "alphabetic": ("L",), "alpha": ("L",), "idstart": ("L",), "idcontinue": ("L", "M", "N"),
    "uppercaseletter": ("Lu",), "uppercase": ("Lu",), "upper": ("Lu",), "casedletter": ("Lu", "Ll", "Lt"),
    "lowercaseletter": ("Ll",), "lowercase": ("Ll",), "lower": ("Ll",), "l&": ("Lu", "Ll", "Lt"),
    "latin": ("L",), "greek": ("L",), "cyrillic": ("L",), "han": ("L",), "hiragana": ("L",), "arabic": ("L",),
    "katakana": ("L",), "hebrew": ("L",), "alnum": ("L", "N"), "mark": ("M",), "combiningmark": ("M",),
    "number": ("N",), "decimalnumber": ("Nd",), "digit": ("Nd",), "punctuation": ("P",), "punct": ("P", "S"),
    "symbol": ("S",), "separator": ("Z",), "spaceseparator": ("Zs",), "space": ("Z", "Cc"), "blank": ("Zs",),
    "whitespace": ("Z", "Cc"), "control": ("Cc",), "cntrl": ("Cc",), "other": ("C",),
    "ascii": ("L", "M", "N", "P", "S", "Z", "C"), "any": ("L", "M", "N", "P", "S", "Z", "C"),
}  # fmt: skip
"""Names of properties in small letters, each with the categories that come closest."""


@cache
def characters_with(name: str) -> Ranges:
    """Return the characters that have a property. Raises ValueError if its name is not known."""
    bare = re.sub(r"[\s_-]", "", _PREFIX.sub("", name.strip()))
    wanted = _CATEGORIES.get(bare.lower(), (bare,))
    if not all(re.fullmatch(r"[LMNPSZC][a-z]?", each) for each in wanted):
        raise ValueError("a property that is not known")
    is_letter = "L" in wanted
    found: list[tuple[int, int]] = []
    at = 0
    for low, high in _BLOCKS:
        found += [(at, low - 1)] if is_letter and low > at else []
        found += [
            (code, code)
            for code in range(low, high + 1)
            if unicodedata.category(chr(code)).startswith(wanted)
        ]
        at = high + 1
    return merged([*found, (at, _LAST)] if is_letter else found)


def merged(ranges: list[tuple[int, int]]) -> Ranges:
    """Return ranges in order, without overlaps."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)
