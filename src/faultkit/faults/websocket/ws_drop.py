"""WebSocket drop: a message is lost, and the connection goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.websocket_fault import DropMessage, MessageEffect, WebSocketFault


@dataclass(frozen=True)
class WsDrop(WebSocketFault):
    kind: ClassVar[str] = "ws_drop"
    summary: ClassVar[str] = "WebSocket messages get lost; the connection goes on."

    def effect(self, rng: Rng) -> MessageEffect:
        return DropMessage()
