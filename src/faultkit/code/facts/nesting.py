"""Finds what stands around a place, among spans that are nested or apart, without looking at all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from faultkit.code.languages.syntax import Span


class Placed(Protocol):
    """Anything with a span."""

    @property
    def span(self) -> Span: ...


class Place(NamedTuple):
    """A place of a text at which no fact stands."""

    span: Span


P = TypeVar("P", bound=Placed)


def _span(item: Placed) -> Span:
    return item.span


class Nesting(Generic[P]):
    """Items of a text with, for each, the item around it. Items must not overlap in part."""

    def __init__(self, items: Iterable[P], span_of: Callable[[P], Span] = _span) -> None:
        placed = sorted(((span_of(each), each) for each in items), key=_order)
        self._items = [each for _, each in placed]
        self._starts = [start for (start, _), _ in placed]
        self._ends = ends = [end for (_, end), _ in placed]
        self._outer = list[int]()
        opened = list[int]()
        for at, end in enumerate(ends):
            while opened and ends[opened[-1]] < end:
                opened.pop()
            self._outer.append(opened[-1] if opened else -1)
            opened.append(at)

    def around(self, span: Span) -> list[P]:
        """Return the items that contain a span, the outermost first."""
        found, (start, end) = list[P](), span
        at = bisect_right(self._starts, start) - 1
        while at >= 0:
            if self._ends[at] >= end:
                found.append(self._items[at])
            at = self._outer[at]
        found.reverse()
        return found


def start_of(item: Placed) -> int:
    """Return the first byte of a fact, to search and sort by."""
    return item.span.start


def is_within(inner: Span, outer: Span) -> bool:
    """Return whether one span lies inside another."""
    return outer.start <= inner.start and inner.end <= outer.end


def _order(placed: tuple[Span, object]) -> tuple[int, int]:
    span, _ = placed
    return span.start, -span.end
