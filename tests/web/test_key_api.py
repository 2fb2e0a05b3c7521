"""API keys over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.served import ADMIN, OURS, PORTAL, Served

KEYS = f"{ADMIN}/keys"


def test_a_key_is_made_used_listed_and_revoked(server: Served) -> None:
    made = server.post(KEYS, {"name": "ci", "scopes": ["read"], "expires": "30d"})
    key = made.json()
    assert made.status_code == 201
    assert key["key"].startswith("fk_")
    assert (key["name"], key["scopes"], key["revoked"], key["last_used"]) == ("ci", ["read"], None, None)
    listed = server.json(KEYS)["keys"]
    assert [each["name"] for each in listed] == ["ci"]
    assert "key" not in listed[0]
    assert key["key"] not in server.get(KEYS).text
    with_it = {"x-api-key": key["key"]}
    assert server.client.get(f"{PORTAL}/me", headers=with_it).json()["subject"] == "ci"
    taken = server.post(KEYS, {"name": "ci"})
    assert (taken.status_code, taken.json()["error"][:30]) == (409, 'name: a key named "ci" is in u')
    assert server.client.delete(f"{KEYS}/ci", headers=OURS).status_code == 204
    assert server.json(KEYS)["keys"][0]["revoked"] is not None
    gone = server.client.delete(f"{KEYS}/ci", headers=OURS)
    assert (gone.status_code, gone.json()) == (404, {"error": 'expected the name of a key in use, got "ci"'})


def test_a_key_may_read_and_call_unless_it_is_said_otherwise(server: Served) -> None:
    made = server.post(KEYS, {"name": "usual"}).json()
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
    server: Served, body: dict[str, Any], problem: str
) -> None:
    answer = server.post(KEYS, body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"].startswith(problem)
