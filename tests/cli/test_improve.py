"""`fault improve`: a diff that applies, or a change of the file and of nothing else."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.errors import RunError
from faultkit.base.files import rewrite_file
from faultkit.cli import improve
from faultkit.cli.main import invoke
from tests.llm.scripted_provider import ScriptedServer, said

BAD = """\
import requests


def load(url):
    return requests.get(url).json()


class Store:
    def save(self, url):
        return requests.post(url, json=1).json()
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in tuple(os.environ):
        if name.endswith("_API_KEY") or name.startswith("FAULT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FAULT_INDEX_DIR", str(tmp_path / "index"))
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    subprocess.run(["git", "init", "-q", "."], check=True)
    path = folder / "app.py"
    path.write_text(BAD)
    return path


def applied(diff: str, folder: Path) -> str:
    subprocess.run(["git", "apply", "-"], input=diff, text=True, check=True, cwd=folder)
    return (folder / "app.py").read_bytes().decode()


def test_stdout_has_the_diff_alone_and_git_applies_it(app: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["improve", "app.py"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("--- a/app.py\n+++ b/app.py\n@@ ")
    assert app.read_text() == BAD
    new = applied(out, app.parent)
    assert "timeout" in new
    compile(new, "app.py", "exec")
    lines = err.splitlines()
    assert lines[0].startswith("app.py: score 0.")
    assert lines[0].endswith(", by the rules")


def test_changes_that_ask_are_listed_and_made_only_on_request(
    app: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["improve", "app.py"]) == 0
    out, err = capfd.readouterr()
    assert "tenacity" not in out
    assert "raise_for_status" not in out
    assert "not made without an answer (--unsafe, or --rule ID):" in err
    assert "FK-R026, lines 5, 10: Is every status of 400 and above an error here" in err
    safe_score = json_of(["improve", "app.py", "--json"], capfd)["score_after"]

    assert invoke(["improve", "app.py", "--unsafe"]) == 0
    out, err = capfd.readouterr()
    assert "+import tenacity" in out
    assert "raise_for_status" in out
    assert "\nneeds: tenacity\n" in err
    assert "check, before you keep the change:" in err
    assert json_of(["improve", "app.py", "--unsafe", "--json"], capfd)["score_after"] > safe_score


def json_of(command: list[str], capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert invoke(command) == 0
    document: dict[str, Any] = json.loads(capfd.readouterr().out)
    return document


def test_a_rule_that_is_named_is_the_only_one_and_its_question_counts_as_answered(
    app: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["improve", "app.py", "--rule", "unchecked-response-status"]) == 0
    out, err = capfd.readouterr()
    assert "raise_for_status" in out
    assert "timeout" not in out
    assert invoke(["improve", "app.py", "--rule", "FK-R026", "--safe"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert "1 change asks a question first" in err


def test_folders_and_several_files_give_one_diff(app: Path, capfd: pytest.CaptureFixture[str]) -> None:
    inner = app.parent / "pkg"
    inner.mkdir()
    (inner / "b.py").write_text(BAD)
    (inner / "clean.py").write_text("x = 1\n")
    (inner / "notes.md").write_text("no code\n")
    assert invoke(["improve", ".", "--rule", "FK-R001", "--safe"]) == 0
    out, err = capfd.readouterr()
    assert [line for line in out.splitlines() if line.startswith("+++ ")] == [
        "+++ b/app.py",
        "+++ b/pkg/b.py",
    ]
    assert err.splitlines()[-1] == "3 files: 2 changed"
    subprocess.run(["git", "apply", "-"], input=out, text=True, check=True, cwd=app.parent)
    assert "timeout=30.0" in app.read_text()
    assert "timeout=30.0" in (inner / "b.py").read_text()
    document = json_of(["improve", "app.py", "pkg", "--json"], capfd)
    assert [each["file"] for each in document["files"]] == ["app.py", "pkg/b.py", "pkg/clean.py"]


def test_a_folder_is_changed_as_far_as_its_findings_are_shown(
    app: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("test_app.py", "api_pb2.py", "legacy.py"):
        (app.parent / name).write_text(BAD)
    (app.parent / "faultkit.toml").write_text('[review]\nexclude = ["legacy.py"]\n')
    assert invoke(["improve", ".", "--rule", "FK-R001"]) == 0
    out, err = capfd.readouterr()
    assert [line for line in out.splitlines() if line.startswith("+++ ")] == ["+++ b/app.py"]
    assert (
        err.splitlines()[0]
        == "left out 2 files: tests, generated code and the like; name a file to change it"
    )
    assert invoke(["improve", "test_app.py", "--rule", "FK-R001"]) == 0
    assert "+++ b/test_app.py" in capfd.readouterr().out


def test_rules_that_the_configuration_ignores_change_nothing(
    app: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (app.parent / "faultkit.toml").write_text('[review]\nignore = ["FK-R001"]\n')
    assert invoke(["improve", "app.py"]) == 0
    assert "timeout" not in capfd.readouterr().out
    assert invoke(["improve", "app.py", "--rule", "FK-R001"]) == 0
    assert "timeout" in capfd.readouterr().out


@pytest.mark.parametrize("options", [(), ("--rule", "FK-R001")])
def test_rules_that_are_ignored_for_a_path_change_nothing_there(
    app: Path, capfd: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    (app.parent / "src").mkdir()
    (app.parent / "src" / "a.py").write_text(BAD)
    (app.parent / "faultkit.toml").write_text('[review.per-path-ignores]\n"src/**" = ["FK-R001"]\n')
    for path in ("src", "src/a.py"):
        assert invoke(["improve", path, *options]) == 0
        assert capfd.readouterr().out == ""
    assert invoke(["improve", "app.py", *options]) == 0
    assert "timeout" in capfd.readouterr().out


@pytest.mark.parametrize("options", [(), ("--rule", "FK-R001"), ("--unsafe",)])
def test_rules_that_do_not_run_in_a_context_change_nothing_there(
    app: Path, capfd: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    (app.parent / "static").mkdir()
    page = app.parent / "static" / "page.js"
    page.write_text(
        'document.querySelector("#go").addEventListener("click", async () => {\n'
        '  const r = await fetch("/api/items");\n  show(await r.json());\n});\n'
    )
    assert invoke(["improve", ".", *options]) == 0
    assert "AbortSignal" not in capfd.readouterr().out
    assert invoke(["improve", "static/page.js", "--rule", "FK-R001"]) == 0
    assert "AbortSignal" in capfd.readouterr().out


POSSIBLE = """\
def names(path):
    found = []
    for line in open(path).readlines():
        found.append(line.strip())
    return found
"""


def test_findings_that_a_review_does_not_show_change_nothing_unasked(
    app: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    app.write_text(POSSIBLE)
    findings = json_of(["review", "app.py", "--min-confidence", "0", "--json"], capfd)["findings"]
    assert {each["confidence"] < 0.8 for each in findings} == {True}
    assert invoke(["improve", "app.py"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert "what a review does not show is left as it is (FK-P011, FK-R013)" in err
    for options in (("--unsafe",), ("--rule", findings[0]["rule"])):
        assert invoke(["improve", "app.py", *options]) == 0
        assert capfd.readouterr().out
    (app.parent / "faultkit.toml").write_text("[review]\nmin-confidence = 0.5\n")
    assert invoke(["improve", "app.py"]) == 0
    assert capfd.readouterr().out


def test_a_change_that_cannot_be_made_asks_nothing(app: Path, capfd: pytest.CaptureFixture[str]) -> None:
    app.write_text('import subprocess\n\n\ndef dump(path):\n    subprocess.run(["pg_dump", "-f", path])\n')
    assert json_of(["improve", "app.py", "--json"], capfd)["questions"] == []
    assert json_of(["improve", "app.py", "--unsafe", "--json"], capfd)["diff"] == ""


def test_after_a_change_there_is_nothing_to_change(app: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["improve", "app.py", "--write"]) == 0
    written = app.read_text()
    out, err = capfd.readouterr()
    assert err.splitlines()[-1] == "app.py was changed"
    assert invoke(["improve", "app.py", "--write"]) == 0
    out, err = capfd.readouterr()
    assert (out, app.read_text()) == ("", written)
    assert err.startswith("app.py: nothing to change, by the rules: ")


def test_after_a_change_of_one_rule_what_is_left_is_said_to_be_of_others(
    app: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["improve", "app.py", "--rule", "FK-R001", "--safe"]) == 0
    assert ", and 1.00 was asked for: what is left is of other rules)\n" in capfd.readouterr().err


def test_write_keeps_mode_line_ends_and_byte_order_mark(app: Path) -> None:
    app.write_bytes(b"\xef\xbb\xbf" + BAD.replace("\n", "\r\n").encode())
    app.chmod(0o754)
    assert invoke(["improve", "app.py", "--write", "--kind", "reliability"]) == 0
    data = app.read_bytes()
    assert data.startswith(b"\xef\xbb\xbfimport requests\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")
    assert b"timeout" in data
    assert stat.S_IMODE(app.stat().st_mode) == 0o754
    assert sorted(each.name for each in app.parent.iterdir()) == [".git", "app.py"]


def test_a_link_stays_a_link(app: Path) -> None:
    real = app.with_name("real.py")
    app.rename(real)
    app.symlink_to(real)
    assert invoke(["improve", "app.py", "--write"]) == 0
    assert app.is_symlink()
    assert "timeout" in real.read_text()


def test_crlf_survives_the_pipe(app: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    app.write_bytes(BAD.replace("\n", "\r\n").encode())
    assert invoke(["improve", "app.py"]) == 0
    diff = capfdbinary.readouterr().out
    subprocess.run(["git", "apply", "-"], input=diff, check=True, cwd=app.parent)
    assert app.read_bytes().count(b"\n") == app.read_bytes().count(b"\r\n")


def test_only_the_function_that_is_named_is_changed(app: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["improve", "app.py", "--function", "load", "--kind", "reliability"]) == 0
    new = applied(capfd.readouterr().out, app.parent)
    assert new.endswith(BAD[BAD.index("class Store") :])
    assert "timeout=30.0" in new


def test_a_method_is_changed_where_it_stands(app: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["improve", "app.py", "--function", "save", "--kind", "reliability", "--write"]) == 0
    new = app.read_text()
    assert new.startswith(BAD[: BAD.index("class Store")])
    assert "        return requests.post(url, json=1, timeout=30.0)" in new


def test_the_target_decides_how_far_it_goes(app: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["improve", "app.py", "--kind", "reliability", "--target-score", "0.1"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert "0.10 was asked for" in err


def test_json_has_everything(app: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["improve", "app.py", "--json", "--function", "load"]) == 0
    out, err = capfd.readouterr()
    document = json.loads(out)
    assert (document["engine"], document["model"], document["written"]) == ("rules", None, False)
    assert (document["file"], document["function"]) == ("app.py", "load")
    assert document["score"] < document["score_after"]
    assert document["old"] == BAD
    assert applied(document["diff"], app.parent) == document["new"]
    assert err == ""


def test_a_file_elsewhere_is_named_from_the_top_of_its_repository(
    app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    assert invoke(["improve", "../shop/app.py"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("--- a/app.py\n")
    assert err.splitlines()[-1] == f"to be applied in {app.parent}"
    applied(out, app.parent)


def test_on_a_terminal_the_diff_has_colours(
    app: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    improve._print_diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    assert capsys.readouterr().out.splitlines() == [
        "\x1b[1m--- a/x\x1b[0m",
        "\x1b[1m+++ b/x\x1b[0m",
        "\x1b[36m@@ -1 +1 @@\x1b[0m",
        "\x1b[31m-a\x1b[0m",
        "\x1b[32m+b\x1b[0m",
    ]


def test_a_file_that_changed_meanwhile_is_left_alone(app: Path) -> None:
    with pytest.raises(RunError, match="it changed meanwhile: nothing was written"):
        rewrite_file(str(app), b"new", b"what it was before")
    assert app.read_text() == BAD
    assert sorted(each.name for each in app.parent.iterdir()) == [".git", "app.py"]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["nope.py"], "error: nope.py: cannot be read: no such file or directory"),
        (
            [".", "--function", "load"],
            "error: --function: expected one file beside it, got .",
        ),
        (["app.py", "--rule", "FK-R999"], "error: --rule: expected the id or name of a rule such as FK-R001"),
        (
            ["app.py", "--rule", "FK-R1"],
            "error: --rule: expected the id or name of a rule such as FK-R001, "
            'got "FK-R1"; did you mean "FK-R001"?',
        ),
        (
            ["app.py", "--rule", "relibility"],
            'error: --rule: expected the id or name of a rule such as FK-R001, got "relibility"\n',
        ),
        (["docs"], "error: docs: expected files of a language with known changes, found none"),
        (
            ["app.py", "--function", "lod"],
            'error: app.py: function: unknown name "lod"; did you mean "load"?',
        ),
        (["app.py", "--target-score", "2"], "error: --target-score: expected a number from 0 to 1, got 2"),
        (
            ["app.py", "--target-score", "nan"],
            "error: --target-score: expected a number from 0 to 1, got nan",
        ),
        (["app.py", "--lang", "cobol"], "error: --lang: expected one of python"),
        (["app.py", "--llm-client", "absent"], "error: --llm-client: expected auto, rules, or one of openai"),
        (["app.py", "--llm-client", "openai"], "error: OPENAI_API_KEY: expected an API key"),
        (["latin.py"], "error: latin.py: expected UTF-8 text, got another encoding"),
        (["empty.py"], "error: empty.py: expected source code, got an empty file"),
    ],
)
def test_bad_input_exits_with_two_and_changes_nothing(
    app: Path, capfd: pytest.CaptureFixture[str], args: list[str], problem: str
) -> None:
    Path("latin.py").write_bytes("# coding: latin-1\nx = 'ä'\n".encode("latin-1"))
    Path("empty.py").write_text("")
    Path("docs").mkdir()
    assert invoke(["improve", *args, "--write"]) == 2
    assert capfd.readouterr().err.startswith(problem)
    assert app.read_text() == BAD


# --- by a model --------------------------------------------------------------------------------------


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, app: Path) -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    yield server
    server.close()


def proposal(new: str) -> str:
    return json.dumps({"explanation": "It waits no longer.", "score": 0.9, "new": new, "dependencies": []})


def test_the_answer_of_a_model_names_it(
    app: Path, model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(said("openai", proposal(BAD.replace("get(url)", "get(url, timeout=3)"))))
    assert invoke(["improve", "app.py", "--llm-client", "ollama", "--write"]) == 0
    out, err = capfd.readouterr()
    assert "+    return requests.get(url, timeout=3).json()" in out
    assert "by ollama (said-by-server)" in err.splitlines()[0]
    assert err.splitlines()[1] == "  It waits no longer."
    assert "timeout=3" in app.read_text()


def test_a_models_function_goes_where_it_was_and_its_imports_to_the_top(
    app: Path, model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    code = "def load(url):\n    logging.info(url)\n    return requests.get(url, timeout=3).json()\n"
    model.play(said("openai", proposal(f"import logging\n\n{code}")))
    assert invoke(["improve", "app.py", "--function", "load", "--llm-client", "ollama", "--write"]) == 0
    assert app.read_text() == BAD.replace("import requests\n", "import requests\nimport logging\n").replace(
        "    return requests.get(url)", "    logging.info(url)\n    return requests.get(url, timeout=3)"
    )


def test_a_model_that_is_shown_an_index_gets_related_code(app: Path, model: ScriptedServer) -> None:
    assert invoke(["index", "."]) == 0
    app.with_name("other.py").write_text(
        f"{BAD}\n\ndef fetch_all(urls):\n    return [load(url) for url in urls]\n"
    )
    assert invoke(["index", "."]) == 0
    model.play(said("openai", proposal(BAD.replace("get(url)", "get(url, timeout=3)"))))
    assert invoke(["improve", "app.py", "--llm-client", "ollama"]) == 0
    asked = model.requests[-1].body["messages"][-1]["content"]
    assert "Other code of the project: other.py:" in asked


def test_a_provider_that_fails_is_no_reason_for_the_rules(
    app: Path, model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(said("openai", "I had rather not."))
    assert invoke(["improve", "app.py", "--llm-client", "ollama", "--write"]) == 4
    assert "ollama (gemma3:4b) gave no usable answer" in capfd.readouterr().err
    assert app.read_text() == BAD


def test_a_change_that_removes_functions_is_refused_with_their_names(
    app: Path, model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(said("openai", proposal('URL = "x"\n')))
    assert invoke(["improve", "app.py", "--llm-client", "ollama", "--write"]) == 4
    assert "it removes Store, Store.save, load: keep every function" in capfd.readouterr().err
    assert app.read_text() == BAD


def test_a_key_alone_sends_no_code(
    app: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake-0123456789abcdef0123")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
    assert invoke(["improve", "app.py"]) == 0
    assert "by the rules" in capfd.readouterr().err
    assert model.requests == []


def test_the_prompt_can_be_shown_and_is_not_sent(
    app: Path, model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    app.write_text(f'{BAD}\nPASSWORD = "hunter22"\n')
    assert invoke(["improve", "app.py", "--llm-client", "ollama", "--show-prompt"]) == 0
    out, err = capfd.readouterr()
    assert "def load(url):" in out
    assert "hunter22" not in out
    assert err == "nothing was sent to ollama\n"
    assert model.requests == []
    assert invoke(["improve", "app.py", "--show-prompt"]) == 2
    assert "error: --show-prompt: expected --llm-client beside it" in capfd.readouterr().err
