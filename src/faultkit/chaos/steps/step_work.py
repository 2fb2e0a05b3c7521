"""The parts that all kinds of steps share: interface of their work, context, and stack of rollbacks.

An undo is written to the ledger before each effect, and carried out last first. What only this process holds,
such as a registered fault, ends with the process, so its undo is a function and is not written down.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import threading
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Schema
from faultkit.base.documents.values import TEXT_SCHEMA
from faultkit.base.errors import FaultkitError, InputError
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.lease import Lease
from faultkit.chaos.safety.undo import USUAL_LIMIT_S, Undo, UndoResult

if TYPE_CHECKING:
    from faultkit.chaos.named_faults.fault_registry import FaultRegistry

T = TypeVar("T")

USUAL_STEP_LIMIT_S = 10.0
"""Seconds that a step may take if its file sets no limit."""
MOST_CHARACTERS = 64 << 10
"""Characters kept of a text in a journal."""
TEXTS_SCHEMA: Schema = {"type": "object", "additionalProperties": TEXT_SCHEMA}
ANY_MAPPING_SCHEMA: Schema = {"type": "object"}
_DEEPEST = 20
_MOST_ITEMS = 1000


class StepFailed(Exception):
    """A step did not do what it is for. The text says why, to people."""


class StepWork(Protocol):
    """The work of a step.

    A kind that may be an action also has `act`, which raises StepFailed for a reply that means failure. A
    kind that may be part of a rollback also has `undo`, which returns all that another process needs."""

    kind: ClassVar[str]
    usual_limit_s: ClassVar[float]

    @property
    def says(self) -> str:
        """Description for people, without secrets: "GET http://127.0.0.1:8000/"."""

    def resolve(self, context: StepContext) -> None:
        """Raise InputError for what cannot work, before anything starts. Has no effect."""

    async def perform(self, context: StepContext) -> Any:
        """Do the work and return the output. Raises StepFailed; any other exception counts as the same."""


async def _no_checks() -> bool:
    raise StepFailed("there is no steady state to check")


@dataclass(slots=True)
class StepContext:
    """The run that a step belongs to."""

    folder: Path
    """Folder of the experiment's file, to which its paths are relative."""
    limits: Limits
    rollback: RollbackStack
    registry: FaultRegistry | None
    seed: int | str | None
    run_id: str
    """Makes names unique."""
    ttl_s: Callable[[], float]
    """Returns how many seconds an effect without renewal may last from now, if every process here dies."""
    lease_s: float
    """Seconds that an effect may last if it is renewed with the lease."""
    processes: dict[str, int] = field(default_factory=dict)
    """Process ids by the names of the steps that started them."""
    started: list[Process] = field(default_factory=list)
    signalled: set[int] = field(default_factory=set)
    """Process ids that got a signal."""
    faults: list[FaultAtWork] = field(default_factory=list)
    """The faults that steps have begun so far."""
    added_rules: frozenset[tuple[str, str]] = frozenset()
    """Control API and name of each rule that the method adds, as the file names it."""
    own_rules: dict[tuple[str, str], RollbackEntry] = field(default_factory=dict)
    """The undo of each such rule that is in place now."""
    unchanged: list[str] = field(default_factory=list)
    """The actions that succeeded and changed nothing."""

    is_steady: Callable[[], Awaitable[bool]] = _no_checks
    """Checks the steady state once, without an event of each check, and returns whether it is met."""
    on_level: Callable[[Mapping[str, Any]], None] = lambda data: None
    """Takes what was measured at a value of a search."""
    breaking_points: list[dict[str, Any]] = field(default_factory=list)
    """The results of searches, for the journal."""
    deviations: list[str] = field(default_factory=list)
    """Why actions count as deviations."""
    undecided: list[str] = field(default_factory=list)
    """What searches could not decide."""

    def own_rule_name(self, name: str) -> str:
        """Return the name of an added rule at the control API: unique, so that no other rule is removed."""
        return f"{name}-{self.run_id}"


@dataclass(frozen=True, slots=True)
class FaultAtWork:
    """A fault that a step has begun."""

    name: str
    kind: str
    """The fault of the vocabulary, or the type of a registered fault."""
    settings: Mapping[str, Any]
    """JSON, without secrets."""
    place: str
    """Where it acts: "the proxy at 127.0.0.1:7900"."""
    count: Callable[[], int]
    """Returns how often it has acted in this run. May block; raises FaultkitError if that is not known."""
    source: object = None
    """The registered fault, or control API and name of a rule: what is counted."""


# --- rollback -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RollbackEntry:
    """One effect to undo."""

    says: str
    limit_s: float
    intent: str | None = None
    """Id of the intent in the ledger."""
    call: Callable[[], object] | None = None
    """Function that undoes an effect inside this process."""


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """The result of an entry."""

    entry: RollbackEntry
    result: UndoResult


class RollbackStack:
    """The effects that an experiment has to undo, the last one first."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._stack: list[RollbackEntry] = []

    def __len__(self) -> int:
        return len(self._stack)

    def intend(self, undo: Undo) -> RollbackEntry:
        """Write down an undo before the effect. Raises RunError: then the effect must not start."""
        entry = RollbackEntry(undo.says, undo.limit_s, self._lease.intend(undo))
        self._stack.append(entry)
        return entry

    def add(self, says: str, call: Callable[[], object]) -> RollbackEntry:
        """Add an undo of an effect inside this process."""
        entry = RollbackEntry(says, USUAL_LIMIT_S, call=call)
        self._stack.append(entry)
        return entry

    def forget(self, entry: RollbackEntry, why: str, by: str = "owner") -> None:
        """Drop an entry whose effect did not start, has been undone, or has ended by itself (`by`)."""
        self._stack = [each for each in self._stack if each is not entry]
        if entry.intent is not None:
            self._lease.record_undo(entry.intent, UndoResult(True, why), by)

    async def carry_out(self, on_result: Callable[[RollbackResult], None]) -> list[RollbackResult]:
        """Undo everything, the last effect first; one that fails does not stop the others."""
        done: list[RollbackResult] = []
        while self._stack:
            entry = self._stack.pop()
            done.append(RollbackResult(entry, await self._carry_out_one(entry)))
            on_result(done[-1])
        return done

    async def _carry_out_one(self, entry: RollbackEntry) -> UndoResult:
        try:
            if entry.intent is not None:
                intent = entry.intent
                # The undo keeps its limit itself.
                return await run_in_thread(lambda: self._lease.undo(intent))
            assert entry.call is not None
            await asyncio.wait_for(run_in_thread(entry.call), entry.limit_s)
        except TimeoutError:
            return UndoResult(False, f"it did not end within {entry.limit_s:g} s")
        except FaultkitError as error:
            return UndoResult(False, str(error))
        except Exception as error:
            return UndoResult(False, f"{type(error).__name__}: {error}")
        return UndoResult(True, "done")


# --- helpers of steps -----------------------------------------------------------------------------


async def run_in_thread(function: Callable[[], T]) -> T:
    """Call a blocking function in a daemon thread, which never keeps the program from ending.

    If this is cancelled, the thread is left behind. `asyncio.to_thread` would wait for it at exit."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(result: Any, error: Exception | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)

    def work() -> None:
        result, error = None, None
        try:
            result = function()
        except Exception as raised:
            error = raised
        except BaseException as raised:
            # A function of the user's may call sys.exit(), which is one of its ways to fail.
            error = RuntimeError(f"{type(raised).__name__}: {raised}")
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="fault-experiment", daemon=True).start()
    return await answer


def system_message(error: OSError) -> str:
    """Return the system's message of an error: the messages of asyncio are longer."""
    return (os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)).lower()


def json_text(value: object) -> str:
    """Return the value as JSON. Raises InputError for what JSON cannot express, such as a date of YAML."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:
        raise InputError("", f"expected values that JSON knows, such as a date in quotes: {error}") from None


def read_texts(value: object) -> dict[str, str]:
    """Return a mapping of names to texts on one line, as of headers or of an environment."""
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of names to texts, got {shown(value)}")
    for name, each in value.items():
        if not isinstance(name, str) or not isinstance(each, str):
            raise InputError("", f"expected a text for each name, got {shown(name)}: {shown(each)}")
        if "\r" in name + each or "\n" in name + each:
            raise InputError("", f"expected texts on one line, got {shown(each)}")
    return dict(value)


def to_json(value: Any, depth: int = 0) -> Any:
    """Return any output of a step as JSON for a journal. Other types become text; large values are cut."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value if len(value) <= MOST_CHARACTERS else f"{value[:MOST_CHARACTERS]}…"
    if isinstance(value, bytes):
        return to_json(value.decode("utf-8", "replace"))
    if depth >= _DEEPEST:
        return "…"
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_json(getattr(value, each.name), depth + 1) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(each, depth + 1) for key, each in list(value.items())[:_MOST_ITEMS]}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(each, depth + 1) for each in list(value)[:_MOST_ITEMS]]
    try:
        return to_json(repr(value))
    except Exception as error:
        return f"{type(value).__name__} ({type(error).__name__} when shown)"
