"""What rules put off on a connection: a step of it (its beginning, the look-up of a name), or requests.

A delay ends with the rule that caused it, as the delays of bytes do: a plan that is emptied, or a window of a
schedule that is over, holds up nothing any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.event_loop import Loop, OnFailure

Delays: TypeAlias = dict[ActiveStreamRule, float]
"""Seconds by the rule that adds them."""


class DelayedStep:
    """Runs an action once the delays of all rules are over. Used in the loop's thread."""

    __slots__ = ("_action", "_began", "_delays", "_due_at", "_loop", "_on_failure")

    def __init__(
        self,
        loop: Loop,
        delays: Mapping[ActiveStreamRule, float],
        action: Callable[[], None],
        on_failure: OnFailure,
    ) -> None:
        self._loop = loop
        self._began = loop.clock()
        self._delays = dict(delays)
        self._action: Callable[[], None] | None = action
        self._on_failure = on_failure
        self._due_at = 0.0
        self._arm()

    @property
    def is_waiting(self) -> bool:
        """Whether the action is still to come."""
        return self._action is not None

    def keep_rules(self, acting: Collection[ActiveStreamRule]) -> None:
        """Take off the delays of rules that do not act any more."""
        left = {active: delay_s for active, delay_s in self._delays.items() if active in acting}
        if len(left) < len(self._delays):
            self._delays = left
            self._arm()

    def cancel(self) -> None:
        """Never run the action."""
        self._action = None

    def _arm(self) -> None:
        self._due_at = self._began + sum(self._delays.values())
        self._loop.call_at(self._due_at, self._due, self._on_failure)

    def _due(self, at: float) -> None:
        action = self._action
        if action is not None and at == self._due_at:
            self._action = None
            action()


class RequestDelays:
    """Until when rules delay requests, or the TLS handshake, of one connection, and the part of each rule."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: deque[tuple[float, Delays]] = deque()

    def add(self, now: float, until: float, delays: Delays) -> None:
        """Add what is delayed until then."""
        held = self._held
        while held and held[0][0] <= now:
            held.popleft()
        held.append((until, delays))

    def any_after(self, at: float) -> bool:
        """Return whether rules hold back anything until later than this."""
        return any(until > at for until, _ in self._held)

    def take_off(self, acting: Collection[ActiveStreamRule], now: float, least_s: float) -> float:
        """Take off the delays by rules that do not act any more. Return by how many seconds everything that
        waits comes forward: by the longest of them, or by `least_s` if that is more.

        Requests that wait one behind another come forward together."""
        gone_s = least_s
        left: list[tuple[float, Delays]] = []
        for until, delays in self._held:
            if until > now:
                gone_s = max(gone_s, sum(s for active, s in delays.items() if active not in acting))
                left.append((until, {active: s for active, s in delays.items() if active in acting}))
        self._held = deque((max(now, until - gone_s), delays) for until, delays in left if delays)
        return gone_s
