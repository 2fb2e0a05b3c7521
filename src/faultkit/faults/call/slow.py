"""Slow: the server gets the call later, so the reply comes later. Its bytes do not change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.distribution import MOST_DELAY_MS, check_distribution, draw_ms, least_ms, mean_caveat
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class Slow(CallFault):
    kind: ClassVar[str] = "slow"
    summary: ClassVar[str] = "The call is answered, but late."
    main: ClassVar[str] = "delay_ms"

    delay_ms: float = setting(
        1000.0,
        "The delay (fixed), or its mean (normal, pareto-normal).",
        unit="ms",
        minimum=0,
    )
    distribution: Literal["fixed", "normal", "uniform", "pareto", "pareto-normal"] = setting(
        "fixed",
        "How delays are drawn.",
        choices=("fixed", "normal", "uniform", "pareto", "pareto-normal"),
    )
    stddev_ms: float = setting(
        0.0,
        "Standard deviation (normal, pareto-normal). Delays below 0 are drawn again, so a value over half "
        "of the mean raises the mean.",
        unit="ms",
        minimum=0,
    )
    shape: float = setting(0.0, "Tail index (pareto, pareto-normal); smaller is heavier.", minimum=0)
    scale_ms: float = setting(0.0, "Least delay (pareto, pareto-normal).", unit="ms", minimum=0)
    min_ms: float = setting(0.0, "Lower bound (uniform).", unit="ms", minimum=0)
    max_ms: float = setting(0.0, "Upper bound (uniform).", unit="ms", minimum=0)

    def check(self) -> None:
        check_distribution(self)

    @property
    def mean_ms(self) -> float:
        return self.delay_ms

    @property
    def least_delay_ms(self) -> float | None:
        return least_ms(self)

    def caveat(self) -> str | None:
        return mean_caveat(self)

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        drawn_ms = self.delay_ms if self.distribution == "fixed" else draw_ms(self, given.rng)
        delay_ms = min(drawn_ms, MOST_DELAY_MS)
        if not delay_ms:
            return Verdict()  # No delay changes nothing, and must not count as an injection.
        return Verdict(delay_s=delay_ms / 1000, effect="delay_ms", amount=delay_ms)
