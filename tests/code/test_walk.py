"""Which files are found in a folder, in what order, and which are passed by."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code import language_named
from faultkit.code.walk import folder_of, source_files


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


def test_one_language_is_asked_for_by_name(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "b.ts", "c.tsx", "d.go")
    assert found(tmp_path, "python") == ["a.py"]
    assert found(tmp_path, "typescript") == ["b.ts", "c.tsx"]


def test_a_script_is_known_by_its_first_line(tmp_path: Path) -> None:
    write(tmp_path, "tool", text="#!/usr/bin/env python3\n")
    write(tmp_path, "LICENSE", text="Do as you like.\n")
    assert [(each.relative, each.language.name) for each in source_files(tmp_path)] == [("tool", "python")]


def test_hidden_and_installed_folders_are_passed_by(tmp_path: Path) -> None:
    write(
        tmp_path, ".git/a.py", "node_modules/a.js", "x/.venv/a.py", "env/pyvenv.cfg", "env/lib/a.py", "y/a.py"
    )
    write(tmp_path, "__pycache__/a.py", "app.min.js")
    assert found(tmp_path) == ["y/a.py"]


def test_a_folder_that_is_asked_for_is_looked_into_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, ".hidden/a.py", ".hidden/pyvenv.cfg")
    assert found(tmp_path / ".hidden") == ["a.py"]


def test_what_gitignore_says_is_passed_by_at_every_level(tmp_path: Path) -> None:
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


def test_a_line_that_is_no_pattern_does_not_take_the_others_with_it(tmp_path: Path) -> None:
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


def test_binary_and_huge_files_are_passed_by_and_told_of(tmp_path: Path) -> None:
    (tmp_path / "binary.py").write_bytes(b"\0\1\2")
    (tmp_path / "huge.py").write_text("x = 1\n" * 100)
    write(tmp_path, "fine.py")
    told: list[tuple[str, str]] = []
    files = source_files(tmp_path, skip=lambda path, why: told.append((path, why)), most_bytes=100)
    assert [each.relative for each in files] == ["fine.py"]
    assert told == [("binary.py", "is a binary file"), ("huge.py", "is larger than 100 bytes")]


def test_a_name_that_is_not_utf_8_is_told_of(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff.py", "w"):
        pass
    told: list[str] = []
    assert list(source_files(tmp_path, skip=lambda path, why: told.append(why))) == []
    assert told == ["has a name that is not UTF-8"]


def test_a_folder_may_be_named_as_editors_do(tmp_path: Path) -> None:
    assert folder_of(f"file://{tmp_path}") == tmp_path.resolve()


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
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
