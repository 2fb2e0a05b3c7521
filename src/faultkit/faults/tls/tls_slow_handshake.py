"""Slow handshake: the ClientHello is answered late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.fault import HandshakeVerdict, TlsFault, setting


@dataclass(frozen=True)
class TlsSlowHandshake(TlsFault):
    kind: ClassVar[str] = "tls_slow_handshake"
    summary: ClassVar[str] = "The TLS handshake with a client is answered late."

    delay_ms: float = setting(1000.0, "How late.", unit="ms", minimum=0)

    @property
    def least_delay_ms(self) -> float | None:
        return self.delay_ms

    def shake(self, rng: Rng) -> HandshakeVerdict:
        return HandshakeVerdict(delay_s=self.delay_ms / 1000)
