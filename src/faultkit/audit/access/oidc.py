"""Bearer tokens of an OIDC issuer: the issuer's signing keys, and verification of tokens with them.

Keys are fresh for `FRESH_S`. A token that names an unknown key causes a new fetch, at most one every
`_FETCH_INTERVAL_S`. If the issuer is unavailable, the old keys are used for `STALE_S` more. PyJWT's own
`PyJWKClient` is not used because it fetches synchronously, which would block the event loop.

PyJWT verifies signatures. Only the asymmetric `ALGORITHMS` are accepted: neither shared secrets nor unsigned
tokens (RFC 8725, 3.1).
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import jwt
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from faultkit.audit.access.identity import SCOPES, Identity, Scope, scopes_of
from faultkit.base.address import is_loopback
from faultkit.base.errors import InputError
from faultkit.base.http.http_client import ConnectionLost, HttpClient
from faultkit.base.times import now_us

FRESH_S = 3600.0
STALE_S = 300.0
_FETCH_INTERVAL_S = 30.0
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
"""Reader of each kind of key, and the names of its public parts; others are ignored."""
_CURVES = (None, "P-256", "Ed25519", "Ed448")


class IssuerUnavailable(Exception):
    """The issuer's keys cannot be fetched, and the cached ones are too old."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key of the issuer (RFC 7517)."""

    id: str | None
    kind: str
    algorithm: str | None
    """The only algorithm that it may be used with; None for any that fits its kind."""
    public: Any


class Issuer:
    """Cache of the keys of one issuer. It belongs to one event loop."""

    def __init__(
        self,
        url: str,
        jwks_url: str | None = None,
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`jwks_url`: URL of the keys; None to read it from the issuer's discovery document."""
        self._url = url
        self._jwks_url = jwks_url
        self._say = say
        self._clock = clock
        self._keys: tuple[SigningKey, ...] = ()
        self._fetched_s = self._tried_s = float("-inf")
        self._problem = ""
        self._fetch: asyncio.Task[None] | None = None
        self.edition = 0
        """Number that changes with each successful fetch."""

    def cached_keys(self, key_id: str | None) -> tuple[SigningKey, ...] | None:
        """Return the cached keys that a token may be signed with; None if the issuer must be asked first."""
        now_s = self._clock()
        found = tuple(key for key in self._keys if key_id is None or key.id is None or key.id == key_id)
        if now_s - self._fetched_s < FRESH_S and found:
            return found
        is_usable = now_s - self._fetched_s < FRESH_S + STALE_S
        return found if is_usable and now_s - self._tried_s < _FETCH_INTERVAL_S else None

    async def find(self, key_id: str | None) -> tuple[SigningKey, ...]:
        """Return the keys that a token may be signed with, fetched if due. Raises IssuerUnavailable."""
        found = self.cached_keys(key_id)
        if found is None and (self._is_asking() or self._clock() - self._tried_s >= _FETCH_INTERVAL_S):
            await self.ask()
            found = self.cached_keys(key_id)
        if found is None:
            raise IssuerUnavailable(self._problem)
        return found

    async def ask(self) -> None:
        """Fetch the keys. Concurrent calls share one fetch."""
        if self._fetch is None or self._fetch.done():
            self._fetch = asyncio.get_running_loop().create_task(self._ask())
        # Shielded: cancelling one waiter must not cancel the fetch for the others.
        await asyncio.shield(self._fetch)

    async def close(self) -> None:
        """Cancel a running fetch."""
        if self._fetch is not None:
            self._fetch.cancel()
            with suppress(asyncio.CancelledError):
                await self._fetch

    def _is_asking(self) -> bool:
        return self._fetch is not None and not self._fetch.done()

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(_FETCH_S):
                keys = await self._fetch_keys()
        except TimeoutError:
            self._note_failure(f"no answer within {_FETCH_S:g} s")
        except (OSError, ConnectionLost, InputError, ValueError, RecursionError) as error:
            self._note_failure(str(error))
        else:
            if self._problem:
                self._say(f"oidc: {self._url} is back")
            self._problem = ""
            self._keys = keys
            self._fetched_s = self._clock()
            self.edition += 1
        self._tried_s = self._clock()

    def _note_failure(self, why: str) -> None:
        if not self._problem:
            self._say(f"oidc: cannot fetch the keys of {self._url}: {why}")
        self._problem = why

    async def _fetch_keys(self) -> tuple[SigningKey, ...]:
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
            raise ValueError("expected at least one usable key, got none")
        return keys


def check_url(path: str, url: str) -> str:
    """Return the URL if it is https, or http on loopback: keys fetched over plain HTTP could be replaced by
    an attacker. Raises InputError."""
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
    """Return the keys of a JWK set that can verify tokens; others are skipped (RFC 7517, 5)."""
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
    # In a thread, since creating a TLS context reads certificates from disk.
    client = await asyncio.to_thread(HttpClient, url)
    try:
        reply = await client.request("GET", [("accept", "application/json")], b"")
        if reply.status != 200:
            raise ValueError(f"{url} answers {reply.status}")
        document = json.loads(await reply.body(_MOST_BYTES))
    finally:
        client.close()
    if not isinstance(document, dict):
        raise ValueError(f"{url} answers with something other than a JSON object")
    return document


# --- tokens ---------------------------------------------------------------------------------------

ALGORITHMS: Mapping[str, str] = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "ES256": "EC",
    "EdDSA": "OKP",
}
"""Accepted algorithms, each with the kind of key that it needs."""
SCOPE_PREFIX = "faultkit:"
"""Begins the scopes of this server in a token. Issuers serve others too, and `admin` is a common name."""
LEEWAY_S = 30
"""Accepted difference between the clocks of the issuer and this server."""
MOST_TOKEN_CHARS = 16 << 10
_MOST_VERIFIED = 1000
_REQUIRED = ("iss", "aud", "exp", "sub")
_WHY: tuple[tuple[type[Exception], str], ...] = (
    (jwt.ExpiredSignatureError, "the token has expired"),
    (jwt.ImmatureSignatureError, "the token is not valid yet"),
    (jwt.InvalidAudienceError, "the token is for another audience"),
    (jwt.InvalidIssuerError, "the token is from another issuer"),
    (jwt.MissingRequiredClaimError, "the token lacks one of the claims iss, aud, exp, sub"),
    (jwt.InvalidSignatureError, "the token's signature is wrong"),
)
_MALFORMED = "expected a JSON Web Token"
_UNKNOWN_KEY = "the token is signed with a key that its issuer does not list"


class InvalidToken(Exception):
    """A token is not accepted. The message is sent to the client, so it contains no secret."""


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """Which issuer is trusted, and for which audiences."""

    issuer: str
    audiences: tuple[str, ...]
    """Accepted audiences; a token must name one of them."""
    jwks_url: str | None = None
    """URL of the keys; None to read it from the issuer's discovery document."""
    scopes: frozenset[Scope] = frozenset({"read", "call"})
    """Scopes of a token that names none of read, call and admin."""
    scope_prefix: str = SCOPE_PREFIX
    """Begins the name of a scope in a token. An `admin` without it is meant for another service."""


@dataclass(frozen=True, slots=True)
class _VerifiedToken:
    identity: Identity
    until_us: int
    edition: int
    key_id: str | None


class TokenVerifier:
    """Verifies tokens, and remembers the verified ones. It belongs to one event loop."""

    def __init__(self, settings: OidcSettings, issuer: Issuer, clock: Callable[[], int] = now_us) -> None:
        self._settings = settings
        self._issuer = issuer
        self._clock = clock
        self._verified: OrderedDict[bytes, _VerifiedToken] = OrderedDict()

    def check(self, token: str) -> Identity | Awaitable[Identity]:
        """Return the identity of a token; an awaitable if the issuer must be asked. Raises InvalidToken; the
        awaitable also raises IssuerUnavailable."""
        if len(token) > MOST_TOKEN_CHARS:
            raise InvalidToken(f"expected a token of at most {MOST_TOKEN_CHARS} characters")
        digest = sha256(token.encode()).digest()
        verified = self._verified.get(digest)
        if verified is not None and self._is_current(verified):
            return verified.identity
        algorithm, key_id = _head(token)
        keys = self._issuer.cached_keys(key_id)
        if keys is None:
            return self._check_later(token, digest, algorithm, key_id)
        return self._identity(token, digest, algorithm, key_id, keys)

    async def start(self) -> None:
        """Fetch the issuer's keys before the first token arrives."""
        await self._issuer.ask()

    async def close(self) -> None:
        """Cancel a running fetch of keys."""
        await self._issuer.close()

    def _is_current(self, verified: _VerifiedToken) -> bool:
        is_same_edition = verified.edition == self._issuer.edition and self._clock() < verified.until_us
        return is_same_edition and self._issuer.cached_keys(verified.key_id) is not None

    async def _check_later(self, token: str, digest: bytes, algorithm: str, key_id: str | None) -> Identity:
        keys = await self._issuer.find(key_id)
        return self._identity(token, digest, algorithm, key_id, keys)

    def _identity(
        self, token: str, digest: bytes, algorithm: str, key_id: str | None, keys: tuple[SigningKey, ...]
    ) -> Identity:
        fitting = [
            key for key in keys if key.kind == ALGORITHMS[algorithm] and key.algorithm in (None, algorithm)
        ]
        claims = self._claims(token, algorithm, fitting)
        identity = identity_of(claims, self._settings.scopes, self._settings.scope_prefix)
        until_us = (int(claims["exp"]) + LEEWAY_S) * 1_000_000
        self._verified[digest] = _VerifiedToken(identity, until_us, self._issuer.edition, key_id)
        if len(self._verified) > _MOST_VERIFIED:
            self._verified.popitem(last=False)
        return identity

    def _claims(self, token: str, algorithm: str, keys: list[SigningKey]) -> dict[str, Any]:
        problem = _UNKNOWN_KEY
        for key in keys:
            try:
                return jwt.decode(
                    token,
                    key.public,
                    algorithms=[algorithm],
                    audience=list(self._settings.audiences),
                    issuer=self._settings.issuer,
                    leeway=LEEWAY_S,
                    options={"require": list(_REQUIRED)},
                )
            except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
                problem = next((why for kind, why in _WHY if isinstance(error, kind)), _MALFORMED)
                if not isinstance(error, jwt.InvalidSignatureError):
                    break
        raise InvalidToken(problem)


def _head(token: str) -> tuple[str, str | None]:
    """Return the algorithm and the key id of a token's header. Neither is verified yet."""
    try:
        head = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise InvalidToken(_MALFORMED) from None
    algorithm, key_id = head.get("alg"), head.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise InvalidToken(f"expected a token signed with one of {', '.join(ALGORITHMS)}")
    # RFC 7515, 4.1.11: a token with critical extensions that are not understood must be rejected.
    if "crit" in head:
        raise InvalidToken("the token requires unknown extensions")
    return algorithm, key_id if isinstance(key_id, str) else None


def identity_of(
    claims: Mapping[str, Any], otherwise: frozenset[Scope], scope_prefix: str = SCOPE_PREFIX
) -> Identity:
    """Return the identity that the claims describe. `otherwise`: scopes if the claims name none."""
    return Identity(
        subject=str(claims["sub"]),
        auth_type="oidc",
        scopes=_scopes(claims, scope_prefix) or otherwise,
        email=_text(claims.get("email")),
        name=_text(claims.get("name")),
        claims=dict(claims),
    )


def _scopes(claims: Mapping[str, Any], prefix: str) -> frozenset[Scope]:
    """Return the scopes of a token: `scope` or `scp`, as a text (RFC 8693, 4.2) or a list."""
    value = claims.get("scope", claims.get("scp", ""))
    named = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    own = {prefix + scope: scope for scope in SCOPES}
    return scopes_of(tuple(own[name] for name in named if isinstance(name, str) and name in own))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
