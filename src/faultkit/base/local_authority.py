"""The local authority: it signs the certificates that Faultkit shows to clients, and belongs to one user.

It is made on first use, in a folder that only its owner may read:

    ca.pem        the certificate, which clients are to trust
    ca-key.pem    its private key, mode 0600

Nothing is put into the trust store of a system or a program. This module makes, opens and checks the
authority; `leaf_certificates` signs with it, and `trust_files` writes what programs need to trust it. No key
appears in an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from faultkit.base.address import is_loopback
from faultkit.base.errors import FaultkitError, InputError, RunError
from faultkit.base.files import open_private
from faultkit.base.times import now_us
from faultkit.base.user_folders import state_folder

_FOLDER_VARIABLE = "FAULT_CA_DIR"
CERTIFICATE, KEY = "ca.pem", "ca-key.pem"
LIFE_DAYS = 730
_SKEW = timedelta(hours=1)
"""Certificates begin a little in the past, for clients whose clock is behind."""


@dataclass(frozen=True, slots=True)
class LocalAuthority:
    """An authority that may sign now."""

    folder: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def __repr__(self) -> str:
        return f"LocalAuthority({str(self.folder)!r})"

    @property
    def pem(self) -> bytes:
        """The certificate, which is no secret."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, as programs show it."""
        digest = hashlib.sha256(self.certificate.public_bytes(serialization.Encoding.DER)).hexdigest()
        return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2)).upper()

    @property
    def ends_at(self) -> datetime:
        return self.certificate.not_valid_after_utc

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains for which it may sign, beside loopback addresses; none: for all names."""
        return _domains(self.certificate)

    @property
    def renewal(self) -> str:
        """The command that makes a new one of the same kind, in a few words."""
        return _renewal(self.folder, self.domains)

    def may_sign(self, name: str) -> bool:
        """Return whether clients accept its certificates for this name (RFC 5280 §4.2.1.10)."""
        if not self.domains or is_loopback(name):
            return True
        return any(name == domain or name.endswith(f".{domain}") for domain in self.domains)

    def may_sign_some(self, glob: str) -> bool:
        """Return whether it may sign for some of the names that a glob such as `*.example.com` matches. Only
        the end behind the last wildcard is looked at."""
        end = re.split(r"[*?]", glob)[-1]
        if not self.domains or not end.strip(".0123456789"):  # Addresses of loopback may end so.
            return True
        return any(domain.endswith(end) or end.endswith(f".{domain}") for domain in self.domains)


def moment() -> datetime:
    """Return the present time, for certificates."""
    return datetime.fromtimestamp(now_us() // 1_000_000, UTC)


def authority_folder(env: Mapping[str, str]) -> Path:
    """Return the folder of the user's authority: FAULT_CA_DIR, or `ca` in the user's state folder."""
    given = env.get(_FOLDER_VARIABLE)
    return (Path(given) if given else state_folder(env) / "ca").absolute()


def open_authority(folder: Path) -> LocalAuthority:
    """Return the authority in a folder; make one if there is none. Raises InputError for files that are no
    authority, or not any more."""
    if not (folder / CERTIFICATE).exists() and not (folder / KEY).exists():
        with contextlib.suppress(FileExistsError):  # Another process was faster: take its authority.
            return make_authority(folder)
    return _load(folder)


def make_authority(
    folder: Path, domains: Iterable[str] = (), *, replace: bool = False, days: int = LIFE_DAYS
) -> LocalAuthority:
    """Make an authority. Raises FileExistsError if there is one, unless it is to be replaced.

    domains: the only ones, with their subdomains, for which it may sign"""
    if not replace and (folder / CERTIFICATE).exists():
        raise FileExistsError(folder)
    authority = _new(folder, tuple(domains), days)
    # Both files appear together, or none: a process that comes between would find half an authority.
    try:
        os.makedirs(folder.parent, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".ca-", dir=folder.parent))
    except OSError as error:
        raise _cannot_make(folder, error) from None
    try:
        _write(beside / KEY, _key_pem(authority.key))
        _write(beside / CERTIFICATE, authority.pem)
        if replace:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            os.rename(beside, folder)
        except OSError:
            if (folder / CERTIFICATE).exists():
                raise FileExistsError(folder) from None
            _fill(folder, beside)  # A folder of the user's, or a mount, which no rename replaces.
    except FileExistsError:
        raise
    except OSError as error:
        raise _cannot_make(folder, error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return authority


def _cannot_make(folder: Path, error: OSError) -> FaultkitError:
    if os.environ.get(_FOLDER_VARIABLE) and authority_folder(os.environ) == folder:
        problem = f'expected a folder that exists or can be made, got "{folder}": {error.strerror or error}'
        return InputError(_FOLDER_VARIABLE, problem)
    return RunError(f"{folder}: no authority can be made there: {error.strerror or error}")


def _fill(folder: Path, beside: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    for name in (KEY, CERTIFICATE):
        _write(folder / name, (beside / name).read_bytes())


def _write(path: Path, content: bytes) -> None:
    with open(path, "xb", opener=open_private) as file:
        file.write(content)


def _new(folder: Path, domains: tuple[str, ...], days: int) -> LocalAuthority:
    key = ec.generate_private_key(ec.SECP256R1())
    now = moment()
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Faultkit"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"Faultkit local authority {now:%Y-%m-%d}"),
        ]
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_USAGE, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if domains:
        # A kind of name without a constraint would be free: so addresses get one, too.
        permitted: list[x509.GeneralName] = [x509.DNSName(domain) for domain in ("localhost", *domains)]
        permitted += [x509.IPAddress(ip_network(network)) for network in ("127.0.0.0/8", "::1/128")]
        builder = builder.add_extension(x509.NameConstraints(permitted, None), critical=True)
    return LocalAuthority(folder, builder.sign(key, hashes.SHA256()), key)


_USAGE = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _domains(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(name.value for name in found.permitted_subtrees or () if isinstance(name, x509.DNSName))


def _renewal(folder: Path, domains: Iterable[str] = ()) -> str:
    # One that signs for a few domains must not become one that signs for all.
    options = "".join(f" --domain {domain}" for domain in domains if domain != "localhost")
    return f"`fault ca create --replace{options}` makes a new one in {folder}"


def _load(folder: Path) -> LocalAuthority:
    cert_file, key_file = folder / CERTIFICATE, folder / KEY
    again = _renewal(folder)
    try:
        cert_pem, key_pem = cert_file.read_bytes(), key_file.read_bytes()
        mode = stat.S_IMODE(key_file.stat().st_mode)
    except OSError as error:
        raise InputError(
            str(error.filename or folder), f"cannot be read: {error.strerror}; {again}"
        ) from None
    if mode & 0o077:
        raise InputError(
            str(key_file), f"expected a file that only its owner may read, got mode {mode:o} (chmod 600)"
        )
    try:
        certificate = x509.load_pem_x509_certificate(cert_pem)
    except ValueError:
        raise InputError(str(cert_file), f"expected a certificate in PEM format; {again}") from None
    again = _renewal(folder, _domains(certificate))
    try:
        key = serialization.load_pem_private_key(key_pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(str(key_file), f"expected a private key in PEM format; {again}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise InputError(str(key_file), f"expected the key of {cert_file.name}, got another; {again}")
    if certificate.not_valid_after_utc <= moment():
        ended = f"{certificate.not_valid_after_utc:%Y-%m-%d}"
        raise InputError(
            str(cert_file), f"expected a certificate that is valid, got one that ended on {ended}; {again}"
        )
    return LocalAuthority(folder, certificate, key)
