"""One fault while it is registered: its dice and counters, the callers it delays, its lasting effect.

Thread-safe. Whether a call triggers the fault depends on nothing but the seed, the fault's name and the
number of the call (or the call_id that the caller gives): the same seed gives the same sequence, in whatever
order threads and tasks call.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError, RunError
from faultkit.base.rng import Rng
from faultkit.base.times import now_us, time_text
from faultkit.chaos.effects.lasting_effect import LastingEffect, Measured, StartableEffect, UndoLog
from faultkit.chaos.named_faults.chaos_fault import ChaosFault, Effect, FaultState, Injection, InstantEffect
from faultkit.chaos.safety.undo import UndoResult

USUAL_LASTING_S = 60.0
"""Duration of a lasting effect whose fault has none."""


class ActiveEffect:
    """A lasting effect with a timer that ends it."""

    def __init__(self, effect: LastingEffect, lasts_s: float, on_trouble: Callable[[str], None]) -> None:
        """`on_trouble` gets why the effect could not be undone, or an empty text."""
        self._effect = effect
        self._until_s = time.monotonic() + lasts_s
        self._on_trouble = on_trouble
        self._timer = threading.Timer(lasts_s, self.end)
        self._timer.name = "fault-effect-end"
        self._timer.daemon = True
        self._timer.start()

    @property
    def says(self) -> str:
        return self._effect.says

    @property
    def is_active(self) -> bool:
        return self._effect.is_active

    @property
    def left_s(self) -> float:
        return max(0.0, self._until_s - time.monotonic())

    def measure(self) -> Measured:
        return self._effect.measure()

    def hits(self) -> int:
        return self._effect.hits()

    def end(self) -> UndoResult:
        self._timer.cancel()
        result = self._effect.end()
        self._on_trouble("" if result.ok else result.message)
        return result


class RegisteredFault:
    """A fault with its counters and its effect."""

    def __init__(
        self, fault: ChaosFault, seed: int | str, expires_s: float | None, log: UndoLog | None = None
    ) -> None:
        """`expires_s`: time on the monotonic clock after which the fault counts as removed. `log`: where the
        undo of a lasting effect is written down before it starts."""
        self.fault = fault
        self.effect = fault.effect()
        self.expires_s = expires_s
        self.active_effect: ActiveEffect | None = None
        self._seed = seed
        self._log = log
        self._calls = 0
        self._times_triggered = 0
        self._past_effect: ActiveEffect | None = None
        """The last effect, once the fault is removed."""
        self._past_hits = 0
        """Hits of the effects before the last."""
        self._last_triggered_us: int | None = None
        self._trouble = ""
        self._is_removed = False
        self._wakers: set[Callable[[], None]] = set()
        """One function for each delayed caller, which lets it continue."""
        self._lock = threading.Lock()
        self._start_lock = threading.Lock()
        """Held while a lasting effect starts, so that two callers do not start it twice."""

    def has_expired(self) -> bool:
        return self.expires_s is not None and time.monotonic() >= self.expires_s

    def copy(self) -> RegisteredFault:
        """Return the same fault with the same counters, without an effect."""
        found = RegisteredFault(self.fault, self._seed, self.expires_s, self._log)
        with self._lock:
            found._calls, found._times_triggered = self._calls, self._times_triggered
            found._last_triggered_us = self._last_triggered_us
        return found

    def hits(self) -> int:
        """Return how often the fault has acted: what its lasting effects have touched, or how often it was
        triggered. May block; raises FaultkitError if another process counts and does not answer."""
        if isinstance(self.effect, InstantEffect):
            return self._times_triggered if self.effect.changes_something else 0
        effect = self.active_effect or self._past_effect
        return self._past_hits + (0 if effect is None else effect.hits())

    def state(self) -> FaultState:
        """Return a snapshot of the state."""
        effect = self.active_effect
        is_active = effect is not None and effect.is_active
        last_us = self._last_triggered_us
        return FaultState(
            fault=self.fault,
            seed=self._seed,
            active=bool(self._wakers) or is_active,
            calls=self._calls,
            times_triggered=self._times_triggered,
            last_triggered_at=None if last_us is None else time_text(last_us),
            ends_in_s=effect.left_s if effect is not None and is_active else None,
            expires_in_s=None if self.expires_s is None else max(0.0, self.expires_s - time.monotonic()),
            trouble=self._trouble,
        )

    # --- injection ----------------------------------------------------------------------------

    def inject(self, call_id: int | str | None) -> Injection:
        """Roll, and carry the fault out if it triggers. Blocks while the caller is delayed."""
        injection = self._roll(call_id)
        if not injection.was_triggered:
            return injection
        if isinstance(self.effect, InstantEffect):
            return self._delayed(injection, self.effect, self._wait(self.effect.delay_s))
        return self._start_effect(self.effect, injection)

    async def ainject(self, call_id: int | str | None) -> Injection:
        """Do the same without blocking the event loop. If it is cancelled, its effect ends."""
        injection = self._roll(call_id)
        if not injection.was_triggered:
            return injection
        if isinstance(self.effect, InstantEffect):
            return self._delayed(injection, self.effect, await self._wait_async(self.effect.delay_s))
        loop = asyncio.get_running_loop()
        starting = loop.run_in_executor(None, self._start_effect, self.effect, injection)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_end_started_effect)
            raise

    def raise_injected(self, injection: Injection) -> Injection:
        """Raise the exception that the injection stands for; return the injection if there is none."""
        if injection.effect is not None and injection.effect.raised is not None:
            assert isinstance(self.effect, InstantEffect)
            assert self.effect.raises is not None
            raise self.effect.raises(self.fault.error_message)
        return injection

    def _roll(self, call_id: int | str | None) -> Injection:
        if isinstance(call_id, bool) or not isinstance(call_id, int | str | None):
            raise InputError("call_id", f"expected a whole number or a text, got {shown(call_id)}")
        with self._lock:
            number = self._calls
            self._calls += 1
        call = number if call_id is None else call_id
        roll = Rng.keyed(self._seed, self.fault.name, call).uniform()
        was_triggered = roll < self.fault.probability
        if was_triggered:
            with self._lock:
                self._times_triggered += 1
                self._last_triggered_us = now_us()
        return Injection(self.fault, was_triggered, call, roll)

    # --- instant effects ----------------------------------------------------------------------

    def _delayed(self, injection: Injection, effect: InstantEffect, slept_s: float) -> Injection:
        waited = f"waited {slept_s:.3f} s" if effect.delay_s else ""
        # A caller whose fault was removed while it waited does not get the exception.
        if effect.raises is None or self._is_removed:
            return replace(injection, effect=Effect(waited or "waited not at all", slept_s))
        raised, message = effect.raises.__name__, self.fault.error_message
        says = f"{waited}, then {raised}" if waited else raised
        return replace(injection, effect=Effect(f"{says}: {message}", slept_s, raised, message))

    def _wait(self, delay_s: float) -> float:
        """Delay the caller; return for how long. It is shorter if the fault is removed meanwhile."""
        removed = threading.Event()
        began_s = time.monotonic()
        with self._wakes(removed.set):
            removed.wait(delay_s)
        return time.monotonic() - began_s

    async def _wait_async(self, delay_s: float) -> float:
        loop = asyncio.get_running_loop()
        removed = asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # The loop has ended, and with it the caller.
                loop.call_soon_threadsafe(removed.set)

        began_s = time.monotonic()
        with self._wakes(wake), contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay_s):
                await removed.wait()
        return time.monotonic() - began_s

    @contextlib.contextmanager
    def _wakes(self, wake: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            self._wakers.add(wake)
            if self._is_removed:
                wake()
        try:
            yield
        finally:
            with self._lock:
                self._wakers.discard(wake)

    # --- lasting effects ----------------------------------------------------------------------

    def _start_effect(self, effect: StartableEffect, injection: Injection) -> Injection:
        lasts_s = self.fault.duration_s or USUAL_LASTING_S
        if self.expires_s is not None:
            lasts_s = min(lasts_s, max(0.0, self.expires_s - time.monotonic()))
        with self._start_lock:
            if self._is_removed:
                return replace(injection, was_triggered=False)
            active = self.active_effect
            is_new = active is None or not active.is_active
            if active is None or is_new:
                if active is not None:
                    self._past_hits += active.hits()
                started = effect.begin(self.fault.name, lasts_s, self._log)
                active = self.active_effect = ActiveEffect(started, lasts_s, self._set_trouble)
        says = active.says if is_new else f"still at work: {active.says}"
        done = Effect(says, lasts_s=active.left_s, measured=active.measure())
        return replace(injection, effect=done, lasting_effect=active if is_new else None)

    def _set_trouble(self, trouble: str) -> None:
        self._trouble = trouble

    def remove(self) -> None:
        """Let delayed callers continue, and end the effect. Raises RunError if it cannot be undone."""
        with self._lock:
            self._is_removed = True
            for wake in self._wakers:
                wake()
        with self._start_lock:
            effect, self.active_effect = self.active_effect, None
            self._past_effect = effect or self._past_effect
        if effect is not None:
            check_undone(self.fault.name, effect.end())


def _end_started_effect(starting: asyncio.Future[Injection]) -> None:
    if not starting.cancelled() and starting.exception() is None:
        effect = starting.result().lasting_effect
        if isinstance(effect, ActiveEffect):
            threading.Thread(target=effect.end, name="fault-effect-end", daemon=True).start()


def check_undone(name: str, result: UndoResult) -> None:
    """Raise RunError if the effect of the fault `name` could not be undone."""
    if not result.ok:
        raise RunError(f"{name}: its effect could not be undone: {result.message}")
