"""`fault_review_code`: findings of a file, a folder or a change, with what an agent needs to check them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from faultkit.agent_tools.code_tools import SEVERITIES
from faultkit.cli.main import invoke
from faultkit.code.rules import SEVERITIES as KNOWN_SEVERITIES
from tests.agent_tools.test_code_tools import done, failed

BAD = """\
import requests


def load(url):
    return requests.get(url).json()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "tests").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "app.py").write_text(BAD)
    (folder / "tests" / "test_app.py").write_text(BAD)
    return folder


def git(folder: Path, *args: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True)


def test_the_listed_severities_are_those_of_the_rules() -> None:
    assert SEVERITIES == KNOWN_SEVERITIES


def test_a_folder_gives_findings_and_when_to_ignore_them(project: Path) -> None:
    found = done("fault_review_code", {"path": str(project)})
    document = found.structured
    assert json.loads(found.text) == document
    first = document["findings"][0]
    assert (first["rule"], first["severity"], first["line"]) == ("FK-R001", "high", 5)
    assert first["file"].endswith("app.py")
    assert (document["files"], document["left_out"], document["skipped"]) == (1, 1, [])
    assert set(document["rules"]) == {each["rule"] for each in document["findings"]}
    assert document["rules"]["FK-R001"]["when_to_ignore"].startswith("When the call may take")


def test_the_most_severe_come_first_and_the_rest_is_counted(project: Path) -> None:
    every = done("fault_review_code", {"path": str(project / "app.py")}).structured
    ranks = [SEVERITIES.index(each["severity"]) for each in every["findings"]]
    assert len(ranks) > 1
    assert ranks == sorted(ranks, reverse=True)
    one = done("fault_review_code", {"path": str(project / "app.py"), "most": 1}).structured
    assert one["findings"] == every["findings"][:1]
    assert one["more"] == len(ranks) - 1
    high = done("fault_review_code", {"path": str(project / "app.py"), "min_severity": "high"}).structured
    assert {each["severity"] for each in high["findings"]} == {"high"}


def test_since_a_ref_only_what_is_new_is_listed(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    assert done("fault_review_code", {"path": str(project), "since": "HEAD"}).structured["findings"] == []
    (project / "app.py").write_text(f"{BAD}\n\ndef save(url):\n    return requests.post(url, timeout=None)\n")
    found = done("fault_review_code", {"path": str(project), "since": "HEAD"}).structured["findings"]
    assert {each["function"] for each in found} == {"save"}


def test_the_configuration_of_the_project_counts(project: Path) -> None:
    (project / "faultkit.toml").write_text('[review]\nignore = ["FK-R001"]\n')
    found = done("fault_review_code", {"path": str(project)}).structured["findings"]
    assert "FK-R001" not in {each["rule"] for each in found}
    (project / "faultkit.toml").write_text('[review]\nmin-severity = "high"\n')
    found = done("fault_review_code", {"path": str(project)}).structured["findings"]
    assert {each["severity"] for each in found} == {"high"}


def test_what_the_baseline_of_the_project_has_is_not_listed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    (project / "faultkit.toml").write_text('[review]\nbaseline = "known.json"\nmin-confidence = 0.5\n')
    assert invoke(["review", ".", "--write-baseline"]) == 0
    assert done("fault_review_code", {"path": str(project)}).structured["findings"] == []


def test_what_was_not_read_is_named(project: Path) -> None:
    (project / "app.py").write_text(f"{BAD}\n\ndef broken(:\n    pass\n")
    found = done("fault_review_code", {"path": str(project)}).structured
    (skipped,) = found["skipped"]
    assert skipped["path"].endswith("app.py")
    assert skipped["why"] == "not all of it could be read: see line 8"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"path": "app.py"}, "path: expected the absolute path of a file or folder"),
        ({"path": "{project}/none.py"}, "path: expected a path that is there"),
        (
            {"path": "{project}/empty"},
            "path: expected source files of a language that the rules know",
        ),
        ({"path": "{project}", "since": "HEAD"}, "since: expected files in a git repository"),
        ({"path": "{project}", "min_severity": "huge"}, "min_severity: expected one of low, medium"),
        ({"path": "{project}", "most": 0}, "most: expected a whole number from 1 to 500"),
    ],
)
def test_wrong_arguments_are_named(project: Path, given: dict[str, object], said: str) -> None:
    filled = {
        name: value.replace("{project}", str(project)) if isinstance(value, str) else value
        for name, value in given.items()
    }
    assert failed("fault_review_code", filled).startswith(said)
