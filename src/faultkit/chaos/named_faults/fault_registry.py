"""FaultRegistry: faults by name. Register, inject, remove; from any thread and any task.

The registry checks limits and the kill switch, and knows names and expiry. The dice, the counters and the
effect of one fault are in `registered_fault`. `with_chaos` lets a fault affect a block or a function.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import secrets
import threading
import time
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

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError, RunError
from faultkit.chaos.effects.lasting_effect import UndoLog, number
from faultkit.chaos.named_faults.chaos_fault import ChaosFault, FaultState, Injection, InstantEffect
from faultkit.chaos.named_faults.registered_fault import ActiveEffect, RegisteredFault, check_undone
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.kill_switch import KillSwitch


class FaultRegistry:
    """The faults of one process, or of one test."""

    def __init__(
        self,
        seed: int | str | None = None,
        *,
        limits: Limits | None = None,
        lease: UndoLog | None = None,
        kill_switch: KillSwitch | None = None,
    ) -> None:
        """Without `limits`, amounts and durations have the usual caps, and every target is allowed. `lease`:
        where the undo of a lasting effect is written down before it starts."""
        if isinstance(seed, bool) or not isinstance(seed, int | str | None):
            raise InputError("seed", f"expected a whole number or a text, got {shown(seed)}")
        self.seed: int | str = secrets.randbits(32) if seed is None else seed
        """Seed of all faults without one of their own: with it, a sequence can be repeated."""
        self._limits = limits
        self._log = lease
        self._kill_switch = kill_switch
        self._faults: dict[str, RegisteredFault] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> FaultRegistry:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    # --- register and remove ------------------------------------------------------------------

    def register(self, fault: ChaosFault, *, ttl_s: float | None = None) -> None:
        """Register a fault, in place of one of the same name, whose effect ends. Its calls are counted from
        0. After `ttl_s` seconds it is as if it had been removed."""
        caps = self._limits or Limits()
        if self._limits is not None:
            self._limits.check_environment()
        expires_s = None
        if ttl_s is not None:
            expires_s = time.monotonic() + number(ttl_s, "ttl_s", 0, caps.most_ttl_s)
        seed = self.seed if fault.seed is None else fault.seed
        registered = RegisteredFault(fault, seed, expires_s, self._log)
        caps.capped("most_duration_s", fault.duration_s, "duration_s")
        if not isinstance(registered.effect, InstantEffect):
            registered.effect.check(caps, targets_too=self._limits is not None)
        self._check_kill_switch()
        with self._lock:
            before, self._faults[fault.name] = self._faults.get(fault.name), registered
        if before is not None:
            before.remove()

    def registered(self, name: str) -> RegisteredFault | None:
        """Return the fault as it is now, for `restore`."""
        return self._find(name)

    def restore(self, saved: RegisteredFault) -> None:
        """Restore a fault with its counters and the rest of its time; if no time is left, remove it. Its
        effect has ended. Works although the kill switch is pulled, because rollbacks need it."""
        registered = saved.copy()
        with self._lock:
            before = self._faults.pop(saved.fault.name, None)
            if not registered.has_expired():
                self._faults[saved.fault.name] = registered
        if before is not None:
            before.remove()

    def remove(self, name: str) -> bool:
        """Remove a fault: its effect ends, and delayed callers continue. Returns whether there was one.

        May block. Raises RunError if its effect could not be undone; the fault is removed all the same."""
        existed = self._find(name) is not None
        with self._lock:
            registered = self._faults.pop(name, None)
        if registered is not None:
            registered.remove()
        return existed

    def close(self) -> None:
        """Remove every fault. Raises RunError at the end if an effect could not be undone."""
        troubles = []
        for name in tuple(self._faults):
            try:
                self.remove(name)
            except RunError as error:
                troubles.append(str(error))
        if troubles:
            raise RunError("; ".join(troubles))

    # --- state --------------------------------------------------------------------------------

    def get(self, name: str) -> ChaosFault | None:
        """Return a registered fault by its name."""
        registered = self._find(name)
        return None if registered is None else registered.fault

    def states(self) -> list[FaultState]:
        """Return every registered fault, in the order of registration."""
        found = [self._find(name) for name in tuple(self._faults)]
        return [registered.state() for registered in found if registered is not None]

    def active(self) -> list[FaultState]:
        """Return the faults that delay a caller or have an active effect now."""
        return [state for state in self.states() if state.active]

    def measure(self, name: str) -> dict[str, float]:
        """Return what the lasting effect of a fault holds or has done; empty if none is active."""
        registered = self._find(name)
        effect = None if registered is None else registered.active_effect
        return {} if effect is None else dict(effect.measure())

    # --- inject -------------------------------------------------------------------------------

    def inject(self, name: str, call_id: int | str | None = None) -> Injection:
        """Roll, and carry the fault out if it triggers. An exception that it stands for is not raised.

        Raises InputError if there is no such fault, RunError or TargetError if it cannot be carried out."""
        registered = self._known(name)
        self._check_kill_switch()
        return registered.inject(call_id)

    async def ainject(self, name: str, call_id: int | str | None = None) -> Injection:
        """Do the same without blocking the event loop. If it is cancelled, its effect ends."""
        registered = self._known(name)
        self._check_kill_switch()
        return await registered.ainject(call_id)

    def maybe(self, name: str, call_id: int | str | None = None) -> Injection | None:
        """Inject, and raise the exception that the fault stands for: for code that is to be affected.

        Returns None if no such fault is registered; the code then runs as if this line were not there."""
        registered = self._find(name)
        if registered is None:
            return None
        self._check_kill_switch()
        return registered.raise_injected(registered.inject(call_id))

    async def amaybe(self, name: str, call_id: int | str | None = None) -> Injection | None:
        """Do the same as `maybe` without blocking the event loop."""
        registered = self._find(name)
        if registered is None:
            return None
        self._check_kill_switch()
        return registered.raise_injected(await registered.ainject(call_id))

    def end(self, injection: Injection | None) -> None:
        """End the lasting effect that this injection started, if it started one.

        Raises RunError if the effect could not be undone."""
        if injection is not None and isinstance(injection.lasting_effect, ActiveEffect):
            check_undone(injection.fault.name, injection.lasting_effect.end())

    async def aend(self, injection: Injection | None) -> None:
        """Do the same as `end` without blocking the event loop."""
        if injection is not None and injection.lasting_effect is not None:
            await asyncio.to_thread(self.end, injection)

    # --- inside -------------------------------------------------------------------------------

    def _find(self, name: str) -> RegisteredFault | None:
        with self._lock:
            registered = self._faults.get(name)
            if registered is None or not registered.has_expired():
                return registered
            del self._faults[name]
        # Its effect had no more time than the fault itself, and has ended by its timer.
        with contextlib.suppress(RunError):
            registered.remove()
        return None

    def _known(self, name: str) -> RegisteredFault:
        registered = self._find(name)
        if registered is None:
            raise InputError("name", f"there is no fault named {shown(name)}")
        return registered

    def _check_kill_switch(self) -> None:
        order = None if self._kill_switch is None else self._kill_switch.pulled()
        if order is not None:
            raise RunError(f"the kill switch is pulled: nothing new begins ({order.why})")


# --- with_chaos ------------------------------------------------------------------------------------


P = ParamSpec("P")
R = TypeVar("R")

_blocks: ContextVar[tuple[AbstractContextManager[None] | AbstractAsyncContextManager[None], ...]] = (
    ContextVar("faultkit_with_chaos", default=())
)
"""The blocks that this thread or task is inside of, the innermost last. A context variable, because many
threads and tasks may enter the same with_chaos."""


class with_chaos:
    """Code that a registered fault affects: a block, or each call of a function. Both may be async.

        @with_chaos(registry, "slow-database")
        async def load(): ...

        with with_chaos(registry, "cut-off-redis"):
            ...

    While no fault of that name is registered, nothing happens. A lasting effect that the block or the call
    started ends with it at the latest."""

    def __init__(self, registry: FaultRegistry, name: str) -> None:
        self._registry = registry
        self._name = name

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a function of the same kind and signature: plain, async, or a generator of either sort."""
        if inspect.isclass(function) or not callable(function):
            raise TypeError(f"expected a function, got {function!r}")
        wrap = next(wrap for is_kind, wrap in _WRAPS if is_kind(function))
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
        """Inject the fault, and end its effect after the block."""
        injection = self._registry.maybe(self._name)
        try:
            yield
        finally:
            self._registry.end(injection)

    @asynccontextmanager
    async def async_block(self) -> AsyncIterator[None]:
        """Do the same without blocking the event loop."""
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
