"""Happenings and snapshots as plain data for JSON: times count from the run's start, addresses are text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from faultkit.proxy.happenings import Happening
from faultkit.proxy.snapshot import Snapshot


def plain_happening(happening: Happening, began: float) -> dict[str, Any]:
    """`t` is in seconds since `began`, to the microsecond."""
    document = happening.as_dict()
    at = document.pop("at")
    return {"event": document.pop("event"), "t": round(at - began, 6), **document}


def plain_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    document = asdict(snapshot)
    for proxy, counts in zip(document["proxies"], snapshot.proxies, strict=True):
        proxy["listen"] = str(counts.listen)
        proxy["upstream"] = None if counts.upstream is None else str(counts.upstream)
    return document
