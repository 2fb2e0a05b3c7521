"""The files by which programs trust the local authority. They lie beside it, and hold no secret:

    bundle.pem        the system's authorities, and ours
    truststore.p12    the same for Java

With authorities of SSL_CERT_FILE in place of the system's, their names have a suffix, and those that were not
used for a while are removed. `client_variables` has the variables that name them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import ssl
import warnings
from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

from faultkit.base.client_variables import JAVA_PASSWORD, TrustFiles
from faultkit.base.errors import RunError
from faultkit.base.files import replace_file
from faultkit.base.local_authority import CERTIFICATE, LocalAuthority
from faultkit.base.times import now_us

BUNDLE, JAVA_STORE = "bundle.pem", "truststore.p12"
_KEPT_DAYS = 30
_SYSTEM_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
)
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)


def write_trust_files(authority: LocalAuthority, env: Mapping[str, str]) -> TrustFiles:
    """Write the files beside the authority, where they are missing or out of date, and return them."""
    folder = authority.folder
    usual, given = _system_authorities(folder, {}), _system_authorities(folder, env)
    bundle = authority.pem + given
    # Several programs may run at once: one with authorities of its own must not change those of the others.
    suffix = f"-{hashlib.sha256(bundle).hexdigest()[:12]}" if given != usual else ""
    names = (f"{Path(name).stem}{suffix}{Path(name).suffix}" for name in (BUNDLE, JAVA_STORE))
    files = TrustFiles(folder / CERTIFICATE, *(folder / name for name in names))
    try:
        known = files.bundle.read_bytes() if files.bundle.exists() else b""
        if known != bundle or not files.java_store.exists():
            replace_file(files.java_store, _java_store(bundle))
            replace_file(files.bundle, bundle)
        if suffix:
            os.utime(files.bundle)
            _remove_old(folder)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return files


def _remove_old(folder: Path) -> None:
    """Remove the pairs of other environments that no program has been given for a while."""
    oldest = now_us() / 1_000_000 - _KEPT_DAYS * 86_400
    for bundle in folder.glob(f"{Path(BUNDLE).stem}-*{Path(BUNDLE).suffix}"):
        suffix = bundle.stem.removeprefix(Path(BUNDLE).stem)
        with contextlib.suppress(FileNotFoundError):  # Another process was faster.
            if bundle.stat().st_mtime < oldest:
                bundle.unlink()
                (folder / f"{Path(JAVA_STORE).stem}{suffix}{Path(JAVA_STORE).suffix}").unlink()


def _system_authorities(folder: Path, env: Mapping[str, str]) -> bytes:
    """Return the authorities that programs trust by default, as PEM text; empty if none are found."""
    usual = ssl.get_default_verify_paths()
    for path in (env.get("SSL_CERT_FILE"), usual.openssl_cafile, *_SYSTEM_FILES):
        if path and os.path.isfile(path) and Path(os.path.realpath(path)).parent != folder.resolve():
            return b"".join(_CERTIFICATE.findall(Path(path).read_bytes()))
    return b""


def _java_store(bundle: bytes) -> bytes:
    certificates = []
    for number, pem in enumerate(_CERTIFICATE.findall(bundle)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # About certificates of others, such as a serial number of 0.
                certificate = x509.load_pem_x509_certificate(pem)
        except ValueError:
            continue  # One that this library cannot read.
        certificates.append(PKCS12Certificate(certificate, f"authority-{number}".encode()))
    return serialize_java_truststore(certificates, BestAvailableEncryption(JAVA_PASSWORD.encode()))
