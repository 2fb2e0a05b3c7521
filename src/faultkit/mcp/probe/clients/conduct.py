"""What a client did in one run, and what that is beside a run in which nothing was wrong. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from faultkit.faults.call.call import Era, Transport
from faultkit.mcp.probe.clients.journal import CALL, Entry

_LONGEST = 200

Outcome: TypeAlias = Literal[
    "answered", "answered differently", "failed", "hung", "not exercised", "inconclusive"
]
OUTCOMES: tuple[Outcome, ...] = (
    "answered",
    "answered differently",
    "failed",
    "hung",
    "not exercised",
    "inconclusive",
)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the client, as it was seen."""

    journal: tuple[Entry, ...]
    exit_code: int | None
    """None: it had to be ended at its limit."""
    stdout: str = ""
    stderr: str = ""
    leaks: tuple[str, ...] = ()
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Conduct:
    """One row of a profile."""

    spec: str
    outcome: Outcome
    why: str = ""
    exit_code: int | None = None
    calls: int = 0
    retries: int = 0
    """Calls like one that was hit, beyond those that it makes when nothing is wrong."""
    gaps_ms: tuple[float, ...] = ()
    """Between a call that was hit and the calls like it that follow."""
    cancelled: int = 0
    reconnects: int = 0
    leaks: tuple[str, ...] = ()
    last_words: str = ""
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Profile:
    command: str
    transport: Transport
    era: Era | None
    """None: the control run did not get so far."""
    control: Conduct
    rows: tuple[Conduct, ...]
    notes: tuple[str, ...] = ()


def control_problem(run: Run) -> str:
    """Why nothing can be learnt from a client like this; empty if all is well."""
    if run.exit_code is None:
        return "it did not end within its limit though nothing was wrong"
    if run.exit_code != 0:
        said = last_words(run)
        return f"it {how(run.exit_code)} though nothing was wrong" + (f": {said}" if said else "")
    if not calls_in(run):
        return "it made no call of a tool"
    return ""


def era_in(run: Run) -> Era | None:
    """As its calls were made."""
    eras = [entry.era for entry in run.journal if entry.word == "request" and entry.method == CALL]
    return eras[0] if eras else None


def conduct_of(spec: str, run: Run, control: Run, *, comparable: bool = True) -> Conduct:
    """`comparable`: what it prints is the same whenever nothing is wrong."""
    hit = {entry.call for entry in run.journal if entry.word == "injected" and entry.call}
    outcome, why = _outcome(run, control, comparable)
    if spec and not any(entry.word == "injected" for entry in run.journal) and outcome != "hung":
        outcome, why = "not exercised", "the client does nothing that the fault acts on"
    made, usual = Counter(calls_in(run)), Counter(calls_in(control))
    return Conduct(
        spec,
        outcome,
        why,
        run.exit_code,
        sum(made.values()),
        sum(max(0, made[call] - usual[call]) for call in hit),
        _gaps_ms(run, hit),
        sum(entry.word == "cancelled" for entry in run.journal),
        max(0, _openings(run) - _openings(control)),
        run.leaks,
        last_words(run),
        run.elapsed_ms,
    )


def unknown(spec: str, why: str) -> Conduct:
    return Conduct(spec, "inconclusive", why)


def _outcome(run: Run, control: Run, comparable: bool) -> tuple[Outcome, str]:
    if run.exit_code is None:
        return "hung", "it did not end within its limit"
    if run.exit_code != 0:
        return "failed", f"it {how(run.exit_code)}"
    if comparable and run.stdout != control.stdout:
        return "answered differently", "it ended well, and said something else than usual"
    return "answered", "it ended well"


def how(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


def calls_in(run: Run) -> list[str]:
    return [entry.call for entry in run.journal if entry.word == "request" and entry.method == CALL]


def _openings(run: Run) -> int:
    """How often it began with a server: a session, a process or, where there are none, a first question."""
    sessions = {entry.session for entry in run.journal if entry.word == "opened"}
    asked = sum(entry.word == "request" and entry.method == "server/discover" for entry in run.journal)
    return len(sessions) + (0 if sessions else asked)


def _gaps_ms(run: Run, hit: set[str]) -> tuple[float, ...]:
    gaps: list[float] = []
    for call in sorted(hit):
        times = [entry.at_ms for entry in run.journal if entry.word == "request" and entry.call == call]
        gaps += [round(later - earlier, 1) for earlier, later in pairwise(times)]
    return tuple(gaps)


def last_words(run: Run) -> str:
    """The last line that it printed: of its output, or of its errors if it failed or printed nothing."""
    texts: Sequence[str] = (run.stdout, run.stderr) if run.exit_code == 0 else (run.stderr, run.stdout)
    for text in texts:
        # Without the frame that Python draws around a group of exceptions.
        lines = [line.strip(" \t|+-") for line in text.splitlines()]
        said = [line for line in lines if any(sign.isalnum() for sign in line)]
        if said:
            return said[-1][:_LONGEST]
    return ""
