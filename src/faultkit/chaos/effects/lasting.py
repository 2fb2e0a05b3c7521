"""What every lasting effect has in common: settings that were checked, and then something at work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from faultkit.chaos.limits import Limits
from faultkit.chaos.undo import Undo, UndoResult

Measured: TypeAlias = Mapping[str, float]
"""Units are in the names: `resident_bytes`, `connections_cut`."""


class Lease(Protocol):
    """Where the undoing of an effect is written down before it begins: `chaos.ledger.Lease` is one."""

    def intend(self, undo: Undo) -> str: ...

    def done(self, intent: str, result: UndoResult) -> None: ...


class Lasting(Protocol):
    """An effect at work. Any thread may use it."""

    @property
    def says(self) -> str:
        """For people: what is being done to what."""

    @property
    def at_work(self) -> bool:
        """False once it is over, for whatever reason."""

    def measure(self) -> Measured: ...

    def end(self) -> UndoResult:
        """Take it back. It never raises, and to end it twice does no harm."""


class Startable(Protocol):
    """A lasting effect whose settings have been checked."""

    def check(self, limits: Limits, *, targets_too: bool) -> None:
        """InputError if the limits do not allow it."""

    def begin(self, name: str, lasts_s: float, lease: Lease | None) -> Lasting:
        """RunError or TargetError if it cannot; then nothing has changed. It may block for a moment."""


class Unwritten:
    """A lease for effects that nobody guards: they end with their duration or with this process."""

    def intend(self, undo: Undo) -> str:
        return ""

    def done(self, intent: str, result: UndoResult) -> None:
        pass
