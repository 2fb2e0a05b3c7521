"""Evidence: what a summary is made of, whether each request was kept or only histograms. Pure."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from faultkit.load.dependence import BATCHES
from faultkit.load.samples import Samples
from faultkit.load.stretch import Stretch, batches, stretches
from faultkit.load.times import Times, times_of

LATE_S = 0.01
"""A start later than this after its time is late."""

PARTS = ("dns", "connect", "tls", "first_byte")
"""Of a request, in the order in which they take place."""


@dataclass(frozen=True, slots=True)
class Evidence:
    failures: Counter[int]
    """By number of `Failure`, 0 (none) included."""
    statuses: Counter[int]
    """0 (no answer) included."""
    received_bytes: int
    response: Times
    service: Times
    parts: dict[str, Times]
    lateness: Times
    late: int
    stretches: Callable[[float, int], list[Stretch]]
    """Cut the run: width in seconds, how many."""
    batches: Sequence[Stretch]
    """The run in the order of time, cut into about `BATCHES` stretches of about as many requests each."""
    grain_s: float = 0.0
    """Stretches are known in multiples of this only; 0: whatever is asked."""

    @property
    def requests(self) -> int:
        return self.failures.total()


def evidence_of(samples: Samples) -> Evidence:
    late_by = lateness_of(samples)
    return Evidence(
        failures=Counter(samples.failure),
        statuses=Counter(samples.status),
        received_bytes=sum(samples.received),
        response=times_of(samples.response_times()),
        service=times_of(samples.total_s),
        parts={name: times_of(part_of(samples, name)) for name in PARTS},
        lateness=times_of(late_by),
        late=late_count(late_by),
        stretches=partial(stretches, samples),
        batches=batches(samples, BATCHES),
    )


def lateness_of(samples: Samples) -> list[float]:
    """Seconds; 0 for a start before its time."""
    return [
        started - intended if started > intended else 0.0
        for intended, started in zip(samples.intended, samples.started, strict=True)
    ]


def late_count(lateness_s: list[float]) -> int:
    return sum([each > LATE_S for each in lateness_s])


def part_of(samples: Samples, name: str) -> list[float]:
    """Of the requests that had it."""
    column: array[float] = getattr(samples, f"{name}_s")
    return [each for each in column if each == each]
