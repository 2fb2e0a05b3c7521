"""The chain of filters on one direction of one connection. Pure: time comes in as an argument.

            ┌ queue ┐            ┌ queue ┐            ┌ queue ┐
    feed ──▶│ input │─▶ filter ─▶│ held  │─▶ filter ─▶│ held  │──▶ advance(now) gives what is due
            └───────┘            └───────┘            └───────┘

A filter never waits: it returns events with a later `at`, and the queue behind it keeps them until then. What
is in flight thus sits between the filters, one queue a rule, and that makes live changes exact: when a rule
is removed, the bytes it held back go on at once to the next filter, and bytes that another rule holds back
stay where they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from faultkit.faults.events import Data, Event, brought_forward, moved
from faultkit.faults.fault import FOREVER, StreamFilter
from faultkit.faults.stream_filters import DelayFilter

Key = TypeVar("Key", bound=Hashable)

READ_SIZE = 262144
"""Bytes that are read at a time where no filter asks for less."""


class Stage(Generic[Key]):
    """One filter and the events that it holds back. `key` identifies its rule."""

    __slots__ = ("due", "filter", "held", "key")

    def __init__(self, key: Key, filter: StreamFilter) -> None:
        self.key = key
        self.filter = filter
        self.due = filter.due if isinstance(filter, DelayFilter) else None
        """What gives the time of bytes, if the filter only delays: compiled code then makes one event."""
        self.held: deque[Event] = deque()


class FilterChain(Generic[Key]):
    """A chain of stages. It releases nothing before its time and keeps the order of what it is fed."""

    __slots__ = ("blind", "held_bytes", "incoming", "read_size", "sole", "stages")

    def __init__(self) -> None:
        self.incoming: deque[Event] = deque()
        self.stages: list[Stage[Key]] = []
        self.sole: Stage[Key] | None = None
        """The stage, if there is exactly one."""
        self.held_bytes = 0
        self.read_size = READ_SIZE
        self.blind = True
        """True if no filter looks at the bytes: they may be any payload that has a length."""

    @property
    def idle(self) -> bool:
        """True if no filter acts and nothing is held: bytes may pass around this chain."""
        return not self.stages and not self.incoming

    def feed(self, event: Event) -> None:
        """Put an event into the chain."""
        self._enqueue(self.incoming, event)

    def ready_at(self) -> float:
        """Return the instant before which no filter wants more input."""
        ready_at = 0.0
        for stage in self.stages:
            if stage.filter.ready_at > ready_at:
                ready_at = stage.filter.ready_at
        return ready_at

    def next_at(self) -> float:
        """Return when `advance` has something to do, if nothing new is fed."""
        next_at = self.incoming[0].at if self.incoming else FOREVER
        for stage in self.stages:
            if stage.held and stage.held[0].at < next_at:
                next_at = stage.held[0].at
            if stage.filter.wake_at < next_at:
                next_at = stage.filter.wake_at
        return next_at

    def advance(self, now: float) -> list[Event]:
        """Move everything that is due by `now`, in the order of time, and return what leaves the chain."""
        out: list[Event] = []
        stages, incoming = self.stages, self.incoming
        if not stages:
            while incoming and incoming[0].at <= now:
                out.append(self._dequeue(incoming))
            return out
        while True:
            # The earliest first; of equals the one nearest to the exit, which makes room for the rest.
            source, earliest, is_wake = len(stages), FOREVER, False
            for index in range(len(stages) - 1, -1, -1):
                stage = stages[index]
                if stage.held and stage.held[0].at < earliest:
                    source, earliest, is_wake = index, stage.held[0].at, False
                if stage.filter.wake_at < earliest:
                    source, earliest, is_wake = index, stage.filter.wake_at, True
            if self.incoming and self.incoming[0].at < earliest:
                source, earliest, is_wake = -1, self.incoming[0].at, False
            if earliest > now or earliest == FOREVER:
                return out
            if is_wake:
                stage = stages[source]
                for event in stage.filter.wake(earliest):
                    self._enqueue(stage.held, event)
                continue
            event = self._dequeue(self.incoming if source < 0 else stages[source].held)
            if source + 1 == len(stages):
                out.append(event)
                continue
            stage = stages[source + 1]
            for given in stage.filter.feed(event):
                self._enqueue(stage.held, given)

    def rebind(
        self, keys: Sequence[Key], open_filter: Callable[[Key], StreamFilter], now: float
    ) -> list[Event]:
        """Let exactly the rules of `keys` act from now on, and return what was due until now.

        A rule that stays keeps its filter. What a removed rule held back is due now, ahead of all
        that stood behind it, and meets whatever filter comes next, a new one included.
        """
        if not self.stages and not self.incoming:
            self._set_stages([Stage(key, open_filter(key)) for key in keys])
            return []
        out = self.advance(now)
        kept = self._in_order(keys)
        queue = self.incoming
        for stage in self.stages:
            if stage.key in kept:
                queue = stage.held
                continue
            freed = [self._dequeue(stage.held) for _ in range(len(stage.held))]
            freed += stage.filter.finish(now)
            rest = [self._dequeue(queue) for _ in range(len(queue))]
            for event in freed:
                self._enqueue(queue, moved(event, now))
            for event in rest:
                self._enqueue(queue, event)
        self._set_stages([kept.get(key) or Stage(key, open_filter(key)) for key in keys])
        return out

    def _set_stages(self, stages: list[Stage[Key]]) -> None:
        self.stages = stages
        self.sole = None
        if len(stages) == 1:
            self.sole = stages[0]
            self.read_size, self.blind = stages[0].filter.read_size, stages[0].filter.blind
            return
        self.read_size = min((stage.filter.read_size for stage in stages), default=READ_SIZE)
        self.blind = all(stage.filter.blind for stage in stages)

    def bring_forward(self, by_s: float, now: float) -> None:
        """Let what was fed for a later time come in earlier, but not before now."""
        for place, event in enumerate(self.incoming):
            self.incoming[place] = moved(event, brought_forward(event.at, by_s, now))

    def change_payloads(self, change: Callable[[bytes], bytes]) -> None:
        """Replace the held payloads by others of the same sizes, in the order of leaving."""
        for queue in (*(stage.held for stage in reversed(self.stages)), self.incoming):
            for place, event in enumerate(queue):
                if isinstance(event, Data):
                    queue[place] = Data(event.at, change(event.payload))

    def _in_order(self, keys: Sequence[Key]) -> dict[Key, Stage[Key]]:
        """Return the stages that can stay: wanted, and in the same order as before."""
        places = {key: place for place, key in enumerate(keys)}
        kept: dict[Key, Stage[Key]] = {}
        last = -1
        for stage in self.stages:
            place = places.get(stage.key, -1)
            if place > last:
                kept[stage.key] = stage
                last = place
        return kept

    def _enqueue(self, queue: deque[Event], event: Event) -> None:
        if isinstance(event, Data):
            self.held_bytes += len(event.payload)
        queue.append(event)

    def _dequeue(self, queue: deque[Event]) -> Event:
        event = queue.popleft()
        if isinstance(event, Data):
            self.held_bytes -= len(event.payload)
        return event
