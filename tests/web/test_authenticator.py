"""Every reason to refuse a request for the tools, on a real server, with the row that it logs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import httpx
import pytest

from faultkit.audit.access.access_settings import AccessSettings
from faultkit.audit.access.api_keys import KeyStore
from faultkit.audit.access.oidc import Issuer as IssuerKeys
from faultkit.audit.access.oidc import OidcSettings, TokenVerifier
from faultkit.audit.access.rate_limits import Rate
from faultkit.audit.row import AuditRow
from faultkit.base.times import now_us
from tests.audit.access.issuers import AUDIENCE, Issuer, issuer, rsa_key
from tests.web.guarded_tools import PATIENCE_S, Served, served


@pytest.fixture(scope="module")
def at_issuer() -> Iterator[Issuer]:
    with issuer() as running:
        yield running


@pytest.fixture
def closed(at_issuer: Issuer) -> Iterator[Served]:
    """A server that requires a key or a token. Not shared: repeated refusals would be folded into one row."""
    settings = AccessSettings(anonymous=False, issuer=at_issuer.url)

    def tokens() -> TokenVerifier:
        return TokenVerifier(OidcSettings(at_issuer.url, (AUDIENCE,)), IssuerKeys(at_issuer.url))

    with served(settings, tokens) as running:
        yield running


@pytest.fixture
def opened() -> Iterator[Served]:
    """A server with the default settings of loopback."""
    with served(AccessSettings()) as running:
        yield running


def only_row(server: Served) -> AuditRow:
    (row,) = server.new_rows()
    assert not row.success
    assert row.source == "door"
    assert row.tool_name == ""
    assert re.fullmatch(r"127\.0\.0\.1:\d+", row.remote_addr)
    return row


def challenge_of(response: httpx.Response) -> dict[str, str]:
    value = response.headers["www-authenticate"]
    assert value.startswith("Bearer ")
    return dict(re.findall(r'(\w+)="([^"]*)"', value))


def structured(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()["result"]["structuredContent"]


def expired_key(keys: KeyStore) -> str:
    """Create a key with a clock of the past, so that it has expired."""
    past = KeyStore(keys._store, clock=lambda: now_us() - 2_000_000)
    return past.create("expired", ("call",), now_us() - 1_000_000)[1]


def revoked_key(keys: KeyStore) -> str:
    plain = keys.create("revoked", ("call",))[1]
    keys.revoke("revoked")
    return plain


def test_by_default_no_credential_is_required(opened: Served) -> None:
    who = structured(opened.call("whoami"))
    assert who == {"subject": "anonymous", "auth_type": "anonymous"}
    (row,) = opened.new_rows()
    assert (row.success, row.auth_type, row.user_subject, row.api_key_name) == (
        True,
        "anonymous",
        "anonymous",
        "",
    )


def test_a_request_without_a_credential_gets_a_challenge_with_metadata(closed: Served) -> None:
    response = closed.initialize()
    assert response.status_code == 401
    base = closed.url.removesuffix("/mcp")
    # RFC 6750, 3.1: a request without a credential gets no error code.
    assert challenge_of(response) == {
        "realm": "faultkit",
        "scope": "call",
        "resource_metadata": f"{base}/.well-known/oauth-protected-resource/mcp",
    }
    assert response.json() == {
        "error": "unauthorized",
        "error_description": "expected an API key or a bearer token",
    }
    row = only_row(closed)
    assert row.error_message == "not authenticated: expected an API key or a bearer token"
    assert (row.error_category, row.auth_type, row.user_subject) == ("auth", "anonymous", "")
    assert row.parameters == '{"method":"POST","path":"/mcp","times":1}'
    assert row.user_agent.startswith("python-httpx/")


BAD_KEYS: dict[str, tuple[Callable[[KeyStore], str], str, str]] = {
    "wrong": (lambda keys: "fk_" + "A" * 43, "unknown key", ""),
    "of another make": (lambda keys: "sk-whatever", "unknown key", ""),
    "empty": (lambda keys: "", "unknown key", ""),
    "expired": (expired_key, "the key has expired", "expired"),
    "revoked": (revoked_key, "the key was revoked", "revoked"),
}


@pytest.mark.parametrize(("make", "why", "name"), BAD_KEYS.values(), ids=BAD_KEYS)
def test_a_bad_key_is_refused_even_where_no_key_would_be_let_in(
    make: Callable[[KeyStore], str], why: str, name: str, opened: Served
) -> None:
    plain = make(opened.keys)
    response = opened.initialize(x_api_key=plain)
    assert response.status_code == 401
    asked = challenge_of(response)
    assert (asked["error"], asked["error_description"]) == ("invalid_token", why)
    assert "mcp-session-id" not in response.headers
    row = only_row(opened)
    assert row.error_message == f"not authenticated: {why}"
    assert (row.error_category, row.api_key_name) == ("auth", name)
    assert row.auth_type == ("apikey" if name else "anonymous")
    assert opened.call("echo", x_api_key=plain).status_code == 401


def test_a_good_key_is_known_as_a_header_of_its_own_and_as_a_bearer(closed: Served) -> None:
    _, plain = closed.keys.create("ci", ("call",), now_us() + 60_000_000)
    for headers in ({"x_api_key": plain}, {"authorization": f"bearer  {plain}"}):
        who = structured(closed.call("whoami", **headers))
        assert who == {"subject": "ci", "auth_type": "apikey"}
    rows = closed.new_rows()
    assert [(row.user_subject, row.auth_type, row.api_key_name) for row in rows] == [
        ("ci", "apikey", "ci")
    ] * 2
    assert all(plain not in str(row) for row in rows)


def test_a_key_without_the_scope_is_refused_with_the_missing_scope(closed: Served) -> None:
    _, plain = closed.keys.create("reader", ("read",))
    response = closed.initialize(x_api_key=plain)
    assert response.status_code == 403
    asked = challenge_of(response)
    assert (asked["error"], asked["scope"]) == ("insufficient_scope", "call")
    row = only_row(closed)
    assert row.error_message == 'not allowed: the scope "call" is missing'
    assert (row.error_category, row.api_key_name, row.user_subject) == ("auth", "reader", "reader")


def test_the_scope_admin_holds_the_others(closed: Served) -> None:
    _, plain = closed.keys.create("root", ("admin",))
    assert closed.call("echo", x_api_key=plain).status_code == 200


def test_two_credentials_are_one_too_many(opened: Served) -> None:
    _, plain = opened.keys.create("ci", ("call",))
    response = opened.call("echo", x_api_key=plain, authorization="Bearer wrong")
    assert response.status_code == 400
    assert only_row(opened).error_message == "expected X-API-Key or Authorization, got both"


@pytest.mark.parametrize("value", ["Basic YTpi", "Bearer", ""])
def test_what_is_no_bearer_is_refused(value: str, opened: Served) -> None:
    response = opened.initialize(authorization=value)
    assert response.status_code == 401
    assert challenge_of(response)["error"] == "invalid_request"
    assert only_row(opened).error_category == "auth"


def test_tokens_are_refused_without_an_issuer(opened: Served, at_issuer: Issuer) -> None:
    response = opened.initialize(authorization=f"Bearer {at_issuer.token()}")
    assert (response.status_code, challenge_of(response)["error_description"]) == (
        401,
        "tokens are not accepted here",
    )
    assert only_row(opened).error_category == "auth"


def test_whose_token_it_is_can_be_asked(closed: Served, at_issuer: Issuer) -> None:
    token = at_issuer.token(email="a@example.org", name="Alice", team={"id": 7})
    who = structured(closed.call("whoami", authorization=f"Bearer {token}"))
    assert (who["subject"], who["auth_type"], who["email"], who["name"]) == (
        "alice",
        "oidc",
        "a@example.org",
        "Alice",
    )
    assert who["claims"]["team"] == {"id": 7}
    assert who["claims"]["iss"] == at_issuer.url
    (row,) = closed.new_rows()
    assert (row.user_subject, row.user_email, row.auth_type) == ("alice", "a@example.org", "oidc")


BAD_TOKENS: dict[str, tuple[Callable[[Issuer], str], str]] = {
    "forged": (lambda at: at.token(rsa_key(1)), "the token's signature is wrong"),
    "expired": (lambda at: at.token(exp=1_700_000_000), "the token has expired"),
    "of another issuer": (
        lambda at: at.token(iss="https://evil.example"),
        "the token is from another issuer",
    ),
    "for others": (lambda at: at.token(aud="https://other.example"), "the token is for another audience"),
}


@pytest.mark.parametrize(("make", "why"), BAD_TOKENS.values(), ids=BAD_TOKENS)
def test_a_bad_token_is_refused(
    make: Callable[[Issuer], str], why: str, closed: Served, at_issuer: Issuer
) -> None:
    token = make(at_issuer)
    response = closed.initialize(authorization=f"Bearer {token}")
    assert response.status_code == 401
    asked = challenge_of(response)
    assert (asked["error"], asked["error_description"]) == ("invalid_token", why)
    row = only_row(closed)
    assert row.error_message == f"not authenticated: {why}"
    # The claims of an invalid token are not used.
    assert (row.user_subject, row.auth_type) == ("", "anonymous")
    assert token not in str(row)


def test_a_token_without_the_scope_is_refused_with_its_user_in_the_row(
    closed: Served, at_issuer: Issuer
) -> None:
    response = closed.initialize(authorization=f"Bearer {at_issuer.token(scope='openid faultkit:read')}")
    assert (response.status_code, challenge_of(response)["error"]) == (403, "insufficient_scope")
    row = only_row(closed)
    assert (row.user_subject, row.auth_type) == ("alice", "oidc")


FOREIGN = {
    "host": {"host": "evil.example"},
    "origin": {"origin": "https://evil.example"},
    "no origin at all": {"origin": "null"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_host_or_origin_is_refused(headers: dict[str, str], opened: Served) -> None:
    response = opened.initialize(**headers)
    assert response.status_code == 403
    row = only_row(opened)
    assert row.error_message == "not allowed: this host or origin may not call"
    assert row.error_category == "origin"
    parameters = json.loads(row.parameters or "")
    assert {name: parameters[name] for name in headers} == headers


def test_a_key_makes_no_difference_to_a_foreign_origin(opened: Served) -> None:
    _, plain = opened.keys.create("ci", ("admin",))
    assert opened.initialize(x_api_key=plain, origin="https://evil.example").status_code == 403


def test_a_caller_beyond_the_rate_gets_retry_after() -> None:
    with served(AccessSettings(rate=Rate(2, 3600))) as server:
        _, plain = server.keys.create("ci", ("call",))
        assert [server.call("echo").status_code for _ in range(3)] == [200, 200, 429]
        # Each key has its own rate.
        statuses = [server.call("echo", x_api_key=plain).status_code for _ in range(2)]
        response = server.call("echo", x_api_key=plain)
        assert [*statuses, response.status_code] == [200, 200, 429]
        assert 1 <= int(response.headers["retry-after"]) <= 1800
        assert "www-authenticate" not in response.headers
        refused = [row for row in server.new_rows() if not row.success]
    # Both have the same address and message: the second is counted, and logged at the end.
    assert [(row.error_category, row.error_message) for row in refused] == [("rate", "too many requests")]


def test_guessing_keys_is_limited_by_address() -> None:
    with served(AccessSettings(rate=Rate(2, 3600))) as server:
        statuses = [server.call("echo", x_api_key=f"fk_{number}").status_code for number in range(3)]
        assert statuses == [401, 401, 429]


def test_a_body_that_is_too_large_is_refused() -> None:
    with served(AccessSettings(most_body_bytes=2000)) as server:
        assert server.call("echo", {"message": "x" * 3000}).status_code == 413
        assert server.call("echo", {"message": "x" * 1000}).status_code == 200


def test_a_session_belongs_to_the_caller_that_began_it(opened: Served) -> None:
    _, plain = opened.keys.create("ci", ("call",))
    session = opened.initialize(x_api_key=plain).headers["mcp-session-id"]
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"mcp-session-id": session, "accept": "application/json, text/event-stream"}
    assert opened.client.post(opened.url, json=ping, headers=headers).status_code == 404
    assert (
        opened.client.post(opened.url, json=ping, headers=headers | {"x-api-key": plain}).status_code == 200
    )


def test_a_key_that_is_revoked_ends_what_was_begun_with_it(closed: Served) -> None:
    _, plain = closed.keys.create("ci", ("call",))
    assert closed.call("echo", x_api_key=plain).status_code == 200
    closed.keys.revoke("ci")
    deadline_s = monotonic() + PATIENCE_S
    while (status := closed.call("echo", x_api_key=plain).status_code) == 200 and monotonic() < deadline_s:
        pass
    assert status == 401


def test_a_stream_is_cut_when_its_key_is_revoked(closed: Served) -> None:
    _, plain = closed.keys.create("ci", ("call",))
    headers = {
        "x-api-key": plain,
        "mcp-session-id": closed.initialize(x_api_key=plain).headers["mcp-session-id"],
    }
    with closed.client.stream("GET", closed.url, headers=headers | {"accept": "text/event-stream"}) as stream:
        assert stream.status_code == 200
        closed.keys.revoke("ci")
        with pytest.raises(httpx.RemoteProtocolError):
            stream.read()
    assert only_row(closed).error_message == "not authenticated: the key was revoked"


def test_a_page_that_is_allowed_may_call_and_no_other() -> None:
    page = "https://app.example.org"
    with served(AccessSettings(anonymous=False, origins=(page,))) as server:
        asked = {"origin": page, "access-control-request-method": "POST"}
        wanted = {"access-control-request-headers": "content-type, x-api-key"}
        preflight = server.client.options(server.url, headers=asked | wanted)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == page
        assert preflight.headers["access-control-allow-headers"] == "content-type, x-api-key"
        assert preflight.headers["access-control-allow-methods"] == "GET, POST, DELETE"
        _, plain = server.keys.create("ci", ("call",))
        for headers in ({"origin": page}, {"origin": page, "x_api_key": plain}):
            response = server.initialize(**headers)
            assert response.headers["access-control-allow-origin"] == page
            assert response.headers["vary"] == "origin"
            assert "mcp-session-id" in response.headers["access-control-expose-headers"]
        assert (
            server.client.options(server.url, headers=asked | {"origin": "https://evil.example"}).status_code
            == 403
        )


def test_pages_of_other_origins_cannot_read_responses_by_default(opened: Served) -> None:
    asked = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
    response = opened.client.options(opened.url, headers=asked)
    assert response.status_code == 405
    assert not any(name.startswith("access-control-") for name in response.headers)
