"""The two ways that bytes go through a proxy, and how users name them.

Users speak of a side (which socket of the proxy) and a direction (read from it or written to it).
The relay knows only flows. This file owns the translation, and nothing else.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Flow: TypeAlias = Literal["to_upstream", "to_client"]

Side: TypeAlias = Literal["client", "server"]
"""Which socket: the one to the client, or the one to the upstream server."""

Direction: TypeAlias = Literal["ingress", "egress", "both"]
"""Bytes that the proxy reads from that socket, bytes that it writes to it, or both."""

_FLOWS: dict[tuple[Side, Direction], tuple[Flow, ...]] = {
    ("server", "ingress"): ("to_client",),
    ("server", "egress"): ("to_upstream",),
    ("server", "both"): ("to_upstream", "to_client"),
    ("client", "ingress"): ("to_upstream",),
    ("client", "egress"): ("to_client",),
    ("client", "both"): ("to_upstream", "to_client"),
}


def flows(side: Side, direction: Direction) -> tuple[Flow, ...]:
    """The flows that a side and a direction mean; for `both`, the request's flow comes first."""
    return _FLOWS[side, direction]
