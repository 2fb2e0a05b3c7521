"""`fault functions`, `fault index` and `fault search`, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultkit.cli.code_search import SEARCH_MODES
from faultkit.cli.main import invoke
from faultkit.code.index import MODES

APP = "@cache\ndef load(x):\n    '''Loads.'''\n    return x\n\nclass Store:\n    def save(self): pass\n"


@pytest.fixture
def app(tmp_path: Path) -> str:
    path = tmp_path / "app.py"
    path.write_text(APP)
    return str(path)


def shown(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert invoke(["functions", *args]) == 0
    return capsys.readouterr().out


def test_functions_are_listed_with_their_lines_and_kinds(
    app: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, app) == "1-4  function  load\n7-7  method    Store.save\n"


def test_one_function_is_printed_as_it_is_in_the_file(app: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, app, "load") == "@cache\ndef load(x):\n    '''Loads.'''\n    return x\n"
    assert shown(capsys, app, "save", "--body") == "pass\n"


def test_json_has_every_field_of_a_function(app: str, capsys: pytest.CaptureFixture[str]) -> None:
    load = {
        "name": "load",
        "qualified_name": "load",
        "kind": "function",
        "line": 2,
        "start_line": 1,
        "end_line": 4,
        "signature": "def load(x):",
        "is_async": False,
        "decorators": ["@cache"],
        "parameters": ["x"],
        "doc": "Loads.",
        "language": "python",
    }
    assert json.loads(shown(capsys, app, "--json"))[0] == load
    one = json.loads(shown(capsys, app, "load", "--json"))
    assert one == load | {
        "full": APP[: APP.index("\n\nclass")],
        "body": APP[APP.index("'''") : APP.index("\n\nclass")],
    }


def test_a_broken_file_gives_what_can_be_read_and_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.js"
    path.write_text("function ok() {}\n)\n")
    assert invoke(["functions", str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.out == "1-1  function  ok\n"
    assert shown.err == "warning: not all of it could be read as JavaScript: see line 2\n"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["{}", "lod"], 'error: function: unknown name "lod"; did you mean "load"?\n'),
        (["{}", "--lang", "klingon"], "error: --lang: expected one of python, javascript,"),
        (["{}", "--body"], "error: --body: expected the NAME of a function beside it, got nothing\n"),
        (["{}.gone"], "error: {}.gone: cannot be read: no such file or directory\n"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(
    app: str, args: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["functions", *(each.format(app) for each in args)]) == 2
    assert capsys.readouterr().err.startswith(problem.format(app))


def test_a_file_without_functions_is_a_note_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    assert invoke(["functions", str(tmp_path / "a.py")]) == 0
    assert capsys.readouterr() == ("", "no functions in it\n")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("QDRANT_URL", raising=False)
    monkeypatch.setenv("FAULT_INDEX_DIR", str(tmp_path / "index"))
    root = tmp_path / "shop"
    root.mkdir()
    (root / "pay.py").write_text("def charge_card(card):\n    '''Takes the money.'''\n    return card\n")
    (root / "bad.go").write_bytes(b"package \xff\n")
    return str(root)


def test_a_folder_is_indexed_and_searched(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["index", shop]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1 files with 1 chunks, ")
    assert ": 1 indexed, 0 unchanged, 0 removed, in " in out
    assert err.startswith("skipped bad.go: expected UTF-8 text")
    assert invoke(["search", "charge a card", shop]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "pay.py:1-3  charge_card",
        "    def charge_card(card):",
        "        '''Takes the money.'''",
        "        return card",
    ]


def test_index_and_search_print_json(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["index", shop, "--json", "--lang", "go"]) == 0
    assert [each["path"] for each in json.loads(capsys.readouterr().out)["skipped"]] == ["bad.go"]
    assert invoke(["index", shop, "--json", "--lang", "python"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["files"], summary["indexed"], summary["chunks"]) == (1, 1, 1)
    assert invoke(["search", "charge a card", shop, "--json", "--limit", "1", "--mode", "lexical"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)
    assert (hit["path"], hit["name"], hit["start_line"], hit["end_line"]) == ("pay.py", "charge_card", 1, 3)


def test_a_search_without_hits_is_a_note_on_stderr(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["index", shop]) == 0
    capsys.readouterr()
    assert invoke(["search", "zebra", shop, "--mode", "lexical"]) == 0
    assert capsys.readouterr() == ("", "nothing found\n")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["index", "SHOP/none"], 2, "expected a folder: no such file or directory"),
        (["index", "SHOP/pay.py"], 2, "expected a folder, got a file"),
        (["index", "SHOP", "--lang", "cobol"], 2, "error: --lang: expected one of python, "),
        (["search", "x", "SHOP"], 4, "has no index yet: make one with `fault index "),
        (["search", "x", "SHOP", "--mode", "magic"], 2, "'magic' is not one of"),
    ],
)
def test_wrong_input_of_index_and_search_is_an_error(
    shop: str, args: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke([each.replace("SHOP", shop) for each in args]) == code
    assert said in capsys.readouterr().err


def test_a_server_that_is_down_is_no_target(
    shop: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:1")
    assert invoke(["index", shop]) == 3
    assert "QDRANT_URL: Qdrant at http://127.0.0.1:1 does not answer" in capsys.readouterr().err


def test_the_modes_of_the_command_are_those_of_the_index() -> None:
    assert SEARCH_MODES == MODES
