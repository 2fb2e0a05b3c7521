"""Results in the store: kept over restarts, append-only, and counted after they are dropped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.audit.store import Store
from faultkit.audit.store_factory import open_store
from faultkit.chaos.experiment.experiment_model import ExperimentResult, Journal, Outcome
from faultkit.chaos.records import RUN_OWNER, ResultHistory, Totals
from faultkit.chaos.safety.lease import Lease
from faultkit.chaos.safety.ledger import Ledger
from faultkit.chaos.safety.recovery import recover
from faultkit.chaos.safety.undo import Undo

HELD = ExperimentResult("a", True, True, True, 1.5, None, "2026-02-05T10:00:00.000000Z", Outcome.HELD)
MISSED = replace(HELD, success=False, steady_state_after=False, outcome=Outcome.DEVIATED, error="née ☃")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "postgres":
        name = request.getfixturevalue("postgres").url
    else:
        name = {"memory": "memory:", "sqlite": str(tmp_path / "audit.db")}[request.param]
    with open_store(name) as opened:
        yield opened


def test_results_come_back_newest_first_by_name_and_with_their_journals(store: Store) -> None:
    history = ResultHistory(store)
    assert (history.results(), history.totals(), history.journal(7)) == ((), Totals(0, 0, 0), None)
    assert history.totals().success_rate is None
    history.add(HELD)
    history.add(Journal(MISSED, {"status": "completed", "faultkit": {"seed": 7}}))
    history.add(replace(HELD, experiment_name="b"))
    kept = history.results()
    assert [each.result for each in kept] == [replace(HELD, experiment_name="b"), MISSED, HELD]
    assert [each.result for each in history.results("a", limit=1)] == [MISSED]
    assert history.journal(kept[1].seq) == {"status": "completed", "faultkit": {"seed": 7}}
    assert history.totals() == Totals(3, 2, 3)
    assert history.totals("a").success_rate == 0.5
    assert history.totals("absent") == Totals(0, 0, 0)


def test_older_results_make_room_and_are_still_counted(store: Store) -> None:
    history = ResultHistory(store, most_kept=2)
    for number in range(5):
        history.add(replace(HELD, duration_seconds=float(number)))
    assert [each.result.duration_seconds for each in history.results()] == [4.0, 3.0]
    assert history.totals() == Totals(5, 2, 2)


def test_a_dry_run_is_neither_kept_nor_counted(store: Store) -> None:
    history = ResultHistory(store)
    assert history.add(replace(HELD, dry_run=True)) is None
    assert (history.results(), history.totals()) == ((), Totals(0, 0, 0))


def test_results_are_there_after_a_restart(tmp_path: Path) -> None:
    for runs in (1, 2):
        with open_store(tmp_path / "audit.db") as store:
            history = ResultHistory(store)
            history.add(HELD)
            assert history.totals() == Totals(runs, runs, runs)
            assert len(history.results()) == runs


@pytest.mark.parametrize(
    "outcome", [each for each in Outcome if each not in (Outcome.HELD, Outcome.DEVIATED, Outcome.INVALID)]
)
def test_a_run_that_proved_nothing_is_a_run_and_no_success(outcome: Outcome) -> None:
    with open_store("memory:") as store:
        history = ResultHistory(store)
        history.add(replace(HELD, outcome=outcome))
        assert (history.totals(), history.totals().success_rate) == (Totals(1, 0, 0), None)


def die(lease: Lease) -> None:
    """Free the lock of a lease as the death of its owner does."""
    os.close(lease._file)


@pytest.mark.parametrize(("undo", "outcome"), [("true", Outcome.ABORTED), ("false", Outcome.ROLLBACK_FAILED)])
def test_a_run_that_was_killed_is_in_the_history_once(tmp_path: Path, undo: str, outcome: Outcome) -> None:
    ledger = Ledger(tmp_path / "state")
    lease = ledger.open(f"{RUN_OWNER}kill-cache", guarded=False)
    lease.note("phase_ended", phase="gate", met=True, at_s=0.5)
    lease.intend(Undo("command", {"argv": [undo]}, "undo it"))
    with open_store("memory:") as store:
        history = ResultHistory(store)
        history.add_killed(ledger)
        assert history.results() == (), "it runs"
        die(lease)
        history.add_killed(ledger)
        assert history.results() == (), "its guardian has not ended it yet"
        recover(ledger)
        for _ in range(2):
            history.add_killed(ledger)
        (kept,) = history.results()
    result = kept.result
    assert (result.experiment_name, result.outcome, result.rollback_ok) == (
        "kill-cache",
        outcome,
        outcome is Outcome.ABORTED,
    )
    assert (result.steady_state_before, result.success, result.duration_seconds) == (True, False, 0.5)
    assert str(result.error).startswith("Stopped: its process was killed; ")


def test_a_lease_that_its_owner_ended_is_no_killed_run(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "state")
    ledger.open(f"{RUN_OWNER}x", guarded=False).end("held")
    with open_store("memory:") as store:
        history = ResultHistory(store)
        history.add_killed(ledger)
        assert history.results() == ()
