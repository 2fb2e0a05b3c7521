"""What each request must meet, and a count of those that missed it. Pure.

Workers count where they measure, so the count must not depend on who measured what: the first miss is that of
the request that was to start first, whatever the order in which misses are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from faultkit.load.response import Failure
from faultkit.load.samples import Sample


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expectation of an item; None where it expects nothing."""

    status: int | None = None
    response_time_under_ms: float | None = None
    all_slo_are_valid: bool | None = None

    @property
    def of_calls(self) -> bool:
        """Whether something is expected of each single call."""
        return self.status is not None or self.response_time_under_ms is not None


def why_not_met(expect: Expectation, sample: Sample) -> str | None:
    """Return what one call missed of the expectation; None if nothing. SLOs are judged elsewhere."""
    if not expect.of_calls:
        return None
    failure = Failure(sample.failure)
    if failure.level != "transport":
        return f"expected a result, got {failure.label}"
    if sample.status == 0 and failure:
        wanted = "an answer" if expect.status is None else f"status {expect.status}"
        return f"expected {wanted}, got none ({failure.label})"
    if expect.status is not None and sample.status != expect.status:
        return f"status: expected {expect.status}, got {sample.status}"
    if failure not in (Failure.NONE, Failure.STATUS):
        return f"expected a whole answer, got {failure.label}"
    took_ms = sample.total_s * 1000  # From the real start: a late start is not the service's fault.
    limit_ms = expect.response_time_under_ms
    if limit_ms is not None and took_ms > limit_ms:
        return f"response time: expected at most {limit_ms:g} ms, got {took_ms:.1f} ms"
    return None


@dataclass(slots=True)
class Misses:
    """How many requests missed an expectation, and what the first of them missed."""

    count: int = 0
    first_at: tuple[float, float, str] | None = None
    """Intended start, real start and text of the first: the least of all."""

    @property
    def first(self) -> str | None:
        return None if self.first_at is None else self.first_at[2]

    def add(self, expect: Expectation, samples: Iterable[Sample]) -> None:
        """Count the samples that missed the expectation."""
        if not expect.of_calls:
            return
        for sample in samples:
            why = why_not_met(expect, sample)
            if why is not None:
                self.merge(Misses(1, (sample.intended, sample.started, why)))

    def merge(self, other: Misses) -> None:
        """Add all of another count."""
        self.count += other.count
        if other.first_at is not None:
            self.first_at = other.first_at if self.first_at is None else min(self.first_at, other.first_at)
