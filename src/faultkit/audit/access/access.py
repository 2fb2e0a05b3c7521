"""Access control: authenticates a request, checks its scope and applies the rate limit.

It decides, and logs a row for refusals. It does not know what is served, nor how a refusal is answered.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from faultkit.audit.access.access_settings import AccessSettings, challenge
from faultkit.audit.access.api_keys import KEY_PREFIX, CachedKey, KeyCache, KeyStore, KeysUnavailable
from faultkit.audit.access.identity import ANONYMOUS, Category, Identity, Refusal, Scope
from faultkit.audit.access.rate_limits import RateLimiter, address_of
from faultkit.audit.access.refusals import Refusals
from faultkit.audit.row import AuditEntry
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.tasks import TaskSet
from faultkit.base.times import now_us

if TYPE_CHECKING:
    from faultkit.audit.access.oidc import TokenVerifier

_RETRY_S = 5
_RECHECK_S = 0.9
"""Seconds between two checks of the credential of a response without end."""


@dataclass(frozen=True, slots=True)
class CredentialProblem:
    """Why a credential is not accepted. `error` is an error code of RFC 6750, 3.1, or empty."""

    status: int
    error: str
    message: str
    by: Identity | None = None
    retry_s: int = 0


Found: TypeAlias = Identity | CredentialProblem
Decision: TypeAlias = Identity | Refusal

# A tuple, since a union in a call of isinstance is created anew each time.
_DECIDED = (Identity, CredentialProblem)
_NOTHING = CredentialProblem(401, "", "expected an API key or a bearer token")
_TWO = CredentialProblem(400, "invalid_request", "expected X-API-Key or Authorization, got both")
_NO_BEARER = CredentialProblem(401, "invalid_request", "expected Authorization to be Bearer and a token")
_NO_KEY = CredentialProblem(401, "invalid_token", "unknown key")
_NO_TOKENS = CredentialProblem(401, "invalid_token", "tokens are not accepted here")
_KEYS_UNAVAILABLE = CredentialProblem(503, "", "keys cannot be checked at the moment", retry_s=_RETRY_S)
_ISSUER_UNAVAILABLE = CredentialProblem(503, "", "tokens cannot be checked at the moment", retry_s=_RETRY_S)


class Access:
    """Access control of one server. It belongs to one event loop."""

    def __init__(
        self,
        settings: AccessSettings | None = None,
        keys: KeyStore | None = None,
        tokens: TokenVerifier | None = None,
        *,
        add: Callable[[AuditEntry], None] = lambda entry: None,
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], int] = now_us,
    ) -> None:
        """`add` receives the rows of refused requests, `say` one line about each change of state."""
        self.settings = settings or AccessSettings()
        self.keys = keys
        self._cache = None if keys is None else KeyCache(keys, say)
        self._tokens = tokens
        self._limiter = None if self.settings.rate is None else RateLimiter(self.settings.rate)
        self._refusals = Refusals(add, clock)
        self._clock = clock
        self._watches = TaskSet[None]()

    @property
    def refusals(self) -> Mapping[Category, int]:
        """Number of refusals by category."""
        return self._refusals.counts

    async def start(self) -> None:
        """Fetch the signing keys of the token issuer, if there is one."""
        if self._tokens is not None:
            await self._tokens.start()

    async def close(self) -> None:
        """Stop watching responses, and write what is pending: refusals and times of key use."""
        await self._watches.cancel()
        self._refusals.close()
        if self._cache is not None:
            await self._cache.close()
        if self._tokens is not None:
            await self._tokens.close()

    def check(self, request: HttpRequest, scope: Scope) -> Decision | Awaitable[Decision]:
        """Return the decision about a request; an awaitable only if the database or the token issuer must be
        asked, so the usual call does not go through the event loop."""
        found = self._find(request)
        if isinstance(found, _DECIDED):
            return self._decide(request, scope, found)
        return self._check_later(request, scope, found)

    def watch(self, request: HttpRequest, scope: Scope, answer: ResponseWriter) -> None:
        """Abort a response without end as soon as its key or token is no longer valid."""
        if "x-api-key" in request.headers or "authorization" in request.headers:
            self._watches.start(self._watch(request, scope, answer))

    async def _watch(self, request: HttpRequest, scope: Scope, answer: ResponseWriter) -> None:
        while answer.is_open:
            await asyncio.sleep(_RECHECK_S)
            found = self._find(request)
            found = found if isinstance(found, _DECIDED) else await found
            if isinstance(found, CredentialProblem) and found.status == 401 and answer.is_open:
                self._refuse(request, scope, found)
                answer.abort()

    def foreign(self, request: HttpRequest) -> None:
        """Record a request that was refused because of its Host or Origin."""
        self._refusals.note(request, Refusal(403, "origin", "this host or origin may not call"))

    async def _check_later(self, request: HttpRequest, scope: Scope, found: Awaitable[Found]) -> Decision:
        return self._decide(request, scope, await found)

    def _find(self, request: HttpRequest) -> Found | Awaitable[Found]:
        key, authorization = request.headers.get("x-api-key"), request.headers.get("authorization")
        if authorization is None:
            if key is None:
                return ANONYMOUS if self.settings.anonymous else _NOTHING
            return self._by_key(key)
        if key is not None:
            return _TWO
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return _NO_BEARER
        return self._by_key(token) if token.startswith(KEY_PREFIX) else self._by_token(token)

    def _by_key(self, plain: str) -> Found | Awaitable[Found]:
        if self._cache is None or not plain.startswith(KEY_PREFIX):
            return _NO_KEY
        found = self._cache.find(plain)
        if isinstance(found, CachedKey):
            return self._identity_of_key(found)
        return self._by_key_later(found)

    async def _by_key_later(self, known: Awaitable[CachedKey | None]) -> Found:
        try:
            return self._identity_of_key(await known)
        except KeysUnavailable:
            return _KEYS_UNAVAILABLE

    def _identity_of_key(self, known: CachedKey | None) -> Found:
        if known is None or self._cache is None:
            return _NO_KEY
        key, at_us = known.key, self._clock()
        if key.revoked_us is not None:
            return CredentialProblem(401, "invalid_token", "the key was revoked", known.identity)
        if key.expires_us is not None and key.expires_us <= at_us:
            return CredentialProblem(401, "invalid_token", "the key has expired", known.identity)
        self._cache.used(known, at_us)
        return known.identity

    def _by_token(self, token: str) -> Found | Awaitable[Found]:
        if self._tokens is None:
            return _NO_TOKENS
        from faultkit.audit.access.oidc import InvalidToken

        try:
            found = self._tokens.check(token)
        except InvalidToken as error:
            return CredentialProblem(401, "invalid_token", str(error))
        return found if isinstance(found, Identity) else _by_token_later(found)

    def _decide(self, request: HttpRequest, scope: Scope, found: Found) -> Decision:
        if isinstance(found, Identity) and scope not in found.scopes:
            found = CredentialProblem(403, "insufficient_scope", f'the scope "{scope}" is missing', found)
        late = None if self._limiter is None else self._rate_problem(request, found, self._limiter)
        found = late or found
        return found if isinstance(found, Identity) else self._refuse(request, scope, found)

    def _rate_problem(
        self, request: HttpRequest, found: Found, limiter: RateLimiter
    ) -> CredentialProblem | None:
        by = found if isinstance(found, Identity) else None
        # Unauthenticated requests are limited by address, so guessing keys is limited too.
        who = address_of(request.peer) if by is None or by is ANONYMOUS else by.who
        wait_s = limiter.take(who, monotonic())
        return (
            CredentialProblem(429, "", "too many requests", by, retry_s=math.ceil(wait_s)) if wait_s else None
        )

    def _refuse(self, request: HttpRequest, scope: Scope, problem: CredentialProblem) -> Refusal:
        headers: tuple[tuple[str, str], ...] = ()
        if problem.retry_s:
            headers = (("retry-after", str(problem.retry_s)),)
        elif problem.status != 400:
            value = challenge(request, self.settings, scope, problem.error, problem.message)
            headers = (("www-authenticate", value),)
        category: Category = "rate" if problem.status == 429 else "auth"
        refusal = Refusal(problem.status, category, problem.message, headers, problem.by)
        self._refusals.note(request, refusal)
        return refusal


async def _by_token_later(found: Awaitable[Identity]) -> Found:
    from faultkit.audit.access.oidc import InvalidToken, IssuerUnavailable

    try:
        return await found
    except InvalidToken as error:
        return CredentialProblem(401, "invalid_token", str(error))
    except IssuerUnavailable:
        return _ISSUER_UNAVAILABLE
