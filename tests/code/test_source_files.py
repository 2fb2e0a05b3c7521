"""Source files: reading, encodings, languages, the functions of a file, and the files of a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.base.text import escaped_line
from faultkit.code import language_named
from faultkit.code.languages import LANGUAGES
from faultkit.code.source_files import (
    MOST_BYTES,
    extract,
    folder_of,
    function_names,
    is_excluded,
    local_path,
    read_changeable,
    read_source,
    source_files,
)


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
def test_byte_order_marks_and_declared_encodings_are_respected(
    tmp_path: Path, name: str, data: bytes, text: str
) -> None:
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
        ("a.py", b"\xff\xfe\0x", "expected source text that Python reads, got UTF-16; save it as UTF-8"),
        ("a.py", b"x\0y", "expected source text, got a binary file"),
        ("a.ts", b"G@\0\x10" * 100, "expected source text, got a binary file"),
        ("a.py", b"\x7fELF\x02\x00\xff", "expected source text, got a binary file"),
        ("a.py", b"# coding: latin-1\n\0\xff\xfe", "expected source text, got a binary file"),
        ("a.go", b"\x01\x02\x03package", "expected source text, got a binary file"),
        ("a.txt", b"hello", "expected a file that ends with one of .py"),
        ("a.py", b"#" * (MOST_BYTES + 1), "expected at most 10 MiB of source, got more"),
    ],
)
def test_a_file_that_is_no_source_is_a_clear_error(
    tmp_path: Path, name: str, data: bytes, problem: str
) -> None:
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
def test_an_invalid_path_is_a_clear_error(path: str) -> None:
    with pytest.raises(InputError, match=r"^file: expected "):
        read_source(path)


def test_the_language_of_a_script_without_an_ending_is_known_by_its_first_line(tmp_path: Path) -> None:
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


def test_a_function_is_extracted_with_and_without_its_signature(app: Path) -> None:
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


def test_an_unknown_function_is_reported_with_its_file(app: Path) -> None:
    with pytest.raises(InputError) as caught:
        extract(app, "idnex")
    assert str(caught.value) == f'{app}: function: unknown name "idnex"; did you mean "index"?'


# Source files of a folder: which are found, in what order, and which are skipped.


def write(root: Path, *names: str, text: str = "x = 1\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(root: Path, language: str | None = None) -> list[str]:
    wanted = None if language is None else language_named(language)
    return [each.relative for each in source_files(root, wanted)]


def test_source_files_are_found_in_the_order_of_their_paths(tmp_path: Path) -> None:
    write(tmp_path, "b.py", "a/z.go", "a/b/c.rs", "a.py", "B.js", "notes.txt", "Makefile")
    assert found(tmp_path) == ["B.js", "a/b/c.rs", "a/z.go", "a.py", "b.py"]


def test_files_of_one_language_are_found_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "b.ts", "c.tsx", "d.go")
    assert found(tmp_path, "python") == ["a.py"]
    assert found(tmp_path, "typescript") == ["b.ts", "c.tsx"]


def test_a_script_is_known_by_its_first_line(tmp_path: Path) -> None:
    write(tmp_path, "tool", text="#!/usr/bin/env python3\n")
    write(tmp_path, "LICENSE", text="Do as you like.\n")
    assert [(each.relative, each.language.name) for each in source_files(tmp_path)] == [("tool", "python")]


def test_hidden_and_installed_folders_are_skipped(tmp_path: Path) -> None:
    write(
        tmp_path, ".git/a.py", "node_modules/a.js", "x/.venv/a.py", "env/pyvenv.cfg", "env/lib/a.py", "y/a.py"
    )
    write(tmp_path, "__pycache__/a.py", "app.min.js")
    assert found(tmp_path) == ["y/a.py"]


def test_a_named_folder_is_walked_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, ".hidden/a.py", ".hidden/pyvenv.cfg")
    assert found(tmp_path / ".hidden") == ["a.py"]


def test_matches_of_gitignore_are_skipped_at_every_level(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="build/\n*_pb2.py\n!keep_pb2.py\n/top.py\n")
    write(tmp_path, "sub/.gitignore", text="local.py\n!other_pb2.py\n")
    write(tmp_path, "build/a.py", "a_pb2.py", "keep_pb2.py", "top.py", "local.py")
    write(tmp_path, "sub/top.py", "sub/local.py", "sub/other_pb2.py", "sub/x_pb2.py", "sub/build/b.py")
    assert found(tmp_path) == ["keep_pb2.py", "local.py", "sub/other_pb2.py", "sub/top.py"]


def test_in_a_repository_the_rules_above_the_folder_count_too(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="*_pb2.py\n")
    write(tmp_path, ".git/info/exclude", text="secret.py\n")
    write(tmp_path, "pkg/a.py", "pkg/a_pb2.py", "pkg/secret.py")
    assert found(tmp_path / "pkg") == ["a.py"]


def test_a_folder_that_gitignore_excludes_is_known(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path, "build/a/b.py", "src/a.py")
    (tmp_path / ".gitignore").write_text("build/\n")
    names = ("build", "build/a", "src", ".")
    assert [is_excluded(tmp_path / name) for name in names] == [True, True, False, False]


def test_an_invalid_pattern_does_not_disable_the_others(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", text="!\nb.py\n")
    write(tmp_path, "a.py", "b.py")
    assert found(tmp_path) == ["a.py"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge")
def test_git_agrees(tmp_path: Path) -> None:
    write(
        tmp_path,
        ".gitignore",
        text="*.gen.py\n!a.gen.py\ndocs/**/x.py\n/only.py\nout\n# c\n\\#h.py\ns p.py\n",
    )
    write(tmp_path, "deep/.gitignore", text="!*.gen.py\n*.go\n!/kept.go\n")
    write(
        tmp_path, "a.gen.py", "b.gen.py", "docs/x.py", "docs/1/2/x.py", "only.py", "sub/only.py", "out/a.py"
    )
    write(
        tmp_path, "deep/b.gen.py", "deep/a.go", "deep/kept.go", "deep/er/kept.go", "#h.py", "s p.py", "é.py"
    )
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["git", "-c", "core.quotepath=off", "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
    ).stdout.decode()
    theirs = {name for name in listed.split("\0") if name.endswith((".py", ".go"))}
    assert set(found(tmp_path)) == theirs


def test_links_are_not_followed_so_there_are_no_loops(tmp_path: Path) -> None:
    write(tmp_path, "a/a.py")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "b.py").symlink_to(tmp_path / "a" / "a.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    assert found(tmp_path) == ["a/a.py"]


def test_binary_and_huge_files_are_skipped_and_reported(tmp_path: Path) -> None:
    (tmp_path / "binary.py").write_bytes(b"\0\1\2")
    (tmp_path / "huge.py").write_text("x = 1\n" * 100)
    write(tmp_path, "fine.py")
    skipped: list[tuple[str, str]] = []
    files = source_files(tmp_path, skip=lambda path, why: skipped.append((path, why)), most_bytes=100)
    assert [each.relative for each in files] == ["fine.py"]
    assert skipped == [("binary.py", "is a binary file"), ("huge.py", "is larger than 100 bytes")]


@pytest.mark.parametrize("patterns", [b"", b"x\n", b"ignored*\nno\xfe/\n"])
def test_a_name_that_is_not_utf_8_is_reported(tmp_path: Path, patterns: bytes) -> None:
    top = os.fsencode(tmp_path)
    (tmp_path / ".gitignore").write_bytes(patterns)
    write(tmp_path, "fine.py")
    os.mkdir(top + b"/d\xff")
    for name in (b"\xff.py", b"notes\xff.txt", b"d\xff/a.py"):
        with open(top + b"/" + name, "w"):
            pass
    if b"ignored" in patterns:
        os.mkdir(top + b"/no\xfe")
        for name in (b"ignored\xff.py", b"no\xfe/a.py"):
            with open(top + b"/" + name, "w"):
                pass
    skipped: list[tuple[str, str]] = []
    files = source_files(tmp_path, skip=lambda path, why: skipped.append((path, why)))
    assert [each.relative for each in files] == ["fine.py"]
    assert skipped == [
        ("d\ufffd/a.py", "has a name that is not UTF-8"),
        ("\ufffd.py", "has a name that is not UTF-8"),
    ]


def test_a_file_to_change_has_a_name_in_utf_8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.py"
    with open(path, "w") as opened:
        opened.write("x = 1\n")
    with pytest.raises(InputError, match="expected a name in UTF-8, which a diff needs"):
        read_changeable(os.fsdecode(path))


def test_a_folder_may_be_named_as_editors_do(tmp_path: Path) -> None:
    assert folder_of(f"file://{tmp_path}") == tmp_path.resolve()


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    for path, problem in (
        (str(tmp_path / "a.py"), "expected a folder, got a file"),
        (str(tmp_path / "none"), "expected a folder: no such file or directory"),
    ):
        with pytest.raises(InputError) as caught:
            list(source_files(path))
        assert (caught.value.path, caught.value.problem) == (path, problem)
    with pytest.raises(InputError, match="got nothing"):
        folder_of("")
