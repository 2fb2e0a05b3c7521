"""What waits in one way of a connection: released in the order in which it came, and never early."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Hashable, Mapping
from typing import Any, TypeAlias

from faultkit.faults.events import Data, Event, moved

Delays: TypeAlias = Mapping[Any, float]
"""Seconds by the rule that adds them."""

NO_DELAYS: Delays = {}


class HeldEvents:
    """A queue of events, each with the delays of rules. What is not delayed waits behind what is."""

    __slots__ = ("_items", "_last_at", "held_bytes")

    def __init__(self) -> None:
        self._items: deque[tuple[Event, Delays]] = deque()
        self._last_at = 0.0
        self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._items)

    def put(self, event: Event, delays: Delays = NO_DELAYS) -> None:
        """Append an event that is due as soon as its delays are over."""
        self._items.append((event, delays))
        if isinstance(event, Data):
            self.held_bytes += len(event.payload)

    @property
    def next_at(self) -> float:
        """When the next event is due; infinity if there is none."""
        if not self._items:
            return math.inf
        event, delays = self._items[0]
        return max(self._last_at, event.at + sum(delays.values()))

    def release(self, now: float) -> list[Event]:
        """Return what is due by now, with the times at which it was due."""
        out: list[Event] = []
        while self._items and (at := self.next_at) <= now:
            event, _ = self._items.popleft()
            self._last_at = at
            if isinstance(event, Data):
                self.held_bytes -= len(event.payload)
            out.append(moved(event, at))
        return out

    def end_rules(self, acting: Collection[Hashable], now: float) -> None:
        """Take off the delays of rules that act no more; what only they held back is due now."""
        if any(rule not in acting for _, delays in self._items for rule in delays):
            self._last_at = max(self._last_at, now)
            self._items = deque(
                (event, {rule: s for rule, s in delays.items() if rule in acting})
                for event, delays in self._items
            )
