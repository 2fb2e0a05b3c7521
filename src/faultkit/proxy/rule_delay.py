"""A step of a connection that rules put off: its beginning, or the look-up of a name.

A delay ends with the rule that caused it, as the delays of bytes do: a plan that is emptied, or a window of a
schedule that is over, holds up nothing any more.
"""

from __future__ import annotations

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
