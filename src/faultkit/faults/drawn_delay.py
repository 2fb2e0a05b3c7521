"""The settings of a delay that is drawn for one request or message, and the draw. It does not know what is
delayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from faultkit.base.rng import Rng
from faultkit.faults.distribution import (
    MOST_DELAY_MS,
    check_distribution,
    check_table,
    drawn_ms,
    least_drawn_ms,
    mean_caveat,
)
from faultkit.faults.fault import Fault, setting


@dataclass(frozen=True)
class DrawnDelay(Fault):
    """A fault that delays by a time which is drawn anew each time."""

    delay_ms: float = setting(
        1000.0, "How long they wait; the mean if that varies (normal).", unit="ms", minimum=0, flag="by"
    )
    distribution: Literal["normal", "uniform", "pareto", "table"] = setting(
        "normal", "How delays are drawn.", choices=("normal", "uniform", "pareto", "table")
    )
    stddev_ms: float = setting(0.0, "Standard deviation (normal).", unit="ms", minimum=0)
    shape: float = setting(0.0, "Tail index (pareto); smaller is heavier.", minimum=0)
    scale_ms: float = setting(0.0, "Least delay (pareto).", unit="ms", minimum=0)
    min_ms: float = setting(0.0, "Lower bound (uniform).", unit="ms", minimum=0)
    max_ms: float = setting(0.0, "Upper bound (uniform).", unit="ms", minimum=0)
    percentiles: tuple[tuple[str, float], ...] = setting(
        (), "Delays in ms by percentile (table): p50, p99.9, min, max …; they never decrease."
    )
    interpolation: Literal["linear", "log"] = setting(
        "linear", "How delays lie between two percentiles (table).", choices=("linear", "log")
    )
    samples: str | None = setting(
        None,
        "File with delays that were measured, instead of percentiles (table): one a line, CSV, an "
        "HdrHistogram log, or results.json.",
    )
    samples_unit: Literal["ms", "s", "us", "ns"] = setting(
        "ms", "Unit of the numbers in that file.", choices=("ms", "s", "us", "ns")
    )

    def check(self) -> None:
        check_distribution(self)
        check_table(self)

    @property
    def mean_ms(self) -> float:
        """The mean of a normal distribution."""
        return self.delay_ms

    @property
    def least_delay_ms(self) -> float | None:
        return least_drawn_ms(self)

    def caveat(self) -> str | None:
        return mean_caveat(self)

    def draw_s(self, rng: Rng) -> float:
        """Draw one delay, in seconds."""
        return min(drawn_ms(self, rng), MOST_DELAY_MS) / 1000
