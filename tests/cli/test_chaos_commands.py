"""`fault chaos` in this process: output, files and exit codes."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest
from rich.console import Console

from faultkit.chaos.experiment.experiment_model import Event
from faultkit.chaos.safety.ledger import Ledger
from faultkit.chaos.safety.undo import Undo
from faultkit.cli.chaos_run import _stop_signal
from faultkit.cli.chaos_view import ExperimentView
from faultkit.cli.main import invoke

FORM = """\
name: {name}
description: It holds.
steady_state:
  - {{name: steady, process: [sh, -c, "{steady}"]}}
method:
  - {{name: act, process: [sh, -c, "{act}"], undo: {{process: [sh, -c, "{undo}"]}}}}
"""
OUTCOMES = {
    "held": ("true", "touch acted", "rm acted", 0),
    "deviated": ("test ! -e acted", "touch acted", "rm acted", 1),
    "gate_not_met": ("false", "touch acted", "rm acted", 3),
    "aborted": ("true", "false", "true", 4),
    "rollback_failed": ("true", "true", "exit 7", 5),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAULT_CHAOS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("FAULT_STORE", str(tmp_path / "audit.db"))
    for name in ("FAULT_CHAOS_LIMITS", "FAULT_ENVIRONMENT", "FAULT_CHAOS_EXPERIMENTS", "FAULT_CHAOS_LEASE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "chaos").mkdir()
    return tmp_path


def write(name: str, outcome: str = "held") -> Path:
    steady, act, undo, _ = OUTCOMES[outcome]
    file = Path("chaos") / f"{name}.yaml"
    text = FORM.format(name=name, steady=steady, act=act, undo=undo)
    file.write_text(text.replace("acted", f"{name}-acted"))
    return file


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_run_ends_with_the_code_of_its_outcome(
    outcome: str, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    write("one", outcome)
    assert invoke(["chaos", "run", "one", "--json"]) == OUTCOMES[outcome][3]
    journal = json.loads(capsys.readouterr().out)
    assert journal["faultkit"]["outcome"] == outcome
    assert not (here / "chaos" / "one-acted").exists()


def test_what_is_written_wrong_ends_with_2_and_names_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("chaos/one.yaml").write_text("name: one\nsteady_state:\n  - {htp: x}\nmethod: []\n")
    assert invoke(["chaos", "run", "chaos/one.yaml"]) == 2
    said = capsys.readouterr().err
    assert "chaos/one.yaml: line 3: steady_state[0].htp: unknown key" in said
    assert invoke(["chaos", "validate"]) == 2
    assert capsys.readouterr().err == said


def test_an_unavailable_store_is_wrong_input_and_not_an_unmet_steady_state(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("one")
    assert invoke(["chaos", "run", "one", "--store", "chaos/one.yaml/x.db"]) == 2
    assert "--store: " in capsys.readouterr().err


def test_the_error_for_a_repeated_name_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    write("one")
    Path("chaos/two.yaml").write_text("# the same\n" + Path("chaos/one.yaml").read_text())
    Path("chaos/zday.yaml").write_text("gameday: x\nexperiments:\n  - one\n  - absent\n")
    assert invoke(["chaos", "validate"]) == 2
    said = capsys.readouterr().err
    assert "chaos/two.yaml: line 2: name: expected a name that no other experiment has" in said
    assert 'chaos/zday.yaml: line 4: experiments[1]: unknown experiment "absent"' in said


def test_a_game_day_is_checked_although_its_experiments_need_variables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("one")
    text = Path("chaos/one.yaml").read_text()
    Path("chaos/one.yaml").write_text(
        text.replace("description: ", "description: ${NOT_SET_1} ${NOT_SET_2} ")
    )
    Path("chaos/day.yaml").write_text("gameday: x\nexperiments: [one]\n")
    assert invoke(["chaos", "validate", "chaos/day.yaml"]) == 0
    assert "not set, so their values are not checked: NOT_SET_1, NOT_SET_2" in capsys.readouterr().err


def test_reports_are_written_by_their_extension(capsys: pytest.CaptureFixture[str]) -> None:
    write("one", "deviated")
    names = ["r.md", "r.html", "r.xml", "r.json", "r.txt"]
    flags = [part for name in names for part in ("--report", name)]
    assert invoke(["chaos", "run", "one", *flags, "--journal", "j.json"]) == 1
    assert capsys.readouterr().out.startswith("one: The steady state deviated\n")
    assert all(Path(name).stat().st_size for name in names)
    assert json.loads(Path("j.json").read_text()) == json.loads(Path("r.json").read_text())
    # A journal holds the experiment as it is written, and so perhaps secrets.
    assert [Path(name).stat().st_mode & 0o077 for name in ("j.json", "r.json")] == [0, 0]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--report", "r.pdf"], "expected a file that ends in .md, .html, .xml, .txt, .json"),
        (["--journal", "nowhere/j.json"], "expected a folder that exists"),
        (["--journal", "chaos/one.json"], "chaos/one.json: expected a file of its own for output"),
        (["--journal", "j.json", "--report", "./j.json"], "expected a file for each output"),
        (["--lease", "0.1s"], "--lease: expected at least 1s"),
        (["--lease", "soon"], "--lease: "),
        (["--limits", "none.yaml"], "none.yaml"),
    ],
)
def test_wrong_flags_end_with_2_before_anything_is_begun(
    args: list[str], said: str, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    write("one")
    Path("chaos/one.yaml").rename("chaos/one.json")
    assert invoke(["chaos", "run", "one", *args]) == 2
    assert said in capsys.readouterr().err
    assert not (here / "state").exists()


def test_a_report_that_cannot_be_written_costs_only_itself(capsys: pytest.CaptureFixture[str]) -> None:
    write("one")
    Path("full.md").symlink_to("/dev/full")
    assert invoke(["chaos", "run", "one", "--report", "full.md", "--report", "r.md"]) == 4
    assert Path("r.md").exists()
    assert "full.md: the report cannot be written" in capsys.readouterr().err


def test_a_dry_run_shows_the_plan_and_changes_nothing(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    write("one")
    assert invoke(["chaos", "run", "one", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "dry run: nothing was changed" in said
    assert "method    act" in said
    assert "undone by: run sh" in said
    assert not (here / "chaos" / "one-acted").exists()


def test_several_are_a_game_day_that_ends_with_the_gravest_code(capsys: pytest.CaptureFixture[str]) -> None:
    write("one")
    write("two", "deviated")
    assert invoke(["chaos", "run", "one", "chaos/two.yaml", "--together"]) == 1
    assert capsys.readouterr().out.endswith("Game day: 1 of 2 held\n")
    Path("chaos/day.yaml").write_text("gameday: Monday\nexperiments: [two, one]\nstop: true\n")
    assert invoke(["chaos", "run", "Monday", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["gameday"], told["not_run"], len(told["journals"])) == ("Monday", ["one"], 1)
    assert invoke(["chaos", "run", "one", "one"]) == 2
    assert invoke(["chaos", "run", "one", "Monday"]) == 2


def test_limits_are_of_a_file_and_of_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("one")
    monkeypatch.setenv("FAULT_ENVIRONMENT", "production")
    assert invoke(["chaos", "run", "one"]) == 2
    assert '"production" is not among those where faults are allowed' in capsys.readouterr().out
    Path("limits.yaml").write_text("environments: [production]\n")
    assert invoke(["chaos", "run", "one", "--limits", "limits.yaml"]) == 0
    Path("limits.yaml").write_text("environmnts: [production]\n")
    assert invoke(["chaos", "run", "one", "--limits", "limits.yaml"]) == 2


def test_experiments_and_problems_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["chaos", "list"]) == 0
    assert "no experiments in chaos" in capsys.readouterr().err
    write("one")
    Path("chaos/bad.yaml").write_text("name: bad\n")
    assert invoke(["chaos", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    expected = {"name": "one", "file": "chaos/one.yaml", "description": "It holds."}
    assert told["experiments"] == [expected]
    assert "chaos/bad.yaml" in told["problems"][0]


STEADY = "steady_state: [{process: ['true']}]"
REFUSED = {
    f"name: x\n{STEADY}\nmethod: [{{python: 'no_such_module:f'}}]\n": "method[0].python",
    f"name: x\n{STEADY}\nmethod: [{{process: [no-such-program]}}]\n": "no-such-program",
    f"name: x\nlimits: {{max_duration: 99h}}\n{STEADY}\nmethod: []\n": "expected at most 600",
    f"name: x\n{STEADY}\nmethod: [{{scenario: absent.yaml}}]\n": "absent.yaml",
    f"name: x\n{STEADY}\nmethod: [{{http: {{url: 'http://127.0.0.1:9/', method: FETCH}}}}]\n": 'got "FETCH"',
    "name: x\nsteady_state: [{http: 'http://127.0.0.1:9/', expect: {target: statuss, equals: 200}}]\n"
    "method: []\n": 'unknown target "statuss"; did you mean "status"?',
    f"name: x\n{STEADY}\nmethod: [{{process: {{command: ['true'], folder: no-folder}}}}]\n": (
        'method[0].process.folder: expected a folder that exists, got "no-folder"'
    ),
    f"name: x\n{STEADY}\nmethod: [{{start: {{command: ['true'], folder: no-folder}}}}]\n": (
        "method[0].start.folder"
    ),
    "name: x\nsteady_state: [{tcp: '127.0.0.1:9', expect: {target: status, equals: 200}}]\n"
    "method: []\n": "steady_state[0].expect: expected a status, one of open, refused, unreachable, got 200",
    "name: x\nsteady_state: [{process: ['true']}]\nmethod: [{fault: {register: a, metadata: {amount: 99999},"
    " fault_type: resource_exhaustion}}]\n": "method[0].fault",
    '{"title": "x", "description": "y", "method": [{"type": "action", "name": "a", "provider": '
    '{"type": "python", "module": "no_such_module", "func": "f"}}]}': "no_such_module",
}


@pytest.mark.parametrize(("text", "problem"), REFUSED.items(), ids=range(len(REFUSED)))
def test_validate_finds_what_a_run_would_refuse(
    text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("chaos/one.yaml").write_text(text)
    assert invoke(["chaos", "validate"]) == 2
    assert problem in capsys.readouterr().err


def test_validate_needs_no_variable_to_be_set(capsys: pytest.CaptureFixture[str]) -> None:
    change = "{control: '${NO_PROXY_SET}', token: '${NO_TOKEN_SET}', add: {fault: refuse}}"
    Path("chaos/one.yaml").write_text(f"name: x\n{STEADY}\nmethod: [{{proxy: {change}}}]\n")
    Path("chaos/day.yaml").write_text("gameday: Black Friday\nexperiments: [one.yaml]\n")
    assert invoke(["chaos", "validate"]) == 0
    said = capsys.readouterr()
    assert said.out == "valid: chaos/day.yaml, chaos/one.yaml\n"
    assert "their values are not checked: NO_PROXY_SET, NO_TOKEN_SET" in said.err
    Path("chaos/one.yaml").write_text(f"name: x\n{STEADY}\nmethod: [{{proxy: {change}, nam: y}}]\n")
    assert invoke(["chaos", "validate", "chaos/one.yaml"]) == 2
    assert "method[0].nam: unknown key" in capsys.readouterr().err


def test_a_game_day_is_found_by_its_title_and_by_the_name_of_its_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("one")
    Path("chaos/day.yaml").write_text("gameday: Black Friday\nexperiments: [one]\n")
    for given in ("day", "Black Friday"):
        assert invoke(["chaos", "run", given]) == 0
    capsys.readouterr()
    assert invoke(["chaos", "run", "dya"]) == 2
    assert "game days: Black Friday" in capsys.readouterr().err


def test_limits_shorten_an_experiment_that_names_no_duration(capsys: pytest.CaptureFixture[str]) -> None:
    write("one")
    Path("limits.yaml").write_text("most_duration_s: 20\n")
    assert invoke(["chaos", "run", "one", "--limits", "limits.yaml"]) == 0


def test_init_writes_an_experiment_that_is_valid_and_overwrites_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT_CONTROL_TOKEN", "t")
    args = ["chaos", "init", "cut", "--url", "http://127.0.0.1:9/x", "--dependency", "localhost:6379"]
    assert invoke(args) == 0
    text = Path("chaos/cut.yaml").read_text()
    assert "http: http://127.0.0.1:9/x" in text
    assert invoke(["chaos", "validate"]) == 0
    assert invoke(args) == 2
    assert Path("chaos/cut.yaml").read_text() == text
    for wrong in (["../x"], [".x"], ["x", "--url", "9"], ["x", "--dependency", "::::"]):
        assert invoke(["chaos", "init", *wrong]) == 2
    assert [file.name for file in Path("chaos").iterdir()] == ["cut.yaml"]


def test_status_shows_active_faults_and_results(capsys: pytest.CaptureFixture[str]) -> None:
    write("one", "deviated")
    invoke(["chaos", "run", "one"])
    lease = Ledger(Path("state").absolute()).open("a run", guarded=False)
    lease.intend(Undo("command", {"argv": ["true"]}, "mend it"))
    capsys.readouterr()
    assert invoke(["chaos", "status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["state"], each["left"]) for each in told["leases"]] == [("running", ["mend it"])]
    assert (told["total_runs"], told["success_rate"], told["stopped"]) == (1, 0.0, None)
    assert [each["outcome"] for each in told["results"]] == ["deviated"]
    lease.end("it is left")
    assert invoke(["chaos", "status"]) == 0
    said = capsys.readouterr().out
    assert "left: a run" in said
    assert "`fault chaos recover` undoes what was left" in said


def test_stop_refuses_new_work_until_it_is_released(capsys: pytest.CaptureFixture[str]) -> None:
    write("one")
    assert invoke(["chaos", "stop", "it is Friday"]) == 0
    assert invoke(["chaos", "run", "one"]) == 4
    assert "the kill switch is pulled: nothing new begins (it is Friday)" in capsys.readouterr().err
    assert invoke(["chaos", "stop", "--release"]) == 0
    assert invoke(["chaos", "run", "one"]) == 0
    assert invoke(["chaos", "stop", "--release"]) == 0
    assert capsys.readouterr().out.endswith("nothing to release: not stopped\n")


def test_stop_lists_what_is_still_broken(capsys: pytest.CaptureFixture[str]) -> None:
    lease = Ledger(Path("state").absolute()).open("a run", guarded=False)
    lease.intend(Undo("command", {"argv": ["true"]}, "mend it"))
    assert invoke(["chaos", "stop", "--wait", "10ms"]) == 4
    assert "still broken: mend it" in capsys.readouterr().err
    lease.end("over")


@pytest.mark.parametrize(("argv", "code", "word"), [("true", 0, "undone"), ("false", 5, "FAILED")])
def test_recover_undoes_and_reports_what_was_left(
    argv: str, code: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lease = Ledger(Path("state").absolute()).open("a run", guarded=False)
    lease.intend(Undo("command", {"argv": [argv]}, "mend it"))
    assert invoke(["chaos", "recover"]) == 0
    assert "not changed: its process renews it" in capsys.readouterr().out
    lease.end("it is left")
    assert invoke(["chaos", "recover"]) == code
    said = capsys.readouterr().out
    assert "a run: it ended without undoing everything" in said
    assert f"  {word}: mend it: " in said
    if code == 0:
        assert invoke(["chaos", "recover"]) == 0
        assert capsys.readouterr().out == "nothing was left broken\n"


def test_recover_forgets_a_lease_that_can_never_be_undone(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["chaos", "recover", "--forget", "nope"]) == 2
    assert 'expected a lease that is not over (there is none), got "nope"' in capsys.readouterr().err
    ledger = Ledger(Path("state").absolute())
    lease = ledger.open("a run", guarded=False)
    lease.intend(Undo("command", {"argv": ["false"]}, "mend it"))
    assert invoke(["chaos", "recover", "--forget", lease.id]) == 2
    assert "expected a lease whose process has ended" in capsys.readouterr().err
    lease.end("it is left")
    assert invoke(["chaos", "recover"]) == 5
    assert f"`fault chaos recover --forget {lease.id}` gives it up" in capsys.readouterr().out
    assert invoke(["chaos", "recover", "--forget", "other"]) == 2
    assert f'lease: expected one of {lease.id}, got "other"' in capsys.readouterr().err
    assert invoke(["chaos", "recover", "--forget", lease.id]) == 0
    assert "given up, and perhaps still broken: mend it\n" in capsys.readouterr().out
    assert invoke(["chaos", "recover"]) == 0
    assert capsys.readouterr().out == "nothing was left broken\n"


def test_recover_shows_only_what_is_open(capsys: pytest.CaptureFixture[str]) -> None:
    ledger = Ledger(Path("state").absolute())
    lease = ledger.open("a run", guarded=False)
    lease.intend(Undo("command", {"argv": ["true"]}, "mend it"))
    ledger.undo_left(lease.id, by="guardian")
    ledger.end(lease.id, "undone by the guardian: its owner is gone", "guardian")
    assert invoke(["chaos", "recover"]) == 0
    assert capsys.readouterr().out == (
        "guardians have undone 1 lease before (--all shows them)\nnothing was left broken\n"
    )
    assert invoke(["chaos", "recover", "--all"]) == 0
    assert "  undone: mend it: done\n" in capsys.readouterr().out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_a_wish_to_stop_and_a_second_one_hurries_nothing(
    number: signal.Signals, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    flag = threading.Event()
    with _stop_signal(flag) as stopping:
        assert stopping.exit_code is None
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), signal.SIGTERM)
        assert flag.is_set()
    assert stopping.exit_code == code
    assert capsys.readouterr().err == "stopping: rolling back\nrolling back: please wait\n"
    assert signal.getsignal(number) is before


EVENTS = [
    Event("run_began", 0.0, {"experiment": "one", "dry_run": False}),
    Event("phase_began", 0.0, {"phase": "gate"}),
    Event("check_ended", 0.1, {"phase": "gate", "name": "steady", "met": True, "why": None}),
    Event("phase_ended", 0.1, {"phase": "gate", "met": True}),
    Event("phase_began", 0.1, {"phase": "method"}),
    Event("action_began", 0.1, {"name": "cut", "says": "cut it"}),
    Event(
        "level_ended",
        0.1,
        {"setting": "slow.mean_ms", "value": 50.0, "unit": "ms", "phase": "gates", "rounds": 5, "met": 4},
    ),
    Event("pause_began", 0.1, {"seconds": 2.0}),
    Event("stopping", 0.2, {"why": "it was asked to stop"}),
    Event("phase_began", 0.3, {"phase": "rollback"}),
    Event("rolled_back", 0.4, {"says": "mend it", "ok": False, "message": "no"}),
]


def test_the_view_shows_the_phases_and_what_happens(here: Path) -> None:
    with open(here / "out", "w", encoding="utf-8") as file:
        console = Console(file=file, width=100)
        view = ExperimentView(console)
        for event in EVENTS:
            view.watch("one", event)
        shown = _shown(console, view)
    assert shown[0].startswith("one   ✓ gate   ✓ method   · recheck   … rollback")
    assert [line.strip() for line in shown[1:]] == [
        "gate: steady: met",
        "action: cut",
        "slow.mean_ms at 50 ms: met in 4 of 5 rounds",
        "pause for 2 s",
        "stopping: it was asked to stop",
        "rollback: mend it: FAILED: no",
    ]


def _shown(console: Console, view: ExperimentView) -> list[str]:
    with console.capture() as captured:
        console.print(view.screen(0.0))
    return captured.get().splitlines()


def test_the_help_of_each_command_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("init", "run", "validate", "list", "status", "stop", "recover", "serve"):
        assert invoke(["chaos", name, "--help"]) == 0
        assert f"Usage: fault chaos {name} " in capsys.readouterr().out
