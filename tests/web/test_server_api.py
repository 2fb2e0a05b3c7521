"""The port of `fault serve` as a whole: routes, access, errors, and the API of keys."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from faultkit.audit.access.access_settings import AccessSettings
from faultkit.audit.access.api_keys import KeyStore
from tests.web.served import ADMIN, AUDIT, OURS, PATIENCE_S, PORTAL, Served, served


def test_health_and_readiness_are_plain_words(server: Served) -> None:
    for path, word in (("/healthz", "ok"), ("/readyz", "ready")):
        answer = server.get(path)
        assert (answer.status_code, answer.text) == (200, word)
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["/", "/mcp"])
def test_a_browser_is_led_to_the_portal(server: Served, path: str) -> None:
    accept = "text/html,application/xhtml+xml,*/*;q=0.8"
    answer = server.client.get(path, headers={"accept": accept})
    assert (answer.status_code, answer.headers["location"]) == (302, "/portal/")
    assert "<!doctype html>" in server.get(answer.headers["location"]).text


@pytest.mark.parametrize("path", ["/", "/mcp"])
def test_tools_are_at_both_paths(server: Served, path: str) -> None:
    assert server.call("echo", {"message": "hi"}, path)["result"]["structuredContent"] == {"message": "hi"}


def test_an_unknown_path_is_a_404_in_json(server: Served) -> None:
    answer = server.get("/api/v1/nothing")
    assert answer.status_code == 404
    assert answer.json() == {"error": 'there is nothing at "/api/v1/nothing"'}


def test_a_wrong_method_is_a_405_with_the_allowed_ones(server: Served) -> None:
    answer = server.client.post(f"{PORTAL}/me")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    answer = server.client.get(f"{ADMIN}/tryit/echo")
    assert answer.json() == {"error": "expected POST, got GET"}


def test_head_has_the_headers_of_get(server: Served) -> None:
    answer = server.client.head(f"{PORTAL}/instructions")
    assert answer.content == b""
    assert int(answer.headers["content-length"]) == len(server.get(f"{PORTAL}/instructions").content)


def test_nothing_may_be_framed_kept_or_guessed_at(server: Served) -> None:
    for answer in (server.get(f"{PORTAL}/me"), server.get("/nothing"), server.get("/metrics")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers


def test_the_api_returns_the_caller_and_the_tools(server: Served) -> None:
    assert server.json(f"{PORTAL}/me") == {
        "subject": "anonymous",
        "auth_type": "anonymous",
        "scopes": ["read", "call"],
    }
    about = server.json(f"{PORTAL}/server")
    assert (about["name"], about["tools"], about["compat"]) == ("faultkit-serve", 12, "")
    assert about["protocol_versions"][0] == "2026-07-28"
    assert about["audit"]["store"] == "memory:"
    assert server.json(f"{PORTAL}/instructions")["instructions"].startswith("Tools with foretold answers")


def test_tools_are_listed_as_clients_see_them_and_with_their_group(server: Served) -> None:
    listed = server.json(f"{PORTAL}/tools")
    assert [tool["name"] for tool in listed["tools"]][:3] == ["chatty", "echo", "error"]
    slow = server.json(f"{PORTAL}/tools/slow")
    assert slow["group"] == "failure"
    assert slow["inputSchema"]["required"] == ["milliseconds"]
    assert slow in listed["tools"]
    missing = server.get(f"{PORTAL}/tools/nosuch")
    assert (missing.status_code, missing.json()["error"]) == (
        404,
        'expected a tool that is served, got "nosuch"',
    )


def test_tools_that_are_switched_off_are_not_there() -> None:
    with served(groups=("failure",)) as few:
        assert [tool["name"] for tool in few.json(f"{PORTAL}/tools")["tools"]] == ["error", "flaky", "slow"]
        assert few.post(f"{ADMIN}/tryit/echo", {}).status_code == 404


def test_clients_that_look_for_a_token_find_out_where(server: Served) -> None:
    resource = server.json("/.well-known/oauth-protected-resource/mcp")
    assert resource["resource"] == f"{server.url}/mcp"
    assert resource["bearer_methods_supported"] == ["header"]
    assert server.get("/.well-known/oauth-authorization-server").status_code == 404
    with served(settings=AccessSettings(issuer="https://id.example.org/")) as other:
        found = other.json("/.well-known/oauth-authorization-server")
        assert found["openid_configuration"] == "https://id.example.org/.well-known/openid-configuration"
        both = other.json(f"{PORTAL}/wellknown")
        assert both["authorization_server"] == found
        assert both["protected_resource"]["authorization_servers"] == ["https://id.example.org/"]


def test_a_foreign_host_gets_an_error_in_json(server: Served) -> None:
    answer = server.client.get(f"{PORTAL}/me", headers={"host": "evil.example"})
    assert (answer.status_code, answer.json()) == (403, {"error": "this host or origin may not call"})


def test_the_sender_of_a_large_body_can_read_the_error(server: Served) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as client:
        size = 16 << 20
        client.sendall(f"POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-length: {size}\r\n\r\n".encode())
        client.sendall(b"x" * size)
        said = b""
        while block := client.recv(4096):
            said += block
    assert said.startswith(b"HTTP/1.1 413 ")


def test_a_page_from_elsewhere_cannot_make_a_browser_call(server: Served) -> None:
    body: dict[str, Any] = {"arguments": {}}
    path = f"{ADMIN}/tryit/echo"
    assert server.client.post(path, json=body).status_code == 403
    elsewhere = {"origin": "http://localhost:3000"}
    refused = server.client.post(path, json=body, headers=elsewhere)
    assert (refused.status_code, refused.json()["error"]) == (
        403,
        "expected an X-Requested-With header, or an Origin that is this server",
    )
    row = server.newest()
    assert (row.error_category, row.success) == ("origin", False)
    assert server.client.post(path, json=body, headers={"origin": server.url}).status_code == 200
    assert server.client.post(path, json=body, headers=OURS).status_code == 200
    assert server.client.delete(f"{ADMIN}/keys/absent").status_code == 403


def test_a_foreign_host_is_refused_everywhere(server: Served) -> None:
    for path in ("/healthz", f"{AUDIT}/events", "/portal/"):
        assert server.client.get(path, headers={"host": "evil.example.org"}).status_code == 403


BODIES: tuple[tuple[bytes, str, int, str], ...] = (
    (b"{", "application/json", 400, "body: expected JSON: "),
    (b"\xff", "application/json", 400, "body: expected JSON: "),
    (b"[1]", "application/json", 400, "body: expected a JSON object, got a list"),
    (b"[" * 100_000, "application/json", 400, "body: expected JSON: "),
    (b"{}", "text/plain", 415, 'content-type: expected application/json, got "text/plain"'),
    (b" " * (1 << 20) + b"{}", "application/json", 413, "body: expected at most 1048576 bytes, got 1048578"),
    (b'{"arguments": 5}', "application/json", 400, "arguments: expected an object, got a number"),
    (b'{"arguments": null}', "application/json", 400, "arguments: expected an object, got null"),
    (b'{"args": {}}', "application/json", 400, "args: expected nothing in the body but arguments"),
)


@pytest.mark.parametrize(("raw", "kind", "status", "problem"), BODIES, ids=[b[3][:40] for b in BODIES])
def test_the_error_for_a_wrong_body_has_the_reason(
    server: Served, raw: bytes, kind: str, status: int, problem: str
) -> None:
    headers = OURS | {"content-type": kind}
    answer = server.client.post(f"{ADMIN}/tryit/echo", content=raw, headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(problem)


def test_the_error_for_a_wrong_query_has_the_reason(server: Served) -> None:
    for query, problem in (
        ("?colour=red", "colour: expected no parameters here"),
        ("?%ff=1", "query: expected UTF-8"),
        ("?" + "a=1&" * 101, "query: expected at most 100 parameters"),
    ):
        answer = server.client.get(f"{PORTAL}/me{query}")
        assert answer.status_code == 400
        assert answer.json()["error"].startswith(problem)


def test_without_a_log_the_tools_are_served_and_the_log_api_is_a_503() -> None:
    with served(None) as bare:
        assert bare.json(f"{PORTAL}/server")["audit"] is None
        for path in (f"{AUDIT}/events", f"{AUDIT}/stream", f"{AUDIT}/export", f"{PORTAL}/dashboard"):
            answer = bare.get(path)
            assert answer.status_code == 503
            assert answer.json() == {"error": "there is no audit log: the server was started with --no-audit"}
        # Without a store there is no key, and nobody else may manage keys.
        assert bare.get(f"{ADMIN}/keys").status_code == 403
        tried = bare.post(f"{ADMIN}/tryit/echo", {"arguments": {"message": "hi"}}).json()
        assert (tried["success"], tried["event_id"]) == (True, "")
        assert "faultkit_audit" not in bare.get("/metrics").text


def test_keys_open_what_their_scopes_say() -> None:
    with served(settings=AccessSettings(anonymous=False)) as locked:
        plain = {
            scope: KeyStore(locked.store).create(scope, (scope,))[1] for scope in ("read", "call", "admin")
        }

        def status(method: str, path: str, scope: str) -> int:
            answer = locked.client.request(method, path, headers={"x-api-key": plain[scope]})
            return answer.status_code

        assert locked.get("/healthz").status_code == 200
        assert locked.get("/portal/").status_code == 200
        refused = locked.get(f"{AUDIT}/events")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer ")
        assert "error" in refused.json()
        assert locked.get("/metrics").status_code == 401
        assert status("GET", f"{AUDIT}/events", "read") == 200
        assert status("GET", f"{AUDIT}/events", "call") == 403
        assert status("GET", f"{ADMIN}/keys", "read") == 403
        assert status("GET", f"{ADMIN}/keys", "admin") == 200
        # No page can make a browser send a key, as it can with a cookie, so no other header is required.
        assert status("POST", f"{ADMIN}/tryit/echo", "call") == 200
        assert status("POST", f"{ADMIN}/tryit/echo", "read") == 403
        me = locked.client.get(f"{PORTAL}/me", headers={"x-api-key": plain["read"]}).json()
        assert me == {"subject": "read", "auth_type": "apikey", "scopes": ["read"], "key_name": "read"}


def test_a_hostile_request_does_not_end_the_server(server: Served) -> None:
    odd = {"x-requested-with": "\xff\x01é", "user-agent": "'; DROP TABLE audit_events; --"}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in odd.items()]
    for path in (
        "//",
        "/%00",
        f"{AUDIT}/events/%00",
        f"{AUDIT}/events/{'9' * 5000}",
        "/portal/../../etc/passwd",
    ):
        answer = server.client.send(httpx.Request("GET", server.url + path, headers=raw))
        assert answer.status_code in (400, 404)
    assert server.post(f"{AUDIT}/events/%00/replay").status_code == 404
    assert server.get("/healthz").text == "ok"
    assert json.loads(server.get(f"{PORTAL}/me").text)["subject"] == "anonymous"
    assert [line for line in server.said if line.startswith("web:")] == []


KEYS = f"{ADMIN}/keys"


@pytest.fixture(scope="module")
def by_admin() -> Iterator[Served]:
    with served() as running:
        running.client.headers["x-api-key"] = KeyStore(running.store).create("root", ("admin",))[1]
        yield running


def test_a_caller_without_a_key_cannot_manage_keys(server: Served) -> None:
    answers = (
        server.get(KEYS),
        server.post(KEYS, {"name": "persist", "scopes": ["admin"]}),
        server.client.delete(f"{KEYS}/persist", headers=OURS),
    )
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert "persist" not in [key.name for key in KeyStore(server.store).list()]
    assert server.newest().error_message == 'not allowed: the scope "admin" is missing'


def test_what_is_done_with_keys_is_logged_and_is_no_call(by_admin: Served) -> None:
    by_admin.post(KEYS, {"name": "logged", "scopes": ["read"]})
    made = by_admin.newest()
    assert (made.tool_name, made.source, made.user_subject, made.api_key_name) == (
        "keys.create",
        "admin",
        "root",
        "root",
    )
    assert json.loads(made.parameters or "") == {"name": "logged", "scopes": ["read"], "expires": None}
    by_admin.client.delete(f"{KEYS}/logged", headers=OURS)
    assert (by_admin.newest().tool_name, by_admin.newest().parameters) == ("keys.revoke", '{"name":"logged"}')
    assert by_admin.json(f"{AUDIT}/breakdown")["items"] == []


def test_a_key_is_made_used_listed_and_revoked(by_admin: Served) -> None:
    server = by_admin
    made = server.post(KEYS, {"name": "ci", "scopes": ["read"], "expires": "30d"})
    key = made.json()
    assert made.status_code == 201
    assert key["key"].startswith("fk_")
    assert (key["name"], key["scopes"], key["revoked"], key["last_used"]) == ("ci", ["read"], None, None)
    listed = server.json(KEYS)["keys"]
    [ci] = [each for each in listed if each["name"] == "ci"]
    assert "key" not in ci
    assert key["key"] not in server.get(KEYS).text
    with_it = {"x-api-key": key["key"]}
    assert server.client.get(f"{PORTAL}/me", headers=with_it).json()["subject"] == "ci"
    taken = server.post(KEYS, {"name": "ci"})
    assert (taken.status_code, taken.json()["error"][:30]) == (409, 'name: a key named "ci" is in u')
    assert server.client.delete(f"{KEYS}/ci", headers=OURS).status_code == 204
    [ci] = [each for each in server.json(KEYS)["keys"] if each["name"] == "ci"]
    assert ci["revoked"] is not None
    gone = server.client.delete(f"{KEYS}/ci", headers=OURS)
    assert (gone.status_code, gone.json()) == (404, {"error": 'expected the name of a key in use, got "ci"'})


def test_a_key_has_the_scopes_read_and_call_by_default(by_admin: Served) -> None:
    made = by_admin.post(KEYS, {"name": "usual"}).json()
    assert (made["scopes"], made["expires"]) == (["read", "call"], None)


BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "name: expected a text, got null"),
    ({"name": ""}, "name: expected up to 64 letters"),
    ({"name": 5}, "name: expected a text, got a number"),
    ({"name": "a b"}, "name: expected up to 64 letters"),
    ({"name": "x", "scopes": "read"}, "scopes: expected a list of texts"),
    ({"name": "x", "scopes": ["fly"]}, 'scopes: expected some of read, call, admin, got "fly"'),
    ({"name": "x", "scopes": []}, "scopes: expected some of read, call, admin, got none"),
    ({"name": "x", "expires": 5}, "expires: expected a text, got a number"),
    ({"name": "x", "expires": "soon"}, "expires: expected "),
    ({"name": "x", "expires": "2020-01-01T00:00:00Z"}, "expires: expected a time in the future"),
    ({"name": "x", "expires": "1e30d"}, "expires: expected "),
    ({"name": "x", "expires": "999999999999d"}, "expires: expected "),
    ({"name": "x", "colour": "red"}, "colour: expected one of name, scopes, expires"),
)


@pytest.mark.parametrize(("body", "problem"), BAD, ids=str)
def test_a_bad_key_is_an_error_that_names_what_is_wrong(
    by_admin: Served, body: dict[str, Any], problem: str
) -> None:
    answer = by_admin.post(KEYS, body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"].startswith(problem)
