"""Experiment files: every mistake at once with its line and a suggestion; folders; game days."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.chaos.experiment.experiment_file import (
    GameDayFile,
    find_runnable,
    load_day,
    load_experiment,
    read_catalog,
    read_experiment,
    validate,
)
from faultkit.chaos.experiment.experiment_model import Experiment, ToolkitExperiment

GOOD = """\
name: shop-survives-slow-redis
description: The shop answers in time while Redis is slow.
environment: [local, staging]
limits:
  max_duration: 2m
seed: 42
steady_state:
  - name: the shop answers
    http: http://127.0.0.1:8000/
  - name: redis listens
    tcp: 127.0.0.1:6379
    limit: 1s
method:
  - name: slow redis
    proxy:
      control: 127.0.0.1:7070
      token: ${TOKEN}
      add: {fault: latency, with: {mean_ms: 300}}
  - pause: 5s
  - name: traffic
    process: [curl, -s, "http://127.0.0.1:8000/"]
    background: true
    undo: {process: "true"}
during: {every: 1s}
rollback:
  - http: {method: POST, url: "http://127.0.0.1:8000/reset"}
"""


def problems_of(text: str) -> list[str]:
    return [str(error) for error in read_experiment(text, "x.yaml", {"TOKEN": "t"})[1]]


def test_a_good_file_is_read_completely() -> None:
    experiment, problems = read_experiment(GOOD, "chaos/x.yaml", {"TOKEN": "secret"})
    assert problems == []
    assert isinstance(experiment, Experiment)
    assert (experiment.name, experiment.seed, experiment.max_duration_s) == (
        "shop-survives-slow-redis",
        42,
        120.0,
    )
    assert experiment.environments == ("local", "staging")
    assert [(step.name, step.role, step.kind) for step in experiment.method] == [
        ("slow redis", "action", "proxy"),
        ("pause 5s", "pause", "pause"),
        ("traffic", "action", "process"),
    ]
    assert experiment.method[0].work.token == "secret"
    assert experiment.during is not None
    assert experiment.during.checks == experiment.steady_state
    assert "secret" not in str(experiment.written)


def test_every_mistake_is_reported_with_its_line() -> None:
    bad = (
        GOOD.replace("limit: 1s", "limt: 1s")
        .replace("pause: 5s", "pause: -5s")
        .replace("seed: 42", "seed: true")
    )
    bad = bad.replace("mean_ms: 300", "mean_ms: -1")
    assert problems_of(bad) == [
        "x.yaml: line 6: seed: expected a whole number or a text, got true",
        'x.yaml: line 12: steady_state[1].limt: unknown key; did you mean "limit"?',
        "x.yaml: line 18: method[0].proxy.add.with.mean_ms: expected a number of at least 0, got -1.0",
        "x.yaml: line 19: method[1].pause: expected a duration with its unit such as "
        '"10s" or "1h 30m", got "-5s"',
    ]


HEAD = "name: x\nsteady_state: [{tcp: 1}]\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "x.yaml: expected one experiment, got a file without one"),
        ("[]", "x.yaml: line 1: expected a mapping, got a list"),
        ("a: 1\n---\nb: 2\n", "x.yaml: expected one experiment, got 2 documents"),
        ("name: x\nname: y\n", 'x.yaml: line 2, column 1: key "name" is given twice'),
        ("name: x\nmethod: []\n", "x.yaml: line 1: steady_state: expected a list of at least one check"),
        (HEAD, "x.yaml: line 1: method: expected a list of steps (it may be empty), got nothing"),
        (HEAD + "method: [{}]\n", "x.yaml: line 3: method[0]: expected one of http, tcp, process, "),
        (HEAD + "method: [{tcp: 1, http: x}]\n", "x.yaml: line 3: method[0]: expected one of http, "),
        (HEAD + "method: [{htp: x}]\n", 'x.yaml: line 3: method[0].htp: unknown key; did you mean "http"?'),
        (HEAD + "method: [{http: ftp://a}]\n", "x.yaml: line 3: method[0].http.url: expected a URL such as "),
        (
            HEAD + "method: [{tcp: 70000}]\n",
            "x.yaml: line 3: method[0].tcp.address: expected an address such as",
        ),
        (
            HEAD + "method: [{pause: .nan}]\n",
            "x.yaml: line 3: method[0].pause: expected a duration with its unit",
        ),
        (
            HEAD + "method: [{process: []}]\n",
            "x.yaml: line 3: method[0].process.command: expected a command such",
        ),
        (HEAD + "method: [{python: 3}]\n", "x.yaml: line 3: method[0].python: expected a mapping, got 3"),
        (
            HEAD + "method: [{python: os}]\n",
            "x.yaml: line 3: method[0].python.function: expected a function such",
        ),
        (
            HEAD + "method: [{fault: {register: a}}]\n",
            "x.yaml: line 3: method[0].fault.fault_type: expected a text, got nothing",
        ),
        (
            HEAD + "method: [{fault: {register: a, fault_type: latency, probability: 2}}]\n",
            "x.yaml: line 3: method[0].fault.probability: expected",
        ),
        (
            HEAD + "method: [{signal: {process: web, signal: STOP}}]\n",
            "x.yaml: line 3: method[0].signal.process: expected the name of a start step before it",
        ),
        (
            HEAD + "method: [{signal: {pid: 1, signal: KILL}}]\n",
            "x.yaml: line 3: method[0].signal.pid: expected a whole number from 2 to ",
        ),
        (
            HEAD + "method: [{signal: {pid: 5, signal: SIGWHAT}}]\n",
            "x.yaml: line 3: method[0].signal.signal: expected the name of a signal such as SIGSTOP",
        ),
        (
            HEAD + "method: [{start: sleep 1, expect: 3}]\n",
            "x.yaml: line 3: method[0].expect: expected nothing: start is an action, not a check",
        ),
        (
            HEAD + "method: [{tcp: 1, background: true}]\n",
            "x.yaml: line 3: method[0].background: expected nothing: a check has no effect",
        ),
        (
            HEAD + "method: [{name: a, tcp: 1}, {name: a, tcp: 2}]\n",
            'x.yaml: line 3: method[1].name: expected a name that no step before it has, got "a"',
        ),
        (
            HEAD + "method: []\nrollback: [{start: sleep 1}]\n",
            "x.yaml: line 4: rollback[0].start: expected one of http, process, python, fault, proxy, ",
        ),
        (
            HEAD + "method: []\nrollback: [{signal: {pid: 5, signal: KILL}}]\n",
            "x.yaml: line 4: rollback[0].signal: expected SIGCONT to a pid or pid_file",
        ),
        (
            HEAD
            + "method: []\nrollback: [{proxy: {control: 127.0.0.1:1, token: t, add: {fault: refuse}}}]\n",
            "x.yaml: line 4: rollback[0].proxy: expected remove or plan",
        ),
        (
            HEAD + "method: [{gateway: {control: 127.0.0.1:1, token: t, add: {fault: latency}}}]\n",
            "x.yaml: line 3: method[0].gateway.add.fault: expected a fault of calls",
        ),
        (
            HEAD + "method: [{mcp: {tool: a}}]\n",
            "x.yaml: line 3: method[0].mcp: expected a command or a url of an MCP server, got neither",
        ),
        (
            HEAD + "method: [{promql: {query: up}}]\n",
            "x.yaml: line 3: method[0].promql.url: expected a URL such as",
        ),
        (
            HEAD + "method: [{slo: {inline: {title: a}}}]\n",
            "x.yaml: line 3: method[0].slo.inline.items: expected a list of at least one item, got nothing",
        ),
        (
            HEAD + "method: [{http: 'http://${ABSENT}/'}]\n",
            "x.yaml: line 3: method[0].http: expected the variable ABSENT to be set, or ${ABSENT:-otherwise}",
        ),
        (
            HEAD + "method: []\nlimits: {max_duration: 60}\n",
            "x.yaml: line 4: limits.max_duration: expected a dur",
        ),
        (
            HEAD + "method: []\nduring: {}\n",
            "x.yaml: line 4: during.every: expected a duration with its unit",
        ),
        (HEAD + "methd: []\n", 'x.yaml: line 3: methd: unknown key; did you mean "method"?'),
    ],
)
def test_a_mistake_is_named_with_what_was_expected(text: str, problem: str) -> None:
    assert any(each.startswith(problem) for each in problems_of(text)), problems_of(text)


@pytest.mark.parametrize(
    ("step", "path"),
    [
        ("{python: {function: 'a:b', arguments: {day: 2026-01-02}}}", "python.arguments"),
        ("{http: {url: 'http://127.0.0.1/', json: {day: 2026-01-02}}}", "http.json"),
    ],
)
def test_values_that_json_does_not_know_are_reported_before_a_run(step: str, path: str) -> None:
    (problem,) = problems_of(f"{HEAD}method:\n  - {step}\n")
    assert f"method[0].{path}: expected values that JSON knows, such as a date in quotes" in problem


def test_variables_have_a_value_for_when_they_are_not_set() -> None:
    text = HEAD + "method: [{http: 'http://${HOST:-127.0.0.1}:${PORT}/$$x'}]\n"
    experiment, _ = read_experiment(text, "x.yaml", {"PORT": "80", "HOST": ""})
    assert isinstance(experiment, Experiment)
    assert experiment.method[0].work.url == "http://127.0.0.1:80/$x"


def test_json_is_read_as_json_and_still_has_lines() -> None:
    text = '{\n\t"name": "x",\n\t"steady_state": [{"tcp": 1}],\n\t"method": [{"pause": 1e1}]\n}'
    for each in (text, text.replace("\t", "  ")):
        (problem,) = [str(error) for error in read_experiment(each, "x.json")[1]]
        assert problem.startswith("x.json: line 4: method[0].pause: expected a duration with its unit")


def test_a_folder_gives_its_experiments_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(HEAD + "method: []\n")
    (tmp_path / "b.yml").write_text("title: theirs\ndescription: d\nmethod: []\n")
    (tmp_path / "c.json").write_text('{"name": "x", "steady_state": [{"tcp": 1}], "method": []}')
    (tmp_path / "d.yaml").write_text("name: 3\n")
    catalog = read_catalog(tmp_path)
    found, problems = catalog.experiments, catalog.problems
    assert sorted(found) == ["theirs", "x"]
    assert isinstance(found["theirs"], ToolkitExperiment)
    assert next(error.problem for error in problems).startswith(
        "expected a name that no other experiment has"
    )
    assert len(problems) == 2
    with pytest.raises(InputError, match='unknown experiment "their"; did you mean "theirs"'):
        catalog.experiment("their")
    assert catalog.experiment("x").file == tmp_path / "a.yaml"


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: no such file"):
        load_experiment(tmp_path / "none.yaml")
    assert len(validate(tmp_path / "none.yaml")) == 1


# --- folders and game days -----------------------------------------------------------------------


FORM = "name: {name}\nsteady_state: [{{process: ['true']}}]\nmethod: []\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(FORM.format(name=name))
    (tmp_path / "c.json").write_text('{"title": "c", "description": "", "method": []}')
    (tmp_path / "day.yml").write_text("gameday: Monday\nexperiments: [a.yaml, b]\ntogether: true\n")
    return tmp_path


def test_a_folder_lists_experiments_and_game_days_by_name(folder: Path) -> None:
    (folder / "again.yaml").write_text(FORM.format(name="a"))
    catalog = read_catalog(folder)
    assert list(catalog.experiments) == ["a", "b", "c"]
    assert catalog.days == {"Monday": folder / "day.yml"}
    [problem] = catalog.problems
    assert "expected a name that no other experiment has" in str(problem)
    assert read_catalog(folder / "nowhere").experiments == {}


def test_one_is_found_by_its_file_or_its_name(folder: Path) -> None:
    for given in (str(folder / "a.yaml"), "a"):
        found = find_runnable(given, folder)
        assert isinstance(found, Experiment)
        assert found.name == "a"
    with pytest.raises(InputError, match='unknown experiment "x"; expected one of a, b, c'):
        find_runnable("x", folder)
    with pytest.raises(InputError, match="expected a file that is there"):
        find_runnable("x.yaml", folder)


def test_a_game_day_names_files_or_experiments(folder: Path) -> None:
    for given in (str(folder / "day.yml"), "Monday"):
        day = find_runnable(given, folder)
        assert isinstance(day, GameDayFile)
        assert ([each.name for each in day.experiments], day.together, day.stop) == (["a", "b"], True, False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gameday: [1]\nexperiments: [a]", "gameday: expected a title, got a list"),
        ("gameday: M\nexperiments: []", "experiments: expected a list of files or names, got a list"),
        ("gameday: M\nexperiments: [a, a.yaml]", 'expected each of them once, got "a" twice'),
        ("gameday: M\nexperiments: [7]", r"experiments\[0\]: expected a file or the name"),
        ("gameday: M\nexperiments: [a]\ntogether: 1", "together: expected true or false, got 1"),
        ("gameday: M\nexperiment: [a]", "experiment: unknown key"),
        ("gameday: M\nexperiments: [z]", 'unknown experiment "z"'),
    ],
)
def test_a_mistake_in_a_game_day_is_reported(folder: Path, text: str, problem: str) -> None:
    (folder / "day.yml").write_text(text)
    with pytest.raises(InputError, match=problem):
        load_day(folder / "day.yml")
