"""An experiment as it was written, checked: values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from faultkit.chaos.experiment.tolerance import Expectation

USUAL_DURATION_S = 300.0


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    role: Literal["check", "action", "undo", "pause"]
    kind: str
    work: Any
    """A `Work`; None for a pause."""
    limit_s: float
    expect: Expectation | None = None
    before_s: float = 0.0
    after_s: float = 0.0
    background: bool = False
    """Of an action: the method goes on meanwhile, and waits for it at its end."""
    undo: tuple[Step, ...] = ()
    """Of an action: how to take it back, written down before it acts."""
    written: Mapping[str, Any] = field(default_factory=dict)
    """As in the file, with its variables, for the journal."""


@dataclass(frozen=True, slots=True)
class During:
    every_s: float
    checks: tuple[Step, ...]
    stop: bool = False
    """The first deviation ends the method."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """In our own short form."""

    name: str
    steady_state: tuple[Step, ...]
    method: tuple[Step, ...]
    rollback: tuple[Step, ...] = ()
    during: During | None = None
    description: str = ""
    environments: tuple[str, ...] = ()
    """Where alone it may run; anywhere that is allowed if there are none."""
    max_duration_s: float = USUAL_DURATION_S
    """Of everything but the rollback, which has limits of its own."""
    seed: int | str | None = None
    file: Path | None = None
    written: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return Path() if self.file is None else self.file.parent


@dataclass(frozen=True, slots=True)
class ToolkitExperiment:
    """In the format of Chaos Toolkit, which is left to its own library."""

    name: str
    """Its title."""
    file: Path
    written: Mapping[str, Any]
    max_duration_s: float = USUAL_DURATION_S
    settings: str | None = None
    """The file of Chaos Toolkit's settings; None: the usual one."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """In place of those of the configuration."""
    frequency_s: float = 1.0
    fail_fast: bool = False
    fail_fast_ratio: float = 0.0
    """Of a hypothesis that is looked at during the method: the flags of `chaos run`."""
    rollback_limit_s: float = 60.0
    """Of each rollback."""

    @property
    def description(self) -> str:
        return str(self.written.get("description") or "")
