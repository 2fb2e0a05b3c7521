"""Whether a request may do what it wants to: who sent it, what they may do, and how often.

It decides and leaves a row of each refusal. What is served, and how a refusal is told, is not its business.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from faultkit.audit.access.identity import ANONYMOUS, Category, Identity, Refusal, Scope
from faultkit.audit.access.keys import PREFIX, Keys
from faultkit.audit.access.metadata import challenge
from faultkit.audit.access.peers import address_of
from faultkit.audit.access.rates import Buckets
from faultkit.audit.access.refusals import Refusals
from faultkit.audit.access.ring import KeyRing, KeysAway, Known
from faultkit.audit.access.settings import AccessSettings
from faultkit.audit.row import Entry
from faultkit.base.http.server import Answer, Request
from faultkit.base.times import now_us

if TYPE_CHECKING:
    from faultkit.audit.access.oidc import Tokens

_RETRY_S = 5
_AGAIN_S = 0.9
"""How often it is asked whether those who read on may still do so."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a credential does not do. `error` is a word of RFC 6750; empty where it has none."""

    status: int
    error: str
    message: str
    by: Identity | None = None
    retry_s: int = 0


Found: TypeAlias = Identity | Problem
Decision: TypeAlias = Identity | Refusal

# A union in a call of isinstance is made anew each time.
_SETTLED = (Identity, Problem)
_NOTHING = Problem(401, "", "expected an API key or a bearer token")
_TWO = Problem(400, "invalid_request", "expected X-API-Key or Authorization, got both")
_NO_BEARER = Problem(401, "invalid_request", "expected Authorization to be Bearer and a token")
_NO_KEY = Problem(401, "invalid_token", "there is no such key")
_NO_TOKENS = Problem(401, "invalid_token", "tokens are not taken here")
_KEYS_AWAY = Problem(503, "", "keys cannot be checked just now", retry_s=_RETRY_S)
_ISSUER_AWAY = Problem(503, "", "tokens cannot be checked just now", retry_s=_RETRY_S)


class Access:
    """For one event loop."""

    def __init__(
        self,
        settings: AccessSettings | None = None,
        keys: Keys | None = None,
        tokens: Tokens | None = None,
        *,
        add: Callable[[Entry], None] = lambda entry: None,
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], int] = now_us,
    ) -> None:
        """`add`: is given a row of what was refused."""
        self.settings = settings or AccessSettings()
        self.keys = keys
        self._ring = None if keys is None else KeyRing(keys, say)
        self._tokens = tokens
        self._buckets = None if self.settings.rate is None else Buckets(self.settings.rate)
        self._refusals = Refusals(add, clock)
        self._clock = clock
        self._watches: set[asyncio.Task[None]] = set()

    @property
    def refusals(self) -> Mapping[Category, int]:
        """How many there were."""
        return self._refusals.counts

    async def start(self) -> None:
        if self._tokens is not None:
            await self._tokens.start()

    async def close(self) -> None:
        for watch in tuple(self._watches):
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        self._refusals.close()
        if self._ring is not None:
            await self._ring.close()
        if self._tokens is not None:
            await self._tokens.close()

    def check(self, request: Request, scope: Scope) -> Decision | Awaitable[Decision]:
        """An awaitable only if the database or the issuer of a token has to be asked."""
        found = self._find(request)
        if isinstance(found, _SETTLED):
            return self._decide(request, scope, found)
        return self._check_later(request, scope, found)

    def watch(self, request: Request, scope: Scope, answer: Answer) -> None:
        """An answer without end is cut when the key or token that it was asked for with is good no more."""
        if "x-api-key" in request.headers or "authorization" in request.headers:
            task = asyncio.get_running_loop().create_task(self._watch(request, scope, answer))
            self._watches.add(task)
            task.add_done_callback(self._watches.discard)

    async def _watch(self, request: Request, scope: Scope, answer: Answer) -> None:
        while answer.is_open:
            await asyncio.sleep(_AGAIN_S)
            found = self._find(request)
            found = found if isinstance(found, _SETTLED) else await found
            if isinstance(found, Problem) and found.status == 401 and answer.is_open:
                self._refuse(request, scope, found)
                answer.abort()

    def foreign(self, request: Request) -> None:
        """It has been refused for its Host or its Origin."""
        self._refusals.note(request, Refusal(403, "origin", "this host or origin may not call"))

    async def _check_later(self, request: Request, scope: Scope, found: Awaitable[Found]) -> Decision:
        return self._decide(request, scope, await found)

    def _find(self, request: Request) -> Found | Awaitable[Found]:
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
        return self._by_key(token) if token.startswith(PREFIX) else self._by_token(token)

    def _by_key(self, plain: str) -> Found | Awaitable[Found]:
        if self._ring is None or not plain.startswith(PREFIX):
            return _NO_KEY
        known = self._ring.find(plain)
        if isinstance(known, Known):
            return self._of_key(known)
        return self._by_key_later(known)

    async def _by_key_later(self, known: Awaitable[Known | None]) -> Found:
        try:
            return self._of_key(await known)
        except KeysAway:
            return _KEYS_AWAY

    def _of_key(self, known: Known | None) -> Found:
        if known is None or self._ring is None:
            return _NO_KEY
        key, at_us = known.key, self._clock()
        if key.revoked_us is not None:
            return Problem(401, "invalid_token", "the key was revoked", known.identity)
        if key.expires_us is not None and key.expires_us <= at_us:
            return Problem(401, "invalid_token", "the key has expired", known.identity)
        self._ring.used(known, at_us)
        return known.identity

    def _by_token(self, token: str) -> Found | Awaitable[Found]:
        if self._tokens is None:
            return _NO_TOKENS
        from faultkit.audit.access.oidc import BadToken

        try:
            found = self._tokens.check(token)
        except BadToken as error:
            return Problem(401, "invalid_token", str(error))
        return found if isinstance(found, Identity) else _by_token_later(found)

    def _decide(self, request: Request, scope: Scope, found: Found) -> Decision:
        if isinstance(found, Identity) and scope not in found.scopes:
            found = Problem(403, "insufficient_scope", f'the scope "{scope}" is missing', found)
        late = None if self._buckets is None else self._late(request, found, self._buckets)
        found = late or found
        return found if isinstance(found, Identity) else self._refuse(request, scope, found)

    def _late(self, request: Request, found: Found, buckets: Buckets) -> Problem | None:
        by = found if isinstance(found, Identity) else None
        # Who tries one key after another is known by where they come from.
        who = address_of(request.peer) if by is None or by is ANONYMOUS else by.who
        wait_s = buckets.take(who, monotonic())
        return Problem(429, "", "too many requests", by, retry_s=math.ceil(wait_s)) if wait_s else None

    def _refuse(self, request: Request, scope: Scope, problem: Problem) -> Refusal:
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
    from faultkit.audit.access.issuer import IssuerAway
    from faultkit.audit.access.oidc import BadToken

    try:
        return await found
    except BadToken as error:
        return Problem(401, "invalid_token", str(error))
    except IssuerAway:
        return _ISSUER_AWAY
