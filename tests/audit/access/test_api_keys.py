"""How keys are made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

import pytest

from faultkit.audit.access.api_keys import KeyStore, NameTaken, parse_expiry
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


def test_a_name_that_is_taken_is_told(keys: KeyStore) -> None:
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
