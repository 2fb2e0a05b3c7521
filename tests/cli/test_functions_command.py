"""`fault functions`: the list and the code of a file's functions, for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultkit.cli.main import invoke

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


def test_json_says_all_there_is_to_say(app: str, capsys: pytest.CaptureFixture[str]) -> None:
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
        (["{}", "--lang", "klingon"], "error: lang: expected one of python, javascript,"),
        (["{}", "--body"], "error: --body: expected the NAME of a function beside it, got nothing\n"),
        (["{}.gone"], "error: {}.gone: cannot be read: no such file or directory\n"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(
    app: str, args: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["functions", *(each.format(app) for each in args)]) == 2
    assert capsys.readouterr().err.startswith(problem.format(app))


def test_a_file_without_functions_says_so_on_the_other_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    assert invoke(["functions", str(tmp_path / "a.py")]) == 0
    assert capsys.readouterr() == ("", "no functions in it\n")
