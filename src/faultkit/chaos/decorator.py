"""with_chaos: code that a registered fault befalls. Around a block, or before each call of a function.

    @with_chaos(registry, "slow-database")
    async def load(): ...

    with with_chaos(registry, "cut-off-redis"):
        ...

While no fault of that name is registered, nothing happens. A lasting effect that the block or the call began
ends with it, if not before.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    aclosing,
    asynccontextmanager,
    contextmanager,
)
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from faultkit.chaos.registry import FaultRegistry

P = ParamSpec("P")
R = TypeVar("R")

_blocks: ContextVar[tuple[AbstractContextManager[None] | AbstractAsyncContextManager[None], ...]] = (
    ContextVar("faultkit_with_chaos", default=())
)
"""Those that this thread or task is inside of, the innermost last: one with_chaos may be entered by many."""


class with_chaos:
    def __init__(self, registry: FaultRegistry, name: str) -> None:
        self._registry = registry
        self._name = name

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """A function of the same kind, name and signature: plain, async, or a generator of either sort."""
        if inspect.isclass(function) or not callable(function):
            raise TypeError(f"expected a function, got {function!r}")
        wrap = next(wrap for is_such, wrap in _WRAPS if is_such(function))
        wrapped: Callable[P, R] = functools.update_wrapper(wrap(self, function), function)
        return wrapped

    def __enter__(self) -> None:
        block = self.block()
        block.__enter__()
        _blocks.set((*_blocks.get(), block))

    def __exit__(self, *exc: Any) -> None:
        *outer, block = _blocks.get()
        _blocks.set(tuple(outer))
        assert isinstance(block, AbstractContextManager)
        block.__exit__(*exc)

    async def __aenter__(self) -> None:
        block = self.async_block()
        await block.__aenter__()
        _blocks.set((*_blocks.get(), block))

    async def __aexit__(self, *exc: Any) -> None:
        *outer, block = _blocks.get()
        _blocks.set(tuple(outer))
        assert isinstance(block, AbstractAsyncContextManager)
        await block.__aexit__(*exc)

    @contextmanager
    def block(self) -> Iterator[None]:
        injection = self._registry.maybe(self._name)
        try:
            yield
        finally:
            self._registry.end(injection)

    @asynccontextmanager
    async def async_block(self) -> AsyncIterator[None]:
        injection = await self._registry.amaybe(self._name)
        try:
            yield
        finally:
            await self._registry.aend(injection)


def _plain(chaos: with_chaos, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with chaos.block():
            return function(*args, **kwargs)

    return wrapped


def _coroutine(chaos: with_chaos, function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        async with chaos.async_block():
            return await function(*args, **kwargs)

    return wrapped


def _generator(chaos: with_chaos, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with chaos.block():
            return (yield from function(*args, **kwargs))

    return wrapped


def _async_generator(chaos: with_chaos, function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        async with chaos.async_block(), aclosing(function(*args, **kwargs)) as values:
            async for value in values:
                yield value

    return wrapped


_WRAPS: tuple[tuple[Callable[[Any], bool], Callable[..., Callable[..., Any]]], ...] = (
    (inspect.iscoroutinefunction, _coroutine),
    (inspect.isasyncgenfunction, _async_generator),
    (inspect.isgeneratorfunction, _generator),
    (callable, _plain),
)
