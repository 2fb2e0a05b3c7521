"""`fault review`: configuration, contexts, standard input, suppressions and SARIF."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from faultkit.cli.main import invoke
from tests.code.rules.sarif_subset import SARIF

BAD = "import requests\n\n\ndef load(url):\n    return requests.get(url).json()[0]\n"
RULES = "FK-R001,FK-R026,FK-S"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("app.py", "tests/test_app.py", "scripts/release.py", "api_pb2.py"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(BAD)
    Path("main.rb").write_text("def main; end\n")
    return tmp_path


def review(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    """Return the JSON of a review that finds nothing that fails it."""
    assert invoke(["review", *args, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def places(document: dict[str, Any]) -> list[str]:
    return [f"{each['file']} {each['rule']}" for each in document["findings"]]


def test_findings_below_the_confidence_are_counted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("app.py", "--select", "FK-R001", "--min-confidence", "0.99")
    found = review(capsys, *args)
    assert (found["findings"], found["hidden"]["confidence"]) == ([], 1)
    lowest = review(capsys, *args[:3])["findings"][0]["confidence"]
    assert invoke(["review", *args]) == 0
    assert f"not shown: 1 finding of low confidence; --min-confidence {lowest:g} shows them\n" in (
        capsys.readouterr().out
    )


def test_findings_below_the_severity_are_counted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("app.py", "--select", "FK-R001,FK-R026", "--min-severity", "high")
    assert review(capsys, *args)["hidden"]["severity"] == 1
    assert invoke(["review", *args]) == 0
    assert capsys.readouterr().out.endswith("not shown: 1 finding below min-severity\n")


def test_a_review_without_rules_is_not_called_clean(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("faultkit.toml").write_text("[review]\nselect = []\n")
    assert invoke(["review", "app.py"]) == 2
    assert "faultkit.toml: line 2: review.select: expected at least one rule, got an empty list" in (
        capsys.readouterr().err
    )
    Path("faultkit.toml").write_text('[review]\nselect = []\nextend-select = ["FK-R001"]\n')
    assert places(review(capsys, "app.py")) == ["app.py FK-R001"]
    assert invoke(["review", "app.py", "--ignore", "all"]) == 0
    assert "1 file: 1 finding" in capsys.readouterr().out
    assert invoke(["review", "app.py", "--ignore", "FK-R001"]) == 0
    assert capsys.readouterr().out == "1 file: no rule was run\n"


def test_a_closed_standard_input_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.__stdin__", None)
    assert invoke(["review", "-", "--lang", "python"]) == 2
    assert "error: -: expected source on standard input, which is closed" in capsys.readouterr().err


def test_a_folder_that_cannot_be_read_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("closed").mkdir()

    def denied(self: Path, *args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", denied)
    monkeypatch.setattr("os.scandir", denied)
    assert invoke(["review", "closed"]) == 2
    assert "error: closed: cannot be read: permission denied" in capsys.readouterr().err


def test_contexts_leave_out_and_skip_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["review", ".", "--select", RULES]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-2:] == [
        "1 file: 2 findings (1 high, 1 medium); reliability 0.48",
        "not reviewed: 2 files (1 of scripts, 1 of tests); --include scripts,tests reviews them",
    ]
    assert shown.err.splitlines() == [
        "skipped api_pb2.py: is generated code",
        "skipped main.rb: no rules for Ruby",
    ]


def test_contexts_may_be_included(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = review(capsys, ".", "--select", "FK-R001", "--include", "tests,generated")
    assert places(found) == ["api_pb2.py FK-R001", "app.py FK-R001", "tests/test_app.py FK-R001"]
    assert (found["files"], found["left_out"]) == (3, {"scripts": 1})
    assert found["skipped"] == [{"file": "main.rb", "why": "no rules for Ruby"}]


def test_what_is_named_is_reviewed_as_it_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert places(review(capsys, "tests", "--select", "FK-R001")) == ["tests/test_app.py FK-R001"]
    for name in ("tests/test_app.py", "api_pb2.py"):
        assert places(review(capsys, name, "--select", "FK-R001")) == [f"{name} FK-R001"]
    for first in ("app.py", "."):
        both = review(capsys, first, "tests/test_app.py", "--select", "FK-R001")
        assert places(both) == ["app.py FK-R001", "tests/test_app.py FK-R001"]
    Path("tests/unit").mkdir()
    Path("tests/unit/test_b.py").write_text(BAD)
    assert places(review(capsys, "tests/unit", "--select", "FK-R001")) == ["tests/unit/test_b.py FK-R001"]


def test_a_folder_that_is_excluded_is_called_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("legacy").mkdir()
    Path("legacy/old.py").write_text(BAD)
    assert invoke(["review", "legacy", "--exclude", "legacy/**"]) == 0
    assert capsys.readouterr().out == (
        "0 files: nothing reviewed; no score\nnot reviewed: 1 file, excluded by --exclude\n"
    )
    Path("faultkit.toml").write_text('[review]\nexclude = ["x"]\nextend-exclude = ["legacy/**"]\n')
    assert invoke(["review", "legacy"]) == 0
    assert "not reviewed: 1 file, excluded by exclude or extend-exclude\n" in capsys.readouterr().out
    assert invoke(["improve", "legacy"]) == 2
    assert capsys.readouterr().err == (
        "error: legacy: expected files to change, got 1 file, excluded by exclude or extend-exclude; "
        "name a file\n"
    )
    assert invoke(["review", ".", "--lang", "pyton"]) == 2
    assert "error: --lang: expected one of python" in capsys.readouterr().err


def test_a_hook_applies_contexts_and_exclusions_to_named_files(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert places(
        review(capsys, "app.py", "tests/test_app.py", "--select", "FK-R001", "--force-exclude")
    ) == ["app.py FK-R001"]
    found = review(capsys, "app.py", "--exclude", "app.py", "--force-exclude")
    assert (found["files"], found["excluded"]) == (0, 1)
    assert found["scores"] == {"reliability": None, "performance": None}
    assert places(review(capsys, "app.py", "--select", "FK-R001", "--exclude", "app.py")) == [
        "app.py FK-R001"
    ]
    found = review(capsys, "main.rb", "--force-exclude")
    assert [each["file"] for each in found["skipped"]] == ["main.rb"]


def test_rules_of_servers_find_nothing_in_browser_code(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (
        "export async function load(u) {\n  const r = await fetch(u);\n  return (await r.json()).rows;\n}\n"
    )
    Path("web").mkdir()
    Path("web/api.js").write_text(f"import {{ ref }} from 'vue';\n{code}")
    found = review(capsys, "web", "--select", RULES, "--min-confidence", "0.5")
    assert places(found) == ["web/api.js FK-R026"]
    found = review(capsys, "web", "--select", RULES, "--include", "browser", "--min-confidence", "0.5")
    assert places(found) == ["web/api.js FK-R001", "web/api.js FK-R026"]
    Path("web/api.js").write_text(code)
    assert places(review(capsys, "web", "--select", RULES)) == ["web/api.js FK-R001", "web/api.js FK-R026"]


def test_the_manifest_of_a_project_decides(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    route = "const app = require('express')();\napp.get('/', async (req, res) => res.json(await load()));\n"
    for version in "45":
        folder = Path(f"api{version}/src")
        folder.mkdir(parents=True)
        (folder / "app.js").write_text(route)
        (folder.parent / "package.json").write_text(f'{{"dependencies": {{"express": "^{version}.0.0"}}}}')
    for paths in ((".",), ("api4/src", "api5/src"), ("api4/src/app.js", "api5/src/app.js")):
        assert places(review(capsys, *paths, "--select", "FK-R045")) == ["api4/src/app.js FK-R045"]


def test_a_configuration_file_sets_what_flags_set(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text(
        """\
[tool.faultkit.review]
select = ["FK-R001", "FK-R026"]
exclude = ["scripts/"]
include = ["tests"]
fail-on = "critical"
severity = { "FK-R001" = "critical" }
[tool.faultkit.review.per-path-ignores]
"tests/**" = ["FK-R026"]
[tool.faultkit.review.context]
"api_pb2.py" = "production"
"""
    )
    assert invoke(["review", "src/..", "--json"]) == 2
    capsys.readouterr()
    assert invoke(["review", ".", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert places(found) == [
        "api_pb2.py FK-R001",
        "api_pb2.py FK-R026",
        "app.py FK-R001",
        "app.py FK-R026",
        "tests/test_app.py FK-R001",
    ]
    assert {each["severity"] for each in found["findings"] if each["rule"] == "FK-R001"} == {"critical"}
    assert found["excluded"] == 1
    assert places(review(capsys, ".", "--no-config", "--select", "FK-R026")) == ["app.py FK-R026"]
    assert places(review(capsys, "app.py", "--select", "FK-R026")) == ["app.py FK-R026"]
    Path("other.toml").write_text('[review]\nselect = ["FK-R026"]\n')
    assert places(review(capsys, ".", "--config", "other.toml")) == ["app.py FK-R026"]
    assert places(review(capsys, "app.py", "--config", "other.toml", "--ignore", "FK-R026")) == []


def test_patterns_hold_in_a_folder_that_is_a_link(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pyproject.toml").write_text('[tool.faultkit.review]\nselect = ["FK-R001"]\nexclude = ["/app.py"]\n')
    link = project.parent / f"{project.name}-link"
    link.symlink_to(project)
    monkeypatch.chdir(link)
    assert review(capsys, ".")["excluded"] == 1
    assert review(capsys, str(link / "app.py"), "--force-exclude")["excluded"] == 1


def test_standard_input_is_reviewed_under_a_name(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    given(BAD)
    assert places(review(capsys, "-", "--stdin-filename", "src/new.py", "--select", "FK-R001")) == [
        "src/new.py FK-R001"
    ]
    given(BAD)
    assert places(review(capsys, "-", "--lang", "python", "--select", "FK-R001")) == ["stdin.py FK-R001"]
    given(BAD)
    found = review(
        capsys, "-", "--stdin-filename", "tests/test_b.py", "--force-exclude", "--select", "FK-R001"
    )
    assert (found["files"], found["left_out"]) == (0, {"tests": 1})
    given("this is not code at all (((")
    assert invoke(["review", "-", "--stdin-filename", "a.py"]) == 2
    assert (
        "a.py: expected code that can be read as Python, got something else on line 1: it has no score"
        in (capsys.readouterr().err)
    )


def test_what_was_not_read_has_no_score(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("app.py").write_text("x = 1\ny = (\n")
    found = review(capsys, "app.py")
    assert (found["files"], found["scores"]) == (1, {"reliability": None, "performance": None})
    assert found["not_all_read"] == [{"file": "app.py", "lines": [2]}]
    assert invoke(["review", "app.py"]) == 0
    assert capsys.readouterr().out == "1 file: nothing found; no score\n"
    Path("app.py").write_text("this is not code at all (((")
    assert invoke(["review", "app.py"]) == 2
    capsys.readouterr()
    found = review(capsys, ".", "--include", "tests")
    assert [each["file"] for each in found["skipped"]] == ["api_pb2.py", "app.py", "main.rb"]
    Path("ruby").mkdir()
    Path("ruby/a.rb").write_text("def main; end\n")
    assert invoke(["review", "ruby"]) == 2
    assert "found none, but 1 Ruby" in capsys.readouterr().err


def test_suppressions_are_counted_and_the_wrong_ones_shown(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("app.py").write_text(
        BAD.replace(".json()[0]", ".json()[0]  # fault: ignore[FK-R001, FK-R404] local")
        + "x = 1  # fault: ignore\n"
    )
    found = review(capsys, "app.py", "--select", RULES)
    assert places(found) == ["app.py FK-R026", "app.py FK-S001", "app.py FK-S002"]
    assert found["hidden"]["comment"] == 1
    assert found["scores"] == {"reliability": 0.81}
    assert places(review(capsys, "app.py", "--select", "FK-R026", "--extend-select", "FK-S002")) == [
        "app.py FK-R026",
        "app.py FK-S002",
    ]
    Path("faultkit.toml").write_text('[review]\nselect = ["FK-R001"]\nrequire-reason = true\n')
    assert places(review(capsys, "app.py")) == ["app.py FK-S003"]


def test_sarif_names_files_from_the_top_of_the_repository(
    project: Path, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    Path(".git").mkdir()
    Path("app.py").write_text(BAD.replace(".json()[0]", ".json()[0]  # fault: ignore[FK-R001] it is local"))
    out = tmp_path_factory.mktemp("out") / "a.sarif"
    args = ["--select", "FK-R001,FK-R026", "--include", "tests", "--sarif", str(out), "--json"]
    assert invoke(["review", ".", *args]) == 0
    (run,) = json.loads(out.read_text())["runs"]
    assert [each["ruleId"] for each in run["results"]] == ["FK-R026", "FK-R001", "FK-R026"]
    args.append("--sarif-accepted")
    for path in (str(project), "."):
        assert invoke(["review", path, *args]) == 0
        log = json.loads(out.read_text())
        jsonschema.validate(log, SARIF)
        (run,) = log["runs"]
        assert run["originalUriBaseIds"] == {"SRCROOT": {"uri": f"file://{project}/"}}
        assert [
            (
                each["locations"][0]["physicalLocation"]["artifactLocation"],
                each["ruleId"],
                each.get("suppressions"),
            )
            for each in run["results"]
        ] == [
            (
                {"uri": "app.py", "uriBaseId": "SRCROOT"},
                "FK-R026",
                None,
            ),
            (
                {"uri": "app.py", "uriBaseId": "SRCROOT"},
                "FK-R001",
                [{"kind": "inSource", "justification": "it is local"}],
            ),
            ({"uri": "tests/test_app.py", "uriBaseId": "SRCROOT"}, "FK-R001", None),
            ({"uri": "tests/test_app.py", "uriBaseId": "SRCROOT"}, "FK-R026", None),
        ]
    capsys.readouterr()


def test_sarif_says_what_the_baseline_has(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("app.py", "--select", "FK-R001", "--baseline", "b.json")
    assert invoke(["review", *args, "--write-baseline"]) == 0
    Path("app.py").write_text(f"{BAD}\n\ndef more(url):\n    return requests.get(url)\n")
    assert invoke(["review", *args, "--sarif", "a.sarif"]) == 0
    results = json.loads(Path("a.sarif").read_text())["runs"][0]["results"]
    assert [each["baselineState"] for each in results] == ["new"]
    assert invoke(["review", *args, "--sarif", "a.sarif", "--sarif-accepted"]) == 0
    results = json.loads(Path("a.sarif").read_text())["runs"][0]["results"]
    assert [each["baselineState"] for each in results] == ["unchanged", "new"]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["app.py", "--select", "FK-R0001"], "error: --select: unknown rule"),
        (["app.py", "--ignore", "broad-cach"], 'unknown rule "broad-cach"; did you mean "broad-catch"?'),
        (["app.py", "--include", "test"], 'got "test"; did you mean "tests"?'),
        (["app.py", "--select", ","], "error: --select: expected at least one name, got nothing"),
        (["app.py", "--config", "x.toml", "--no-config"], "error: --config: expected no --no-config"),
        (["-"], "error: -: expected --stdin-filename or --lang"),
        (["-", "app.py"], "error: -: expected no other path beside standard input"),
        (["app.py", "--stdin-filename", "x.py"], "error: --stdin-filename: expected - as FILE"),
        (["app.py", "--write-baseline"], "error: --write-baseline: expected the file to write as --baseline"),
        (["app.py", "--baseline", "app.py"], "error: app.py: expected a baseline"),
        (["app.py", "nope.py"], "error: nope.py: cannot be read: no such file or directory"),
        (["app.py", "tests/test_app.py", "--prove"], "error: --prove: expected one file"),
        (
            ["app.py", "--rule", "FK-R001"],
            "error: --rule: expected --prove beside it, got none; --select names the rules of a review",
        ),
        (["app.py", "--safe"], "error: --safe: expected --prove beside it, got none"),
        (["app.py", "--unsafe"], "error: --unsafe: expected --prove beside it, got none"),
        (["app.py", "--upstream", "A=http://b"], "error: --upstream: expected --prove beside it"),
        (["app.py", "--route", "/"], "error: --route: expected --prove beside it"),
        (["app.py", "--python", "python3"], "error: --python: expected --prove beside it"),
        (["app.py", "--prove-duration", "3s"], "error: --prove-duration: expected --prove beside it"),
        (["app.py", "--sarif-accepted"], "error: --sarif-accepted: expected --sarif FILE or --format sarif"),
        (["excluded"], "found none (skipped excluded: .gitignore excludes it)"),
        ([], "error: Missing argument"),
    ],
)
def test_bad_options_exit_with_two(
    project: Path, capsys: pytest.CaptureFixture[str], args: list[str], problem: str
) -> None:
    Path(".git").mkdir()
    Path(".gitignore").write_text("excluded/\n")
    Path("excluded").mkdir()
    Path("excluded/app.py").write_text(BAD)
    assert invoke(["review", *args]) == 2
    assert problem in capsys.readouterr().err
