"""Short-lived certificates of servers, signed by the local authority, and their wrong relatives for faults.

A leaf is PEM text: its private key, its certificate, and the authority's. One key serves all leaves of a
process, since making keys takes longer than signing. No I/O.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Literal, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from faultkit.base.local_authority import LocalAuthority

LIFE_HOURS = 24
WRONG_HOST = "wrong-host.invalid"
"""The name in a certificate for the wrong host; no server has it (RFC 6761 §6.4)."""
_LONGEST_COMMON_NAME = 64

Flaw: TypeAlias = Literal["expired", "self_signed", "wrong_host"]
"""What is wrong with a certificate, on purpose."""

_USAGE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


class LeafIssuer:
    """Signs certificates for servers."""

    def __init__(self, authority: LocalAuthority) -> None:
        self.authority = authority
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._key_pem = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def issue(self, names: tuple[str, ...], now: datetime, flaw: Flaw | None = None) -> bytes:
        """Return key, certificate and authority as PEM text, for DNS names and IP addresses.

        Raises ValueError for a name that no certificate can have, and once the authority has ended."""
        if flaw == "wrong_host":
            names = (WRONG_HOST,)
        begins, ends = now - timedelta(hours=1), now + timedelta(hours=LIFE_HOURS)
        if flaw == "expired":
            begins, ends = now - timedelta(days=8), now - timedelta(days=1)
        ends = min(ends, self.authority.ends_at)
        if ends <= now and flaw not in ("expired", "self_signed"):
            raise ValueError(f"the local authority has ended: {self.authority.renewal}, for the next run")
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _common_name(names[0]))])
        public = self._key.public_key()
        own = flaw == "self_signed"
        signer_key = self._key if own else self.authority.key
        leaf = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if own else self.authority.certificate.subject)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(ends)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_USAGE, critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer_key.public_key()), critical=False
            )
            .sign(signer_key, hashes.SHA256())
        )
        own_pem = leaf.public_bytes(serialization.Encoding.PEM)
        return self._key_pem + own_pem + (b"" if own else self.authority.pem)


def _common_name(name: str) -> str:
    """Return the name for people. That of an address must be no name: clients would hold it against the
    domains of the authority."""
    is_address = isinstance(_general_name(name), x509.IPAddress)
    return "Faultkit leaf" if is_address else name[:_LONGEST_COMMON_NAME]


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
