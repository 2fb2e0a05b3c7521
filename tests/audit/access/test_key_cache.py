"""The keys in memory: as new as they have to be, whatever the database does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from faultkit.audit.access import key_cache
from faultkit.audit.access.api_keys import ApiKey, KeyStore
from faultkit.audit.access.key_cache import CachedKey, KeyCache, KeysUnavailable
from faultkit.audit.store import StoreUnavailable
from faultkit.audit.store_factory import open_store
from tests.audit.rows import NOON_US


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await test()

    asyncio.run(bounded())


async def found(ring: KeyCache, plain: str) -> CachedKey | None:
    known = ring.find(plain)
    return known if isinstance(known, CachedKey) else await known


class Shaky(KeyStore):
    """A database that can go away, or not answer."""

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
        keys = Shaky()
        _, plain = keys.create("ci", ("call",))
        ring = KeyCache(keys)
        first = await found(ring, plain)
        assert first is not None
        assert first.identity.key_name == "ci"
        for _ in range(1000):
            assert ring.find(plain) is first
        assert keys.looks == 1
        await ring.close()

    run(test)


def test_what_was_read_too_long_ago_counts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr(key_cache, "monotonic", lambda: now_s)

    async def test() -> None:
        nonlocal now_s
        keys = Shaky()
        _, plain = keys.create("ci", ("call",))
        ring = KeyCache(keys)
        await found(ring, plain)
        keys.revoke("ci")
        now_s += 0.8
        # Still good, but somebody has gone to look.
        known = ring.find(plain)
        assert isinstance(known, CachedKey)
        assert known.key.revoked_us is None
        now_s += 0.2
        looked = await found(ring, plain)
        assert looked is not None
        assert looked.key.revoked_us == NOON_US
        await ring.close()

    run(test)


def test_a_key_that_was_just_made_is_known_at_once() -> None:
    async def test() -> None:
        keys = Shaky()
        ring = KeyCache(keys)
        assert await found(ring, "fk_wrong") is None
        for number in range(3):
            _, plain = keys.create(f"k{number}", ("call",))
            known = await found(ring, plain)
            assert known is not None
            assert known.key.name == f"k{number}"
        await ring.close()

    run(test)


def test_many_wrong_keys_at_once_are_few_looks() -> None:
    async def test() -> None:
        keys = Shaky()
        ring = KeyCache(keys)
        await asyncio.gather(*(found(ring, f"fk_{number}") for number in range(200)))
        assert keys.looks <= 2
        await ring.close()

    run(test)


def test_while_the_database_is_away_known_keys_stay_and_others_cannot_be_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []

    async def test() -> None:
        keys = Shaky()
        _, plain = keys.create("ci", ("call",))
        ring = KeyCache(keys, said.append)
        await found(ring, plain)
        keys.is_away = True
        with pytest.raises(KeysUnavailable):
            await found(ring, "fk_new")
        assert await found(ring, plain) is not None
        keys.is_away = False
        assert await found(ring, "fk_new") is None
        await ring.close()

    run(test)
    assert said == ["keys: the database is unavailable, known keys stay valid: it is away"]


def test_a_database_that_does_not_answer_holds_nobody_up_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_cache, "_READ_TIMEOUT_S", 0.05)

    async def test() -> None:
        keys = Shaky()
        _, plain = keys.create("ci", ("call",))
        ring = KeyCache(keys)
        await found(ring, plain)
        keys.answers.clear()
        with pytest.raises(KeysUnavailable):
            await found(ring, "fk_new")
        assert await found(ring, plain) is not None
        keys.answers.set()
        await ring.close()

    run(test)


def test_the_last_use_is_written_once_for_many_calls() -> None:
    async def test() -> None:
        keys = Shaky()
        key, plain = keys.create("ci", ("call",))
        ring = KeyCache(keys)
        known = await found(ring, plain)
        assert known is not None
        for number in range(100):
            ring.used(known, NOON_US + number)
        assert keys.uses == []
        await ring.close()
        assert keys.uses == [{key.digest: NOON_US + 99}]
        assert keys.list()[0].used_us == NOON_US + 99

    run(test)


def test_the_last_use_is_written_every_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_cache, "_WRITE_USE_S", 0.01)

    async def test() -> None:
        keys = Shaky()
        key, plain = keys.create("ci", ("call",))
        ring = KeyCache(keys)
        known = await found(ring, plain)
        assert known is not None
        for number in range(2):
            ring.used(known, NOON_US + number)
            assert await asyncio.to_thread(keys.noted.acquire, timeout=10)
        assert keys.uses == [{key.digest: NOON_US}, {key.digest: NOON_US + 1}]
        await ring.close()

    run(test)
