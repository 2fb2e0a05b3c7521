"""Certificates for the benchmarks: an authority in a temporary folder, and one certificate for 127.0.0.1."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from faultkit.base.leaf_certificates import LeafIssuer
from faultkit.base.local_authority import CERTIFICATE, moment, open_authority

NAMES = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files that all relays and origins share."""

    authority: Path
    """The folder of the authority, in the form of `fault ca`."""
    server: Path
    """A certificate for NAMES with its key."""

    @property
    def trusted(self) -> Path:
        return self.authority / CERTIFICATE


def make_tls_files(folder: Path) -> TlsFiles:
    authority = open_authority(folder / "authority")
    server = folder / "server.pem"
    server.write_bytes(LeafIssuer(authority).issue(NAMES, moment()))
    return TlsFiles(folder / "authority", server)
