"""The behaviour of a client in one run, compared with a control run without a fault. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from faultkit.base.program_output import ended_how, last_words
from faultkit.faults.call_fault import Era, Transport
from faultkit.mcp.probe.clients.recording_mock import CALL, JournalEntry

ClientOutcome: TypeAlias = Literal[
    "answered", "answered differently", "failed", "hung", "not exercised", "inconclusive"
]
OUTCOMES: tuple[ClientOutcome, ...] = (
    "answered",
    "answered differently",
    "failed",
    "hung",
    "not exercised",
    "inconclusive",
)


@dataclass(frozen=True, slots=True)
class ClientRun:
    """One run of the client, as the profile observed it."""

    journal: tuple[JournalEntry, ...]
    exit_code: int | None
    """None: the client was killed at the time limit."""
    stdout: str = ""
    stderr: str = ""
    leaks: tuple[str, ...] = ()
    """Sessions, connections, calls and processes that it left open, in words."""
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ClientBehaviour:
    """How the client behaved under one fault: a row of the profile."""

    spec: str
    outcome: ClientOutcome
    why: str = ""
    exit_code: int | None = None
    calls: int = 0
    retries: int = 0
    """Calls equal to one that was hit, beyond those of the control run."""
    gaps_ms: tuple[float, ...] = ()
    """The times between a call that was hit and the equal calls that follow."""
    cancelled: int = 0
    """Number of calls that the client cancelled."""
    reconnects: int = 0
    """Sessions or processes beyond those of the control run."""
    leaks: tuple[str, ...] = ()
    last_words: str = ""
    """The last line that the client printed; a field of the report."""
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Profile:
    """The behaviour of one client under all faults."""

    command: str
    transport: Transport
    era: Era | None
    """None: the control run made no call."""
    control: ClientBehaviour
    rows: tuple[ClientBehaviour, ...]
    notes: tuple[str, ...] = ()


def control_problem(run: ClientRun) -> str:
    """Return why the control run cannot be compared with; empty if it can."""
    if run.exit_code is None:
        return "the client did not end within its time limit, though nothing was wrong"
    if run.exit_code != 0:
        line = last_words(run.exit_code, run.stdout, run.stderr)
        return f"the client {ended_how(run.exit_code)}, though nothing was wrong" + (
            f": {line}" if line else ""
        )
    if not calls_in(run):
        return "the client called no tool"
    return ""


def era_in(run: ClientRun) -> Era | None:
    """Return the era of the first call; None if there was none."""
    eras = [entry.era for entry in run.journal if entry.kind == "request" and entry.method == CALL]
    return eras[0] if eras else None


def behaviour_of(
    spec: str, run: ClientRun, control: ClientRun, *, comparable: bool = True
) -> ClientBehaviour:
    """Judge a run against the control run; `comparable`: the output is the same whenever nothing is wrong."""
    hit = {entry.call for entry in run.journal if entry.kind == "injected" and entry.call}
    outcome, why = _outcome(run, control, comparable)
    if spec and not any(entry.kind == "injected" for entry in run.journal) and outcome != "hung":
        outcome, why = "not exercised", "the client does nothing that the fault acts on"
    calls, control_calls = Counter(calls_in(run)), Counter(calls_in(control))
    return ClientBehaviour(
        spec,
        outcome,
        why,
        run.exit_code,
        sum(calls.values()),
        sum(max(0, calls[call] - control_calls[call]) for call in hit),
        _gaps_ms(run, hit),
        sum(entry.kind == "cancelled" for entry in run.journal),
        max(0, _openings(run) - _openings(control)),
        run.leaks,
        last_words(run.exit_code, run.stdout, run.stderr),
        run.elapsed_ms,
    )


def inconclusive_behaviour(spec: str, why: str) -> ClientBehaviour:
    """Return the row of a fault that could not be judged."""
    return ClientBehaviour(spec, "inconclusive", why)


def _outcome(run: ClientRun, control: ClientRun, comparable: bool) -> tuple[ClientOutcome, str]:
    if run.exit_code is None:
        return "hung", "the client did not end within its time limit"
    if run.exit_code != 0:
        return "failed", f"the client {ended_how(run.exit_code)}"
    if comparable and run.stdout != control.stdout:
        return (
            "answered differently",
            "the client ended with 0 and printed something else than in the control run",
        )
    return "answered", "the client ended with 0"


def calls_in(run: ClientRun) -> list[str]:
    """Return the tool calls of a run in their order."""
    return [entry.call for entry in run.journal if entry.kind == "request" and entry.method == CALL]


def _openings(run: ClientRun) -> int:
    """Count how often the client began with a server: sessions, processes or, where there are none,
    discoveries."""
    sessions = {entry.session for entry in run.journal if entry.kind == "opened"}
    discoveries = sum(entry.kind == "request" and entry.method == "server/discover" for entry in run.journal)
    return len(sessions) + (0 if sessions else discoveries)


def _gaps_ms(run: ClientRun, hit: set[str]) -> tuple[float, ...]:
    gaps: list[float] = []
    for call in sorted(hit):
        times = [entry.at_ms for entry in run.journal if entry.kind == "request" and entry.call == call]
        gaps += [round(later - earlier, 1) for earlier, later in pairwise(times)]
    return tuple(gaps)
