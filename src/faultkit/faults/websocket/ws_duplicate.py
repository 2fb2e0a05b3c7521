"""WebSocket duplicate: a message arrives more than once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.fault import setting
from faultkit.faults.websocket_fault import MessageEffect, RepeatMessage, WebSocketFault


@dataclass(frozen=True)
class WsDuplicate(WebSocketFault):
    kind: ClassVar[str] = "ws_duplicate"
    summary: ClassVar[str] = "WebSocket messages arrive more than once."

    copies: int = setting(1, "How many copies come right behind the message.", minimum=1, maximum=100)

    def effect(self, rng: Rng) -> MessageEffect:
        return RepeatMessage(self.copies)
