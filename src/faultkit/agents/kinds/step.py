"""What a scripted agent is to do: calls, and what to do when one fails. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Errand:
    """One call."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, and how long to wait in between."""

    attempts: int = 3
    """In all, the first one included; 0 for ever."""
    wait_ms: float = 0.0
    """Before the second one."""
    factor: float = 2.0
    jitter: float = 0.0
    """A share of the wait by which it may be shorter or longer."""
    obeys: bool = False
    """It waits as long as an answer asks it to, if that is longer."""


@dataclass(frozen=True, slots=True)
class Step:
    """An errand, and the ways around its failure, in the order in which they are tried."""

    errand: Errand
    retry: Retry = Retry(attempts=1)
    verify: Errand | None = None
    """Asked before each further attempt: if it succeeds and holds `verified`, the errand was done."""
    verified: str = ""
    fallback: Errand | None = None
    goes_on: bool = False
    """A failure is passed over as if it were none."""


@dataclass(frozen=True, slots=True)
class Script:
    steps: tuple[Step, ...]
    say: str = ""
    """The last word if all went well; without it, what the last call answered."""
    say_on_failure: str = "I could not do it: {error}"
