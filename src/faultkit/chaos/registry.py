"""FaultRegistry: faults by name, and the dice. Register, inject, remove; from any thread and any task.

Whether a call triggers hangs on nothing but the seed, the fault's name and the number of the call (or the
call_id that the caller gives): the same seed gives the same sequence, whoever asks in whatever order.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
import time
from dataclasses import replace
from typing import Protocol

from faultkit.base.documents.shape import shown
from faultkit.base.errors import InputError, RunError
from faultkit.base.rng import Rng
from faultkit.base.times import time_text
from faultkit.chaos.effects.instant import Instant
from faultkit.chaos.effects.lasting import Lease, Startable
from faultkit.chaos.effects.settings import number
from faultkit.chaos.entry import Entry, Live, check_taken_back
from faultkit.chaos.faults import ChaosFault
from faultkit.chaos.injection import Effect, FaultState, Injection
from faultkit.chaos.limits import Limits

USUAL_LASTING_S = 60.0
"""Of a lasting effect whose fault names no duration."""


class Lever(Protocol):
    """What halts everything: `chaos.lever.Lever` is one."""

    def pulled(self) -> object | None: ...


class FaultRegistry:
    def __init__(
        self,
        seed: int | str | None = None,
        *,
        limits: Limits | None = None,
        lease: Lease | None = None,
        lever: Lever | None = None,
    ) -> None:
        """Without `limits`, amounts and durations are capped as usual, and any target is allowed. How a
        lasting effect is undone is written down in `lease` before it begins."""
        if isinstance(seed, bool) or not isinstance(seed, int | str | None):
            raise InputError("seed", f"expected a whole number or a text, got {shown(seed)}")
        self.seed: int | str = secrets.randbits(32) if seed is None else seed
        """Of all faults that have none of their own: with it, what happened can be repeated."""
        self._limits = limits
        self._lease = lease
        self._lever = lever
        self._entries: dict[str, Entry] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> FaultRegistry:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    # --- register and remove ------------------------------------------------------------------

    def register(self, fault: ChaosFault, *, ttl_s: float | None = None) -> None:
        """In place of one of the same name, whose effect ends. Its calls are counted from 0 again.
        After `ttl_s` seconds it is as if it had been removed."""
        caps = self._limits or Limits()
        if self._limits is not None:
            self._limits.check_environment()
        entry = Entry(fault, self.seed if fault.seed is None else fault.seed, _expiry(ttl_s, caps))
        caps.capped("most_duration_s", fault.duration_s, "duration_s")
        if not isinstance(entry.effect, Instant):
            entry.effect.check(caps, targets_too=self._limits is not None)
        self._check_lever()
        with self._lock:
            before, self._entries[fault.name] = self._entries.get(fault.name), entry
        if before is not None:
            before.leave()

    def held(self, name: str) -> Entry | None:
        """The fault as it stands now, for `put_back`."""
        return self._find(name)

    def put_back(self, held: Entry) -> None:
        """As it was, with its counters and with what is left of its time; gone, if nothing is. An effect that
        was at work has ended. A rollback may do it though the stop lever is pulled."""
        entry = held.again()
        with self._lock:
            before = self._entries.pop(held.fault.name, None)
            if not entry.has_expired():
                self._entries[held.fault.name] = entry
        if before is not None:
            before.leave()

    def remove(self, name: str) -> bool:
        """Whether there was one. Its effect ends, and whoever it keeps waiting goes on. It may block.
        RunError: the fault is gone, but its effect could not be taken back."""
        existed = self._find(name) is not None
        with self._lock:
            entry = self._entries.pop(name, None)
        if entry is not None:
            entry.leave()
        return existed

    def close(self) -> None:
        """Remove everything. RunError, once all was tried, if something could not be taken back."""
        troubles = []
        for name in tuple(self._entries):
            try:
                self.remove(name)
            except RunError as error:
                troubles.append(str(error))
        if troubles:
            raise RunError("; ".join(troubles))

    # --- look ---------------------------------------------------------------------------------

    def get(self, name: str) -> ChaosFault | None:
        entry = self._find(name)
        return None if entry is None else entry.fault

    def states(self) -> list[FaultState]:
        """Every registered fault, in the order of their coming."""
        entries = [entry for name in tuple(self._entries) if (entry := self._find(name)) is not None]
        return [_state_of(entry) for entry in entries]

    def active(self) -> list[FaultState]:
        """Those that are doing something just now."""
        return [state for state in self.states() if state.active]

    def measure(self, name: str) -> dict[str, float]:
        """What the lasting effect of this fault holds or has done by now; empty if none is at work."""
        entry = self._find(name)
        live = None if entry is None else entry.live
        return {} if live is None else dict(live.measure())

    # --- inject -------------------------------------------------------------------------------

    def inject(self, name: str, call_id: int | str | None = None) -> Injection:
        """Roll, and if it triggers, carry the fault out. An exception that it stands for is told, not raised.
        InputError: there is no such fault. RunError or TargetError: it could not be carried out."""
        return self._inject(self._known(name), call_id)

    async def ainject(self, name: str, call_id: int | str | None = None) -> Injection:
        """The same, without holding up the event loop. Cancelled, it leaves nothing behind."""
        return await self._ainject(self._known(name), call_id)

    def maybe(self, name: str, call_id: int | str | None = None) -> Injection | None:
        """For code that is to suffer it: raises what the fault stands for. None where no such fault is
        registered, so that the code goes on as if this line were not there."""
        entry = self._find(name)
        return None if entry is None else _raised(entry, self._inject(entry, call_id))

    async def amaybe(self, name: str, call_id: int | str | None = None) -> Injection | None:
        entry = self._find(name)
        return None if entry is None else _raised(entry, await self._ainject(entry, call_id))

    def end(self, injection: Injection | None) -> None:
        """End the lasting effect that this injection began, before its time. If it began none, do nothing.
        RunError: it could not be taken back."""
        if injection is not None and isinstance(injection.began, Live):
            check_taken_back(injection.fault.name, injection.began.end())

    async def aend(self, injection: Injection | None) -> None:
        if injection is not None and injection.began is not None:
            await asyncio.to_thread(self.end, injection)

    # --- inside -------------------------------------------------------------------------------

    def _find(self, name: str) -> Entry | None:
        with self._lock:
            entry = self._entries.get(name)
            if entry is None or not entry.has_expired():
                return entry
            del self._entries[name]
        # Its effect had no more time than the fault itself, and has ended as it could.
        with contextlib.suppress(RunError):
            entry.leave()
        return None

    def _known(self, name: str) -> Entry:
        entry = self._find(name)
        if entry is None:
            raise InputError("name", f"there is no fault named {shown(name)}")
        return entry

    def _inject(self, entry: Entry, call_id: int | str | None) -> Injection:
        injection = self._roll(entry, call_id)
        if not injection.was_triggered:
            return injection
        if isinstance(entry.effect, Instant):
            return _suffered(entry, injection, entry.wait(entry.effect.delay_s))
        return self._begin(entry, entry.effect, injection)

    async def _ainject(self, entry: Entry, call_id: int | str | None) -> Injection:
        injection = self._roll(entry, call_id)
        if not injection.was_triggered:
            return injection
        if isinstance(entry.effect, Instant):
            return _suffered(entry, injection, await entry.wait_async(entry.effect.delay_s))
        loop = asyncio.get_running_loop()
        beginning = loop.run_in_executor(None, self._begin, entry, entry.effect, injection)
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            beginning.add_done_callback(self._end_what_began)
            raise

    def _roll(self, entry: Entry, call_id: int | str | None) -> Injection:
        if isinstance(call_id, bool) or not isinstance(call_id, int | str | None):
            raise InputError("call_id", f"expected a whole number or a text, got {shown(call_id)}")
        self._check_lever()
        number = entry.next_call()
        call = number if call_id is None else call_id
        roll = Rng.keyed(entry.seed, entry.fault.name, call).uniform()
        was_triggered = roll < entry.fault.probability
        if was_triggered:
            entry.count_trigger()
        return Injection(entry.fault, was_triggered, call, roll)

    def _begin(self, entry: Entry, effect: Startable, injection: Injection) -> Injection:
        lasts_s = entry.fault.duration_s or USUAL_LASTING_S
        if entry.expires_s is not None:
            lasts_s = min(lasts_s, max(0.0, entry.expires_s - time.monotonic()))
        live, is_ours = entry.begin(effect, lasts_s, self._lease)
        if live is None:
            return replace(injection, was_triggered=False)
        says = live.says if is_ours else f"still at work: {live.says}"
        done = Effect(says, lasts_s=live.left_s, measured=live.measure())
        return replace(injection, effect=done, began=live if is_ours else None)

    def _end_what_began(self, beginning: asyncio.Future[Injection]) -> None:
        if not beginning.cancelled() and beginning.exception() is None:
            began = beginning.result().began
            if isinstance(began, Live):
                threading.Thread(target=began.end, name="fault-effect-end", daemon=True).start()

    def _check_lever(self) -> None:
        stop = None if self._lever is None else self._lever.pulled()
        if stop is not None:
            raise RunError(f"the stop lever is pulled: nothing new begins ({getattr(stop, 'why', stop)})")


def _suffered(entry: Entry, injection: Injection, slept_s: float) -> Injection:
    """What befell a caller. If the fault was removed while it waited, it was spared the exception."""
    assert isinstance(entry.effect, Instant)
    waited = f"waited {slept_s:.3f} s" if entry.effect.delay_s else ""
    if entry.effect.raises is None or entry.is_gone:
        return replace(injection, effect=Effect(waited or "waited not at all", slept_s))
    raised, message = entry.effect.raises.__name__, entry.fault.error_message
    says = f"{waited}, then {raised}" if waited else raised
    return replace(injection, effect=Effect(f"{says}: {message}", slept_s, raised, message))


def _raised(entry: Entry, injection: Injection) -> Injection:
    if injection.effect is not None and injection.effect.raised is not None:
        assert isinstance(entry.effect, Instant)
        assert entry.effect.raises is not None
        raise entry.effect.raises(entry.fault.error_message)
    return injection


def _expiry(ttl_s: float | None, caps: Limits) -> float | None:
    if ttl_s is None:
        return None
    return time.monotonic() + number(ttl_s, "ttl_s", 0, caps.most_ttl_s)


def _state_of(entry: Entry) -> FaultState:
    live = entry.live if entry.live is not None and entry.live.at_work else None
    last_us, expires_s = entry.last_triggered_us, entry.expires_s
    return FaultState(
        fault=entry.fault,
        seed=entry.seed,
        active=entry.is_active,
        calls=entry.calls,
        times_triggered=entry.times_triggered,
        last_triggered_at=None if last_us is None else time_text(last_us),
        ends_in_s=None if live is None else live.left_s,
        expires_in_s=None if expires_s is None else max(0.0, expires_s - time.monotonic()),
        trouble=entry.trouble,
    )
