"""A model's turns from its provider: asked again while that may help, and given up with a reason.

Providers are real, so what waits here waits in real time, however the time of the tools is counted; the time
limit of the suite ends it by cancelling.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from faultkit.agents.kinds.endpoints import Endpoint
from faultkit.agents.kinds.turns import Conversation, ModelFailed, Said
from faultkit.base.rng import Rng
from faultkit.llm.failure import Failure, Kind
from faultkit.llm.retry import pause_s

TRIES = 4
TURN_S = 120.0
_TRIES_IF_SLOW = 2
_REASONS: dict[Kind, str] = {
    "key": "refused the key: check {variable}",
    "model": "does not know the model {model!r}",
    "credit": "says that there is no credit left",
    "rate": "takes no more requests now",
    "server": "failed",
    "timeout": "did not answer within {turn_s:g} s",
    "connection": "cannot be reached at {base_url}",
    "rejected": "rejected the request",
    "garbage": "sent something that is no turn of a model",
}


class Dialect(Protocol):
    """One provider's API: every call asks once, and raises Failure if that fails."""

    async def say(self, conversation: Conversation, timeout_s: float) -> Said: ...

    async def close(self) -> None: ...


class ProviderVoice:
    def __init__(
        self,
        endpoint: Endpoint,
        *,
        turn_s: float = TURN_S,
        tries: int = TRIES,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._turn_s = turn_s
        self._tries = tries
        self._pause = pause
        self._dialect: Dialect | None = None
        self._rng = Rng.keyed("model", endpoint.provider.name, endpoint.model)

    async def say(self, conversation: Conversation) -> Said:
        if self._dialect is None:
            self._dialect = _dialect(self._endpoint)
        tried = 0
        while True:
            tried += 1
            try:
                # A client's own timeout counts from byte to byte: an answer that drips would last for ever.
                async with asyncio.timeout(self._turn_s):
                    return await self._dialect.say(conversation, self._turn_s)
            except TimeoutError:
                failure = Failure("timeout")
            except Failure as raised:
                failure = raised
            wait_s = self._wait_s(failure, tried)
            if wait_s is None:
                raise self._given_up(failure, tried) from None
            await self._pause(wait_s)

    async def close(self, *, is_whole: bool) -> None:
        if self._dialect is not None:
            await self._dialect.close()
            self._dialect = None

    def _wait_s(self, failure: Failure, tried: int) -> float | None:
        """None: it is not asked again."""
        if failure.kind == "timeout":
            return 0.0 if tried < min(_TRIES_IF_SLOW, self._tries) else None
        return pause_s(failure, tried, self._rng) if tried < self._tries else None

    def _given_up(self, failure: Failure, tried: int) -> ModelFailed:
        where = self._endpoint
        reason = _REASONS[failure.kind].format(
            variable=where.provider.key_env or "api_key_env",
            model=where.model,
            turn_s=self._turn_s,
            base_url=where.base_url,
        )
        status = f"HTTP {failure.status}" if failure.status else ""
        # Some providers repeat the key that they refuse.
        detail = failure.detail.replace(where.key, "…") if where.key else failure.detail
        said = ": ".join(part for part in (status, detail) if part)
        tries = f" after {tried} tries" if tried > 1 else ""
        text = f"{where.provider.name} {reason}{f' ({said})' if said else ''}{tries}"
        return ModelFailed(text, failure.kind, tried)


def _dialect(endpoint: Endpoint) -> Dialect:
    """The client libraries are imported only here, since each takes a second or two."""
    if endpoint.provider.client == "anthropic":
        from faultkit.agents.kinds.anthropic_dialect import AnthropicDialect

        return AnthropicDialect(endpoint)
    from faultkit.agents.kinds.openai_dialect import OpenaiDialect

    return OpenaiDialect(endpoint)
