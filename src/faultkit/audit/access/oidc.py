"""Bearer tokens of an OIDC issuer: whether one is real, in time and for us, and whose it is.

Signatures are checked by PyJWT. A token is signed with a key of the issuer's and one of `ALGORITHMS`, never
with a shared secret, and never not at all.
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
"""And the kind of key that each takes."""
LEEWAY_S = 30
"""By how much the issuer's clock may differ from ours."""
MOST_TOKEN_CHARS = 16 << 10
_MOST_REMEMBERED = 1000
_REQUIRED = ("iss", "aud", "exp", "sub")
_WHY: tuple[tuple[type[Exception], str], ...] = (
    (jwt.ExpiredSignatureError, "the token has expired"),
    (jwt.ImmatureSignatureError, "the token is not valid yet"),
    (jwt.InvalidAudienceError, "the token is for another audience"),
    (jwt.InvalidIssuerError, "the token is of another issuer"),
    (jwt.MissingRequiredClaimError, "the token lacks one of the claims iss, aud, exp, sub"),
    (jwt.InvalidSignatureError, "the token's signature is wrong"),
)
_NO_TOKEN = "this is no token"
_UNKNOWN_KEY = "the token is signed with a key that its issuer does not name"


class BadToken(Exception):
    """Says why, in words that a stranger may read."""


@dataclass(frozen=True, slots=True)
class OidcSettings:
    issuer: str
    audiences: tuple[str, ...]
    """A token must be for one of these."""
    jwks_url: str | None = None
    """None: the issuer's discovery document names it."""
    scopes: frozenset[Scope] = frozenset({"read", "call"})
    """Of a token whose own scopes name none of ours."""


@dataclass(frozen=True, slots=True)
class _Seen:
    identity: Identity
    until_us: int
    edition: int
    key_id: str | None


class Tokens:
    """For one event loop."""

    def __init__(self, settings: OidcSettings, issuer: Issuer, clock: Callable[[], int] = now_us) -> None:
        self._settings = settings
        self._issuer = issuer
        self._clock = clock
        self._seen: OrderedDict[bytes, _Seen] = OrderedDict()

    def check(self, token: str) -> Identity | Awaitable[Identity]:
        """Raises BadToken. An awaitable if the issuer has to be asked, which may raise IssuerAway as well."""
        if len(token) > MOST_TOKEN_CHARS:
            raise BadToken(f"expected a token of at most {MOST_TOKEN_CHARS} characters")
        digest = sha256(token.encode()).digest()
        seen = self._seen.get(digest)
        if seen is not None and self._counts(seen):
            return seen.identity
        algorithm, key_id = _head(token)
        keys = self._issuer.at_hand(key_id)
        if keys is None:
            return self._check_later(token, digest, algorithm, key_id)
        return self._identity(token, digest, algorithm, key_id, keys)

    async def start(self) -> None:
        """Asks the issuer before the first token comes."""
        await self._issuer.ask()

    async def close(self) -> None:
        await self._issuer.close()

    def _counts(self, seen: _Seen) -> bool:
        is_current = seen.edition == self._issuer.edition and self._clock() < seen.until_us
        return is_current and self._issuer.at_hand(seen.key_id) is not None

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
        self._seen[digest] = _Seen(identity, until_us, self._issuer.edition, key_id)
        if len(self._seen) > _MOST_REMEMBERED:
            self._seen.popitem(last=False)
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
                problem = next((why for kind, why in _WHY if isinstance(error, kind)), _NO_TOKEN)
                if not isinstance(error, jwt.InvalidSignatureError):
                    break
        raise BadToken(problem)


def _head(token: str) -> tuple[str, str | None]:
    """The algorithm and the name of the key, neither of which can be trusted yet."""
    try:
        head = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise BadToken(_NO_TOKEN) from None
    algorithm, key_id = head.get("alg"), head.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise BadToken(f"expected a token signed with one of {', '.join(ALGORITHMS)}")
    if "crit" in head:
        raise BadToken("the token asks for extensions that we do not know")
    return algorithm, key_id if isinstance(key_id, str) else None


def identity_of(claims: Mapping[str, Any], otherwise: frozenset[Scope]) -> Identity:
    return Identity(
        subject=str(claims["sub"]),
        auth_type="oidc",
        scopes=_scopes(claims) or otherwise,
        email=_text(claims.get("email")),
        name=_text(claims.get("name")),
        claims=dict(claims),
    )


def _scopes(claims: Mapping[str, Any]) -> frozenset[Scope]:
    """Some issuers write them as one text, some as a list, and some under another name."""
    said = claims.get("scope", claims.get("scp", ""))
    named = said.split() if isinstance(said, str) else said if isinstance(said, list) else []
    return scopes_of(tuple(name for name in named if name in SCOPES))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
