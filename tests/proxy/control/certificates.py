"""Certificates for tests of mutual TLS: an authority, and files with what it has issued."""

from __future__ import annotations

from pathlib import Path

import trustme


class Certificates:
    """An authority whose files are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._authority = trustme.CA()
        self.ca = str(folder / "ca.pem")
        self._authority.cert_pem.write_to_path(self.ca)

    def issue(self, *names: str, file: str = "server") -> tuple[str, str]:
        """Return the files of a new certificate and of its key."""
        issued = self._authority.issue_cert(*names)
        cert, key = str(self.folder / f"{file}.pem"), str(self.folder / f"{file}.key")
        for index, blob in enumerate(issued.cert_chain_pems):
            blob.write_to_path(cert, append=index > 0)
        issued.private_key_pem.write_to_path(key)
        return cert, key
