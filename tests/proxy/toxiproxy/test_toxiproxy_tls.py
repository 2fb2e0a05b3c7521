"""Proxies with a `tls` block, and the API over HTTPS."""

from __future__ import annotations

import json
import ssl
import threading
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from faultkit.base.certificates import add_certificate, server_context
from faultkit.proxy.toxiproxy.toxiproxy_server import ToxiproxyServer
from tests.proxy import origin
from tests.proxy.control.certificates import Certificates
from tests.proxy.proxied_http import get
from tests.proxy.toxiproxy.harness import PATIENCE_S, serving


def ask(listen: str, authority: str) -> tuple[int, str]:
    context = ssl.create_default_context(cafile=authority)
    client = HTTPSConnection("localhost", int(listen.rpartition(":")[2]), timeout=PATIENCE_S, context=context)
    try:
        return get(client, "/a")
    finally:
        client.close()


def test_a_proxy_speaks_tls_on_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT_CA_DIR", str(tmp_path / "ca"))
    files = Certificates(tmp_path / "files")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files.issue("localhost"))
    with serving() as api, origin.serving(context) as upstream:
        block = {"upstreamCA": files.ca}
        wire = {"name": "wire", "upstream": f"localhost:{upstream.server_port}", "tls": block}
        made = api.ok("POST", "/proxies", wire)
        assert made["tls"] == block
        assert ask(made["listen"], str(tmp_path / "ca" / "ca.pem")) == (200, "GET /a 0")
        api.add_toxic("latency", latency=1)
        assert ask(made["listen"], str(tmp_path / "ca" / "ca.pem")) == (200, "GET /a 0")
        again = api.ok("POST", "/proxies/wire", {"enabled": True})
        assert (again["tls"], again["listen"]) == (block, made["listen"])


def test_a_proxy_ends_tls_with_a_certificate_of_the_user(tmp_path: Path) -> None:
    files = Certificates(tmp_path)
    cert, key = files.issue("localhost")
    with serving() as api, origin.serving() as upstream:
        wire = {"name": "wire", "upstream": str(upstream.endpoint)}
        made = api.ok("POST", "/proxies", wire)
        assert "tls" not in made
        block = {"cert": cert, "key": key, "upstream": False}
        made = api.ok("POST", "/proxies/wire", {"TLS": block})
        assert made["tls"] == block
        assert ask(made["listen"], files.ca) == (200, "GET /a 0")


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ({"cert": "a.pem"}, "tls.cert: expected tls.key beside it, got none"),
        ({"upstreamKey": "a.pem"}, "tls.upstreamKey: expected tls.upstreamCert beside it, got none"),
        (
            {"cert": "/none.pem", "key": "/none.key"},
            'tls.cert: expected a PEM file of certificates, got "/none.pem": No such file or directory',
        ),
        (
            {"clientCA": "/none.pem"},
            'tls.clientCA: expected a PEM file of certificates, got "/none.pem": No such file or directory',
        ),
        ({"upstream": "no"}, 'upstream: expected true or false, got "no"'),
        ("yes", 'tls: expected an object, got "yes"'),
    ],
)
def test_a_block_that_does_not_fit_is_refused(block: object, problem: str) -> None:
    with serving() as api:
        reply = api.call("POST", "/proxies", {"name": "wire", "upstream": "localhost:1", "tls": block})
        assert (reply.status, reply.json["error"]) == (400, f"bad request body: {problem}")
        assert api.ok("GET", "/proxies") == {}


def test_the_api_speaks_https(tmp_path: Path) -> None:
    files = Certificates(tmp_path)
    context = server_context()
    add_certificate(context, *files.issue("localhost"))
    server = ToxiproxyServer("localhost", 0, 7, context)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.url == f"https://{server.endpoint}"
        trusting = ssl.create_default_context(cafile=files.ca)
        client = HTTPSConnection("localhost", server.endpoint.port, timeout=PATIENCE_S, context=trusting)
        status, body = get(client, "/version")
        client.close()
        assert (status, "version" in json.loads(body)) == (200, True)
    finally:
        server.stop()
        thread.join()
        server.close()
