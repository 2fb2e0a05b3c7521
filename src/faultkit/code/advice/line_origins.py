"""Lines of a changed text, and the lines of the old text that they stand for. Pure."""

from __future__ import annotations

import re

from faultkit.code.changes.change import line_differences, lines_of

_WORD = re.compile(r"\w+")


def line_origins(old: str, new: str) -> list[int]:
    """Return for each line of the new text the line of the old one that it stands for, both from 0.

    A line that is new stands for the removed line with which it has most words in common; if it has none in
    common with any, for the line that stands in its place.
    """
    before, after = lines_of(old), lines_of(new)
    parts = list(line_differences(old, new))
    removed = [(at, _words(before[at])) for first, last, _, _ in parts for at in range(first, last)]
    origins, at = list[int](), 0
    for first, last, new_first, new_last in parts:
        origins += range(at, first)
        for number, line in enumerate(after[new_first:new_last]):
            in_place = min(first + number, max(last - 1, first), max(len(before) - 1, 0))
            origins.append(_nearest(_words(line), removed, in_place))
        at = last
    return [*origins, *range(at, len(before))]


def _nearest(words: frozenset[str], removed: list[tuple[int, frozenset[str]]], in_place: int) -> int:
    common = max(removed, key=lambda each: (len(words & each[1]), -abs(each[0] - in_place)), default=None)
    return in_place if common is None or not words & common[1] else common[0]


def _words(line: str) -> frozenset[str]:
    return frozenset(_WORD.findall(line))
