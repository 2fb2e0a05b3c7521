"""Source files: reading, encodings, languages, and the functions of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.base.text import escaped_line
from faultkit.code.languages import LANGUAGES
from faultkit.code.source_file import MOST_BYTES, extract, function_names, local_path, read_source


def test_a_file_is_read_with_its_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\r\ny = '\xc3\xa4'\r")
    file = read_source(path)
    assert (file.path, file.language.name) == (str(path), "python")
    assert file.source == b"x = 1\r\ny = '\xc3\xa4'\r"
    assert not file.parse().has_errors


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.py", b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("a.js", b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("a.py", b"# coding: latin-1\nx = '\xe4'\n", "# coding: latin-1\nx = 'ä'\n"),
        (
            "a.py",
            b"#!/x\n# -*- coding: cp1252 -*-\nx = '\x80'\n",
            "#!/x\n# -*- coding: cp1252 -*-\nx = '€'\n",
        ),
        ("a.cs", "class Ä {}".encode("utf-16"), "class Ä {}"),
        ("a.go", b"", ""),
    ],
)
def test_marks_and_declared_encodings_are_heeded(tmp_path: Path, name: str, data: bytes, text: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert read_source(path).source.decode() == text


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("a.js", b"x\ny = '\xe4'", "expected UTF-8 text, got byte 0xe4 on line 2; save it as UTF-8"),
        ("a.py", b"# coding: nope\n", "expected an encoding that Python knows: unknown encoding"),
        ("a.py", b"# coding: ascii\n\xe4", "expected ASCII text, got byte 0xe4 on line 2; save it as UTF-8"),
        ("a.py", b"x = '\xe4'\n", "expected an encoding that Python knows: invalid or missing encoding"),
        ("a.py", b"x\0y", "expected source text, got a binary file"),
        ("a.ts", b"G@\0\x10" * 100, "expected source text, got a binary file"),
        ("a.txt", b"hello", "expected a file that ends with one of .py"),
        ("a.py", b"#" * (MOST_BYTES + 1), "expected at most 10 MiB of source, got more"),
    ],
)
def test_what_is_no_source_is_a_clear_error(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_source(path)
    assert caught.value.path == str(path)
    assert caught.value.problem.startswith(problem)


def test_ten_mebibytes_are_not_too_much(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"#" * MOST_BYTES)
    assert len(read_source(path).source) == MOST_BYTES


def test_a_missing_file_a_folder_and_a_pipe_are_clear_errors(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    for name, problem in (
        ("missing.py", "cannot be read: no such file or directory"),
        ("folder.py", "expected a file, got a folder"),
        ("pipe.py", "expected a regular file, got a device, pipe or socket"),
    ):
        with pytest.raises(InputError) as caught:
            read_source(tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name}: {problem}"


@pytest.mark.parametrize("path", ["", "a\0b.py"])
def test_what_is_no_path_is_a_clear_error(path: str) -> None:
    with pytest.raises(InputError, match=r"^file: expected "):
        read_source(path)


def test_a_script_without_an_ending_is_told_by_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "deploy"
    path.write_text("#!/bin/bash\nf() { :; }\n")
    assert read_source(path).language.name == "bash"


def test_a_language_that_is_given_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "vec.h"
    path.write_text("int f(void) { return 1; }")
    assert read_source(path, LANGUAGES["c"]).language.name == "c"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/a/b.py", "/a/b.py"),
        ("file:///a/b%20c.py", "/a/b c.py"),
        ("FILE:///a/b.py", "/a/b.py"),
        ("file://localhost/a/b.py", "/a/b.py"),
        ("file://a/b.py", "a/b.py"),
        ("/a/b%20c.py", "/a/b%20c.py"),
    ],
)
def test_the_prefix_file_is_accepted(given: str, path: str) -> None:
    assert local_path(given) == path


def test_a_name_with_line_ends_or_escapes_is_shown_in_one_line() -> None:
    assert escaped_line("a b/ü.py") == "a b/ü.py"
    assert escaped_line("a\nb\x1b[31m.py") == "a\\nb\\x1b[31m.py"


APP = '''\
import httpx

@app.get("/")
async def index(client: str) -> dict:
    """Answers."""
    # Calls out.
    reply = await httpx.get(client)
    return reply.json()


class Store:
    @property
    def size(self):
        return 1
'''


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(APP)
    return path


def test_names_are_listed_in_the_order_of_the_file(app: Path) -> None:
    assert function_names(app) == ["index", "Store.size"]
    assert function_names(f"file://{app}") == ["index", "Store.size"]


def test_a_function_is_given_whole_and_without_its_signature(app: Path) -> None:
    assert extract(app, "index") == {
        "full": APP[APP.index("@app.get") : APP.index("\n\n\nclass")],
        "body": APP[APP.index('"""Answers') : APP.index("\n\n\nclass")],
    }


def test_a_method_keeps_the_indentation_that_it_has_in_the_file(app: Path) -> None:
    assert extract(app, "size") == {
        "full": "@property\n    def size(self):\n        return 1",
        "body": "return 1",
    }


def test_braces_belong_to_the_body(tmp_path: Path) -> None:
    path = tmp_path / "a.go"
    path.write_text("package a\n\n// F is f.\nfunc F(x int) int {\n\treturn x\n}\n")
    assert extract(path, "F") == {
        "full": "func F(x int) int {\n\treturn x\n}",
        "body": "{\n\treturn x\n}",
    }


def test_an_unknown_function_is_told_with_its_file(app: Path) -> None:
    with pytest.raises(InputError) as caught:
        extract(app, "idnex")
    assert str(caught.value) == f'{app}: function: unknown name "idnex"; did you mean "index"?'
