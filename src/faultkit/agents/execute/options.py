"""How a suite is to be run, whatever it says itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from faultkit.agents.gate import Clock

USUAL_TIMEOUT_S = 60.0
_LONGEST_NUMBER = 20


@dataclass(frozen=True, slots=True)
class Options:
    clock: Clock = "virtual"
    scale: float = 1.0
    """Of scaled time: how many seconds of the suite a real one stands for."""
    seed: int | str | None = None
    """In place of the suite's own."""
    repeat: int | None = None
    """In place of each test's own `runs`."""
    timeout_s: float = USUAL_TIMEOUT_S
    """Of one test, all of its runs together. It always holds."""
    parallel: int = 4
    bail: bool = False
    record: bool = False
    allow_stub: bool = False
    update_snapshots: bool = False
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def given_seed(text: str | None) -> int | str | None:
    """A seed from a command line as a suite would have read it: digits are a number."""
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    return int(text) if text is not None and is_number else text
