"""How often the faults of a run have acted, counted where they act, before they are undone.

A fault that touched nothing proves nothing: the run is then *not exercised*, whatever its checks found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import FaultkitError
from faultkit.base.text import counted
from faultkit.chaos.steps.step_work import FaultAtWork, run_in_thread
from faultkit.proxy.control.control_client import SHUTS_PORTS

_LIMIT_S = 3.0
"""Time to count: the rollback waits for it."""
_UNSEEN = (
    "no connection came through its proxy while the port was open, and a shut port sees none (a check "
    "through the proxy shows that it is in use)"
)


@dataclass(frozen=True, slots=True)
class FaultHits:
    """A fault of a run, and how often it has acted."""

    fault: FaultAtWork
    hits: int | None
    """None: not known."""
    why: str = ""
    """Why it is not known."""

    @property
    def document(self) -> dict[str, Any]:
        """The entry of the journal."""
        fault = self.fault
        return {
            "name": fault.name,
            "fault": fault.kind,
            "settings": dict(fault.settings),
            "place": fault.place,
            "hits": self.hits,
            "why": self.why,
        }

    @property
    def says(self) -> str:
        """Description for people: "cut (blackhole) at the proxy at 127.0.0.1:7900 touched nothing"."""
        if self.hits is None:
            return f"{self._fault} is not known to have acted: {self.why}"
        if self.hits:
            return f"{self._fault} acted {counted(self.hits, 'time')}"
        if self.fault.kind == SHUTS_PORTS:
            return f"{self._fault} is not known to have touched anything: {_UNSEEN}"
        return f"{self._fault} touched nothing"

    @property
    def warning(self) -> str | None:
        """What the number leaves open, or None."""
        if self.fault.kind != SHUTS_PORTS or not self.hits:
            return None
        return (
            f"{self._fault} counts shut ports: whether a client tried to connect is not known, and "
            "connections that were open go on (reset or blackhole touch those, too)"
        )

    @property
    def _fault(self) -> str:
        return f"{self.fault.name} ({self.fault.kind}) at {self.fault.place}"


async def count_hits(faults: Sequence[FaultAtWork]) -> list[FaultHits]:
    """Count how often each fault has acted. A counter that does not answer is an unknown number."""
    return list(await asyncio.gather(*map(_count, faults)))


async def _count(fault: FaultAtWork) -> FaultHits:
    try:
        async with asyncio.timeout(_LIMIT_S):
            return FaultHits(fault, await run_in_thread(fault.count))
    except TimeoutError:
        return FaultHits(fault, None, f"no answer within {_LIMIT_S:g} s")
    except FaultkitError as error:
        return FaultHits(fault, None, str(error))
    except Exception as error:
        return FaultHits(fault, None, f"{type(error).__name__}: {error}")
