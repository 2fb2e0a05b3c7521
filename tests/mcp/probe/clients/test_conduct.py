"""What is made of a run, from entries of its journal and how it ended."""

from __future__ import annotations

import pytest

from faultkit.faults.call.call import Era
from faultkit.mcp.probe.clients.conduct import Run, conduct_of, control_problem, era_in, last_words
from faultkit.mcp.probe.clients.journal import CALL, Entry, Word, call_of, entry_of

PARIS = call_of({"name": "forecast", "arguments": {"city": "Paris"}})
OSLO = call_of({"name": "forecast", "arguments": {"city": "Oslo"}})


def entry(word: Word, call: str = "", at_ms: float = 0.0, session: str = "s1", era: Era = "legacy") -> Entry:
    return Entry(word, session, era, CALL if call else "", 1, call, at_ms)


CONTROL = Run((entry("opened"), entry("request", PARIS), entry("request", OSLO)), 0, "sunny\n")


def test_a_run_like_the_control_run_answered() -> None:
    run = Run((*CONTROL.journal[:2], entry("injected", PARIS), *CONTROL.journal[2:]), 0, "sunny\n")
    conduct = conduct_of("slow", run, CONTROL)
    assert (conduct.outcome, conduct.calls, conduct.retries, conduct.reconnects) == ("answered", 2, 0, 0)


@pytest.mark.parametrize(
    ("code", "stdout", "outcome", "why"),
    [
        (0, "rainy\n", "answered differently", "it ended well, and said something else than usual"),
        (3, "sunny\n", "failed", "it ended with exit code 3"),
        (-11, "", "failed", "it was ended by signal 11"),
        (None, "", "hung", "it did not end within its limit"),
    ],
)
def test_how_a_run_ended_says_what_came_of_it(code: int | None, stdout: str, outcome: str, why: str) -> None:
    conduct = conduct_of("hang", Run((entry("injected", PARIS),), code, stdout), CONTROL)
    assert (conduct.outcome, conduct.why) == (outcome, why)


def test_output_that_differs_anyway_is_not_compared() -> None:
    run = Run((entry("injected", PARIS),), 0, "rainy\n")
    assert conduct_of("slow", run, CONTROL, comparable=False).outcome == "answered"


def test_calls_beyond_the_usual_like_one_that_was_hit_are_retries() -> None:
    journal = (
        entry("request", PARIS, 10),
        entry("injected", PARIS, 10),
        entry("request", OSLO, 20),
        entry("request", OSLO, 25),
        entry("request", PARIS, 110),
        entry("request", PARIS, 310),
    )
    conduct = conduct_of("hang", Run(journal, 0, "sunny\n"), CONTROL)
    assert (conduct.calls, conduct.retries, conduct.gaps_ms) == (5, 2, (100, 200))


def test_a_fault_that_never_acted_proves_nothing() -> None:
    assert conduct_of("dead_subscription", CONTROL, CONTROL).outcome == "not exercised"


def test_sessions_beyond_the_usual_are_reconnects() -> None:
    journal = (*CONTROL.journal, entry("injected", PARIS), entry("opened", session="s2"))
    assert conduct_of("disconnect", Run(journal, 0, "sunny\n"), CONTROL).reconnects == 1


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (CONTROL, ""),
        (Run((), None), "it did not end within its limit though nothing was wrong"),
        (Run((), 3, "", "oops\n"), "it ended with exit code 3 though nothing was wrong: oops"),
        (Run((entry("opened"),), 0), "it made no call of a tool"),
    ],
)
def test_a_control_run_has_to_end_well_and_to_call_something(run: Run, problem: str) -> None:
    assert control_problem(run) == problem


def test_the_era_is_that_of_the_first_call() -> None:
    assert era_in(Run((entry("request", PARIS, era="modern"), entry("request", OSLO)), 0)) == "modern"
    assert era_in(Run((), 0)) is None


def test_the_last_words_are_of_the_output_or_if_it_failed_of_the_errors() -> None:
    assert last_words(Run((), 0, "a\nb\n\n", "c\n")) == "b"
    assert last_words(Run((), 1, "a\nb\n", "c\n")) == "c"
    assert last_words(Run((), 1, "a\n", "")) == "a"
    assert last_words(Run((), 1, "", "  | ValueError: no\n  +-------\n")) == "ValueError: no"


def test_an_entry_survives_its_way_from_another_process() -> None:
    sent = entry("request", PARIS, era="modern")
    assert entry_of(sent.line(), "process-1", 7.0) == Entry(
        "request", "process-1", "modern", CALL, 1, PARIS, 7.0
    )
