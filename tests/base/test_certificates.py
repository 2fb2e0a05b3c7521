"""Why a handshake failed, in words; the files of mutual TLS."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from faultkit.base import certificates
from faultkit.base.certificates import client_context, mutual_tls, why_handshake_failed
from faultkit.base.errors import InputError
from tests.proxy.control.certificates import Certificates

ALERTS = {
    40: "handshake failure",
    70: "protocol version",
    120: "no application protocol",  # Python 3.11 has no name for it.
}


@pytest.mark.parametrize("code", ALERTS)
def test_an_alert_is_told_in_plain_words(code: int) -> None:
    client, server = socket.socketpair()
    with client, server, pytest.raises(ssl.SSLError) as caught:
        server.sendall(bytes([21, 3, 3, 0, 2, 2, code]))
        client_context(verify=False).wrap_socket(client)
    why = why_handshake_failed(caught.value)
    assert why.startswith("TLS: ")
    assert why.endswith(f"alert {ALERTS[code]}")
    assert "[" not in why


def test_the_names_of_a_server_are_read_from_its_certificate(tmp_path: Path) -> None:
    authority = Certificates(tmp_path)
    files = authority.issue("Host.Example", "*.example.org", "10.1.2.3", "::1")
    assert mutual_tls(*files, authority.ca).names == ("host.example", "*.example.org", "10.1.2.3", "::1")


def test_the_names_are_read_where_tls_1_3_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Older(ssl.SSLContext):
        """A context as the settings of OpenSSL may make it."""

        def __init__(self, protocol: int) -> None:
            self.maximum_version = ssl.TLSVersion.TLSv1_2

    monkeypatch.setattr(certificates, "ssl", SimpleNamespace(**{**vars(ssl), "SSLContext": Older}))
    authority = Certificates(tmp_path)
    assert mutual_tls(*authority.issue("host.example"), authority.ca).names == ("host.example",)


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ((0, "missing"), 'cert: expected a PEM file of certificates, got "{}": No such file or directory'),
        ((1, "missing"), 'key: expected a PEM file with a private key, got "{}": No such file or directory'),
        (
            (2, "missing"),
            'client_ca: expected a PEM file of certificates, got "{}": No such file or directory',
        ),
        ((0, "text"), 'cert: expected a PEM file of certificates, got "{}": no certificate in it'),
        (
            (1, "text"),
            'key: expected a PEM file with a private key, got "{}": no key in it, or one with a pass',
        ),
        (
            (1, "other"),
            'key: expected a PEM file with a private key, got "{}": it belongs to another certific',
        ),
        (
            (1, "locked"),
            'key: expected a PEM file with a private key, got "{}": no key in it, or one with a p',
        ),
        ((2, "text"), 'client_ca: expected a PEM file of certificates, got "{}": no certificate in it'),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path: Path, replaced: tuple[int, str], message: str) -> None:
    authority = Certificates(tmp_path)
    index, what = replaced
    cert, key = authority.issue("localhost")
    files = [cert, key, authority.ca]
    (tmp_path / "text").write_text("nothing\n")
    (tmp_path / "locked").write_bytes(_with_password(Path(key)))
    files[index] = authority.issue("localhost", file="other")[1] if what == "other" else str(tmp_path / what)
    with pytest.raises(InputError) as caught:
        mutual_tls(files[0], files[1], files[2])
    assert str(caught.value).startswith(message.format(files[index]))


def _with_password(key: Path) -> bytes:
    plain = serialization.load_pem_private_key(key.read_bytes(), None)
    return plain.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )


def test_a_certificate_that_has_expired_is_refused_at_the_start(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", not_after=datetime(2020, 1, 1, tzinfo=UTC))
    cert, key, ca = (str(tmp_path / name) for name in ("cert", "key", "ca"))
    issued.cert_chain_pems[0].write_to_path(cert)
    issued.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(ca)
    with pytest.raises(InputError, match="TLS: the certificate is not trusted: certificate has expired"):
        mutual_tls(cert, key, ca)


def test_a_key_of_another_kind_belongs_to_another_certificate(tmp_path: Path) -> None:
    cert, _ = Certificates(tmp_path).issue("localhost", file="elliptic")
    key = tmp_path / "rsa.key"
    trustme.CA(key_type=trustme.KeyType.RSA).private_key_pem.write_to_path(str(key))
    with pytest.raises(InputError, match="it belongs to another certificate"):
        certificates.add_certificate(certificates.server_context(), cert, str(key))
