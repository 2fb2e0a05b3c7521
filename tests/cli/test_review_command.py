"""`fault review`: text, JSON, SARIF and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from faultkit.cli.main import invoke
from tests.code.rules.sarif_subset import SARIF

BAD = "import requests\n\n\ndef load(url):\n    return requests.get(url).json()[0]\n"


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "app.py"
    path.write_text(BAD)
    return path


def test_findings_are_shown_with_place_severity_title_and_fix(
    app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["review", "app.py", "--kind", "reliability"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "app.py:5  high  HTTP call without a timeout (FK-R001)"
    assert out[1] == "    requests.get() has no timeout and may wait for ever"
    assert out[2].startswith("    fix: Give the call or its client a timeout")
    assert out[-1] == "1 file: 2 findings (1 high, 1 medium); reliability 0.48"


def test_a_clean_file_has_nothing(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app.write_text("x = 1\n")
    assert invoke(["review", "app.py"]) == 0
    assert capsys.readouterr().out == "1 file: nothing found; reliability 1.00, performance 1.00\n"


def test_json_has_everything(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["review", ".", "--json", "--kind", "reliability", "--min-severity", "high"]) == 0
    document = json.loads(capsys.readouterr().out)
    (finding,) = document["findings"]
    assert {key: finding[key] for key in ("rule", "file", "function", "line", "severity", "confidence")} == {
        "rule": "FK-R001",
        "file": "app.py",
        "function": "load",
        "line": 5,
        "severity": "high",
        "confidence": 0.95,
    }
    assert document["files"] == 1
    assert document["scores"] == {"reliability": 0.48}
    assert document["skipped"] == []


def test_sarif_goes_to_a_file(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["review", ".", "--sarif", "out.sarif"]) == 0
    jsonschema.validate(json.loads(Path("out.sarif").read_text("utf-8")), SARIF)
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--fail-on", "high"], 1),
        (["--fail-on", "critical"], 0),
        (["--fail-on", "low", "--min-severity", "critical"], 0),
        (["--fail-on", "low", "--min-confidence", "1"], 0),
        ([], 0),
    ],
)
def test_a_gate_fails_with_one(app: Path, more: list[str], code: int) -> None:
    assert invoke(["review", "app.py", *more]) == code


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["nope.py"], "error: nope.py: cannot be read: no such file or directory"),
        ([""], "error: path: expected a file or a folder, got nothing"),
        (["app.py", "--lang", "cobol"], "error: --lang: expected one of python"),
        (["app.py", "--sarif", "x.txt"], "error: x.txt: expected a file that ends in .sarif, .json"),
        (["app.py", "--sarif", "no/x.sarif"], 'error: no/x.sarif: expected a folder that exists, got "no"'),
        (["app.py", "--kind", "beauty"], "error: Invalid value for '--kind'"),
        (["empty"], "error: empty: expected source files of a language that the rules know, found none"),
        (["some", "--prove"], 'error: --prove: expected one file that is a service, got "some"'),
        (["a.rb"], "error: a.rb: expected one of python"),
        (["a.txt"], "error: a.txt: expected a file that ends with one of"),
    ],
)
def test_bad_input_exits_with_two(
    app: Path, capsys: pytest.CaptureFixture[str], args: list[str], problem: str
) -> None:
    Path("empty").mkdir()
    Path("some").mkdir()
    Path("some/a.py").write_text("a = 1\n")
    Path("a.rb").write_text("puts 1\n")
    Path("a.txt").write_text("text\n")
    assert invoke(["review", *args]) == 2
    assert problem in capsys.readouterr().err


def test_a_language_can_be_given(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("script").write_text(BAD)
    assert invoke(["review", "script", "--lang", "python", "--fail-on", "high"]) == 1
    assert "script:5" in capsys.readouterr().out


def test_broken_and_skipped_files_are_reported_separately(
    app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app.write_text(f"{BAD}x = (\n")
    Path("data.py").write_bytes(bytes(100))
    Path("empty.py").write_text("")
    assert invoke(["review", "."]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "skipped data.py: is a binary file",
        "warning: app.py: not all of it could be read: see line 6",
    ]
