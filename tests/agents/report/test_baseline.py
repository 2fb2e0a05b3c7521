"""`fault test --baseline`: what is worse than in an earlier run, what is gone, and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.cli.main import invoke
from tests.agents.execute.suite_runs import HEAD, write

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


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path, SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_compared_with_an_earlier_run_only_what_is_worse_fails(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["test", "suite.yml", "--reporter", "json=main.json"]) == 1
    capsys.readouterr()
    assert invoke(["test", "./suite.yml", "--baseline", "main.json"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "not passed, as before: 1 row",
        "compared with main.json: nothing is worse",
    ]
    now = SUITE.replace("agent: looping", "agent: naive").replace("retrying", "looping", 1)
    now = now.replace("failures: 1", "failures: 99")
    new = "  - { name: brand new, agent: looping, inject: [hung], recovery: { max_detection_ms: 3000 } }\n"
    (here / "suite.yml").write_text(now + new)
    assert invoke(["test", "suite.yml", "--baseline", "main.json"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "worse: comes back (recovery): passed before, failed now",
        "worse: brand new (recovery): new, failed",
        "better: never comes back (recovery): failed before, passed now",
        "compared with main.json: 2 worse",
    ]


def test_a_longer_recovery_is_told_and_does_not_fail(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["test", "suite.yml", "--tag", "good", "--reporter", "json=main.json"]) == 0
    (here / "suite.yml").write_text(SUITE.replace("failures: 1", "failures: 2"))
    capsys.readouterr()
    assert invoke(["test", "suite.yml", "--tag", "good", "--baseline", "main.json"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "slower: comes back (recovery): recovery in 3000 ms before, 6000 ms now",
        "compared with main.json: nothing is worse",
    ]


def baseline(*args: str) -> None:
    invoke(["test", *(args or ("suite.yml",)), "--reporter", "json=main.json"])


@pytest.mark.parametrize("how", ["removed", "only"])
def test_a_test_that_passed_and_is_gone_from_its_suite_is_worse(
    here: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline()
    removed = (
        SUITE[: SUITE.index("  - name: comes back")] + SUITE[SUITE.index("  - name: never comes back") :]
    )
    only = SUITE.replace("tags: [bad]", "only: true")
    (here / "suite.yml").write_text(removed if how == "removed" else only)
    capsys.readouterr()
    assert invoke(["test", "suite.yml", "--baseline", "main.json"]) == 1
    assert capsys.readouterr().err.splitlines()[-4:] == [
        "worse: comes back: passed before, no longer run",
        "worse: comes back (recovery): passed before, no longer run",
        "not passed, as before: 1 row",
        "compared with main.json: 2 worse",
    ]


def test_tests_that_are_left_out_on_purpose_or_did_not_pass_are_named_and_do_not_fail(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline()
    capsys.readouterr()
    assert invoke(["test", "suite.yml", "--tag", "good", "--baseline", "main.json"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "no longer run: 2 rows: never comes back (passed before) "
        "and never comes back (recovery) (failed before)",
        "compared with main.json: nothing is worse of what was run",
    ]
    (here / "other.yml").write_text(SUITE[: SUITE.index("  - name: never comes back")])
    assert invoke(["test", "other.yml", "--baseline", "main.json"]) == 0
    assert capsys.readouterr().err.splitlines()[0].startswith("no longer run: 4 rows: ")


def test_a_baseline_holds_from_whichever_folder_the_command_is_run(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline()
    same = ["not passed, as before: 1 row", "compared with {}: nothing is worse"]
    for folder, path in ((here.parent, here.name), (here / "below", "..")):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        capsys.readouterr()
        for suite in (f"{path}/suite.yml", str(here / "suite.yml")):
            assert invoke(["test", suite, "--baseline", f"{path}/main.json"]) == 0
            assert capsys.readouterr().err.splitlines() == [line.format(f"{path}/main.json") for line in same]


def test_suites_of_one_name_in_several_folders_are_told_apart(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (here / name).mkdir()
        write(here / name, SUITE.replace("comes back", f"{name} comes back"))
    baseline("a/suite.yml", "b/suite.yml")
    (here / "main.json").rename(here.parent / "elsewhere.json")
    monkeypatch.chdir(here / "b")
    capsys.readouterr()
    assert invoke(["test", "suite.yml", "--baseline", "../../elsewhere.json"]) == 0
    first, second, _ = capsys.readouterr().err.splitlines()
    assert first == "not passed, as before: 1 row"
    assert second.startswith("no longer run: 4 rows: a comes back (passed before), ")


@pytest.mark.parametrize("args", [["--reporter", "json=./main.json"], ["--json", "--output", "main.json"]])
def test_a_report_is_never_written_over_the_baseline(
    here: Path, args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    baseline()
    before = (here / "main.json").read_text()
    capsys.readouterr()
    assert invoke(["test", "suite.yml", "--baseline", "main.json", *args]) == 2
    assert capsys.readouterr().err == (
        "error: --reporter: expected json in a file of its own, got main.json, the --baseline\n"
    )
    assert (here / "main.json").read_text() == before


def test_a_baseline_that_is_no_report_is_refused_before_anything_is_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "main.json").write_text('{"tests": [1]}')
    assert invoke(["test", "suite.yml", "--baseline", "main.json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: --baseline: expected a report of `fault test --reporter json=FILE`")
