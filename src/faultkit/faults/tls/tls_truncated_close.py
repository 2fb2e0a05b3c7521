"""Truncated close: a connection ends without close_notify, so that a client cannot tell the end of an
answer from a cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.fault import HandshakeVerdict, TlsFault


@dataclass(frozen=True)
class TlsTruncatedClose(TlsFault):
    kind: ClassVar[str] = "tls_truncated_close"
    summary: ClassVar[str] = "TLS connections end without close_notify, as if they were cut."

    def shake(self, rng: Rng) -> HandshakeVerdict:
        return HandshakeVerdict(truncates=True)
