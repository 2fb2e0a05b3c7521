"""WebSocket delay: a message arrives late, and what its sender sends next arrives behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.drawn_delay import DrawnDelay
from faultkit.faults.websocket_fault import DelayMessage, MessageEffect, WebSocketFault


@dataclass(frozen=True)
class WsDelay(DrawnDelay, WebSocketFault):
    kind: ClassVar[str] = "ws_delay"
    summary: ClassVar[str] = "WebSocket messages arrive late."

    def effect(self, rng: Rng) -> MessageEffect:
        return DelayMessage(self.draw_s(rng))
