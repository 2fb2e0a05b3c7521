"""Processes of steps whose runner is killed: none goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.process_identity import birth_of
from tests.chaos.stage import Stage, experiment_of
from tests.chaos.waiting import until

RUN = (
    "import sys; from pathlib import Path; from tests.chaos.stage import Stage;"
    "from faultkit.chaos.experiment.experiment_file import load_experiment;"
    "Stage(Path(sys.argv[1])).run(load_experiment(sys.argv[1] + '/x.json'))"
)
LONG = ["/bin/sh", "-c", "sleep 300 & echo $$$$ $! > writing; mv writing began; wait"]
"""A command with a child. `$$` stands for `$` in a file."""
TRUE = {"process": ["/bin/true"]}


def run_until_killed(stage: Stage, **phases: Any) -> list[int]:
    """Run an experiment in a process that is killed once LONG runs. Return the ids of LONG and its child."""
    document = {"name": "x", "steady_state": [TRUE], "method": [TRUE], **phases}
    (stage.folder / "x.json").write_text(json.dumps(document))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    runner = subprocess.Popen([sys.executable, "-c", RUN, str(stage.folder)], env=env)
    try:
        until((stage.folder / "began").exists)
    finally:
        runner.kill()
        runner.wait()
    return [int(pid) for pid in (stage.folder / "began").read_text().split()]


def test_the_process_of_an_action_is_ended_before_the_action_is_undone(stage: Stage) -> None:
    undo = {"process": ["/bin/sh", "-c", "echo yes > undone"]}
    pids = run_until_killed(stage, method=[{"process": LONG, "undo": undo}])
    assert [birth_of(pid) is None for pid in pids] == [False, False]
    (view,) = stage.ledger.views()
    done = stage.ledger.undo_left(view.id, "a test")
    assert [(how.says, result.ok) for how, result in done] == [
        (f"end /bin/sh (process {pids[0]})", True),
        ("run /bin/sh -c 'echo yes > undone'", True),
    ]
    assert [birth_of(pid) for pid in pids] == [None, None]
    assert (stage.folder / "undone").read_text() == "yes\n"


def test_the_process_of_a_check_ends_with_the_runner(stage: Stage) -> None:
    pids = run_until_killed(stage, steady_state=[{"process": LONG}])
    until(lambda: [birth_of(pid) for pid in pids] == [None, None])


def test_nothing_is_left_to_end_after_an_action_that_ended_by_itself(stage: Stage) -> None:
    document = {"name": "x", "steady_state": [TRUE], "method": [{"process": ["/bin/sh", "-c", "echo $$$$"]}]}
    journal = stage.run(experiment_of(document, stage.folder))
    assert journal.result.outcome == "held"
    assert journal.document["faultkit"]["undone"] == []
    (view,) = stage.ledger.views()
    pid = journal.document["run"][0]["output"]["stdout"].strip()
    (intent,) = view.intents
    assert (intent.undo.says, intent.is_left) == (f"end /bin/sh (process {pid})", False)


def test_an_action_is_not_begun_where_its_end_cannot_be_written_down(stage: Stage, tmp_path: Path) -> None:
    method = [{"name": "x", "process": ["touch", "begun"]}]
    document = {"name": "x", "steady_state": [TRUE], "method": method}

    def remove(event: Any) -> None:
        if event.kind == "action_began":
            (lease,) = (tmp_path / "state" / "leases").glob("*.jsonl")
            lease.unlink()

    stage.on_event = remove
    journal = stage.run(experiment_of(document, stage.folder))
    assert journal.result.outcome == "aborted"
    assert "what is to be undone cannot be written down" in str(journal.result.action_error)
    assert not (tmp_path / "begun").exists()


def test_a_service_that_ends_at_once_has_not_started(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.chaos.steps.process_steps._STARTS_S", 60.0)
    method = [{"name": "web", "start": ["/bin/sh", "-c", "exit 3"]}]
    journal = stage.run(experiment_of({"name": "x", "steady_state": [TRUE], "method": method}, stage.folder))
    assert (journal.result.outcome, journal.result.exit_code) == ("aborted", 4)
    assert journal.result.action_error == "web: /bin/sh ended at once, with 3"


def wait_for_end(file: str) -> bool:
    pid = int(Path(file).read_text())
    until(lambda: birth_of(pid) is None)
    return True


@pytest.mark.parametrize("by_signal", [False, True])
def test_a_service_that_ends_later_is_told(stage: Stage, by_signal: bool) -> None:
    service = "trap 'exit 4' TERM; echo $$$$ > pid; until [ -e go ]; do sleep 0.01; done; exit 4"
    end = {"signal": {"process": "web", "signal": "TERM"}} if by_signal else {"process": ["touch", "go"]}
    wait = {"function": f"{__name__}:wait_for_end", "arguments": {"file": str(stage.folder / "pid")}}
    method = [
        {"name": "web", "start": ["/bin/sh", "-c", service]},
        {"process": ["/bin/sh", "-c", "until [ -s pid ]; do sleep 0.01; done"]},
        end,
        {"python": wait},
    ]
    journal = stage.run(experiment_of({"name": "x", "steady_state": [TRUE], "method": method}, stage.folder))
    assert journal.result.outcome == "held"
    pid = journal.document["run"][0]["output"]["pid"]
    told = [] if by_signal else [f"web (process {pid}) ended with 4 before the rollback"]
    assert journal.document["faultkit"]["warnings"] == told


def test_a_command_keeps_variables_whose_names_a_shell_would_drop(stage: Stage) -> None:
    def prints(name: str) -> dict[str, Any]:
        script = f"import os; print(os.environ['{name}'])"
        return {"process": {"command": [sys.executable, "-c", script], "env": {name: "kept"}}}

    steps = [prints("PLAIN"), prints("a.b")]
    journal = stage.run(experiment_of({"name": "x", "steady_state": steps, "method": steps}, stage.folder))
    assert journal.result.outcome == "held"
    assert [run["output"]["stdout"] for run in journal.document["run"]] == ["kept\n"] * 2


def test_commands_do_not_get_the_tokens_that_steer_faults(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT_CONTROL_TOKEN", "secret")
    monkeypatch.setenv("FAULT_CHAOS_TOKEN", "secret")
    monkeypatch.setenv("OTHER_TOKEN", "its own")

    def writes(file: str) -> list[str]:
        return ["/bin/sh", "-c", f"env | grep TOKEN= > {file}.part; mv {file}.part {file}"]

    given = {"command": writes("given"), "env": {"FAULT_CONTROL_TOKEN": "${FAULT_CONTROL_TOKEN}"}}
    document = {
        "name": "x",
        "steady_state": [{"process": writes("check")}],
        "method": [
            {"process": writes("action"), "undo": {"process": writes("undo")}},
            {"process": given},
            {"name": "service", "start": writes("start")},
            {"process": ["/bin/sh", "-c", "until [ -e start ]; do sleep 0.01; done"]},
        ],
    }
    environment = {"FAULT_CONTROL_TOKEN": "secret"}
    journal = stage.run(experiment_of(document, stage.folder, environment))
    assert journal.result.outcome == "held"
    found = {
        file: (stage.folder / file).read_text() for file in ("check", "action", "start", "undo", "given")
    }
    only_its_own = "OTHER_TOKEN=its own\n"
    assert {found.pop("check"), found.pop("action"), found.pop("start"), found.pop("undo")} == {only_its_own}
    assert sorted(found["given"].splitlines()) == ["FAULT_CONTROL_TOKEN=secret", "OTHER_TOKEN=its own"]
