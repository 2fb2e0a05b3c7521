"""Short texts for people: one-line forms of arbitrary text, counts with nouns, lists, "did you mean". Pure.

The one-line forms differ in what becomes of the rest: `printable_line` drops what is not printable,
`escaped_line` shows it as escapes, `untrusted_line` keeps only words and ASCII punctuation, and `one_line`
changes nothing but white space. Numbers alone are the matter of `faultkit.base.numbers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NOT_PLAIN = re.compile(r"[^\w!-~€£]+")
_LONGEST_UNTRUSTED = 200
_UNSEEN = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def one_line(text: str) -> str:
    """Return the text on one line: each run of white space becomes one blank."""
    return " ".join(text.split())


def printable_line(text: str) -> str:
    """Return the text on one line without unprintable characters, which could control a terminal."""
    return one_line("".join(c if c.isprintable() else " " for c in text))


def printable_lines(text: str) -> str:
    """Return text of many lines without characters that control a terminal or change the text direction."""
    return "".join(char if char.isprintable() or char in "\t\n" else "\ufffd" for char in text)


def escaped_line(text: str) -> str:
    """Return the text on one line, with line ends and control characters shown as escape sequences."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def has_utf8(text: str) -> bool:
    """Return whether a text has a UTF-8 encoding: half of a surrogate pair, which JSON can write and which
    stands for a byte of a command line that is no UTF-8, has none."""
    return text.isascii() or _HALF_PAIR.search(text) is None


def with_utf8(text: str) -> str:
    """Return the text with U+FFFD in place of each half of a surrogate pair."""
    return text if text.isascii() else _HALF_PAIR.sub("\ufffd", text)


def untrusted_line(text: str) -> str:
    """Return the beginning of a text from another program as one line of words and ASCII punctuation."""
    # Of a huge text only the beginning is searched.
    plain = _NOT_PLAIN.sub(" ", text[: 4 * _LONGEST_UNTRUSTED]).strip()
    return plain if len(plain) <= _LONGEST_UNTRUSTED else f"{plain[:_LONGEST_UNTRUSTED]}…"


def escaped_json(written: str) -> str:
    """Return JSON with escapes for the characters that it allows, but that control terminals, break YAML or
    UTF-8, or are invisible."""
    return written if written.isascii() else _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def shortened(text: str, longest: int) -> str:
    """Return the text in at most `longest` characters; `…` marks what is left out at its end."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, thousands apart, for prose: `1 request`, `1,200 requests`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, digits only, for fixed formats: `1 error`, `1200 errors`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def and_list(parts: Sequence[str]) -> str:
    """Return the parts as a list in a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def close_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return up to `most` known names that are similar to `name`, the most similar first."""
    # Imported on the first mistake only: commands start faster without it.
    from difflib import get_close_matches

    return get_close_matches(name, list(known), n=most)


def did_you_mean(name: str, known: Iterable[str], quote: str = '"') -> str:
    """Return `; did you mean "near"?` to append to an error message, or an empty text."""
    near = close_names(name, known)
    return f"; did you mean {quote}{near[0]}{quote}?" if near else ""
