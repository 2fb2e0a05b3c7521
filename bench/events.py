"""Events of `fault run --json`. The only module that knows their format."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProxySummary:
    """The summary that the proxy reports."""

    losses: int = 0
    lateness_p50_us: float | None = None
    early: int | None = None


def parse_events(lines: Iterable[str]) -> ProxySummary:
    """Yield the events; lines that are not JSON objects, such as a half-written last one, are skipped."""
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
    return ProxySummary(losses, lateness.get("p50_us"), None if early is None else int(early))
