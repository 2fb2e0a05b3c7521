"""Handshake failure: the ClientHello is answered by an alert, or by the end of the connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.base.rng import Rng
from faultkit.faults.fault import HandshakeVerdict, TlsFault, setting


@dataclass(frozen=True)
class TlsHandshakeFailure(TlsFault):
    kind: ClassVar[str] = "tls_handshake_failure"
    summary: ClassVar[str] = "The TLS handshake with a client fails."

    end: Literal["alert", "close", "reset"] = setting(
        "alert",
        "How it fails: by an alert, by the end of the connection, or by its reset.",
        choices=("alert", "close", "reset"),
    )
    alert: int = setting(
        40,
        "Number of the alert: 40 handshake failure, 70 protocol version, 80 internal error, 112 wrong name.",
        minimum=1,
        maximum=255,
    )

    def shake(self, rng: Rng) -> HandshakeVerdict:
        return HandshakeVerdict(end=self.end, alert=self.alert)
