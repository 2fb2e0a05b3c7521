"""The ledger of a proxy: what the upstream did, and whether the client got to know of it. Pure.

It counts the requests that are covered by a rule which may hide answers (`http_lost_reply`, `http_error` with
`call_upstream`), so that a test can show that something was done twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from faultkit.proxy.plane_events import masked_target

MOST_LINES = 1000
OTHERS = "(others)"
"""The target under which requests are counted once the ledger is full."""


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One request line with one status of the upstream."""

    method: str
    target: str
    """With its secrets masked."""
    status: int
    done: int
    """How often the upstream answered it so."""
    lost: int
    """How many of these answers the client did not get."""


class Ledger:
    """The lines of one proxy, in the order in which they first occurred. Used in the loop's thread."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int], list[int]] = {}

    def add(self, method: str, target: str, status: int, *, lost: bool) -> None:
        """Count one answer of the upstream."""
        key = (method, target, status)
        if key not in self._counts and len(self._counts) >= MOST_LINES:
            key = (method, OTHERS, status)
        counts = self._counts.setdefault(key, [0, 0])
        counts[0] += 1
        counts[1] += lost

    def lines(self) -> tuple[LedgerLine, ...]:
        """Return the lines; targets that differ only in what is masked are one."""
        lines = (LedgerLine(m, masked_target(t), s, *counts) for (m, t, s), counts in self._counts.items())
        return merged_lines(lines)


def merged_lines(lines: Iterable[LedgerLine]) -> tuple[LedgerLine, ...]:
    """Add up lines of the same request and status."""
    found: dict[tuple[str, str, int], LedgerLine] = {}
    for line in lines:
        key = (line.method, line.target, line.status)
        known = found.get(key)
        found[key] = (
            line
            if known is None
            else replace(known, done=known.done + line.done, lost=known.lost + line.lost)
        )
    return tuple(found.values())


def lines_since(now: Iterable[LedgerLine], before: Iterable[LedgerLine]) -> tuple[LedgerLine, ...]:
    """Return what was added to a ledger after `before`."""
    taken = (replace(line, done=-line.done, lost=-line.lost) for line in before)
    return tuple(line for line in merged_lines((*now, *taken)) if line.done)
