"""The order of an experiment, its outcomes, and the rollback that always runs, on a system of functions."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.signals import REASONS, handle_signals
from faultkit.chaos.experiment.experiment_model import EVENTS, EXIT_CODE, SEVERITY, Event, Outcome
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.testing.virtual_loop import run_virtual
from tests.chaos.stage import CALLS, STATE, Stage, call, experiment_of

HEALTHY = {"name": "healthy", **call("state", key="healthy")}
BREAK = {"name": "break it", **call("put", key="healthy", value=False)}
ROLLBACK_FILE = "rolled-back"


def touch(name: str) -> dict[str, Any]:
    """Return a rollback that creates a file, because rollbacks run in processes of their own."""
    return {"name": f"make {name}", "process": ["/bin/sh", "-c", f"echo {name} >> {ROLLBACK_FILE}"]}


def document(method: list[Any], **more: Any) -> dict[str, Any]:
    return {"name": "x", "steady_state": [HEALTHY], "method": method, **more}


def rolled_back(folder: Path) -> list[str]:
    file = folder / ROLLBACK_FILE
    return file.read_text().split() if file.exists() else []


def test_a_steady_state_that_stays_holds(stage: Stage) -> None:
    STATE["healthy"] = True
    experiment = experiment_of(document([call("note", text="act")], rollback=[touch("a")]), stage.folder)
    result = stage.run(experiment).result
    assert (result.outcome, result.exit_code) == (Outcome.HELD, 0)
    assert (result.success, result.steady_state_before, result.steady_state_after) == (True, True, True)
    assert (result.error, result.action_error, result.rollback_ok) == (None, None, True)
    assert result.started_at.endswith("Z")
    assert CALLS == ["act"]
    assert rolled_back(stage.folder) == ["a"]


@pytest.mark.parametrize("method", [[], [{"pause": "1ms"}], [{**HEALTHY, "expect": True}]])
def test_a_method_without_an_action_exercises_nothing(method: list[Any], stage: Stage) -> None:
    STATE["healthy"] = True
    result = stage.run(experiment_of(document(method), stage.folder)).result
    assert (result.outcome, result.exit_code, result.success) == (Outcome.NOT_EXERCISED, 6, True)
    assert result.error == "Not exercised: the method has no action"


def test_a_method_without_an_action_deviates_if_the_steady_state_does(stage: Stage) -> None:
    check = {**call("state", key="other"), "expect": True}
    STATE["healthy"] = True
    assert stage.run(experiment_of(document([check]), stage.folder)).result.outcome is Outcome.DEVIATED


def test_a_steady_state_that_goes_deviates_and_is_rolled_back_last_first(stage: Stage) -> None:
    STATE["healthy"] = True
    rollback = [touch("first"), touch("second")]
    journal = stage.run(experiment_of(document([BREAK], rollback=rollback), stage.folder))
    result = journal.result
    assert (result.outcome, result.success) == (Outcome.DEVIATED, False)
    assert (result.steady_state_before, result.steady_state_after, result.error) == (True, False, None)
    assert rolled_back(stage.folder) == ["second", "first"]
    assert journal.document["deviated"] is True
    reason = "recheck: healthy: expected something true, got false"
    assert journal.document["faultkit"]["reasons"] == [reason]


def test_without_the_steady_state_nothing_is_begun(stage: Stage) -> None:
    result = stage.run(experiment_of(document([BREAK], rollback=[touch("a")]), stage.folder)).result
    assert (result.outcome, result.exit_code) == (Outcome.GATE_NOT_MET, 3)
    assert result.error == "System not in steady state before experiment"
    assert (result.steady_state_before, result.steady_state_after, result.success) == (False, False, False)
    assert CALLS == []
    assert rolled_back(stage.folder) == []


def test_a_gate_that_raises_has_the_error_of_the_original_tool(stage: Stage) -> None:
    steady = [{"name": "broken", **call("fail", text="no database")}]
    result = stage.run(experiment_of(document([BREAK]) | {"steady_state": steady}, stage.folder)).result
    assert result.outcome is Outcome.GATE_NOT_MET
    assert result.error == "Failed to verify initial steady state: broken: ValueError: no database"


def test_all_checks_of_a_state_are_looked_at(stage: Stage) -> None:
    steady = [{"name": "one", **call("state", key="a")}, {"name": "two", **call("state", key="b")}]
    journal = stage.run(experiment_of(document([]) | {"steady_state": steady}, stage.folder))
    probes = journal.document["steady_states"]["before"]["probes"]
    assert [(each["activity"]["name"], each["tolerance_met"]) for each in probes] == [
        ("one", False),
        ("two", False),
    ]


def test_a_failed_action_ends_the_method_and_proves_nothing(stage: Stage) -> None:
    STATE["healthy"] = True
    method = [{"name": "boom", **call("fail")}, call("note", text="never")]
    result = stage.run(experiment_of(document(method, rollback=[touch("a")]), stage.folder)).result
    assert (result.outcome, result.exit_code, result.success) == (Outcome.ABORTED, 4, False)
    assert result.action_error == "boom: ValueError: it broke"
    assert result.error == "Action failed: boom: ValueError: it broke"
    assert CALLS == ["fail"]
    assert rolled_back(stage.folder) == ["a"]


def test_a_failed_rollback_is_the_gravest_and_the_others_run(stage: Stage) -> None:
    STATE["healthy"] = True
    bad = {"name": "bad", "process": ["/bin/sh", "-c", "echo sorry >&2; exit 3"]}
    rollback = [touch("first"), bad, touch("last")]
    result = stage.run(experiment_of(document([BREAK], rollback=rollback), stage.folder)).result
    assert (result.outcome, result.exit_code, result.rollback_ok) == (Outcome.ROLLBACK_FAILED, 5, False)
    assert result.error == (
        "Action completed; Rollback failed: bad: run /bin/sh -c 'echo sorry >&2; exit 3': "
        "/bin/sh ended with 3: sorry"
    )
    assert rolled_back(stage.folder) == ["last", "first"]
    assert [undo.says for undo in stage.left] == ["bad: run /bin/sh -c 'echo sorry >&2; exit 3'"]


def test_a_rollback_that_hangs_ends_with_its_limit(stage: Stage) -> None:
    STATE["healthy"] = True
    slow = {"process": ["/bin/sh", "-c", "sleep 60"], "limit": "100ms"}
    result = stage.run(experiment_of(document([BREAK], rollback=[touch("a"), slow]), stage.folder)).result
    assert result.outcome is Outcome.ROLLBACK_FAILED
    assert result.error is not None
    assert "did not end within 0.1 s" in result.error
    assert rolled_back(stage.folder) == ["a"]


def test_an_action_brings_its_own_undo_which_is_written_down_before_it_acts(stage: Stage) -> None:
    STATE["healthy"] = True
    method = [{"name": "act", **call("note", text="act"), "undo": touch("mine")}]
    written: list[list[str]] = []

    def on_event(event: Event) -> None:
        if event.kind == "action_ended":
            lines = next((stage.folder / "state" / "leases").glob("*.jsonl")).read_text().splitlines()
            written.append([json.loads(line)["event"] for line in lines])

    stage.on_event = on_event
    experiment = experiment_of(document(method, rollback=[touch("all")]), stage.folder)
    assert stage.run(experiment).result.outcome is Outcome.HELD
    assert rolled_back(stage.folder) == ["mine", "all"]
    assert written[0].count("intended") == 2
    assert written[0].index("action_began") < len(written[0]) - written[0][::-1].index("intended")


def test_a_check_in_the_method_that_is_not_met_deviates(stage: Stage) -> None:
    STATE["healthy"] = True
    method = [
        BREAK,
        {"name": "still", **call("state", key="healthy"), "expect": True},
        call("put", key="healthy", value=True),
    ]
    result = stage.run(experiment_of(document(method), stage.folder)).result
    assert (result.outcome, result.success, result.steady_state_after) == (Outcome.DEVIATED, False, True)


def test_checks_during_the_method_find_a_deviation_that_is_over_at_its_end() -> None:
    async def main(folder: Path) -> None:
        stage = Stage(folder)
        STATE.clear()
        STATE["healthy"] = True
        method = [BREAK, {"pause": "10s"}, call("put", key="healthy", value=True)]
        experiment = experiment_of(document(method, during={"every": "3s"}), folder)
        journal = await stage.arun(experiment, lease_s=3600)
        during = journal.document["steady_states"]["during"]
        assert journal.result.outcome is Outcome.DEVIATED
        assert journal.result.steady_state_after is True
        assert [state["steady_state_met"] for state in during][1:4] == [False, False, False]

    run_in_folder(main)


def test_a_deviation_ends_the_method_if_the_experiment_asks_for_that() -> None:
    async def main(folder: Path) -> None:
        stage = Stage(folder)
        CALLS.clear()
        STATE.clear()
        STATE["healthy"] = True
        method = [BREAK, {"pause": "1h"}, call("note", text="never")]
        during = {"every": "1s", "stop": True}
        limits = {"max_duration": "9m"}
        experiment = experiment_of(document(method, during=during, limits=limits), folder)
        journal = await stage.arun(experiment, lease_s=36000)
        assert journal.result.outcome is Outcome.DEVIATED
        assert "never" not in CALLS

    run_in_folder(main)


def run_in_folder(main: Any) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        run_virtual(main(Path(folder)), grace=0.01)


def test_actions_in_the_background_end_before_the_second_look() -> None:
    async def main(folder: Path) -> None:
        stage = Stage(folder)
        STATE.clear()
        CALLS.clear()
        STATE["healthy"] = True
        method = [
            {"name": "later", **call("note", text="later"), "background": True, "pause": {"before": "5s"}},
            call("note", text="sooner"),
        ]
        journal = await stage.arun(experiment_of(document(method), folder), lease_s=3600)
        assert journal.result.outcome is Outcome.HELD
        assert CALLS == ["sooner", "later"]

    run_in_folder(main)


def stopped_by(stage: Stage, event: str, stop: Any) -> None:
    """Call `stop` when the next run reports this event."""

    def on_event(each: Event) -> None:
        if each.kind == event:
            stop()

    stage.on_event = on_event


PAUSING = [{"name": "act", **call("note", text="act")}, {"pause": "1h"}, call("note", text="never")]


def test_a_run_that_is_asked_to_stop_rolls_back(stage: Stage) -> None:
    STATE["healthy"] = True

    def stop() -> None:
        assert stage.stopping is not None
        stage.stopping.set()

    stopped_by(stage, "pause_began", stop)
    result = stage.run(experiment_of(document(PAUSING, rollback=[touch("a")]), stage.folder)).result
    assert (result.outcome, result.exit_code) == (Outcome.ABORTED, 4)
    assert result.error == "Stopped: it was asked to stop"
    assert (rolled_back(stage.folder), CALLS) == (["a"], ["act"])


def test_a_run_that_is_cancelled_rolls_back_before_it_ends(stage: Stage) -> None:
    STATE["healthy"] = True
    experiment = experiment_of(document(PAUSING, rollback=[touch("a")]), stage.folder)

    async def main() -> None:
        task = asyncio.create_task(stage.arun(experiment))

        # A second cancellation during the rollback must not interrupt it.
        def again(event: Event) -> None:
            if event.kind == "pause_began" or event.data.get("phase") == "rollback":
                asyncio.get_running_loop().call_soon(task.cancel)

        stage.on_event = again
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert rolled_back(stage.folder) == ["a"]
    assert stage.events[-1].data["outcome"] == "aborted"
    assert stage.left == ()


def test_a_run_out_of_time_rolls_back(stage: Stage) -> None:
    STATE["healthy"] = True
    more = {"limits": {"max_duration": "200ms"}, "rollback": [touch("a")]}
    result = stage.run(experiment_of(document(PAUSING, **more), stage.folder)).result
    assert (result.outcome, result.error) == (Outcome.ABORTED, "Stopped: its time of 0.2 s is over")
    assert rolled_back(stage.folder) == ["a"]


def test_the_kill_switch_ends_a_run_and_lets_none_begin(stage: Stage) -> None:
    STATE["healthy"] = True
    experiment = experiment_of(document(PAUSING, rollback=[touch("a")]), stage.folder)
    stopped_by(stage, "pause_began", lambda: stage.kill_switch.pull("enough"))
    result = stage.run(experiment).result
    assert result.error == "Stopped: the kill switch is pulled: enough"
    assert rolled_back(stage.folder) == ["a"]
    CALLS.clear()
    assert stage.run(experiment).result.outcome is Outcome.ABORTED
    assert CALLS == []


def test_a_check_that_hangs_is_a_result_and_so_is_an_action(stage: Stage) -> None:
    hanging = {"process": ["/bin/sh", "-c", "sleep 60"], "limit": "50ms"}
    steady = [{"name": "hung", **hanging}]
    result = stage.run(experiment_of(document([]) | {"steady_state": steady}, stage.folder)).result
    assert result.error == "Failed to verify initial steady state: hung: it did not end within 0.05 s"
    STATE["healthy"] = True
    result = stage.run(experiment_of(document([{"name": "hung", **hanging}]), stage.folder)).result
    assert result.action_error == "hung: it did not end within 0.05 s"


def test_a_function_that_hangs_or_exits_is_a_result(stage: Stage) -> None:
    (stage.folder / "bad_functions_of_a_test.py").write_text(
        "import sys, threading\ndef hang():\n    threading.Event().wait(60)\ndef leave():\n    sys.exit(3)\n"
    )
    for name, why in (("hang", "it did not end within 0.05 s"), ("leave", "RuntimeError: SystemExit: 3")):
        steady = [{"name": name, "python": f"bad_functions_of_a_test:{name}", "limit": "50ms"}]
        result = stage.run(experiment_of(document([]) | {"steady_state": steady}, stage.folder)).result
        assert result.error == f"Failed to verify initial steady state: {name}: {why}"


def test_an_action_whose_function_does_not_end_is_reported_as_continuing(stage: Stage) -> None:
    (stage.folder / "slow_function_of_a_test.py").write_text(
        "import threading\ndef hang():\n    threading.Event().wait(60)\n"
    )
    STATE["healthy"] = True
    hang = {"name": "hang", "python": "slow_function_of_a_test:hang", "limit": "50ms"}
    result = stage.run(experiment_of(document([hang]), stage.folder)).result
    assert result.action_error == (
        "hang: it did not end within 0.05 s; a function cannot be ended: it goes on, and may act after the "
        "rollback"
    )


def test_a_dry_run_looks_and_touches_nothing(stage: Stage) -> None:
    STATE["healthy"] = True
    experiment = experiment_of(document([BREAK, {"pause": "2s"}], rollback=[touch("a")]), stage.folder)
    journal = stage.run(experiment, dry_run=True)
    result = journal.result
    assert (result.success, result.steady_state_before, result.steady_state_after) == (True, True, True)
    assert (result.dry_run, CALLS, rolled_back(stage.folder)) == (True, [], [])
    assert [(each["phase"], each["name"]) for each in journal.document["faultkit"]["plan"]] == [
        ("gate", "healthy"),
        ("method", "break it"),
        ("method", "pause 2s"),
        ("recheck", "healthy"),
        ("rollback", "make a"),
    ]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"environment": "moon"}, 'environment: expected one of moon, got "local"'),
        (
            {"limits": {"max_duration": "2h"}},
            "limits.max_duration: expected at most 600, got 7200; only the limits can raise it",
        ),
        (
            {"method": [{"process": "no-such-program-anywhere"}]},
            'method[0].process.command: expected a program that can be run, got "no-such-program-anywhere"',
        ),
        (
            {"method": [{"fault": {"inject": "slow"}}]},
            "method[0].fault.inject: expected a registry of faults, but this run has none",
        ),
        (
            {"rollback": [{"python": "no_such_module_anywhere:undo"}]},
            "rollback[0].python.function: expected a function such as my.module:is_healthy, got "
            "no_such_module_anywhere:undo: No module named 'no_such_module_anywhere'",
        ),
    ],
)
def test_what_cannot_work_is_reported_before_anything_starts(
    stage: Stage, more: dict[str, Any], problem: str
) -> None:
    STATE["healthy"] = True
    result = stage.run(experiment_of({**document([BREAK]), **more}, stage.folder)).result
    assert (result.outcome, result.exit_code, result.error) == (Outcome.INVALID, 2, problem)
    assert CALLS == []


def test_an_environment_that_is_not_allowed_refuses_every_experiment(stage: Stage) -> None:
    stage.limits = Limits(environment="production")
    assert stage.run(experiment_of(document([]), stage.folder)).result.outcome is Outcome.INVALID


def test_a_listener_that_fails_loses_no_rollback(stage: Stage) -> None:
    STATE["healthy"] = True

    def on_event(event: Event) -> None:
        raise RuntimeError("no terminal")

    stage.on_event = on_event
    journal = stage.run(experiment_of(document([BREAK], rollback=[touch("a")]), stage.folder))
    assert rolled_back(stage.folder) == ["a"]
    warning = "an event could not be handed on: RuntimeError: no terminal"
    assert journal.document["faultkit"]["warnings"] == [warning]


def test_an_undo_that_cannot_be_written_down_keeps_the_action_from_acting(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    STATE["healthy"] = True
    from faultkit.chaos.safety import lease as lease_file

    def full(file: object, event: str, **data: Any) -> None:
        if event == "intended":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(lease_file, "append_line", full)
    method = [{"name": "act", **call("note", text="act"), "undo": touch("a")}]
    result = stage.run(experiment_of(document(method), stage.folder)).result
    assert result.outcome is Outcome.ABORTED
    assert result.action_error is not None
    assert "No space left on device" in result.action_error
    assert CALLS == []


def test_the_journal_is_a_superset_of_chaos_toolkits_and_plain_json(stage: Stage) -> None:
    STATE["healthy"] = True
    written = document([{**BREAK, "limit": "5s"}], rollback=[touch("a")])
    journal = stage.run(experiment_of(written, stage.folder)).document
    assert json.loads(json.dumps(journal, allow_nan=False)) == journal
    assert set(journal) == {
        *("chaoslib-version", "platform", "node", "experiment", "start", "end", "duration", "status"),
        *("deviated", "steady_states", "run", "rollbacks", "faultkit"),
    }
    assert journal["experiment"] == written
    (run,) = journal["run"]
    assert {"activity", "output", "start", "end", "duration", "status"} <= set(run)
    assert run["activity"]["type"] == "action"
    assert journal["faultkit"]["outcome"] == "deviated"


def test_every_kind_of_event_is_known_and_the_lease_has_them_all(stage: Stage) -> None:
    STATE["healthy"] = True
    stage.run(experiment_of(document([BREAK], rollback=[touch("a")]), stage.folder))
    assert set(stage.kinds()) <= set(EVENTS)
    lines = next((stage.folder / "state" / "leases").glob("*.jsonl")).read_text().splitlines()
    written = [json.loads(line)["event"] for line in lines]
    assert [kind for kind in written if kind in EVENTS] == stage.kinds()


def test_every_outcome_has_an_exit_code_and_those_that_prove_nothing_share_one() -> None:
    assert sorted(EXIT_CODE.values()) == [0, 1, 2, 3, 4, 5, 6, 6]
    assert set(SEVERITY) == set(Outcome)
    assert set(EXIT_CODE) == set(Outcome)


@pytest.mark.parametrize("number", REASONS)
def test_a_signal_ends_a_run_and_rolls_back(stage: Stage, number: signal.Signals) -> None:
    STATE["healthy"] = True
    experiment = experiment_of(document(PAUSING, rollback=[touch("a")]), stage.folder)
    before = signal.getsignal(number)

    def twice() -> None:
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)

    async def main() -> Any:
        came: list[signal.Signals] = []
        stop = stage.stop_event()

        def arrived(number: signal.Signals) -> None:
            came.append(number)
            stop.set()

        with handle_signals(arrived):
            journal = await stage.arun(experiment)
        return journal, came

    stopped_by(stage, "pause_began", twice)
    journal, came = asyncio.run(main())
    assert (journal.result.outcome, rolled_back(stage.folder)) == (Outcome.ABORTED, ["a"])
    assert came[0] == number
    assert signal.getsignal(number) is before


def test_an_undo_names_its_step_and_its_command_and_no_value_of_a_variable(stage: Stage) -> None:
    STATE["healthy"] = True
    undo = {"name": "flush", "process": ["/bin/sh", "-c", "exit 3", "${TOKEN}"]}
    given = document([{**BREAK, "undo": undo}], rollback=[{"process": "/bin/sh -c 'exit 4'"}])
    journal = stage.run(experiment_of(given, stage.folder, {"TOKEN": "hush"}))
    assert [each["says"] for each in journal.document["faultkit"]["undone"]] == [
        "flush: run /bin/sh -c 'exit 3' '${TOKEN}'",
        "run /bin/sh -c 'exit 4'",
    ]
