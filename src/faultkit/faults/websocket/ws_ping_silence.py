"""WebSocket ping silence: pings get no pong, while messages pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.fault import setting
from faultkit.faults.websocket_fault import ControlKind, WebSocketFault


@dataclass(frozen=True)
class WsPingSilence(WebSocketFault):
    kind: ClassVar[str] = "ws_ping_silence"
    summary: ClassVar[str] = "WebSocket pings get no pong; messages pass."
    control_frames: ClassVar[bool] = True

    drops: Literal["pings", "pongs", "both"] = setting(
        "pongs",
        "Which frames are not delivered: pongs, so that pings arrive and their answers do not; pings; or "
        "both.",
        choices=("pings", "pongs", "both"),
    )

    def swallows(self, kind: ControlKind) -> bool:
        return self.drops in ("both", f"{kind}s")
