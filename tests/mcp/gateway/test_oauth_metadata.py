"""OAuth metadata of a protected server behind the relay."""

from __future__ import annotations

import asyncio
import json

import pytest

from faultkit.base.http.http_url import parse_url
from faultkit.mcp.gateway.oauth_metadata import own_url, with_own_challenge, with_own_resource
from tests.mcp.gateway.gateway_peers import http_answer, http_request, relayed, request, run, scripted

UPSTREAM = parse_url("https://mcp.example/mcp")
OWN = "http://127.0.0.1:8766"
METADATA = "/.well-known/oauth-protected-resource/mcp"


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://mcp.example/mcp", f"{OWN}/mcp"),
        ("https://mcp.example:443/a?b=c", f"{OWN}/a?b=c"),
        ("https://mcp.example", OWN),
        ("http://mcp.example/mcp", "http://mcp.example/mcp"),
        ("https://login.example/", "https://login.example/"),
        ("urn:x", "urn:x"),
    ],
)
def test_only_urls_of_the_upstream_become_those_of_the_relay(url: str, own: str) -> None:
    assert own_url(url, UPSTREAM, OWN) == own


@pytest.mark.parametrize(
    "body", [b"[]", b"{", b"{}", b'{"resource": 7}', b'{"resource": "https://a.example/"}']
)
def test_other_metadata_pass_unchanged(body: bytes) -> None:
    assert with_own_resource(body, UPSTREAM, OWN) is None


def test_a_challenge_names_the_metadata_at_the_relay() -> None:
    challenge = (
        'Bearer error="invalid_token", resource_metadata="https://mcp.example/.well-known/x", scope="a"'
    )
    (line,) = with_own_challenge([("WWW-Authenticate", challenge)], UPSTREAM, OWN)
    assert line[1] == f'Bearer error="invalid_token", resource_metadata="{OWN}/.well-known/x", scope="a"'


def test_a_client_of_the_relay_is_led_to_metadata_that_name_the_relay() -> None:
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await http_request(reader)
        host = head.lower().partition(b"host: ")[2].partition(b"\r\n")[0]
        if head.startswith(b"GET"):
            document = {
                "resource": f"http://{host.decode()}/mcp",
                "authorization_servers": ["https://login/"],
            }
            writer.write(http_answer(json.dumps(document).encode()))
        else:
            where = b'www-authenticate: Bearer resource_metadata="http://' + host + METADATA.encode() + b'"'
            writer.write(http_answer(b"", b"401 Unauthorized", where))

    async def main() -> None:
        async with scripted(upstream) as url, relayed(url) as client:
            own = f"http://{client.address.authority}"
            refused = await client.request("POST", [], request(1, "initialize"))
            assert refused.status == 401
            assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{own}{METADATA}"'
            refused.close()
            metadata = await client.request("GET", [], b"", METADATA)
            document = json.loads(await metadata.body(10_000))
            assert document == {"resource": f"{own}/mcp", "authorization_servers": ["https://login/"]}

    run(main)
