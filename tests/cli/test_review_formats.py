"""`fault review --format`: annotations of GitHub and GitLab, JUnit XML and SARIF on stdout."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest

from faultkit.cli.main import invoke
from tests.code.rules.sarif_subset import SARIF

BAD = "import requests\n\n\ndef load(url):\n    return requests.get(url).json()[0]\n"
QUIET = "import requests\n\n\ndef load(url):\n    return requests.get(url).text  # fault: ignore[FK-R] here\n"
TIMEOUT = "Give the call or its client a timeout that is shorter than what your own callers wait."
STATUS = "Check the status first: raise_for_status(), if (!res.ok) throw, resp.StatusCode."
GITLAB: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": r"^[^/.]"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""What GitLab requires of a Code Quality report, by its documentation."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a folder that has a finding, one whose findings are hidden, and a clean file."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)
    for name, text in {
        "app.py": BAD,
        "clean.py": "x = 1\n",
        "quiet.py": QUIET,
        "tests/test_a.py": BAD,
    }.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path / "src")
    return tmp_path


def review(form: str, *args: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert invoke(["review", *(args or (".",)), "--format", form, "--kind", "reliability"]) == 0
    return capsys.readouterr().out


def test_github_gets_a_command_for_each_finding_the_most_severe_first(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "src" / "a.py").write_text("def f(x, into=[]):\n    into.append(x)\n")
    assert review("github", capsys=capsys) == (
        "::error file=src/app.py,line=5,endLine=5,col=12,title=HTTP call without a timeout (FK-R001)"
        f"::requests.get() has no timeout and may wait for ever. {TIMEOUT}\n"
        "::warning file=src/a.py,line=1,endLine=1,col=15,title=Mutable default argument (FK-R025)"
        "::all calls share the default of into. Use None as the default and make the list or dict inside the"
        " function.\n"
        "::warning file=src/app.py,line=5,endLine=5,col=12,title=Response status not checked (FK-R026)"
        f"::the answer of requests.get() is used whatever its status is. {STATUS}\n"
    )


def test_a_finding_of_several_lines_has_no_column(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "src" / "a,b%.py").write_text("import requests\n\nx = requests.get(\n    'http://a',\n)\n")
    out = review("github", "a,b%.py", capsys=capsys)
    assert out.startswith("::error file=src/a%2Cb%25.py,line=3,endLine=5,title=HTTP call")


def test_a_review_without_findings_prints_no_command(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert review("github", "clean.py", capsys=capsys) == ""


def test_gitlab_gets_a_report_with_paths_from_the_top_of_the_repository(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = document = json.loads(review("gitlab", capsys=capsys))
    jsonschema.validate(document, GITLAB)
    assert first == {
        "description": f"requests.get() has no timeout and may wait for ever. {TIMEOUT}",
        "check_name": "FK-R001",
        "fingerprint": first["fingerprint"],
        "severity": "major",
        "location": {"path": "src/app.py", "lines": {"begin": 5, "end": 5}},
    }
    assert (second["check_name"], second["severity"]) == ("FK-R026", "minor")
    assert first["fingerprint"] != second["fingerprint"]


def test_a_fingerprint_is_that_of_sarif_and_survives_other_lines(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [each["fingerprint"] for each in json.loads(review("gitlab", capsys=capsys))]
    (project / "src" / "app.py").write_text(f'"""Load."""\n\n{BAD}')
    assert [each["fingerprint"] for each in json.loads(review("gitlab", capsys=capsys))] == before
    (run,) = json.loads(review("sarif", capsys=capsys))["runs"]
    assert [each["partialFingerprints"]["faultkit/v1"] for each in run["results"]] == before


def test_an_empty_report_is_an_empty_list(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(review("gitlab", "clean.py", capsys=capsys)) == []


def test_junit_has_a_failure_for_each_finding_and_a_pass_for_each_clean_file(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "src" / "a.rb").write_text("puts 1\n")
    (suite,) = junitparser.JUnitXml.fromstring(review("junit", capsys=capsys).encode())
    assert (suite.name, suite.failures, suite.errors, suite.skipped) == ("fault review", 2, 0, 1)
    cases = {(case.classname, case.name): [type(each).__name__ for each in case.result] for case in suite}
    assert cases == {
        ("src/app.py", "HTTP call without a timeout (FK-R001), line 5"): ["Failure"],
        ("src/app.py", "Response status not checked (FK-R026), line 5"): ["Failure"],
        ("src/clean.py", "nothing to report"): [],
        ("src/quiet.py", "nothing to report"): [],
        ("src/tests/test_a.py", "nothing to report"): [],
        ("src/a.rb", "can be reviewed"): ["Skipped"],
    }
    failure = next(case for case in suite if case.name.startswith("HTTP")).result[0]
    assert (failure.type, failure.message) == (
        "FK-R001",
        "requests.get() has no timeout and may wait for ever",
    )
    assert failure.text.startswith("src/app.py:5: high: requests.get() has no timeout")


def test_sarif_goes_to_stdout(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(review("sarif", capsys=capsys))
    jsonschema.validate(document, SARIF)
    assert [each["ruleId"] for each in document["runs"][0]["results"]] == ["FK-R001", "FK-R026"]


def test_json_is_what_the_flag_prints(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_format = review("json", capsys=capsys)
    assert invoke(["review", ".", "--json", "--kind", "reliability"]) == 0
    assert capsys.readouterr().out == by_format


def test_formats_of_ci_say_on_stderr_what_was_not_read_and_keep_the_gate(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "src" / "a.rb").write_text("puts 1\n")
    (project / "src" / "broken.py").write_text("def f(:\n    pass\n\n\nx = 1\n")
    assert invoke(["review", ".", "--format", "github", "--fail-on", "high"]) == 1
    err = capsys.readouterr().err
    assert "skipped a.rb: " in err
    assert "warning: broken.py: not all of it could be read" in err


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--json", "--format", "github"], "--json: expected no --format beside it but json, got github"),
        (["--format", "junit", "--prove"], "--format: expected text or json with --prove, got junit"),
    ],
)
def test_formats_that_contradict_are_wrong_input(
    project: Path, args: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["review", "app.py", *args]) == 2
    assert capsys.readouterr().err == f"error: {problem}\n"
