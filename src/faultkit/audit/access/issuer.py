"""The keys that an issuer of tokens signs with: fetched, kept for a while, fetched again.

They are kept for an hour. A token that names a key which is not among them has them fetched again, at most
every `_APART_S`. If the issuer is away then, they serve `STALE_S` longer. The event loop never waits for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import jwt
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from faultkit.audit.access.peers import is_loopback
from faultkit.base.errors import InputError
from faultkit.base.http.client import HttpClient, Lost

FRESH_S = 3600.0
STALE_S = 300.0
_APART_S = 30.0
_FETCH_S = 5.0
_MOST_BYTES = 256 << 10
_MOST_KEYS = 64
_LEAST_RSA_BITS = 2048
_DISCOVERY = "/.well-known/openid-configuration"
_KINDS: dict[str, tuple[Callable[[dict[str, Any]], Any], tuple[str, ...]]] = {
    "RSA": (RSAAlgorithm.from_jwk, ("n", "e")),
    "EC": (ECAlgorithm.from_jwk, ("crv", "x", "y")),
    "OKP": (OKPAlgorithm.from_jwk, ("crv", "x")),
}
"""How a key is read, and what of it is public: there is no need for more."""
_CURVES = (None, "P-256", "Ed25519", "Ed448")


class IssuerAway(Exception):
    """The issuer's keys cannot be had, and those that we have are too old."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    id: str | None
    kind: str
    algorithm: str | None
    """The only one that it may be used with, if it says so."""
    public: Any


class Issuer:
    """For one event loop."""

    def __init__(
        self,
        url: str,
        jwks_url: str | None = None,
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._url = url
        self._jwks_url = jwks_url
        self._say = say
        self._clock = clock
        self._keys: tuple[SigningKey, ...] = ()
        self._fetched_s = self._tried_s = float("-inf")
        self._problem = ""
        self._fetch: asyncio.Task[None] | None = None
        self.edition = 0
        """Another one whenever the keys are others."""

    def at_hand(self, key_id: str | None) -> tuple[SigningKey, ...] | None:
        """Keys that a token may be signed with; None if the issuer should be asked first."""
        now_s = self._clock()
        found = tuple(key for key in self._keys if key_id is None or key.id is None or key.id == key_id)
        if now_s - self._fetched_s < FRESH_S and found:
            return found
        is_usable = now_s - self._fetched_s < FRESH_S + STALE_S
        return found if is_usable and now_s - self._tried_s < _APART_S else None

    async def find(self, key_id: str | None) -> tuple[SigningKey, ...]:
        """As `at_hand`, after the issuer was asked if that is due. Raises IssuerAway."""
        found = self.at_hand(key_id)
        if found is None and (self._is_asking() or self._clock() - self._tried_s >= _APART_S):
            await self.ask()
            found = self.at_hand(key_id)
        if found is None:
            raise IssuerAway(self._problem)
        return found

    async def ask(self) -> None:
        """All who want to ask at the same time ask once."""
        if self._fetch is None or self._fetch.done():
            self._fetch = asyncio.get_running_loop().create_task(self._ask())
        # Who gives up waiting must not take the answer from the others.
        await asyncio.shield(self._fetch)

    async def close(self) -> None:
        if self._fetch is not None:
            self._fetch.cancel()
            with suppress(asyncio.CancelledError):
                await self._fetch

    def _is_asking(self) -> bool:
        return self._fetch is not None and not self._fetch.done()

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(_FETCH_S):
                keys = await self._fetched()
        except TimeoutError:
            self._away(f"no answer within {_FETCH_S:g} s")
        except (OSError, Lost, InputError, ValueError, RecursionError) as error:
            self._away(str(error))
        else:
            if self._problem:
                self._say(f"oidc: {self._url} is back")
            self._problem = ""
            self._keys = keys
            self._fetched_s = self._clock()
            self.edition += 1
        self._tried_s = self._clock()

    def _away(self, why: str) -> None:
        if not self._problem:
            self._say(f"oidc: the keys of {self._url} cannot be had: {why}")
        self._problem = why

    async def _fetched(self) -> tuple[SigningKey, ...]:
        url = self._jwks_url
        if url is None:
            about = await _document(self._url.rstrip("/") + _DISCOVERY)
            if about.get("issuer") != self._url:
                raise ValueError(
                    f'its discovery document names another issuer: "{str(about.get("issuer"))[:200]}"'
                )
            url = check_url("jwks_uri", str(about.get("jwks_uri")))
        listed = (await _document(url)).get("keys")
        if not isinstance(listed, list):
            raise ValueError("expected a list of keys")
        keys = read_keys(listed)
        if not keys:
            raise ValueError("there is no key among its keys that could be used")
        return keys


def check_url(path: str, url: str) -> str:
    """Keys that came over a line which others can write to would be worth nothing."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        assert parts.port is None or parts.port > 0
    except (ValueError, AssertionError):
        host, parts = "", urlsplit("")
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))):
        raise InputError(path, f'expected an https URL, or http on loopback, got "{url[:200]}"')
    return url


def read_keys(listed: Sequence[object]) -> tuple[SigningKey, ...]:
    """Those that we can use; the others are left out, for that is what they are there for."""
    found = (_read_key(each) for each in listed[:_MOST_KEYS] if isinstance(each, dict))
    return tuple(key for key in found if key is not None)


def _read_key(listed: dict[str, Any]) -> SigningKey | None:
    kind = listed.get("kty")
    if not isinstance(kind, str) or kind not in _KINDS or listed.get("use", "sig") != "sig":
        return None
    if listed.get("crv") not in _CURVES:
        return None
    read, public = _KINDS[kind]
    try:
        key = read({"kty": kind, **{name: listed[name] for name in public}})
    except (jwt.PyJWTError, KeyError, ValueError, TypeError):
        return None
    if kind == "RSA" and key.key_size < _LEAST_RSA_BITS:
        return None
    id, algorithm = listed.get("kid"), listed.get("alg")
    return SigningKey(
        id if isinstance(id, str) else None, kind, algorithm if isinstance(algorithm, str) else None, key
    )


async def _document(url: str) -> dict[str, Any]:
    # Its certificates are read from a file.
    client = await asyncio.to_thread(HttpClient, url)
    try:
        reply = await client.request("GET", [("accept", "application/json")], b"")
        if reply.status != 200:
            raise ValueError(f"{url} answers {reply.status}")
        document = json.loads(await reply.body(_MOST_BYTES))
    finally:
        client.close()
    if not isinstance(document, dict):
        raise ValueError(f"{url} answers with something that is no JSON object")
    return document
