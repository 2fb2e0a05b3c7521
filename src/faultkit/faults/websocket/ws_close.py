"""WebSocket close: the connection is closed with a code, where a message should have come.

Both sides see an orderly close: each gets a Close frame, and the connections end when the client has answered
its own (RFC 6455 §7.1.1). The codes 1005 and 1006 are never sent, because they mean what an application sees
where no code, or no Close frame, has come (§7.4.1): that is what then happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.base.rng import Rng
from faultkit.faults.fault import setting
from faultkit.faults.websocket_fault import CloseConnection, MessageEffect, WebSocketFault

_MOST_REASON = 123
"""Bytes of a reason that a Close frame has room for (RFC 6455 §5.5)."""
_NEVER = (1004, 1015)
"""Reserved codes that mean nothing here: 1015 is a failed TLS handshake."""


@dataclass(frozen=True)
class WsClose(WebSocketFault):
    kind: ClassVar[str] = "ws_close"
    summary: ClassVar[str] = "WebSocket connections are closed with a code."

    code: int = setting(
        1011,
        "Close code, such as 1001 (going away) or 1013 (try again later). 1005 closes without a code, 1006 "
        "ends the connection without a Close frame.",
        minimum=1000,
        maximum=4999,
    )
    reason: str = setting("", "Reason that is sent with the code, at most 123 bytes.")
    to: Literal["client", "upstream", "both"] = setting(
        "both", "Who gets the code; the other side gets 1001.", choices=("client", "upstream", "both")
    )
    after_messages: int = setting(
        0, "Messages of each connection, of those that the rule covers, that pass first.", minimum=0
    )

    def check(self) -> None:
        if self.code in _NEVER:
            raise ValueError(f"code: expected a code that can be sent, got {self.code}, which is reserved")
        if len(self.reason.encode()) > _MOST_REASON:
            raise ValueError(
                f"reason: expected at most {_MOST_REASON} bytes, got {len(self.reason.encode())} of them"
            )
        if self.reason and self.code in (1005, 1006):
            raise ValueError(f"reason: expected none with code {self.code}, which sends no code, got one")

    @property
    def spared_messages(self) -> int:
        return self.after_messages

    def effect(self, rng: Rng) -> MessageEffect:
        return CloseConnection(self.code, self.reason, self.to)
