"""What an experiment has to take back: written down before each effect, carried out last first.

What only this process holds, such as a registered fault, ends with it, and so it is not written down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from faultkit.base.errors import FaultkitError
from faultkit.chaos.experiment.threads import in_thread
from faultkit.chaos.ledger import Lease
from faultkit.chaos.undo import USUAL_LIMIT_S, Undo, UndoResult


@dataclass(frozen=True, slots=True)
class Reversal:
    says: str
    limit_s: float
    intent: str | None = None
    """In the ledger."""
    call: Callable[[], object] | None = None
    """Of this process."""


@dataclass(frozen=True, slots=True)
class Reversed:
    reversal: Reversal
    result: UndoResult


class Reversals:
    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._stack: list[Reversal] = []

    def __len__(self) -> int:
        return len(self._stack)

    def intend(self, undo: Undo) -> Reversal:
        """Before the effect. RunError: it could not be written down, so the effect must not be."""
        reversal = Reversal(undo.says, undo.limit_s, self._lease.intend(undo))
        self._stack.append(reversal)
        return reversal

    def add(self, says: str, call: Callable[[], object]) -> Reversal:
        reversal = Reversal(says, USUAL_LIMIT_S, call=call)
        self._stack.append(reversal)
        return reversal

    def forget(self, reversal: Reversal, why: str) -> None:
        """The effect did not come to be, or has been taken back: nothing is left to undo."""
        self._stack = [each for each in self._stack if each is not reversal]
        if reversal.intent is not None:
            self._lease.done(reversal.intent, UndoResult(True, why))

    async def carry_out(self, watch: Callable[[Reversed], None]) -> list[Reversed]:
        """All of them, last first; one that fails does not stop the others."""
        done: list[Reversed] = []
        while self._stack:
            reversal = self._stack.pop()
            done.append(Reversed(reversal, await self._one(reversal)))
            watch(done[-1])
        return done

    async def _one(self, reversal: Reversal) -> UndoResult:
        try:
            if reversal.intent is not None:
                intent = reversal.intent
                # It keeps its own limit.
                return await in_thread(lambda: self._lease.undo(intent))
            assert reversal.call is not None
            await asyncio.wait_for(in_thread(reversal.call), reversal.limit_s)
        except TimeoutError:
            return UndoResult(False, f"it did not end within {reversal.limit_s:g} s")
        except FaultkitError as error:
            return UndoResult(False, str(error))
        except Exception as error:
            return UndoResult(False, f"{type(error).__name__}: {error}")
        return UndoResult(True, "done")
