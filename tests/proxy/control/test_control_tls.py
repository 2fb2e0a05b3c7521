"""The control API over mutual TLS: who may call it, under which names, and what a client is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from faultkit.base.address import Endpoint
from faultkit.base.certificates import add_certificate, client_context, mutual_tls
from faultkit.base.errors import FaultkitError, InputError, TargetError
from faultkit.plan import Plan
from faultkit.proxy.control.control_client import ControlClient
from faultkit.proxy.control.control_server import ControlServer
from faultkit.proxy.plane import Plane
from tests.proxy.control.certificates import Certificates

TOKEN = "for-tests-only"


@dataclass
class SecureApi:
    authority: Certificates
    port: int

    def client(
        self, identity: tuple[str, str] | None, host: str = "localhost", trust: str | None = None
    ) -> ControlClient:
        context = client_context(trust or self.authority.ca)
        if identity is not None:
            add_certificate(context, *identity)
        return ControlClient(f"https://{host}:{self.port}", TOKEN, context)


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[SecureApi]:
    authority = Certificates(tmp_path)
    files = authority.issue("localhost", "127.0.0.1", "*.faults.test")
    tls = mutual_tls(*files, authority.ca)
    with (
        Plane(Plan()) as plane,
        ControlServer(plane, Endpoint("0.0.0.0", 0), TOKEN, tls=tls) as control,
    ):
        yield SecureApi(authority, control.bound.port)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_client_with_a_certificate_and_the_token_steers_the_plan(secure: SecureApi, host: str) -> None:
    client = secure.client(secure.authority.issue("client.test", file="client"), host)
    assert client.plan()["rules"] == []
    client.add_rule({"name": "slow", "fault": "latency"}, 60.0)
    assert client.status()["expires_in_s"].keys() == {"slow"}


def test_the_token_is_needed_beside_the_certificate(secure: SecureApi) -> None:
    client = secure.client(secure.authority.issue("client.test", file="client"))
    with pytest.raises(TargetError, match="wants another token"):
        ControlClient(client.url, "wrong", client.tls).plan()


@pytest.mark.parametrize("has_certificate", [False, True])
def test_a_client_without_a_trusted_certificate_gets_no_answer(
    secure: SecureApi, tmp_path: Path, has_certificate: bool
) -> None:
    stranger = Certificates(tmp_path / "other").issue("client.test") if has_certificate else None
    with pytest.raises(FaultkitError) as caught:
        secure.client(stranger).plan()
    assert str(caught.value).startswith(f"the control API at https://localhost:{secure.port} ")
    assert "certificate" in str(caught.value)


def test_a_server_that_the_client_does_not_trust_is_named(secure: SecureApi, tmp_path: Path) -> None:
    client = secure.client(None, trust=Certificates(tmp_path / "other").ca)
    with pytest.raises(TargetError) as caught:
        client.plan()
    assert str(caught.value).startswith(
        f"the control API at https://localhost:{secure.port} cannot be reached: TLS: the certificate is not "
        "trusted: "
    )


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:{port}", 200),
        ("a.faults.test:{port}", 200),
        ("A.Faults.Test:{port}", 200),
        ("a.b.faults.test:{port}", 403),
        ("faults.test:{port}", 403),
        ("*.faults.test", 403),
        ("evil.example:{port}", 403),
        ("localhost", 403),
    ],
)
def test_only_the_names_of_the_certificate_are_welcome(secure: SecureApi, host: str, status: int) -> None:
    client = secure.client(secure.authority.issue("client.test", file="client"))
    assert _status(client, Host=host.format(port=secure.port)) == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://{own}", 200), ("http://{own}", 403), ("null", 403), ("https://evil", 403)],
)
def test_only_our_own_origin_is_welcome(secure: SecureApi, origin: str, status: int) -> None:
    client = secure.client(secure.authority.issue("client.test", file="client"))
    assert _status(client, Origin=origin.format(own=f"localhost:{secure.port}")) == status


def _status(client: ControlClient, **headers: str) -> int:
    from http.client import HTTPSConnection
    from urllib.parse import urlsplit

    parts = urlsplit(client.url)
    connection = HTTPSConnection(parts.hostname or "", parts.port, timeout=20, context=client.tls)
    try:
        connection.request("GET", "/plan", headers={"Authorization": f"Bearer {TOKEN}", **headers})
        return connection.getresponse().status
    finally:
        connection.close()


def test_clear_text_gets_no_answer(secure: SecureApi) -> None:
    with pytest.raises(FaultkitError, match=f"the control API at http://localhost:{secure.port} "):
        ControlClient(f"http://localhost:{secure.port}", TOKEN).plan()


def test_without_tls_it_stays_on_loopback() -> None:
    with Plane(Plan()) as plane, pytest.raises(InputError, match="expected a loopback address"):
        ControlServer(plane, Endpoint("0.0.0.0", 0), TOKEN)
