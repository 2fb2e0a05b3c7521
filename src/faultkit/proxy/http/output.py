"""What an exchange asks of the relay.

An event inside an output may lie in the future: the relay holds it until it is due. Per direction
the times never decrease.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from faultkit.faults.events import Event


@dataclass(frozen=True, slots=True)
class ToClient:
    """Deliver this to the client."""

    event: Event


@dataclass(frozen=True, slots=True)
class ToUpstream:
    """Deliver this to the upstream leg."""

    event: Event


@dataclass(frozen=True, slots=True)
class Dial:
    """Open an upstream leg, then call `dialled` or `dial_failed`. Nothing goes upstream before that."""

    host: str
    port: int
    tls: bool = False
    tunnel: bool = False
    """The client asked for it by CONNECT; from `dialled` on the bytes are not ours to read."""


@dataclass(frozen=True, slots=True)
class Hangup:
    """Close the upstream leg, or give up the dial under way. Nothing more is expected from it."""


Output: TypeAlias = ToClient | ToUpstream | Dial | Hangup
