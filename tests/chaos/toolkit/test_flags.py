"""The flags of `chaos run` do the same in `fault chaos run`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from faultkit.chaos.experiment.experiment_model import ToolkitFlags
from faultkit.chaos.experiment.toolkit_process import play_rollbacks
from faultkit.chaos.report.journal_report import chaos_report
from faultkit.cli.main import invoke
from tests.chaos.toolkit.conftest import Shop
from tests.chaos.toolkit.documents import BREAK, LOOK, action, experiment, probe, python
from tests.chaos.toolkit.documents import CASES as DOCUMENTS
from tests.chaos.toolkit.test_same_as_chaos_run import chaos_run, settled

CONFIGURED = experiment(
    "configured ${place}",
    [
        probe("typed", python("log", text="${place} ${count}")),
        action("with secrets", {**python("with_configuration", given="${place}"), "secrets": ["vault"]}),
    ],
    configuration={
        "place": "here",
        "count": 1,
        "word": {"type": "env", "key": "SHOP_FLAG_WORD", "default": "none"},
    },
    secrets={"vault": {"token": "hush"}},
)
LATE = action("late", python("log", text="late"))
BREAK_AND_WAIT = {**BREAK, "pauses": {"after": 3}}
"""After an activity and its pause the library looks whether to end the method, so the pause must outlast the
next check of the hypothesis, also on a busy machine."""
PAUSED = experiment("paused", [action("slow", python("log", text="x"), pauses={"before": 60})])
DEVIATES = experiment("deviates", [BREAK])

CASES: dict[str, tuple[dict[str, Any], list[str], int, str]] = {
    "var": (CONFIGURED, ["--var", "place=there", "--var", "count:int=7"], 0, "held"),
    "var-file": (CONFIGURED, ["--var-file", "vars.yaml", "--var", "place=first"], 0, "held"),
    "env file": (CONFIGURED, ["--var-file", "vars.env"], 0, "held"),
    "control-file": (experiment("controlled", [LOOK]), ["--control-file", "controls.json"], 0, "held"),
    "rollbacks never": (DEVIATES, ["--rollback-strategy", "never"], 1, "deviated"),
    "rollbacks deviated": (DEVIATES, ["--rollback-strategy", "deviated"], 1, "deviated"),
    "after method": (DEVIATES, ["--hypothesis-strategy", "after-method-only"], 1, "deviated"),
    "continuously": (
        experiment("continuous", [BREAK_AND_WAIT, LATE]),
        ["--hypothesis-strategy", "continuously", "--hypothesis-frequency", "0.05", "--fail-fast"],
        1,
        "deviated",
    ),
    "dry probes": (DEVIATES, ["--dry", "probes"], 6, "not_checked"),
    "dry actions": (DEVIATES, ["--dry", "actions"], 6, "not_exercised"),
    "dry activities": (DEVIATES, ["--dry", "activities"], 6, "not_checked"),
    "dry pause": (PAUSED, ["--dry", "pause"], 0, "held"),
}
"""Experiment, flags, and the exit code and outcome here."""


@pytest.fixture(autouse=True)
def files(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.folder)
    monkeypatch.setenv("SHOP_FLAG_WORD", "to be removed")  # So that it is removed again at the end.
    monkeypatch.delenv("SHOP_FLAG_WORD")
    Path("vars.yaml").write_text("configuration: {place: second, count: 9}\nsecrets: {vault: {token: t}}\n")
    Path("vars.env").write_text("# a comment\nSHOP_FLAG_WORD=given\n")
    recorder = {"provider": {"type": "python", "module": "recorder"}}
    Path("controls.json").write_text(json.dumps({"recorder": recorder}))
    Path("list.json").write_text("[]")
    Path("one.json").write_text('{"configuration": [1]}')
    Path("lost.json").write_text('{"lost": {"provider": {"type": "python", "module": "no"}}}')
    Path("runtime.yaml").write_text("runtime: 3\n")
    Path("part.yaml").write_text("runtime: {rollbacks: 3}\n")
    Path("bad.env").write_text("A=1\nnothing\n")


def fault_run(shop: Shop, file: Path, *flags: str) -> tuple[int, dict[str, Any]]:
    places = ["--settings", str(shop.settings), "--state", "state", "--store", "audit.db"]
    code = invoke(["chaos", "run", str(file), *flags, *places, "--journal", "ours.json"])
    return code, json.loads(Path("ours.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_flag_means_what_it_means_to_chaos_run(
    shop: Shop, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, flags, expected, outcome = CASES[name]
    file = shop.file(document)
    _, theirs = chaos_run(shop, file, *flags)
    their_state, their_log = shop.state, shop.log
    monkeypatch.delenv("SHOP_FLAG_WORD", raising=False)
    shop.begin()
    code, ours = fault_run(shop, file, *flags)
    assert (code, ours.pop("faultkit")["outcome"]) == (expected, outcome)
    assert (shop.state, sorted(set(shop.log))) == (their_state, sorted(set(their_log)))
    assert "late" not in their_log  # --fail-fast has ended the method.
    for journal in (ours, theirs):
        # How often, and in the middle of which change, is a matter of time.
        assert bool(journal["steady_states"].pop("during")) == (name == "continuously")
    assert settled(ours) == settled(theirs)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--var", "place"], '--var: expected NAME=VALUE or NAME:TYPE=VALUE, got "place"'),
        (["--var", "count:int=x"], "--var count:int: invalid literal for int"),
        (
            ["--var", "count:bool=maybe"],
            '--var count:bool: expected true or false, yes or no, 1 or 0, got "maybe"',
        ),
        (["--var-file", "one.json"], "--var-file: one.json: configuration: expected a mapping, got a list"),
        (["--control-file", "one.json"], "--control-file: one.json: configuration: expected a mapping, got"),
        (
            ["--control-file", "lost.json"],
            'lost.json: lost.provider.module: expected a module that can be imported, got "no"',
        ),
        (["--settings", "runtime.yaml"], "--settings: runtime.yaml: runtime: expected a mapping, got 3"),
        (["--settings", "part.yaml"], "runtime.rollbacks: expected a mapping, got 3"),
        (
            ["--hypothesis-frequency", "nan"],
            "--hypothesis-frequency: expected a number of seconds above 0, got",
        ),
        (
            ["--hypothesis-frequency", "inf"],
            "--hypothesis-frequency: expected a number of seconds above 0, got",
        ),
        (["--var-file", "absent.yaml"], "--var-file: absent.yaml: "),
        (["--var-file", "list.json"], "--var-file: list.json: expected a mapping"),
        (["--var-file", "bad.env"], '--var-file: bad.env: line 2: expected NAME=VALUE, got "nothing"'),
        (["--control-file", "vars.env"], "--control-file: vars.env: expected a file that ends in"),
        (["--settings", "absent.yaml"], "--settings: absent.yaml: "),
        (["--dry", "all"], "'all' is not one of 'probes', 'actions', 'activities', 'pause'"),
    ],
)
def test_a_wrong_flag_ends_with_2(
    shop: Shop, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = shop.file(experiment("one", []))
    assert invoke(["chaos", "run", str(file), *flags, "--state", "s", "--store", "a.db"]) == 2
    output = capsys.readouterr()
    assert said in output.err + output.out
    assert shop.log == []


def test_a_variable_that_the_configuration_lacks_is_told(shop: Shop) -> None:
    code, ours = fault_run(shop, shop.file(CONFIGURED), "--var", "plaec:str=there", "--var", "place=there")
    assert code == 0
    assert ours["faultkit"]["warnings"] == [
        "--var plaec does nothing: the configuration of the experiment has no such key"
    ]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (
            "only-failed-actions",
            "Not exercised: every action of the method failed: boom: chaoslib.exceptions.ActivityFailed: "
            "RuntimeError: it broke; exits: it ended with exit code 3",
        ),
        ("empty-method", "Not exercised: the method has no action"),
        ("only-probes", "Not exercised: the method has no action"),
    ],
)
def test_a_method_that_breaks_nothing_proves_nothing(shop: Shop, name: str, error: str) -> None:
    code, ours = fault_run(shop, shop.file(DOCUMENTS[name]), "--report", "report.xml")
    told = ours["faultkit"]
    assert (code, told["outcome"], told["error"], told["warnings"]) == (6, "not_exercised", error, [])
    assert (ours["status"], ours["deviated"]) == ("completed", False)
    assert "<error" in Path("report.xml").read_text()


def test_a_failed_action_beside_one_that_works_is_a_warning(shop: Shop) -> None:
    code, ours = fault_run(shop, shop.file(DOCUMENTS["failed-action"]))
    told = ours["faultkit"]
    why = "boom: chaoslib.exceptions.ActivityFailed: RuntimeError: it broke"
    assert (code, told["outcome"], told["action_error"]) == (0, "held", why)
    assert told["warnings"] == [f"action failed, so it may have broken nothing: {why}"]


@pytest.mark.parametrize(
    ("dry", "not_run", "undone"),
    [
        ("probes", ["gate", "recheck"], ["mend"]),
        ("actions", ["rollback"], []),
        ("activities", ["gate", "method", "recheck", "rollback"], []),
    ],
)
def test_what_a_flag_leaves_out_is_not_reported_as_done(
    shop: Shop, dry: str, not_run: list[str], undone: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, ours = fault_run(shop, shop.file(DEVIATES), "--dry", dry)
    told = ours["faultkit"]
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines if line[1:3] == ["not", "run"]] == not_run
    assert [each["says"] for each in told["undone"]] == undone
    kinds = {event["kind"] for event in told["events"]}
    assert ("check_ended" in kinds, "action_ended" in kinds) == ("gate" not in not_run, bool(undone))
    [run] = chaos_report("", [ours], "").runs
    assert (run.before, run.after) == ((None, None) if "gate" in not_run else (True, True))


def test_rollbacks_that_are_not_played_are_told(shop: Shop) -> None:
    reports = ("--report", "never.md", "--report", "never.html")
    code, ours = fault_run(shop, shop.file(DEVIATES), "--rollback-strategy", "never", *reports)
    assert code == 1
    assert "| deviated | yes | no | not played |" in Path("never.md").read_text()
    assert "not played" in Path("never.html").read_text()
    assert ours["faultkit"]["warnings"] == ["the rollbacks are not played: the rollback strategy is never"]


def test_a_key_of_a_file_that_the_experiment_lacks_is_told(shop: Shop) -> None:
    Path("more.yaml").write_text(
        "configuration: {place: a, plaec: b}\nsecrets: {valut: {token: t}}\nplace: c\n"
    )
    code, ours = fault_run(shop, shop.file(CONFIGURED), "--var-file", "more.yaml")
    assert code == 0
    lacks = "of the experiment has no such key"
    assert ours["faultkit"]["warnings"] == [
        f"--var-file more.yaml: configuration.plaec does nothing: the configuration {lacks}",
        f"--var-file more.yaml: secrets.valut does nothing: the secrets {lacks}",
        "--var-file more.yaml: place does nothing: expected configuration or secrets",
    ]


def test_the_flags_need_a_file_of_chaos_toolkit(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.yaml").write_text(
        "name: own\nsteady_state: [{name: a, process: {command: ['true']}}]\nmethod: [{pause: 1ms}]\n"
    )
    assert invoke(["chaos", "run", "own.yaml", "--fail-fast", "--state", "s", "--store", "a.db"]) == 2
    assert capsys.readouterr().err == (
        "error: --fail-fast: expected an experiment in the format of Chaos Toolkit, got none\n"
    )


def test_rollbacks_in_another_process_have_the_values_of_files_that_are_gone(shop: Shop) -> None:
    told = action("told", python("log", text="${place} ${count}"))
    place = {"place": "here", "count": 1}
    document = experiment("rolled back", [], rollbacks=[told], configuration=place)
    flags = ToolkitFlags(("count:int=7",), (("gone.yaml", "configuration: {place: there}"),))
    order = {"file": str(shop.file(document)), "flags": json.loads(json.dumps(asdict(flags)))}
    assert play_rollbacks({"order": order, "each_s": 30}, 60).failures == []
    assert shop.log == ["there 7"]
