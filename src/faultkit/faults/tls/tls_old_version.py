"""Old version: clients are offered one version of TLS, which is out of date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.base.rng import Rng
from faultkit.faults.fault import HandshakeVerdict, TlsFault, setting


@dataclass(frozen=True)
class TlsOldVersion(TlsFault):
    kind: ClassVar[str] = "tls_old_version"
    summary: ClassVar[str] = "Clients are offered an old version of TLS only."

    version: Literal["1.0", "1.1", "1.2"] = setting("1.1", "The only version.", choices=("1.0", "1.1", "1.2"))

    def shake(self, rng: Rng) -> HandshakeVerdict:
        return HandshakeVerdict(version=self.version)
