"""What a WebSocket fault is, and what it may decide about one message.

A WebSocket connection begins as a request of HTTP/1.1, by whose method, path and headers a rule matches it.
From the answer 101 on, the faults here act on its messages, each way by itself, or on its pings and pongs.
They decide by an effect, which `proxy/websocket` carries out: delays of several rules add up, and so do their
changes and copies; a message that one rule drops is dropped, and the first close counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from faultkit.base.rng import Rng
from faultkit.faults.http_fault import HttpFault, HttpVerdict

ControlKind: TypeAlias = Literal["ping", "pong"]

Change: TypeAlias = Callable[[bytes, bool], tuple[bytes, int]]
"""Takes the content of a message and whether it is text; returns other content, and in how many places."""


@dataclass(frozen=True, slots=True)
class DelayMessage:
    """Hold the message back for so long, and what follows it behind it."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class DropMessage:
    """Do not deliver the message."""


@dataclass(frozen=True, slots=True)
class RepeatMessage:
    """Deliver the message, and then so many copies of it."""

    copies: int


@dataclass(frozen=True, slots=True)
class ChangeMessage:
    """Deliver other content."""

    change: Change


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """Close the connection instead of delivering the message."""

    code: int
    """1005 closes without a code, 1006 without a Close frame (RFC 6455 §7.4.1)."""
    reason: str
    to: Literal["client", "upstream", "both"]
    """Who gets the code; the other side gets 1001 (going away)."""


MessageEffect: TypeAlias = DelayMessage | DropMessage | RepeatMessage | ChangeMessage | CloseConnection


@dataclass(frozen=True)
class WebSocketFault(HttpFault):
    """A fault that acts on the messages of a WebSocket connection."""

    control_frames: ClassVar[bool] = False
    """True if it acts on pings and pongs, not on messages."""

    @property
    def spared_messages(self) -> int:
        """Messages of each connection, of those that the rule covers, that pass first."""
        return 0

    def judge(self, given: Any) -> HttpVerdict:
        """Let the request pass that opens the connection."""
        return HttpVerdict()

    def effect(self, rng: Rng) -> MessageEffect:
        """Return what becomes of a message."""
        raise NotImplementedError

    def swallows(self, kind: ControlKind) -> bool:
        """Return whether control frames of this kind are not delivered."""
        return False
