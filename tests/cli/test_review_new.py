"""`fault review`: baselines and --diff, which show only new findings."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path

import pytest

from faultkit.cli.main import invoke
from tests.cli.test_review_options import BAD, RULES, places, review


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tests").mkdir()
    for name in ("app.py", "tests/test_app.py"):
        Path(name).write_text(BAD)
    return tmp_path


def test_a_baseline_hides_what_it_has(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("--select", RULES, "--baseline", "review.json")
    assert invoke(["review", ".", *args]) == 2
    assert "review.json: cannot be read: there is no such file; --write-baseline writes it" in (
        capsys.readouterr().err
    )
    assert invoke(["review", ".", *args, "--write-baseline"]) == 0
    assert capsys.readouterr().err == "wrote 2 findings to review.json\n"
    found = review(capsys, ".", *args, "--fail-on", "low")
    assert (places(found), found["hidden"]["baseline"], found["fixed"]) == ([], 2, [])
    more = "\n\ndef more(url):\n    return requests.get(url)\n"
    Path("app.py").write_text(f"# a line more\n{BAD}{more}")
    assert invoke(["review", ".", *args, "--fail-on", "low", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(each["rule"], each["function"]) for each in found["findings"]] == [("FK-R001", "more")]
    Path("app.py").write_text("x = 1\n")
    assert invoke(["review", ".", *args]) == 0
    assert (
        "fixed: 2 findings of the baseline; --write-baseline takes them out of it" in capsys.readouterr().out
    )
    assert review(capsys, "tests", *args)["fixed"] == []
    assert invoke(["review", ".", *args, "--write-baseline"]) == 0
    assert json.loads(Path("review.json").read_text()) == {"version": 1, "findings": []}


@pytest.mark.parametrize(
    "more",
    [
        ["--kind", "performance"],
        ["--min-severity", "critical"],
        ["--min-confidence", "0.99"],
        ["--select", "FK-P"],
        ["--exclude", "app.py"],
    ],
)
def test_a_baseline_keeps_what_a_review_does_not_look_at_or_show(
    project: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    Path("slow.py").write_text("import time\n\n\nasync def wait():\n    time.sleep(1)\n")
    args = (".", "--baseline", "review.json")
    assert invoke(["review", *args, "--write-baseline"]) == 0
    before = Path("review.json").read_text()
    number = len(json.loads(before)["findings"])
    assert review(capsys, *args, *more)["fixed"] == []
    assert invoke(["review", *args, *more, "--write-baseline"]) == 0
    assert Path("review.json").read_text() == before
    said = capsys.readouterr().err
    assert said.startswith(f"wrote {number} findings to review.json, ")
    assert said.endswith(" of them from before, which this run did not look at or show\n")


def test_the_baseline_of_a_configuration_file_is_in_its_folder(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("faultkit.toml").write_text('[review]\nselect = ["FK-R001"]\nbaseline = "review.json"\n')
    assert invoke(["review", ".", "--write-baseline"]) == 0
    assert review(capsys, ".")["hidden"]["baseline"] == 1
    for elsewhere in ("../review.json", "/tmp/review.json"):
        Path("faultkit.toml").write_text(f'[review]\nbaseline = "{elsewhere}"\n')
        assert invoke(["review", ".", "--write-baseline"]) == 2
        problem = f'review.baseline: expected a path in {project}, got "{elsewhere}"'
        assert f"error: faultkit.toml: line 2: {problem}" in capsys.readouterr().err


def git(*words: str) -> None:
    user = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *user, *words], check=True, capture_output=True)


def test_a_diff_shows_findings_on_changed_lines(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = (".", "--select", "FK-R001", "--diff", "HEAD")
    assert invoke(["review", *args]) == 2
    assert 'error: --diff: expected files in a git repository, got ".", which is in none' in (
        capsys.readouterr().err
    )
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    assert review(capsys, *args)["files"] == 0
    git("mv", "app.py", "moved ä.py")
    Path("moved ä.py").write_text(f"{BAD}\n\ndef more(url):\n    return requests.get(url)\n")
    Path("new.py").write_text(BAD)
    found = review(capsys, *args)
    assert [(each["file"], each["line"]) for each in found["findings"]] == [("moved ä.py", 9), ("new.py", 5)]
    assert found["hidden"]["unchanged"] == 1
    assert invoke(["review", ".", "--diff", "nope"]) == 2
    assert 'got "nope"' in capsys.readouterr().err
    assert invoke(["review", ".", "--diff=--output=x"]) == 2
    assert not Path("x").exists()


@pytest.mark.parametrize("is_changed_on_disk", [False, True])
def test_a_diff_of_standard_input_compares_the_text_with_the_file_at_the_ref(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_changed_on_disk: bool,
) -> None:
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    if is_changed_on_disk:
        Path("app.py").write_text("x = 1\n")

    def found(text: str, *name: str) -> list[tuple[str, int]]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        document = review(capsys, "-", *name, "--select", "FK-R001", "--diff", "HEAD")
        return [(each["rule"], each["line"]) for each in document["findings"]]

    more = f"{BAD}\n\ndef more(url):\n    return requests.get(url)\n"
    line = more.count("\n")
    for same in (BAD, BAD.replace("\n", "\r\n")):
        assert found(same, "--stdin-filename", "app.py") == []
    assert found(more, "--stdin-filename", "app.py") == [("FK-R001", line)]
    assert len(found(more, "--stdin-filename", "new.py")) == 2
    assert len(found(more, "--lang", "python")) == 2
    git("mv", "app.py", "moved.py")
    if not is_changed_on_disk:
        assert found(more, "--stdin-filename", "moved.py") == [("FK-R001", line)]


CALLS = """\
import requests


def load(url):
    answer = requests.get(
        url,
        timeout=5,
        headers={},
    )
    answer.raise_for_status()
    return answer.json()["rows"]


def save(url):
    # fault: ignore-next-line[FK-R001] it is local
    requests.post(url).raise_for_status()


def other(url):
    requests.get(url).raise_for_status()
"""


@pytest.mark.parametrize(
    ("deleted", "found"),
    [
        ("        timeout=5,\n", [("FK-R001", "load")]),
        ("    answer.raise_for_status()\n", [("FK-R026", "load")]),
        ("    # fault: ignore-next-line[FK-R001] it is local\n", [("FK-R001", "save")]),
        ("        headers={},\n", []),
        ("def save(url):\n", []),
    ],
)
def test_a_diff_shows_findings_that_a_deleted_line_causes(
    project: Path, capsys: pytest.CaptureFixture[str], deleted: str, found: list[tuple[str, str]]
) -> None:
    Path("app.py").write_text(CALLS)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    git("mv", "app.py", "moved.py")
    Path("moved.py").write_text("# new\n" + CALLS.replace(deleted, ""))
    shown = review(capsys, ".", "--select", "FK-R001,FK-R026", "--diff", "HEAD")
    assert [(each["rule"], each["function"]) for each in shown["findings"]] == found
    assert shown["hidden"]["unchanged"] == 1


def test_a_diff_shows_findings_that_another_line_causes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "import time\n\n\ndef wait():\n    time.sleep(1)\n"
    Path("app.py").write_text(text)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    Path("app.py").write_text(text.replace("def wait", "async def wait"))
    assert places(review(capsys, ".", "--select", "FK-P001", "--diff", "HEAD")) == ["app.py FK-P001"]
