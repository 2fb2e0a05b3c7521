"""The bounds of one fuzzed part: a seed, an end, and the inputs to keep if it fails."""

from __future__ import annotations

import random
import time
from collections import deque
from dataclasses import dataclass, field

_KEPT = 60


@dataclass(slots=True)
class Budget:
    """What one part may use. The same seed makes the same inputs, in the same order."""

    seed: str
    seconds: float
    inputs: int = 0
    """Number of inputs so far."""
    last: deque[bytes] = field(default_factory=lambda: deque(maxlen=_KEPT))
    """The latest inputs. If a part fails, the last one is the likely cause."""
    rng: random.Random = field(init=False)
    end_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.end_s = time.monotonic() + self.seconds

    @property
    def is_left(self) -> bool:
        """Whether there is time for more; true at first, so that each part has one input at least."""
        return self.inputs == 0 or time.monotonic() < self.end_s

    def note(self, sent: bytes) -> bytes:
        """Count an input, and remember it."""
        self.inputs += 1
        self.last.append(sent)
        return sent
