"""`fault test` and `mcptest run`: the selected tests, the output and the exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from faultkit.cli.entry import invoke_mcptest
from faultkit.cli.main import invoke
from tests.agents.execute.suite_runs import HEAD, program, server_code, write
from tests.agents.kinds.provider_turns import environment, turn
from tests.llm.scripted_provider import ScriptedServer

EXAMPLES = Path(__file__).parents[3] / "examples"
SUITE = (
    HEAD
    + """
agents:
  - name: comes back
    agent: retrying
    inject: [back]
    recovery: { max_detection_ms: 3000 }
    tags: [good]
  - name: never comes back
    agent: looping
    inject: [hung]
    recovery: { max_detection_ms: 3000 }
    tags: [bad]
"""
)
PATIENCE_S = 20.0


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path, SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_all_passed_is_0_and_something_that_did_not_is_1(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["test", "suite.yml", "--tag", "good"]) == 0
    assert lines(capsys)[-1].startswith("2 tests: 2 passed")
    assert invoke(["test", "suite.yml"]) == 1
    said = lines(capsys)
    assert said[-1].startswith("4 tests: 3 passed, 1 failed")
    assert any("never comes back (recovery): did not recover" in line for line in said)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nosuch.yml"], "nosuch.yml: there is no such suite"),
        (["--config", "nosuch.yml"], "nosuch.yml: there is no such suite"),
        (["empty"], "a folder without any"),
        ([], "a folder without any"),
        (["suite.yml", "--shard", "3/2"], "--shard: expected I/N"),
        (["suite.yml", "--filter", "re:("], "--filter: expected a regular expression"),
        (["suite.yml", "--timeout", "0s"], "--timeout: expected more than 0"),
        (["suite.yml", "--timeout", "soon"], "--timeout"),
        (["suite.yml", "--reporter", "jsn"], 'unknown reporter "jsn"; did you mean'),
        (
            ["suite.yml", "--reporter", "json", "--reporter", "tap"],
            "expected one on stdout, got json and tap",
        ),
        (["suite.yml", "--reporter", "json=no/such/folder.json"], "expected a file in a folder"),
        (["suite.yml", "--output", "x.json"], "expected a --reporter without a file of its own"),
        (["suite.yml", "--var", "x"], "--var: expected NAME=VALUE"),
        (["suite.yml", "--last-failed"], "there was no run in this folder before"),
        (["suite.yml", "--real-time", "--scale", "2"], "expected only one of --real-time and --scale"),
        (["suite.yml", "--scale", "0"], "--scale"),
    ],
)
def test_what_is_wrong_is_said_and_is_2(
    here: Path, capsys: pytest.CaptureFixture[str], args: list[str], says: str
) -> None:
    (here / "empty").mkdir()
    assert invoke(["test", *args]) == 2
    assert says in capsys.readouterr().err


def test_a_suite_with_a_mistake_names_file_and_line_and_runs_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "wrong.yml").write_text(SUITE.replace("agent: retrying", "agent: retyring"))
    assert invoke(["test", "suite.yml", "wrong.yml"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "wrong.yml: line 11: agents[0].agent" in said.err
    assert "did you mean" in said.err


def test_a_target_that_a_live_server_does_not_have_is_2_with_a_report(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = program(here, "server.py", server_code())
    body = f"""
servers: {{ s: {{ command: {argv} }} }}
faults: ["hang@serach"]
agents: [{{ name: a, agent: naive, inject: [hang] }}]
"""
    (here / "live.yml").write_text(body)
    assert invoke(["test", "suite.yml", "live.yml", "--tag", "good", "--json"]) == 0
    capsys.readouterr()
    assert invoke(["test", "suite.yml", "live.yml", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert [len(document["tests"]), document["metadata"]["suites"][1]["file"]] == [4, "live.yml"]
    assert "serach" in document["metadata"]["suites"][1]["problem"]


def test_no_test_at_all_is_7_unless_that_is_allowed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["test", "suite.yml", "--filter", "zzz"]) == 7
    assert capsys.readouterr().err == "no test was selected\n"
    assert invoke(["test", "suite.yml", "--filter", "zzz", "--pass-with-no-tests"]) == 0


def test_collect_only_says_which_and_runs_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["test", "suite.yml", "--collect-only"]) == 0
    assert lines(capsys) == ["suite.yml::comes back", "suite.yml::never comes back"]
    assert invoke(["test", "suite.yml", "--collect-only", "--shard", "2/2"]) == 0
    assert lines(capsys) == ["suite.yml::never comes back"]
    assert not (here / ".fault_cache").exists()


def test_a_failure_of_a_test_that_was_not_run_is_not_forgotten(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = "servers: { s: { mock: tools.yml } }\ntools:\n"
    tests = [
        f"  - {{ name: {name}, tool: search, expect: [{{ contains: xyzzy }}] }}\n" for name in ("one", "two")
    ]
    (here / "l.suite.yml").write_text(tools + "".join(tests))
    assert invoke(["test", "l.suite.yml"]) == 1
    assert invoke(["test", "l.suite.yml", "--filter", "one"]) == 1
    capsys.readouterr()
    assert invoke(["test", "l.suite.yml", "--last-failed", "--collect-only"]) == 0
    assert capsys.readouterr().out.splitlines() == ["l.suite.yml::one", "l.suite.yml::two"]


def test_last_failed_runs_what_did_not_pass_and_nothing_once_all_do(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["test", "suite.yml"]) == 1
    capsys.readouterr()
    assert invoke(["test", "suite.yml", "--last-failed", "--collect-only"]) == 0
    assert lines(capsys) == ["suite.yml::never comes back"]
    (here / "suite.yml").write_text(SUITE.replace("looping", "naive"))
    assert invoke(["test", "suite.yml", "--last-failed"]) == 0
    assert lines(capsys)[-1].startswith("2 tests: 2 passed")
    assert invoke(["test", "suite.yml", "--last-failed"]) == 7
    (here / ".fault_cache" / "last-failed.json").write_text("{")
    assert invoke(["test", "suite.yml", "--last-failed"]) == 2


def test_without_a_path_the_usual_names_are_looked_for_in_this_folder(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "suite.yml").rename(here / "a.suite.yml")
    (here / "mcptest.yml").write_text(SUITE)
    assert invoke(["test", "--collect-only", "--tag", "good"]) == 0
    assert lines(capsys) == ["a.suite.yml::comes back", "mcptest.yml::comes back"]


def test_several_reporters_each_to_its_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["json=r.json", "junit=r.xml", "html=r.html", "sarif=r.sarif", "tap"]
    args = [word for each in wanted for word in ("--reporter", each)]
    assert invoke(["test", "suite.yml", *args]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("TAP version 14")
    assert said.err.splitlines() == ["json: r.json", "junit: r.xml", "html: r.html", "sarif: r.sarif"]
    document = json.loads((here / "r.json").read_text())
    assert document["summary"]["failed"] == 1
    assert invoke(["test", "suite.yml", "--reporter", "json", "--output", "o.json"]) == 1
    assert capsys.readouterr().out == ""
    assert json.loads((here / "o.json").read_text())["summary"] | {"duration_ms": 0} == document[
        "summary"
    ] | {"duration_ms": 0}


def test_a_seed_and_a_number_of_runs_from_the_command_line(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["test", "suite.yml", "--tag", "good", "--repeat", "5", "--seed", "7", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    gate = document["tests"][1]
    assert document["metadata"]["seed"] == 7
    assert [run["seed"] for run in gate["runs"]] == [7, "7#1", "7#2", "7#3", "7#4"]
    assert (gate["passed_share"]["hits"], gate["passed_share"]["total"]) == (5, 5)


def test_a_variable_from_the_command_line_goes_before_the_suites_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "suite.yml").write_text("variables: { who: looping }\n" + SUITE.replace("looping", '"${who}"'))
    assert invoke(["test", "suite.yml", "--tag", "bad"]) == 1
    assert invoke(["test", "suite.yml", "--tag", "bad", "--var", "who=naive"]) == 0


def test_snapshots_are_written_when_asked_and_held_against_later(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = 'tools: [{ name: t, tool: search, expect: [{ target: "result.content", snapshot: true }] }]\n'
    (here / "suite.yml").write_text(HEAD + test)
    assert invoke(["test", "suite.yml"]) == 1
    assert "--update-snapshots writes it" in capsys.readouterr().out
    assert invoke(["test", "suite.yml", "--update-snapshots"]) == 0
    assert json.loads((here / "snapshots" / "suite.json").read_text()) == {
        "t: result.content": [{"type": "text", "text": "found"}]
    }
    assert invoke(["test", "suite.yml"]) == 0
    (here / "tools.yml").write_text((here / "tools.yml").read_text().replace("found", "lost"))
    assert invoke(["test", "suite.yml"]) == 1


def test_tokens_of_a_model_are_something_to_expect(
    here: Path, capsys: pytest.CaptureFixture[str], server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment("openai", server.url).items():
        monkeypatch.setenv(name, value)
    body = (
        HEAD
        + """
agents:
  - name: m
    model: gpt-4o
    prompt: Search.
    inject: [hung]
    recovery: { max_detection_ms: 3000 }
    expect: [{ target: conversation.tokens.total, exact: 36 }]
"""
    )
    (here / "suite.yml").write_text(body)
    for clock in ([], ["--scale", "10"]):
        server.play(turn("openai", "", ("search", {})), turn("openai", "It hangs."))
        assert invoke(["test", "suite.yml", *clock]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_report_of_what_there_is(here: Path, sign: int) -> None:
    argv = program(here, "server.py", server_code(calling="time.sleep(3600)"))
    hanging = f"""
servers: {{ s: {{ command: {argv} }} }}
tools: [{{ name: t, tool: search }}]
"""
    (here / "live.yml").write_text(hanging)
    command = [sys.executable, "-m", "faultkit", "test", "suite.yml", "live.yml"]
    command += ["--reporter", "pretty", "--reporter", "json=r.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "never comes back (recovery)" in line:
                break
        process.send_signal(sign)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + sign
    document = json.loads((here / "r.json").read_text())
    assert document["metadata"]["interrupted"] is True
    assert [test["name"] for test in document["tests"]][:1] == ["comes back"]


@pytest.mark.parametrize("flags", [[], ["--bail"]])
def test_a_test_that_was_running_at_an_interruption_has_a_row(here: Path, flags: list[str]) -> None:
    os.mkfifo(here / "began")
    code = f"import time; print('yes', file=open({str(here / 'began')!r}, 'w'), flush=True); time.sleep(3600)"
    (here / "suite.yml").write_text(
        HEAD
        + f"agents: [{{ name: a, agent: {{ command: {json.dumps([sys.executable, '-c', code])} }}, "
        + "inject: [hung], prompt: go, recovery: { max_detection_ms: 9 } }]\n"
    )
    command = [sys.executable, "-m", "faultkit", "test", "suite.yml", "--reporter", "json=r.json", *flags]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        assert (here / "began").read_text() == "yes\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + signal.SIGINT
    document = json.loads((here / "r.json").read_text())
    assert (document["metadata"]["interrupted"], document["metadata"]["bailed"]) == (True, False)
    [row] = document["tests"]
    assert (row["name"], row["status"]) == ("a", "error")
    assert row["message"] == "the run was interrupted before it had ended"


def test_mcptest_run_takes_the_seeds_own_command_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The printed example, with a scripted server in place of the paid model."""
    for name, value in environment("anthropic", server.url).items():
        monkeypatch.setenv(name, value)
    suite = str(EXAMPLES / "fault-injection-recovery.yml")
    search, word = ("search", {"query": "latest incident"}), "The search does not answer; I could not look."
    monkeypatch.chdir(tmp_path)
    server.play(turn("anthropic", "", search), turn("anthropic", word))
    assert invoke_mcptest(["run", "--config", suite]) == 0
    assert "recovered in 3000 ms (virtual) after 1 detection(s); detection budget 3000 ms" in (
        capsys.readouterr().out
    )
    server.play(turn("anthropic", "", search), turn("anthropic", "", search), turn("anthropic", word))
    assert invoke_mcptest(["run", "--config", suite]) == 1
    assert "max_recovery_ms is 5000: recovered in 6000 ms" in capsys.readouterr().out
    server.play(*[turn("anthropic", "", search)] * 20)
    assert invoke_mcptest(["run", "--config", suite]) == 1
    assert "did not recover: the run hit the injected fault" in capsys.readouterr().out
    server.play(turn("anthropic", word))
    assert invoke_mcptest(["run", "--config", suite]) == 1
    assert "not exercised" in capsys.readouterr().out
    assert invoke_mcptest(["run", "--config", "nosuch.yml"]) == 2


def test_each_mistake_of_a_suite_has_a_line_of_its_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here, "servers: { shop: { mock: tools.yml } }\nnosuch: 1\ntools: [{ name: t, tool: nosuch }]\n")
    assert invoke(["test", "suite.yml"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("error: suite.yml: line 2: nosuch: ")
    assert second.startswith("error: suite.yml: line 3: tools[0].tool: ")


@pytest.mark.parametrize("file", ["suite.yml", "tools.yml", "./link.yml"])
def test_a_report_is_never_written_over_what_a_suite_is_read_from(
    here: Path, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    (here / "link.yml").symlink_to("suite.yml")
    assert invoke(["test", "suite.yml", "--reporter", f"json={file}"]) == 2
    assert "--reporter: expected json in a file of its own" in capsys.readouterr().err
    assert (here / "suite.yml").read_text() == SUITE


@pytest.mark.parametrize(
    ("args", "flag"),
    [
        (["test", "suite.yml", "--var", "UNUSED=3"], "--var"),
        (["test", "rank", "suite.yml", "--vary", "agent=naive,nope"], "--vary"),
    ],
)
def test_a_variable_that_no_suite_has_is_a_mistake(
    here: Path, capsys: pytest.CaptureFixture[str], args: list[str], flag: str
) -> None:
    assert invoke(args) == 2
    assert capsys.readouterr().err.startswith(f"error: {flag}: expected a variable")


def test_a_run_that_ended_at_the_first_failure_says_so(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["test", "suite.yml", "--tag", "bad", "--bail", "--json"]) == 1
    metadata = json.loads(capsys.readouterr().out)["metadata"]
    assert (metadata["bailed"], metadata["interrupted"]) == (True, False)
    assert invoke(["test", "suite.yml", "--tag", "bad", "--bail"]) == 1
    assert "the run ended at the first failure (--bail)" in capsys.readouterr().out


def test_a_test_with_only_is_refused_where_it_is_forbidden(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "suite.yml").write_text(SUITE.replace("tags: [good]", "only: true"))
    assert invoke(["test", "suite.yml"]) == 0
    assert capsys.readouterr().err == "only tests with `only: true` are run\n"
    assert invoke(["test", "suite.yml", "--forbid-only"]) == 2
    assert capsys.readouterr().err == (
        "error: suite.yml: line 10: comes back: expected no `only: true` (--forbid-only)\n"
    )


def test_a_repeated_test_says_its_attempt(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["test", "suite.yml", "--retry", "2", "--json"]) == 1
    found = {test["name"]: test["details"] for test in json.loads(capsys.readouterr().out)["tests"]}
    assert found == {
        "comes back": {},
        "comes back (recovery)": {},
        "never comes back": {"attempt": 3},
        "never comes back (recovery)": {"attempt": 3},
    }


def test_a_suite_of_nothing_but_what_is_not_run_is_no_success(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "suite.yml").write_text("compliance: [{ name: alive, check: ping }]\n")
    assert invoke(["test", "suite.yml"]) == 7
    assert capsys.readouterr().err.splitlines() == [
        "suite.yml: line 1: compliance: not run: `fault edge` probes a server",
        "no test was selected",
    ]


def test_what_is_not_run_is_in_the_output(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "suite.yml").write_text(f"{HEAD}tools: [{{ name: t, tool: search }}]\nconformance: {{}}\n")
    assert invoke(["test", "suite.yml"]) == 0
    passed, lane, summary = lines(capsys)
    assert lane == "– skipped       lane conformance: not run: `fault edge` probes a server"
    assert summary.startswith("2 tests: 1 passed, 1 skipped")
    assert passed.startswith("✓")


@pytest.mark.parametrize("args", [["--no-color"], []])
def test_colours_can_be_switched_off(here: Path, args: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("click.secho", lambda *given, **more: seen.append(click.get_current_context().color))
    invoke(["test", "suite.yml", *args])
    assert set(seen) == {False if args else None}
