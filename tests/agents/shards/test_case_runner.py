"""A worker's own side: what it refuses, and suites that it runs in a copy."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.agents.shards.case_lines import SUITE
from faultkit.agents.shards.case_runner import CaseRunner
from faultkit.agents.shards.plan_suites import MOST_BYTES, plan_suites
from faultkit.agents.shards.suite_plan import SuitePlan, suite_plan_of
from faultkit.agents.suite.results import ResultRow
from faultkit.agents.suite.run_options import RunOptions
from faultkit.base.errors import InputError
from faultkit.load.split import segment_to_json, split
from faultkit.load.work import read_part
from tests.agents.execute.suite_runs import HEAD, program, server_code, write
from tests.agents.shards.replayed_place import Collected, chosen_of, lines_of, planned

SUITE_TEXT = HEAD + "agents: [{ name: a, agent: retrying, inject: [back] }]\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with suites that another machine does not have: see `moved`."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def moved(home: Path) -> None:
    """Let this machine be another one: the files are no longer there."""
    os.chdir(home.parent)
    shutil.move(home, home.parent / "elsewhere")


def rows_of(plan: SuitePlan) -> list[ResultRow]:
    (part,) = split(plan, ["token"])
    reader = SUITE.reader(part)
    found = []
    for line in lines_of(part)[:-1]:
        message = reader.read(line)
        for text in message.outcomes.values():  # type: ignore[union-attr]
            found += json.loads(text)["rows"]
    return found


def problem_of(plan: SuitePlan) -> str:
    (part,) = split(plan, ["token"])
    cwd = os.getcwd()
    try:
        with pytest.raises(InputError) as raised:
            CaseRunner(Collected(), part)  # type: ignore[arg-type]
        return str(raised.value)
    finally:
        os.chdir(cwd)


def test_a_plan_goes_through_json_unchanged(home: Path) -> None:
    plan = planned(chosen_of(write(home, SUITE_TEXT)), seed="x", repeat=3)
    (part,) = split(plan, ["token"])
    assert read_part(segment_to_json(part)) == part
    assert suite_plan_of(plan.document) == plan
    assert (part.seed, plan.most_parts) == ("x", 3)


@pytest.mark.parametrize("name", ["suite.yml", "tools.yml", "snapshots/suite.json"])
def test_the_digest_tells_every_file_that_decides_the_tests(home: Path, name: str) -> None:
    file = write(home, SUITE_TEXT)
    (home / "snapshots").mkdir()
    (home / "snapshots/suite.json").write_text("{}")
    before = planned(chosen_of(file)).digest
    assert planned(chosen_of(file)).digest == before
    (home / name).write_text((home / name).read_text() + "\n")
    assert planned(chosen_of(file)).digest != before
    options = ({"seed": 1}, {"repeat": 2}, {"retries": 1}, {"clock": "real"})
    assert len({planned(chosen_of(file), **each).digest for each in options}) == len(options)


def test_files_that_are_not_there_are_copied_and_reports_name_them_as_they_were(home: Path) -> None:
    write(home, SUITE_TEXT.replace("tools.yml", "more/tools.yml"))
    (home / "more").mkdir()
    (home / "tools.yml").rename(home / "more/tools.yml")
    absolute = write(home, SUITE_TEXT + "\n", "other.yml")
    chosen = chosen_of("suite.yml", absolute)
    plan = planned(chosen)
    moved(home)
    files = [row["place"]["file"] for row in rows_of(plan)]  # type: ignore[index]
    assert files == ["suite.yml", str(absolute)]


def test_a_file_that_has_changed_meanwhile_is_run_as_it_was_planned(home: Path) -> None:
    file = write(home, SUITE_TEXT)
    plan = planned(chosen_of(file))
    file.write_text("nonsense: true\n")
    assert [row["verdict"] for row in rows_of(plan)] == ["passed"]  # type: ignore[index]


def test_variables_come_from_the_coordinator_and_not_from_the_worker(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect = 'expect: [{ target: final_response, exact: "${SAID} and ${UNSET:-nothing}" }]'
    script = 'agent: { script: [grep], say: "hello and nothing" }'
    file = write(home, HEAD + f"agents: [{{ name: a, {script}, {expect} }}]\n")
    monkeypatch.setenv("SAID", "hello")
    plan = planned(chosen_of(file))
    monkeypatch.setenv("SAID", "other")
    monkeypatch.setenv("UNSET", "set")
    assert [row["verdict"] for row in rows_of(plan)] == ["passed"]  # type: ignore[index]


def test_only_variables_that_the_suites_name_leave_the_machine(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAMED", "1")
    monkeypatch.setenv("OTHER_SECRET", "2")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "3")
    body = """
servers: { s: { url: "http://example.invalid/mcp", auth: { bearer_token_env: TOKEN } } }
agents: [{ name: a, model: claude-sonnet-4-5, prompt: "${NAMED}" }]
"""
    plan = planned(chosen_of(write(home, body)))
    key = {"ANTHROPIC_API_KEY": "3", "ANTHROPIC_BASE_URL": None}
    assert plan.env == {**key, "NAMED": "1", "TOKEN": None}
    assert set(plan.exported) == {*key, "TOKEN"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda home, argv: moved(home), "expected the file "),
        (lambda home, argv: argv.unlink(), "expected the program "),
    ],
)
def test_a_program_that_a_worker_does_not_have_is_refused_before_anything_runs(
    home: Path,
    change: object,
    says: str,
) -> None:
    python = home.parent / "my-python"
    python.symlink_to(sys.executable)
    program(home, "server.py", server_code())
    body = f"""
servers: {{ s: {{ command: ["{python}", "server.py"] }} }}
tools: [{{ name: a, server: s, tool: search }}]
"""
    plan = planned(chosen_of(write(home, body)))
    change(home, python)  # type: ignore[operator]
    said = problem_of(plan)
    assert says in said
    assert 'suite.yml: server "s": ' in said
    assert "on the worker's machine, got none: programs are not copied there" in said


def test_a_program_that_nothing_has_is_an_error_of_its_test_as_on_one_machine(home: Path) -> None:
    body = 'servers: { s: { command: ["no-such-program"] } }\ntools: [{ name: a, server: s, tool: x }]\n'
    rows = rows_of(planned(chosen_of(write(home, body))))
    assert [row["verdict"] for row in rows] == ["error"]  # type: ignore[index]


def test_a_part_runs_once(home: Path) -> None:
    (part,) = split(planned(chosen_of(write(home, SUITE_TEXT))), ["token"])
    with CaseRunner(Collected(), part) as runner:  # type: ignore[arg-type]
        runner.run(0.0)
        with pytest.raises(InputError, match="token: expected a segment that has not been run"):
            runner.run(0.0)


def test_a_part_of_another_version_or_plan_is_refused(home: Path) -> None:
    plan = planned(chosen_of(write(home, SUITE_TEXT)))
    (part,) = split(plan, ["token"])
    for changed, says in (
        (replace(part, version="9.9"), "version: expected a segment of faultkit"),
        (replace(part, digest="0" * 64), "digest: expected"),
        (replace(part, plan=replace(plan, seed=9)), "digest: expected"),
    ):
        with pytest.raises(InputError, match=says):
            CaseRunner(Collected(), changed)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=says):
            read_part(segment_to_json(changed))


@pytest.mark.parametrize("path", ["/a/../../etc/x", "relative", "/a/./b"])
def test_a_path_that_leads_elsewhere_is_refused(home: Path, path: str) -> None:
    document = planned(chosen_of(write(home, SUITE_TEXT))).document
    with pytest.raises(ValueError, match="expected an absolute path"):
        suite_plan_of({**document, "files": {path: ""}})


def test_suites_that_are_too_large_to_send_are_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.agents.shards.plan_suites.MOST_BYTES", 2**20)
    file = write(home, SUITE_TEXT + "#" * 2**20)
    assert MOST_BYTES > 2**20
    with pytest.raises(InputError, match=rf"at most 1 MiB in all, got 1 MiB; the largest is {file}"):
        plan_suites(chosen_of(file), RunOptions(), {})
