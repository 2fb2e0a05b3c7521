"""What a step does: the one shape that all kinds of checks, actions and rollbacks have."""

from __future__ import annotations

import json
import os
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from faultkit.base.errors import InputError
from faultkit.chaos.experiment.reversals import Reversals
from faultkit.chaos.limits import Limits

if TYPE_CHECKING:
    from faultkit.chaos.registry import FaultRegistry

USUAL_LIMIT_S = 10.0


class Failed(Exception):
    """A step did not do what it is for. The text says why, to people."""


@dataclass(slots=True)
class Scene:
    """What a running step has around it."""

    folder: Path
    """Of the experiment's file: where its paths begin."""
    limits: Limits
    reversals: Reversals
    registry: FaultRegistry | None
    seed: int | str | None
    run_id: str
    """For names that must be like no other."""
    ttl_s: Callable[[], float]
    """How long an effect that nobody renews may last from now on, though everybody has died."""
    lease_s: float
    """How long one may last that is renewed with the lease."""
    processes: dict[str, int] = field(default_factory=dict)
    """Those that the experiment has started, by the names of their steps."""
    started: list[Process] = field(default_factory=list)


def why_of(error: OSError) -> str:
    """In the words of the system: asyncio has longer ones of its own."""
    return (os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)).lower()


def json_of(value: object) -> str:
    """What JSON does not know, such as a date of YAML, could be neither sent nor written down."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:
        raise InputError("", f"expected values that JSON knows, such as a date in quotes: {error}") from None


class Work(Protocol):
    """What may be an action has `act` as well, which fails where an answer says no; and what may stand in a
    rollback has `undo`, which gives all that another process needs to know."""

    kind: ClassVar[str]
    usual_limit_s: ClassVar[float]

    @property
    def says(self) -> str:
        """For people, without secrets: "GET http://127.0.0.1:8000/"."""

    def resolve(self, scene: Scene) -> None:
        """InputError for what could not work, before anything is begun. Without effect."""

    async def perform(self, scene: Scene) -> Any:
        """The output. Raises Failed; whatever else it raises counts as the same."""
