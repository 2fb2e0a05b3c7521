"""Facts as a sequence, each of which is made when it is looked at.

A text has more reads of names and more literals than anything else, and rules look at few of them: at those
in a loop, in a handler of errors, in what is logged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

from faultkit.code.languages.syntax import Node, Span

F = TypeVar("F")
_Raw = tuple[Any, ...]
"""A node, and what else a fact is made of."""


class MadeLater(Sequence[F]):
    """Facts of a text, in its order."""

    def __init__(self, raw: Sequence[_Raw], make: Callable[[Any], F]) -> None:
        self._raw = raw
        self._make = make
        self._made: dict[int, F] = {}

    def __len__(self) -> int:
        return len(self._raw)

    def within(self, span: Span) -> Iterator[F]:
        """Yield the facts inside a span; others are not made."""
        first = bisect_left(self._raw, span.start, key=_start)
        for place in range(first, len(self._raw)):
            node: Node = self._raw[place][0]
            if node.start_byte >= span.end:
                return
            if node.end_byte <= span.end:
                yield self[place]

    def where(self, may_be: Callable[[int, int], bool]) -> Iterator[F]:
        """Yield the facts whose first and last byte pass a test; others are not made."""
        for place, raw in enumerate(self._raw):
            if may_be(raw[0].start_byte, raw[0].end_byte):
                yield self[place]

    @overload
    def __getitem__(self, place: int) -> F: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[F]: ...
    def __getitem__(self, place: int | slice) -> F | Sequence[F]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self._raw)))]
        made = self._made.get(place)
        if made is None:
            made = self._made[place] = self._make(self._raw[place])
        return made


def _start(raw: _Raw) -> int:
    node: Node = raw[0]
    return node.start_byte
