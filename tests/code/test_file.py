from __future__ import annotations

import os
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code.file import MOST_BYTES, local_path, read_source
from faultkit.code.languages import LANGUAGES
from faultkit.code.shown import one_line


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
    assert one_line("a b/ü.py") == "a b/ü.py"
    assert one_line("a\nb\x1b[31m.py") == "a\\nb\\x1b[31m.py"
