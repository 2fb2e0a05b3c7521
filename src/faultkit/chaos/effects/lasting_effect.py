"""Interfaces of all lasting effects, and readers of a fault's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from faultkit.base.address import Endpoint, parse_endpoint
from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.undo import Undo, UndoResult

Measured: TypeAlias = Mapping[str, float]
"""Figures with units in their names: `resident_bytes`, `connections_cut`."""


class UndoLog(Protocol):
    """A log to which the undo of an effect is written before the effect starts.

    `Lease` and `LeaseKeeper` of `safety.lease` are two."""

    def intend(self, undo: Undo) -> str:
        """Write down an undo; return the id of the intent. RunError: the effect must not start."""

    def record_undo(self, intent: str, result: UndoResult) -> None:
        """Write down that the effect was undone, or could not be."""


class NoUndoLog:
    """For effects without a guardian: they end after their duration, or with this process."""

    def intend(self, undo: Undo) -> str:
        return ""

    def record_undo(self, intent: str, result: UndoResult) -> None:
        pass


class LastingEffect(Protocol):
    """An effect that has started. Thread-safe."""

    @property
    def says(self) -> str:
        """Description for people: what is done to what."""

    @property
    def is_active(self) -> bool:
        """False once the effect is over, for whatever reason."""

    def measure(self) -> Measured:
        """Return what the effect holds or has done by now."""

    def hits(self) -> int:
        """Return how often the effect has touched something, also once it is over.

        May block for a moment. Raises FaultkitError if another process counts and does not answer."""

    def end(self) -> UndoResult:
        """Undo the effect. Never raises; ending it twice does no harm."""


class StartableEffect(Protocol):
    """The checked settings of a lasting effect."""

    def check(self, limits: Limits, *, targets_too: bool) -> None:
        """Raise InputError if the limits do not allow it."""

    def begin(self, name: str, lasts_s: float, lease: UndoLog | None) -> LastingEffect:
        """Start the effect of the fault `name`. May block for a moment.

        Raises RunError or TargetError if it cannot start; then nothing has changed."""


# --- readers of settings ---------------------------------------------------------------------------


def optional_text(expected: str) -> Callable[[object], str | None]:
    """Return a reader of a text that is not empty. It takes null for a missing text."""

    def read(value: object) -> str | None:
        if value is not None and (not isinstance(value, str) or not value):
            raise InputError("", f"expected {expected}, got {shown(value)}")
        return value

    return read


def number(value: object, path: str, least: float, most: float, *, whole: bool = False) -> float:
    """Return a number within the bounds. Neither True nor "1" is a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_within = least <= value <= most  # False for NaN.
        if is_within and (not whole or value == int(value)):
            return value
    kind = "a whole number" if whole else "a number"
    raise InputError(path, f"expected {kind} from {least:g} to {most:g}, got {shown(value)}")


def endpoints(targets: tuple[str, ...]) -> tuple[Endpoint, ...]:
    """Return each target as HOST:PORT. Raises InputError that names the target."""
    found = []
    for index, target in enumerate(targets):
        path = f"targets[{index}]"
        endpoint = parse_endpoint(target, path=path)
        if endpoint.port == 0:
            raise InputError(path, f'expected a port from 1 to 65535, got "{target}"')
        found.append(endpoint)
    return tuple(found)
