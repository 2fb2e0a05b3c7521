"""The options of a run, which go before those of the suites."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from faultkit.agents.suite.gate import ClockKind
from faultkit.base.documents.seeds import seed_of_text

USUAL_TIMEOUT_S = 60.0
_LONGEST_NUMBER = 20


@dataclass(frozen=True, slots=True)
class Options:
    """How suites are run."""

    clock: ClockKind = "virtual"
    scale: float = 1.0
    """Seconds of the suite per real second, in scaled time."""
    seed: int | str | None = None
    """Replaces the seeds of the suites."""
    repeat: int | None = None
    """Replaces `runs` of every test."""
    timeout_s: float = USUAL_TIMEOUT_S
    """Wall-time limit of one test with all its runs, on every clock."""
    parallel: int = 4
    bail: bool = False
    record: bool = False
    allow_stub: bool = False
    update_snapshots: bool = False
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def given_seed(text: str | None) -> int | str | None:
    """Return a seed of the command line as a suite file would hold it: digits are a number."""
    return None if text is None else seed_of_text(text, _LONGEST_NUMBER)
