"""`fault keys`: create, list and revoke."""

from __future__ import annotations

import getpass
import json
import re
from pathlib import Path

import pytest

from faultkit.audit.access.api_keys import all_keys, note_use
from faultkit.audit.store_factory import open_store
from faultkit.cli.main import invoke
from tests.audit.rows import NOON_US

KEY = r"fk_[A-Za-z0-9_-]{43}"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "audit.db")


def said(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> tuple[str, str]:
    assert invoke(["keys", *args]) == code
    out, err = capsys.readouterr()
    return out, err


def test_a_key_is_shown_once_and_alone_on_stdout(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "create", "ci", "--store", store)
    assert re.fullmatch(KEY + "\n", out)
    assert err == "key ci may read, call; it will not be shown again\n"
    listed = "".join(
        said(capsys, "list", "--store", store) + said(capsys, "list", "--store", store, "--json")
    )
    assert out.strip() not in listed
    assert out.strip().encode() not in Path(store).read_bytes()


def test_a_key_can_be_made_as_json(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--scope", "call", "--scope", "read", "--expires", "2999-01-01")
    out, err = said(capsys, "create", "ci", *options, "--json", "--store", store)
    made = json.loads(out)
    assert re.fullmatch(KEY, made.pop("key"))
    assert (made["name"], made["scopes"], made["expires"]) == (
        "ci",
        ["read", "call"],
        "2999-01-01T00:00:00.000000Z",
    )
    assert err == ""
    listed = json.loads(said(capsys, "list", "--store", store, "--json")[0])
    assert listed == {"keys": [made]}


def test_the_list_shows_the_state_of_each_key(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "create", "ci", "--store", store)
    said(capsys, "create", "grafana", "--scope", "read", "--expires", "2999-01-01", "--store", store)
    assert said(capsys, "revoke", "ci", "--store", store) == ("", "key ci is revoked\n")
    with open_store(store) as log:
        note_use(log, {key.digest: NOON_US for key in all_keys(log)})
    head, first, second = said(capsys, "list", "--store", store)[0].splitlines()
    assert head.split() == ["name", "key", "scopes", "state", "expires", "last", "used"]
    assert re.fullmatch(r"ci +fk_.{4}… +read,call +revoked +never +2026-09-21T14:13:20Z", first)
    assert re.fullmatch(
        r"grafana +fk_.{4}… +read +in use +2999-01-01T00:00:00Z +2026-09-21T14:13:20Z", second
    )


def test_revoke_prints_json(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "create", "ci", "--store", store)
    out, _ = said(capsys, "revoke", "ci", "--store", store, "--json")
    assert json.loads(out) == {"name": "ci", "revoked": True}


def test_making_and_revoking_a_key_are_in_the_audit_log(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["keys", "create", "ci", "--scope", "read", "--store", store]) == 0
    assert invoke(["keys", "revoke", "ci", "--store", store]) == 0
    plain = capsys.readouterr().out.strip()
    with open_store(store) as log:
        made, revoked = log.all()
    assert (made.tool_name, made.source, made.transport) == ("keys.create", "admin", "cli")
    assert made.user_subject == revoked.user_subject == getpass.getuser()
    assert made.parameters == '{"name":"ci","scopes":["read"],"expires":null}'
    assert (revoked.tool_name, revoked.parameters) == ("keys.revoke", '{"name":"ci"}')
    assert plain.startswith("fk_")
    assert plain not in f"{made}{revoked}"


def test_an_empty_list_is_a_note_on_stderr(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    open_store(store).close()
    assert said(capsys, "list", "--store", store) == ("", "no keys\n")


WRONG: tuple[tuple[tuple[str, ...], str], ...] = (
    (("create", "a b"), "NAME: expected up to 64 letters"),
    (("create", "ci"), 'NAME: a key named "ci" is in use'),
    (("create", "x", "--expires", "2020-01-01"), "--expires: expected a time in the future"),
    (("create", "x", "--expires", "soon"), "--expires: expected how long from now"),
    (("create", "x", "--scope", "write"), "Invalid value for '--scope'"),
    (("revoke", "absent"), "NAME: expected a key that is in use"),
)


@pytest.mark.parametrize(("args", "why"), WRONG, ids=str)
def test_wrong_input_is_an_error(
    args: tuple[str, ...], why: str, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "create", "ci", "--store", store)
    out, err = said(capsys, *args, "--store", store, code=2)
    assert out == ""
    assert err.startswith(f"error: {why}")


def test_keys_need_a_place_that_stays(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "create", "ci", "--store", "memory:", code=2)
    assert err.startswith("error: --store: expected a file or a URL")


def test_only_making_a_key_makes_a_store(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    for args in (("list",), ("revoke", "ci")):
        _, err = said(capsys, *args, "--store", store, code=2)
        assert err.startswith("error: store: expected an audit log, but there is no file")
