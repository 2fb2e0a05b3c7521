"""Calls to providers: a client for each API, retries, and the error of a call that is given up.

`open_client` imports the client libraries only when a call is to be made, because that takes a second or two.
Waits take real time, also in suites that run in virtual time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import wait
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, TypeVar

from faultkit.base.errors import RunError
from faultkit.base.rng import Rng
from faultkit.llm.conversation import AnswerFormat, Completion, Conversation, ModelError, Vectors
from faultkit.llm.failure import ProviderFailure, describe_failure, pause_s
from faultkit.llm.model_settings import CLIENT, RULES
from faultkit.llm.providers import ModelEndpoint

T = TypeVar("T")

TRIES = 4
TURN_S = 120.0
TRIES_IF_SLOW = 2


class ChatClient(Protocol):
    """A provider's API. Each method sends one request and raises ProviderFailure if it fails."""

    async def complete(
        self, conversation: Conversation, timeout_s: float, answer: AnswerFormat | None = None
    ) -> Completion: ...

    async def embed(self, model: str, texts: list[str], dim: int | None, timeout_s: float) -> Vectors:
        """Return one vector for each text. `dim` asks for shorter vectors than the model's own."""
        ...

    async def close(self) -> None: ...


def open_client(endpoint: ModelEndpoint) -> ChatClient:
    """Return the client of an endpoint. Raises MissingExtra if the client libraries are not installed."""
    from faultkit.base.installation import require_extra

    # The client may have been chosen by a key in the environment, which is there for something else.
    offline = f"`{CLIENT[0]} {RULES}` needs none"
    require_extra("llm", f"a language model of {endpoint.provider.name} ({offline})")
    if endpoint.provider.client == "anthropic":
        from faultkit.llm.anthropic_chat import AnthropicChat

        return AnthropicChat(endpoint)
    from faultkit.llm.openai_chat import OpenaiChat

    return OpenaiChat(endpoint)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a failed call is repeated."""

    rng: Rng
    tries: int
    tries_if_slow: int = 1
    """Tries of a call that times out, without a pause between them."""
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep

    def wait_s(self, failure: ProviderFailure, tried: int) -> float | None:
        """Return the pause before the next try, or None to give up."""
        if failure.kind == "timeout":
            return 0.0 if tried < min(self.tries_if_slow, self.tries) else None
        return pause_s(failure, tried, self.rng) if tried < self.tries else None


class RetriesExhausted(Exception):
    """Raised with the last failure of a call that is not repeated any more."""

    def __init__(self, failure: ProviderFailure, tries: int, timeout_s: float) -> None:
        super().__init__(failure)
        self.failure = failure
        self.tries = tries
        self.timeout_s = timeout_s
        """Time limit of the last try."""


async def call_with_retries(
    call: Callable[[float], Awaitable[T]],
    policy: RetryPolicy,
    timeout_s: Callable[[], float],
    left_s: Callable[[], float] = lambda: inf,
) -> T:
    """Call until a call succeeds. Raises RetriesExhausted.

    `timeout_s` returns the limit of the next try. Instead of a pause of `left_s()` or more,
    the call is given up.
    """
    tried = 0
    while True:
        limit_s = timeout_s()
        tried += 1
        try:
            # The timeout of a client library restarts with each byte: a response that drips never ends.
            async with asyncio.timeout(limit_s):
                return await call(limit_s)
        except TimeoutError:
            failure = ProviderFailure("timeout")
        except ProviderFailure as raised:
            failure = raised
        wait_s = policy.wait_s(failure, tried)
        if wait_s is None or wait_s >= left_s():
            raise RetriesExhausted(failure, tried, limit_s) from None
        await policy.pause(wait_s)


class ProviderChat:
    """A chat model that calls its provider."""

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        turn_s: float = TURN_S,
        tries: int = TRIES,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._turn_s = turn_s
        rng = Rng.keyed("model", endpoint.provider.name, endpoint.model)
        self._policy = RetryPolicy(rng, tries, TRIES_IF_SLOW, pause)
        self._client: ChatClient | None = None

    async def complete(self, conversation: Conversation) -> Completion:
        """Return the model's next turn. Raises ModelError."""
        client = self._client or open_client(self._endpoint)
        self._client = client
        try:
            return await call_with_retries(
                lambda limit_s: client.complete(conversation, limit_s), self._policy, lambda: self._turn_s
            )
        except RetriesExhausted as error:
            failure = error.failure
            text = describe_failure(failure, self._endpoint, error.tries, error.timeout_s)
            if failure.kind == "key":
                text += f": check {self._endpoint.provider.key_env or 'api_key_env'}"
            raise ModelError(text, failure.kind, error.tries) from None

    async def close(self, *, is_whole: bool) -> None:
        """Close the client's connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None


# Callers that block
#
# The provider clients are asynchronous. Advice on code runs in ordinary threads, several at once, so a model
# keeps one event loop for all of them, in a thread of its own.


_POLL_S = 0.05
"""Interval at which a blocked caller checks its `cancel` event."""
_CLOSE_S = 5.0


class LoopThread:
    """An event loop that runs in a thread of its own until `close`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="faultkit-llm", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], cancel: threading.Event) -> T:
        """Run a coroutine to its end and return its result.

        Raises RunError once `cancel` is set; the coroutine is cancelled then.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            while not wait([future], timeout=_POLL_S).done:
                check_cancelled(cancel)
            return future.result()
        finally:
            future.cancel()

    def close(self, release: Callable[[], Awaitable[None]]) -> None:
        """Cancel all tasks, await `release` in the loop, and end the thread."""

        async def end() -> None:
            running = asyncio.all_tasks() - {asyncio.current_task()}
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await release()

        ended = asyncio.run_coroutine_threadsafe(end(), self._loop)
        wait([ended], timeout=_CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()


def check_cancelled(cancel: threading.Event) -> None:
    """Raise RunError if `cancel` is set."""
    if cancel.is_set():
        raise RunError("the question to the language model was cancelled")
