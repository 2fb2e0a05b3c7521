"""API keys: creating them, the table in every kind of store, and the cache."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from faultkit.audit.access import api_keys as key_cache
from faultkit.audit.access.api_keys import (
    ApiKey,
    CachedKey,
    KeyCache,
    KeyStore,
    KeysUnavailable,
    NameTaken,
    add_key,
    all_keys,
    key_document,
    note_use,
    parse_expiry,
    revoke_key,
)
from faultkit.audit.store import Store, StoreUnavailable
from faultkit.audit.store_factory import open_store
from faultkit.base.errors import InputError
from tests.audit.rows import NOON_US


@pytest.fixture
def keys() -> Iterator[KeyStore]:
    with open_store("memory:") as store:
        yield KeyStore(store, clock=lambda: NOON_US)


def test_a_key_has_256_bits_and_only_its_digest_is_kept(keys: KeyStore) -> None:
    key, plain = keys.create("ci", ("call", "read"), NOON_US + 1)
    assert re.fullmatch(r"fk_[A-Za-z0-9_-]{43}", plain)
    assert keys.list() == [key]
    assert key.digest == sha256(plain.encode()).hexdigest()
    assert key.hint == plain[:7]
    assert (key.scopes, key.created_us, key.expires_us) == (("read", "call"), NOON_US, NOON_US + 1)
    assert plain not in repr(key)


def test_no_two_keys_are_the_same(keys: KeyStore) -> None:
    assert len({keys.create(f"k{number}", ("read",))[1] for number in range(50)}) == 50


@pytest.mark.parametrize("name", ["", "a b", "-a", "é", "a/b", "a" * 65, "a\n", "a\0"])
def test_a_name_is_plain_enough_for_a_path(keys: KeyStore, name: str) -> None:
    with pytest.raises(InputError, match=r"^name: expected up to 64 letters"):
        keys.create(name, ("read",))


def test_a_name_in_use_is_an_error(keys: KeyStore) -> None:
    keys.create("ci", ("read",))
    with pytest.raises(NameTaken, match=r'^name: a key named "ci" is in use'):
        keys.create("ci", ("read",))
    assert keys.revoke("ci")
    keys.create("ci", ("read",))


@pytest.mark.parametrize(("scopes", "got"), [((), "none"), (("read", "write"), '"write"')])
def test_scopes_are_those_that_there_are(keys: KeyStore, scopes: tuple[str, ...], got: str) -> None:
    with pytest.raises(InputError, match=rf"^scopes: expected some of read, call, admin, got {got}$"):
        keys.create("ci", scopes)


@pytest.mark.parametrize("expires_us", [NOON_US, 0, -1, 10**30])
def test_a_key_expires_in_time(keys: KeyStore, expires_us: int) -> None:
    with pytest.raises(InputError, match=r"^expires: expected a time in the future"):
        keys.create("ci", ("read",), expires_us)


def test_an_expiry_is_how_long_from_now_or_when() -> None:
    assert parse_expiry("30d", 0) == 30 * 86_400_000_000
    assert parse_expiry("2026-09-21T14:13:20Z", 0) == NOON_US
    with pytest.raises(ValueError, match=r'^expected how long from now, .* got "soon"$'):
        parse_expiry("soon", 0)


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


def test_a_name_is_in_use_until_its_key_is_revoked(store: Store) -> None:
    assert add_key(store, CI)
    assert not add_key(store, replace(CI, digest="d3"))
    assert revoke_key(store, "ci", NOON_US + 5)
    later = replace(CI, digest="d3", created_us=NOON_US + 6)
    assert add_key(store, later)
    assert all_keys(store) == [replace(CI, revoked_us=NOON_US + 5), later]


def test_what_is_not_in_use_cannot_be_revoked(store: Store) -> None:
    add_key(store, CI)
    assert not revoke_key(store, "absent", NOON_US)
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


def test_only_one_of_concurrent_keys_gets_a_name(store: Store) -> None:
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


def test_pruning_calls_does_not_remove_keys(store: Store) -> None:
    add_key(store, CI)
    store.prune(NOON_US * 2)
    assert all_keys(store) == [CI]


def test_a_document_has_every_field_but_the_digest() -> None:
    assert key_document(replace(CI, used_us=NOON_US + 2)) == {
        "name": "ci",
        "hint": "fk_abcd",
        "scopes": ["read", "call"],
        "created": "2026-09-21T14:13:20.000000Z",
        "expires": "2026-09-21T14:13:20.000001Z",
        "last_used": "2026-09-21T14:13:20.000002Z",
        "revoked": None,
    }


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await test()

    asyncio.run(bounded())


async def found(cache: KeyCache, plain: str) -> CachedKey | None:
    known = cache.find(plain)
    return known if isinstance(known, CachedKey) else await known


class UnreliableKeys(KeyStore):
    """Keys in a database that can be unavailable, or block."""

    def __init__(self, where: str = "memory:") -> None:
        super().__init__(open_store(where), clock=lambda: NOON_US)
        self.is_away = False
        self.answers = threading.Event()
        self.answers.set()
        self.looks = 0
        self.uses: list[dict[str, int]] = []
        self.noted = threading.Semaphore(0)

    def list(self) -> list[ApiKey]:
        self.looks += 1
        self.answers.wait(20)
        if self.is_away:
            raise StoreUnavailable("it is away")
        return super().list()

    def note_use(self, used_us: dict[str, int]) -> None:
        super().note_use(used_us)
        self.uses.append(used_us)
        self.noted.release()


def test_a_known_key_costs_the_database_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr(key_cache, "monotonic", lambda: now_s)

    async def test() -> None:
        keys = UnreliableKeys()
        _, plain = keys.create("ci", ("call",))
        cache = KeyCache(keys)
        first = await found(cache, plain)
        assert first is not None
        assert first.identity.key_name == "ci"
        for _ in range(1000):
            assert cache.find(plain) is first
        assert keys.looks == 1
        await cache.close()

    run(test)


def test_what_was_read_too_long_ago_counts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr(key_cache, "monotonic", lambda: now_s)

    async def test() -> None:
        nonlocal now_s
        keys = UnreliableKeys()
        _, plain = keys.create("ci", ("call",))
        cache = KeyCache(keys)
        await found(cache, plain)
        keys.revoke("ci")
        now_s += 0.8
        # Still valid, while the keys are read again in the background.
        known = cache.find(plain)
        assert isinstance(known, CachedKey)
        assert known.key.revoked_us is None
        now_s += 0.2
        looked = await found(cache, plain)
        assert looked is not None
        assert looked.key.revoked_us == NOON_US
        await cache.close()

    run(test)


def test_a_key_that_was_just_made_is_known_at_once() -> None:
    async def test() -> None:
        keys = UnreliableKeys()
        cache = KeyCache(keys)
        assert await found(cache, "fk_wrong") is None
        for number in range(3):
            _, plain = keys.create(f"k{number}", ("call",))
            known = await found(cache, plain)
            assert known is not None
            assert known.key.name == f"k{number}"
        await cache.close()

    run(test)


def test_many_wrong_keys_at_once_are_few_looks() -> None:
    async def test() -> None:
        keys = UnreliableKeys()
        cache = KeyCache(keys)
        await asyncio.gather(*(found(cache, f"fk_{number}") for number in range(200)))
        assert keys.looks <= 2
        await cache.close()

    run(test)


def test_while_the_database_is_unavailable_known_keys_stay_valid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []

    async def test() -> None:
        keys = UnreliableKeys()
        _, plain = keys.create("ci", ("call",))
        cache = KeyCache(keys, said.append)
        await found(cache, plain)
        keys.is_away = True
        with pytest.raises(KeysUnavailable):
            await found(cache, "fk_new")
        assert await found(cache, plain) is not None
        keys.is_away = False
        assert await found(cache, "fk_new") is None
        await cache.close()

    run(test)
    assert said == ["keys: the database is unavailable, known keys stay valid: it is away"]


def test_a_call_waits_only_a_while_for_a_database_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test() -> None:
        keys = UnreliableKeys()
        _, plain = keys.create("ci", ("call",))
        cache = KeyCache(keys)
        await found(cache, plain)
        monkeypatch.setattr(key_cache, "_READ_TIMEOUT_S", 0.05)
        keys.answers.clear()
        with pytest.raises(KeysUnavailable):
            await found(cache, "fk_new")
        assert await found(cache, plain) is not None
        keys.answers.set()
        await cache.close()

    run(test)


def test_the_last_use_is_written_once_for_many_calls() -> None:
    async def test() -> None:
        keys = UnreliableKeys()
        key, plain = keys.create("ci", ("call",))
        cache = KeyCache(keys)
        known = await found(cache, plain)
        assert known is not None
        for number in range(100):
            cache.used(known, NOON_US + number)
        assert keys.uses == []
        await cache.close()
        assert keys.uses == [{key.digest: NOON_US + 99}]
        assert keys.list()[0].used_us == NOON_US + 99

    run(test)


def test_the_last_use_is_written_every_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_cache, "_WRITE_USE_S", 0.01)

    async def test() -> None:
        keys = UnreliableKeys()
        key, plain = keys.create("ci", ("call",))
        cache = KeyCache(keys)
        known = await found(cache, plain)
        assert known is not None
        for number in range(2):
            cache.used(known, NOON_US + number)
            assert await asyncio.to_thread(keys.noted.acquire, timeout=10)
        assert keys.uses == [{key.digest: NOON_US}, {key.digest: NOON_US + 1}]
        await cache.close()

    run(test)
