"""Certificates: trust in those of servers, those of both sides of mutual TLS, and why a handshake failed."""

from __future__ import annotations

import contextlib
import re
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from faultkit.base.address import Verify
from faultkit.base.errors import InputError

_OTHER_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
"""OpenSSL's reasons for the key of another certificate; the last one is for a key of another kind."""
_PLACE_IN_PYTHON = re.compile(r"^\[[^]]*\] | ?\(_ssl\.c:\d+\)$")


def client_context(verify: Verify = True) -> ssl.SSLContext:
    """Return a new context for connections to servers. Raises OSError for a file without certificates."""
    context = ssl.create_default_context()
    if isinstance(verify, str):
        context.load_verify_locations(verify)
    elif not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""For TLS 1.2, those with forward secrecy; those of TLS 1.3 are all good."""


def server_context() -> ssl.SSLContext:
    """Return a new context for connections of clients, without a certificate: TLS 1.2 and 1.3 only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    return context


def check_authorities(path: str, field: str) -> None:
    """Raise InputError, which names `field`, if the file holds no certificates in PEM format."""
    try:
        client_context(path)
    except OSError as error:  # ssl.SSLError is one.
        why = "no certificate in it" if isinstance(error, ssl.SSLError) else (error.strerror or str(error))
        raise InputError(field, f'expected a PEM file of certificates, got "{path}": {why}') from None


def add_certificate(
    context: ssl.SSLContext, cert: str, key: str, fields: tuple[str, str] = ("cert", "key")
) -> None:
    """Let a context identify itself by this certificate. Raises InputError, which names one of the `fields`,
    for files that hold no certificate, no key, or the key of another certificate."""
    for path, field, what in (
        (cert, fields[0], "a PEM file of certificates"),
        (key, fields[1], "a PEM file with a private key"),
    ):
        try:
            with open(path, "rb"):
                pass
        except OSError as error:
            raise InputError(field, f'expected {what}, got "{path}": {error.strerror}') from None
    try:
        # Without a password, OpenSSL would ask for one on the terminal.
        context.load_cert_chain(cert, key, password=lambda: b"")
    except (OSError, ValueError) as error:
        check_authorities(cert, fields[0])
        is_other = isinstance(error, ssl.SSLError) and error.reason in _OTHER_KEY
        why = "it belongs to another certificate" if is_other else "no key in it, or one with a password"
        raise InputError(fields[1], f'expected a PEM file with a private key, got "{key}": {why}') from None


@dataclass(frozen=True, slots=True)
class MutualTls:
    """The server's side of mutual TLS."""

    context: ssl.SSLContext
    """Accepts only clients whose certificate is of the trusted authorities."""
    names: tuple[str, ...]
    """The names and IP addresses in the server's certificate, in lower case; one may begin with `*.`."""


def mutual_tls(
    cert: str, key: str, client_ca: str, fields: tuple[str, str, str] = ("cert", "key", "client_ca")
) -> MutualTls:
    """Return the server's side of mutual TLS. Raises InputError, which names one of the `fields`.

    client_ca: a PEM file with the authorities of the clients' certificates; no others are trusted"""
    check_authorities(client_ca, fields[2])
    context = server_context()
    add_certificate(context, cert, key, fields[:2])
    try:
        names = _names_in(context, cert)
    except ssl.SSLError as error:
        raise InputError(
            fields[0], f'expected a certificate of a server, got "{cert}": {why_handshake_failed(error)}'
        ) from None
    if not names:
        expected = "a certificate with the server's names or IP addresses (subjectAltName)"
        raise InputError(fields[0], f'expected {expected}, got "{cert}" without any')
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(client_ca)
    return MutualTls(context, names)


def _names_in(server: ssl.SSLContext, cert: str) -> tuple[str, ...]:
    """Return the names in the server's certificate. The module `ssl` decodes only the certificate of a peer,
    so this is a handshake in memory, which finds a certificate that has expired, too."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.load_verify_locations(cert)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # Its issuer is of no interest here.
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    for side in (near, far, near, far, near):  # TLS 1.3 needs the first three.
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    certificate: dict[str, Any] = near.getpeercert() or {}
    return tuple(
        str(ip_address(str(value).strip())) if kind == "IP Address" else str(value).lower()
        for kind, value in certificate.get("subjectAltName", ())
        if kind in ("DNS", "IP Address")
    )


def why_handshake_failed(error: ssl.SSLError) -> str:
    """Return why a TLS handshake failed, in a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate is not trusted: {error.verify_message}"
    if error.reason:
        return f"TLS: {error.reason.lower().replace('_', ' ')}"
    # Python has no name for some alerts: then the text is "[SSL] tlsv1 alert … (_ssl.c:1006)".
    return f"TLS: {_PLACE_IN_PYTHON.sub('', str(error))}"
