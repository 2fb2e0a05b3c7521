"""The faults of a proof, in the order in which they are tried. Pure.

They act on the way from the dependency to the service, so that every attempt reaches the proxy and is
counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.code.proof.verdict import BLACKHOLE, HEALTHY
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.reset import Reset
from faultkit.faults.stream.slicer import Slicer
from faultkit.plan import Rule
from faultkit.plan.match import Match
from faultkit.plan.schedule import Period, Schedule, Seconds
from faultkit.plan.trigger import Trigger

_BURST_S, _EVERY_S = 0.3, 0.75
"""Bursts act on some calls: on all, a retry could only cost. For that there is the blackhole."""
_SHARE = 0.3
_PIECE_BYTES = 32
_PAUSE_S = 0.3


@dataclass(frozen=True, slots=True)
class FaultCase:
    """A name, and the rules that act during its run."""

    name: str
    rules: tuple[Rule, ...] = ()


def fault_cases(latency_ms: float) -> tuple[FaultCase, ...]:
    """Return all faults of a proof, the case without one first."""
    bursts = Schedule((Period(duration=Seconds(_BURST_S), every=Seconds(_EVERY_S)),))
    unavailable = HttpError(status=503)
    return (
        FaultCase(HEALTHY),
        FaultCase(BLACKHOLE, (Rule(BLACKHOLE, Blackhole()),)),
        FaultCase(
            f"latency of {latency_ms / 1000:g} s",
            (Rule("latency", Latency(mean_ms=latency_ms, per="operation")),),
        ),
        FaultCase("bursts of 503", (Rule("bursts", unavailable, schedule=bursts),)),
        FaultCase(
            f"{_SHARE:.0%} of 503".replace("%", " %"),
            (Rule("partial", unavailable, trigger=Trigger(probability=_SHARE)),),
        ),
        FaultCase("bursts of resets", (Rule("resets", Reset(on="data"), schedule=bursts),)),
        FaultCase(
            "slow stream",
            # Towards the client, that is the service: before that, the proxy waits for the whole head.
            (
                Rule(
                    "slow",
                    Slicer(average_bytes=_PIECE_BYTES, delay_us=_PAUSE_S * 1e6),
                    Match(side="client", direction="egress"),
                ),
            ),
        ),
    )
