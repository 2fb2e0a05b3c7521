"""What every store promises of keys: one in memory, a SQLite file, and a real PostgreSQL server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.audit.access.api_keys import ApiKey, add_key, all_keys, key_document, note_use, revoke_key
from faultkit.audit.store import Store
from faultkit.audit.store_factory import open_store
from tests.audit.rows import NOON_US

CI = ApiKey("d1", "ci", "fk_abcd", ("read", "call"), NOON_US, NOON_US + 1)
ROOT = ApiKey("d2", "root", "fk_efgh", ("admin",), NOON_US)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres").url)
    return {"memory": "memory:", "sqlite": str(tmp_path / "audit.db")}[request.param]


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    with open_store(where) as opened:
        yield opened


def test_a_key_comes_back_as_it_went_in_by_name(store: Store) -> None:
    assert all_keys(store) == []
    assert add_key(store, ROOT)
    assert add_key(store, CI)
    assert all_keys(store) == [CI, ROOT]


def test_a_name_is_taken_until_its_key_is_revoked(store: Store) -> None:
    assert add_key(store, CI)
    assert not add_key(store, replace(CI, digest="d3"))
    assert revoke_key(store, "ci", NOON_US + 5)
    later = replace(CI, digest="d3", created_us=NOON_US + 6)
    assert add_key(store, later)
    assert all_keys(store) == [replace(CI, revoked_us=NOON_US + 5), later]


def test_what_is_not_in_use_cannot_be_revoked(store: Store) -> None:
    add_key(store, CI)
    assert not revoke_key(store, "nobody", NOON_US)
    assert revoke_key(store, "ci", NOON_US)
    assert not revoke_key(store, "ci", NOON_US + 1)
    assert [key.revoked_us for key in all_keys(store)] == [NOON_US]


def test_the_last_use_is_the_latest_of_all_servers(store: Store) -> None:
    add_key(store, CI)
    add_key(store, ROOT)
    note_use(store, {})
    note_use(store, {"d1": NOON_US + 9, "unknown": NOON_US})
    note_use(store, {"d1": NOON_US + 3, "d2": NOON_US + 4})
    assert [key.used_us for key in all_keys(store)] == [NOON_US + 9, NOON_US + 4]


def test_of_many_who_want_one_name_at_once_one_gets_it(store: Store) -> None:
    got: list[bool] = []
    threads = [
        threading.Thread(target=lambda digest=f"d{n}": got.append(add_key(store, replace(CI, digest=digest))))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(got) == [False] * 7 + [True]


def test_keys_outlive_the_store_that_they_were_made_in(where: str) -> None:
    with open_store(where) as first:
        add_key(first, CI)
    with open_store(where) as second:
        assert all_keys(second) == ([] if where == "memory:" else [CI])


def test_pruning_calls_leaves_keys(store: Store) -> None:
    add_key(store, CI)
    store.prune(NOON_US * 2)
    assert all_keys(store) == [CI]


def test_a_document_says_all_but_the_digest() -> None:
    assert key_document(replace(CI, used_us=NOON_US + 2)) == {
        "name": "ci",
        "hint": "fk_abcd",
        "scopes": ["read", "call"],
        "created": "2026-09-21T14:13:20.000000Z",
        "expires": "2026-09-21T14:13:20.000001Z",
        "last_used": "2026-09-21T14:13:20.000002Z",
        "revoked": None,
    }
