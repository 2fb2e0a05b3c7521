"""Chaos Toolkit runs that are cut short, hang or die: their rollbacks are played and reported."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faultkit.chaos.experiment.experiment_model import EVENTS, Event, Outcome
from faultkit.chaos.experiment.toolkit_child import strategies_of
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.undo import carry_out
from tests.chaos.stage import Stage
from tests.chaos.toolkit.conftest import FILES, Shop
from tests.chaos.toolkit.documents import BREAK, CASES, MEND, action, experiment, probe, python, runtime

LINGER = action("linger", python("linger", seconds=30))


def lingering(**more: Any) -> dict[str, Any]:
    return experiment("lingering", [BREAK, LINGER, action("never", python("log", text="never"))], **more)


def when_it_lingers(stage: Stage, then: Any) -> None:
    def on_event(event: Event) -> None:
        if event.kind == "action_began" and event.data["name"] == "linger":
            then()

    stage.on_event = on_event


def stop(stage: Stage) -> None:
    assert stage.stopping is not None
    stage.stopping.set()


def test_a_run_that_is_asked_to_stop_plays_its_rollbacks(shop: Shop, stage: Stage) -> None:
    when_it_lingers(stage, lambda: stop(stage))
    journal = stage.run(shop.experiment(lingering()))
    assert (journal.result.outcome, journal.result.error) == (
        Outcome.ABORTED,
        "Stopped: it was asked to stop",
    )
    assert shop.state["healthy"] is True
    assert journal.document["status"] == "interrupted"
    assert [run["activity"]["name"] for run in journal.document["rollbacks"]] == ["mend"]
    assert "never" not in shop.log
    assert stage.left == ()


def test_a_run_that_is_cancelled_plays_its_rollbacks_before_it_ends(shop: Shop, stage: Stage) -> None:
    async def main() -> None:
        task = asyncio.create_task(stage.arun(shop.experiment(lingering())))
        when_it_lingers(stage, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert shop.state["healthy"] is True
    assert stage.events[-1].data["outcome"] == "aborted"


def test_a_run_out_of_time_plays_its_rollbacks(shop: Shop, stage: Stage) -> None:
    result = stage.run(shop.experiment(lingering(), max_duration_s=2.5)).result
    assert result.error == "Stopped: its time of 2.5 s is over"
    assert shop.state["healthy"] is True


def test_a_file_that_says_never_is_taken_at_its_word(shop: Shop, stage: Stage) -> None:
    when_it_lingers(stage, lambda: stop(stage))
    journal = stage.run(shop.experiment(lingering(runtime=runtime(rollbacks="never"))))
    assert (journal.result.outcome, shop.state["healthy"]) == (Outcome.ABORTED, False)
    assert journal.document["rollbacks"] == []


def test_a_run_whose_process_is_killed_is_rolled_back_by_us(shop: Shop, stage: Stage) -> None:
    def kill() -> None:
        (lease,) = (stage.folder / "state" / "leases").glob("*.jsonl")
        lines = [json.loads(line) for line in lease.read_text().splitlines()]
        intent = next(line for line in lines if line["event"] == "intended")
        os.kill(intent["undo"]["data"]["pid"], signal.SIGKILL)

    when_it_lingers(stage, kill)
    journal = stage.run(shop.experiment(lingering()))
    assert journal.result.outcome is Outcome.ABORTED
    assert str(journal.result.error).startswith("Stopped: its process ended early")
    assert (shop.state["healthy"], journal.result.rollback_ok) == (True, True)
    assert [run["activity"]["name"] for run in journal.document["rollbacks"]] == ["mend"]
    assert [event.data["says"] for event in stage.events if event.kind == "rolled_back"] == ["mend"]


@pytest.mark.slow
def test_a_run_that_does_not_answer_is_ended_and_rolled_back_by_us(shop: Shop, stage: Stage) -> None:
    """The library waits for background activities without a time limit."""
    document = experiment("deaf", [BREAK, {**LINGER, "background": True}, action("too", LINGER["provider"])])
    when_it_lingers(stage, lambda: stop(stage))
    journal = stage.run(shop.experiment(document))
    assert (journal.result.outcome, journal.result.rollback_ok) == (Outcome.ABORTED, True)
    assert shop.state["healthy"] is True


def test_a_rollback_that_hangs_is_left_and_those_behind_it_are_played(shop: Shop, stage: Stage) -> None:
    hang = action("hang", python("linger", seconds=30))
    document = experiment(
        "hanging", [BREAK], rollbacks=[action("one", python("log", text="one")), hang, MEND]
    )
    journal = stage.run(shop.experiment(document, rollback_limit_s=1.0))
    assert journal.result.outcome is Outcome.ROLLBACK_FAILED
    assert journal.result.exit_code == 5
    assert "; Rollback failed: hang: it did not end within 1 s" in str(journal.result.error)
    assert shop.state["healthy"] is True
    assert shop.log.count("one") == 1
    assert [undo.kind for undo in stage.left] == ["toolkit_rollbacks"]


def test_an_experiment_may_end_without_its_rollbacks_if_it_asks_for_that(shop: Shop, stage: Stage) -> None:
    document = experiment("leaving", [BREAK, action("leave", python("leave_ungracefully"))])
    journal = stage.run(shop.experiment(document))
    assert (journal.result.outcome, shop.state["healthy"]) == (Outcome.ABORTED, False)
    assert stage.left == ()


def test_an_invalid_experiment_is_reported_and_nothing_starts(shop: Shop, stage: Stage) -> None:
    unknown = action("x", {"type": "python", "module": "shop", "func": "nothing"})
    for document, why in (
        (experiment("x", [BREAK, unknown]), "does not expose a function called 'nothing'"),
        (experiment("x", [], description=""), "experiment requires a description"),
        (experiment("x", [], runtime=runtime("sometimes")), "runtime.hypothesis.strategy: expected one of"),
        ({**experiment("x", []), "steady-state-hypothesis": "none"}, "AttributeError"),
        (experiment("x", [{**BREAK, "type": "deed"}]), "'deed' is not a supported activity type"),
    ):
        journal = stage.run(shop.experiment(document))
        assert (journal.result.outcome, journal.result.exit_code) == (Outcome.INVALID, 2)
        assert why in str(journal.result.error)
    assert shop.log == []
    stage.limits = Limits(environment="production")
    assert stage.run(shop.experiment(CASES["held"])).result.outcome is Outcome.INVALID


def test_a_dry_run_only_looks(shop: Shop, stage: Stage) -> None:
    journal = stage.run(shop.experiment(CASES["deviated"]), dry_run=True)
    result = journal.result
    assert (result.success, result.steady_state_before, result.steady_state_after) == (True, True, True)
    assert (result.dry_run, result.outcome, shop.log) == (True, Outcome.HELD, [])
    assert [(each["phase"], each["name"]) for each in journal.document["faultkit"]["plan"]] == [
        ("gate", "healthy"),
        ("method", "break"),
        ("recheck", "healthy"),
        ("rollback", "mend"),
    ]


def test_events_are_reported_as_they_happen(shop: Shop, stage: Stage) -> None:
    stage.run(shop.experiment(CASES["deviated"]))
    assert set(stage.kinds()) <= set(EVENTS)
    told = [
        (event.kind, event.data.get("phase") or event.data.get("name") or event.data.get("says"))
        for event in stage.events
        if event.kind not in ("said", "run_began", "run_ended")
    ]
    assert told == [
        ("phase_began", "gate"),
        ("check_ended", "gate"),
        ("phase_ended", "gate"),
        ("phase_began", "method"),
        ("action_began", "break"),
        ("action_ended", "break"),
        ("phase_began", "recheck"),
        ("check_ended", "recheck"),
        ("phase_ended", "recheck"),
        ("phase_began", "rollback"),
        ("rolled_back", "mend"),
    ]


def test_errors_have_the_words_of_the_seed(shop: Shop, stage: Stage) -> None:
    for name, error in (
        ("gate-raises", "Failed to verify initial steady state: fails: "),
        ("failed-action", "Action failed: boom: "),
        ("failed-rollback", "Action completed; Rollback failed: boom: "),
    ):
        shop.begin()
        assert str(stage.run(shop.experiment(CASES[name])).result.error).startswith(error)


def test_the_runner_killed_by_kill_9_leaves_an_undo_that_anybody_can_carry_out(
    shop: Shop, stage: Stage
) -> None:
    file = shop.file(lingering())
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from tests.chaos.stage import Stage\n"
        "from faultkit.chaos.experiment.experiment_file import load_experiment\n"
        "stage = Stage(Path(sys.argv[1]))\n"
        "def on_event(event):\n"
        "    if event.kind == 'action_began' and event.data['name'] == 'linger':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "stage.on_event = on_event\n"
        "stage.run(load_experiment(sys.argv[2]))\n"
    )
    root = Path(__file__).parents[3]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(FILES), *sys.path])}
    ended = subprocess.run(
        [sys.executable, "-c", script, str(stage.folder), str(file)], env=env, timeout=60, cwd=root
    )
    assert (ended.returncode, shop.state["healthy"]) == (-signal.SIGKILL, False)
    (view,) = stage.ledger.views()
    (intent,) = view.left
    # The experiment is in the ledger, because its file may have been removed.
    file.unlink()
    assert carry_out(intent.undo).ok
    assert shop.state["healthy"] is True
    # Undoing twice does no harm.
    assert carry_out(intent.undo).ok


@pytest.mark.parametrize(
    ("own", "settings", "strategies"),
    [
        ({}, {}, ("default", "always")),
        ({}, {"runtime": {"rollbacks": {"strategy": "never"}}}, ("default", "never")),
        (
            {"runtime": {"hypothesis": {"strategy": "skip"}}},
            {"runtime": {"rollbacks": {"strategy": "never"}}},
            None,
        ),
        ({"runtime": {"rollbacks": {"strategy": "default"}}}, {}, ("default", "always")),
        ({"runtime": {"hypothesis": {"strategy": "continously"}}}, {}, ("continuously", "always")),
    ],
)
def test_the_strategies_of_a_file_go_before_those_of_the_settings(
    own: dict[str, Any], settings: dict[str, Any], strategies: tuple[str, str] | None
) -> None:
    assert strategies_of(own, settings) == (strategies or ("skip", "always"))


def test_a_check_that_raises_in_the_hypothesis_says_why(shop: Shop, stage: Stage) -> None:
    document = experiment("x", [], [probe("fails", python("fail", why="no till"), tolerance=True)], ())
    stage.run(shop.experiment(document))
    (check,) = [event for event in stage.events if event.kind == "check_ended"]
    assert check.data["met"] is False
    assert "no till" in check.data["why"]
