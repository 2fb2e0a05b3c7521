"""The metadata and challenges with which clients find out how to get a token."""

from __future__ import annotations

import pytest

from faultkit.audit.access.access_settings import METADATA_PATH, AccessSettings, challenge, metadata_of
from faultkit.audit.access.rate_limits import address_of
from faultkit.base.address import is_loopback
from faultkit.base.http.http_exchange import HttpRequest

SETTINGS = AccessSettings(issuer="https://issuer.example", mcp_paths=("/mcp", "/"))


def request(target: str, host: str = "127.0.0.1:8767") -> HttpRequest:
    return HttpRequest("GET", target, {"host": host}, [("Host", host)], b"", "127.0.0.1:5")


def test_the_resource_is_where_it_was_asked_for() -> None:
    assert metadata_of(request(METADATA_PATH), SETTINGS) == {
        "resource": "http://127.0.0.1:8767",
        "authorization_servers": ["https://issuer.example"],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["read", "call", "admin"],
    }
    of_tools = metadata_of(request(f"{METADATA_PATH}/mcp?x=1"), SETTINGS)
    assert of_tools is not None
    assert of_tools["resource"] == "http://127.0.0.1:8767/mcp"


def test_clients_are_asked_for_scopes_with_the_prefix_of_tokens() -> None:
    settings = AccessSettings(issuer="https://issuer.example", scope_prefix="faultkit:")
    document = metadata_of(request(METADATA_PATH), settings)
    assert document is not None
    assert document["scopes_supported"] == ["faultkit:read", "faultkit:call", "faultkit:admin"]
    assert 'scope="faultkit:call"' in challenge(request("/mcp"), settings, "call", "invalid_token", "no")


def test_there_is_nothing_at_other_paths() -> None:
    assert metadata_of(request(f"{METADATA_PATH}/other"), SETTINGS) is None
    assert metadata_of(request("/mcp"), SETTINGS) is None


def test_without_an_issuer_none_is_named() -> None:
    document = metadata_of(request(METADATA_PATH), AccessSettings())
    assert document is not None
    assert "authorization_servers" not in document


def test_the_public_address_goes_before_the_one_that_was_called() -> None:
    settings = AccessSettings(public_url="https://tools.example.org/base")
    document = metadata_of(request(f"{METADATA_PATH}/mcp"), settings)
    assert document is not None
    assert document["resource"] == "https://tools.example.org/base/mcp"


def test_a_challenge_points_to_the_document_of_what_was_asked_for() -> None:
    def pointed(path: str) -> str:
        return challenge(request(path), SETTINGS, "call", "", "").rpartition("resource_metadata=")[2]

    assert pointed("/mcp") == f'"http://127.0.0.1:8767{METADATA_PATH}/mcp"'
    assert pointed("/") == f'"http://127.0.0.1:8767{METADATA_PATH}"'
    assert pointed("/api/v1/portal/me") == f'"http://127.0.0.1:8767{METADATA_PATH}"'


@pytest.mark.parametrize("host", ['x", error="', "a b", "", "a\r\nb", "[::1", "a:b", "a/b"])
def test_a_hostile_host_gets_into_no_header(host: str) -> None:
    value = challenge(request("/mcp", host), SETTINGS, "call", "invalid_token", "no")
    assert f'"http://localhost{METADATA_PATH}/mcp"' in value
    assert value.count('"') == 10


def test_a_description_has_no_quotes_inside_of_its_own() -> None:
    value = challenge(request("/mcp"), SETTINGS, "call", "insufficient_scope", 'the "call\\\r\né" is missing')
    assert """error_description="the 'call????' is missing\"""" in value


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_is_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.1", "example.org", "localhost.example.org"])
def test_all_else_is_not(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("10.0.0.1:80", "10.0.0.1"),
        ("[::1]:80", "::1"),
        ("[2001:db8::5]:80", "2001:db8::/64"),
        ("[::ffff:10.0.0.1]:80", "10.0.0.1"),
        ("", ""),
    ],
)
def test_a_peer_is_its_address_without_the_port(peer: str, address: str) -> None:
    assert address_of(peer) == address
