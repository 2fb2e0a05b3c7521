"""Bad certificate: clients are shown one that they must refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.base.rng import Rng
from faultkit.faults.fault import HandshakeVerdict, TlsFault, setting


@dataclass(frozen=True)
class TlsBadCertificate(TlsFault):
    kind: ClassVar[str] = "tls_bad_certificate"
    summary: ClassVar[str] = "Clients are shown a certificate that they must refuse."

    flaw: Literal["expired", "self_signed", "wrong_host"] = setting(
        "expired",
        "What is wrong with it: it ended a day ago, it is signed by itself, or it names another host.",
        choices=("expired", "self_signed", "wrong_host"),
    )

    def shake(self, rng: Rng) -> HandshakeVerdict:
        return HandshakeVerdict(flaw=self.flaw)
