"""The rules of a soak: every fault of the network, each on a share of the connections, none for long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from faultkit.faults import NETWORK_FAULTS

_SETTINGS: dict[str, dict[str, Any]] = {
    "latency": {"mean_ms": 5, "stddev_ms": 3},
    "jitter": {"amplitude_ms": 5, "frequency_hz": 20},
    "bandwidth": {"rate": 2, "unit": "MBps"},
    "packet_loss": {"rate": 0.01, "rto_ms": 20},
    "blackhole": {"mode": "discard", "close_after_ms": 300},
    "reset": {"after_ms": 20},
    "half_open": {"after_bytes": 500},
    "slow_close": {"delay_ms": 50},
    "limit_data": {"bytes": 5000},
    "slicer": {"average_bytes": 2000, "variation_bytes": 500, "delay_us": 100},
    "timeout": {"timeout_ms": 100},
    "corrupt": {"rate": 0.01},
    "slow_accept": {"delay_ms": 20},
    "dns": {"outcome": "resolve", "delay_ms": 10},
    "http_error": {"status": 503},
    "http_delay": {"delay_ms": 20},
}
_RARE = ("blackhole", "reset", "half_open", "limit_data", "timeout", "corrupt", "refuse")
"""Faults that end or spoil a connection: with more of them, no other would be met."""


def soak_rules() -> list[dict[str, Any]]:
    """Return one rule for each fault of the network, and two more for what only some settings do."""
    rules = [
        {
            "fault": kind,
            "with": _SETTINGS.get(kind, {}),
            "trigger": {"probability": 0.03 if kind in _RARE else 0.2},
        }
        for kind in NETWORK_FAULTS
    ]
    called = {"name": "called", "fault": "http_error", "with": {"status": 500, "call_upstream": True}}
    stalled = {"name": "stalled", "fault": "blackhole", "match": {"side": "client", "direction": "both"}}
    return [
        *rules,
        {**called, "trigger": {"probability": 0.1}},
        {**stalled, "trigger": {"probability": 0.02}},
    ]


def write_plan(folder: Path, seed: str) -> str:
    """Write the plan to a file; return its path."""
    path = folder / "plan.json"
    path.write_text(json.dumps({"seed": seed, "rules": soak_rules()}))
    return str(path)
