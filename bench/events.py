"""What `fault run --json` tells. The only place that knows the format of its events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reported:
    """What the proxy says of itself."""

    losses: int = 0
    lateness_p50_us: float | None = None
    early: int | None = None


def parse_events(lines: Iterable[str]) -> Reported:
    """Lines that are not JSON objects (a last, half-written one, for example) are passed over."""
    losses = 0
    lateness: dict[str, float] = {}
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        losses += event.get("event") == "injected" and event.get("effect") == "loss_ms"
        lateness = event.get("lateness") or lateness
    early = lateness.get("early")
    return Reported(losses, lateness.get("p50_us"), None if early is None else int(early))
