"""Judging a run by the entries of its journal and its exit code."""

from __future__ import annotations

import pytest

from faultkit.base.program_output import last_words
from faultkit.faults.call_fault import Era
from faultkit.mcp.probe.clients.client_behaviour import (
    ClientRun,
    behaviour_of,
    control_problem,
    era_in,
)
from faultkit.mcp.probe.clients.recording_mock import CALL, EventKind, JournalEntry, call_of, entry_of

PARIS = call_of({"name": "forecast", "arguments": {"city": "Paris"}})
OSLO = call_of({"name": "forecast", "arguments": {"city": "Oslo"}})


def entry(
    word: EventKind, call: str = "", at_ms: float = 0.0, session: str = "s1", era: Era = "legacy"
) -> JournalEntry:
    return JournalEntry(word, session, era, CALL if call else "", 1, call, at_ms)


CONTROL = ClientRun((entry("opened"), entry("request", PARIS), entry("request", OSLO)), 0, "sunny\n")


def test_a_run_like_the_control_run_answered() -> None:
    run = ClientRun((*CONTROL.journal[:2], entry("injected", PARIS), *CONTROL.journal[2:]), 0, "sunny\n")
    conduct = behaviour_of("slow", run, CONTROL)
    assert (conduct.outcome, conduct.calls, conduct.retries, conduct.reconnects) == ("answered", 2, 0, 0)


@pytest.mark.parametrize(
    ("code", "stdout", "outcome", "why"),
    [
        (
            0,
            "rainy\n",
            "answered differently",
            "the client ended with 0 and printed something else than in the control run",
        ),
        (3, "sunny\n", "failed", "the client ended with exit code 3"),
        (-11, "", "failed", "the client was ended by signal 11"),
        (None, "", "hung", "the client did not end within its time limit"),
    ],
)
def test_how_a_run_ended_says_what_came_of_it(code: int | None, stdout: str, outcome: str, why: str) -> None:
    conduct = behaviour_of("hang", ClientRun((entry("injected", PARIS),), code, stdout), CONTROL)
    assert (conduct.outcome, conduct.why) == (outcome, why)


def test_output_that_differs_anyway_is_not_compared() -> None:
    run = ClientRun((entry("injected", PARIS),), 0, "rainy\n")
    assert behaviour_of("slow", run, CONTROL, comparable=False).outcome == "answered"


def test_calls_beyond_the_usual_like_one_that_was_hit_are_retries() -> None:
    journal = (
        entry("request", PARIS, 10),
        entry("injected", PARIS, 10),
        entry("request", OSLO, 20),
        entry("request", OSLO, 25),
        entry("request", PARIS, 110),
        entry("request", PARIS, 310),
    )
    conduct = behaviour_of("hang", ClientRun(journal, 0, "sunny\n"), CONTROL)
    assert (conduct.calls, conduct.retries, conduct.gaps_ms) == (5, 2, (100, 200))


def test_a_fault_that_never_acted_proves_nothing() -> None:
    assert behaviour_of("dead_subscription", CONTROL, CONTROL).outcome == "not exercised"


def test_sessions_beyond_the_usual_are_reconnects() -> None:
    journal = (*CONTROL.journal, entry("injected", PARIS), entry("opened", session="s2"))
    assert behaviour_of("disconnect", ClientRun(journal, 0, "sunny\n"), CONTROL).reconnects == 1


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (CONTROL, ""),
        (ClientRun((), None), "the client did not end within its time limit, though nothing was wrong"),
        (ClientRun((), 3, "", "oops\n"), "the client ended with exit code 3, though nothing was wrong: oops"),
        (ClientRun((entry("opened"),), 0), "the client called no tool"),
    ],
)
def test_a_control_run_has_to_end_well_and_to_call_something(run: ClientRun, problem: str) -> None:
    assert control_problem(run) == problem


def test_the_era_is_that_of_the_first_call() -> None:
    assert era_in(ClientRun((entry("request", PARIS, era="modern"), entry("request", OSLO)), 0)) == "modern"
    assert era_in(ClientRun((), 0)) is None


def test_the_last_words_are_of_the_output_or_if_it_failed_of_the_errors() -> None:
    assert last_words(0, "a\nb\n\n", "c\n") == "b"
    assert last_words(1, "a\nb\n", "c\n") == "c"
    assert last_words(1, "a\n", "") == "a"
    assert last_words(0, "a\x1b[2J\x9b31m\n", "") == r"a\x1b[2J\x9b31m"
    assert last_words(1, "", "  | ValueError: no\n  +-------\n") == "ValueError: no"
    node = "throw new APIError(1)\nAPIError: 429 no\n    at main (a.js:1)\n\nNode.js v20.20.2\n"
    assert last_words(1, "", node) == "APIError: 429 no"


def test_an_entry_survives_its_way_from_another_process() -> None:
    sent = entry("request", PARIS, era="modern")
    assert entry_of(sent.line(), "process-1", 7.0) == JournalEntry(
        "request", "process-1", "modern", CALL, 1, PARIS, 7.0
    )
