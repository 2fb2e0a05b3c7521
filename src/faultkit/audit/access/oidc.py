"""Verification of bearer tokens of an OIDC issuer: signature, time, audience, issuer, scopes.

Signatures are verified by PyJWT. Only the asymmetric `ALGORITHMS` are accepted: neither shared secrets nor
unsigned tokens (RFC 8725, 3.1).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import jwt

from faultkit.audit.access.identity import SCOPES, Identity, Scope, scopes_of
from faultkit.audit.access.issuer import Issuer, SigningKey
from faultkit.base.times import now_us

ALGORITHMS: Mapping[str, str] = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "ES256": "EC",
    "EdDSA": "OKP",
}
"""Accepted algorithms, each with the kind of key that it needs."""
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
        identity = identity_of(claims, self._settings.scopes)
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


def identity_of(claims: Mapping[str, Any], otherwise: frozenset[Scope]) -> Identity:
    """Return the identity that the claims describe. `otherwise`: scopes if the claims name none."""
    return Identity(
        subject=str(claims["sub"]),
        auth_type="oidc",
        scopes=_scopes(claims) or otherwise,
        email=_text(claims.get("email")),
        name=_text(claims.get("name")),
        claims=dict(claims),
    )


def _scopes(claims: Mapping[str, Any]) -> frozenset[Scope]:
    """Return the scopes of a token: `scope` or `scp`, as a text (RFC 8693, 4.2) or a list."""
    value = claims.get("scope", claims.get("scp", ""))
    named = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return scopes_of(tuple(name for name in named if name in SCOPES))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
