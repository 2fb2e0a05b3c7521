"""Read a seed: a whole number or a text, from a document or from a command line.

Formats differ in what they accept, as their parameters say here; random numbers are `faultkit.base.rng`.
"""

from __future__ import annotations

from typing import TypeGuard

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError

SEED_FORM = "a whole number of at least 0 or a text"


def is_seed(value: object, *, negative: bool = False, empty: bool = False) -> TypeGuard[int | str]:
    """Return whether a value of a document is a seed.

    negative: whether numbers below 0 are accepted, as in chaos experiments
    empty:    whether an empty text is accepted"""
    if isinstance(value, str):
        return empty or value != ""
    return isinstance(value, int) and not isinstance(value, bool) and (negative or value >= 0)


def read_seed(value: object, *, negative: bool = False, empty: bool = False) -> int | str:
    """Return the seed in a document, or raise InputError; see `is_seed`."""
    if not is_seed(value, negative=negative, empty=empty):
        form = "a whole number or a text" if negative else SEED_FORM
        raise InputError("", f"expected {form}, got {shown(value)}")
    return value


def seed_of_text(text: str, longest: int | None = None) -> int | str:
    """Return the seed that a command line gives: digits are a number, as they are in a document.

    More than `longest` digits stay a text. Without a limit, more digits than Python reads as a number (4,300)
    raise ValueError."""
    is_number = text.isascii() and text.isdigit() and (longest is None or len(text) <= longest)
    return int(text) if is_number else text
