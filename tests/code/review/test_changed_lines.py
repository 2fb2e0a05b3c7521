"""Lines that changed since a git ref, as `git diff` writes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code.review.changed_lines import changed_lines, parse_diff


def git(folder: Path, *words: str) -> None:
    user = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *user, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 9)))
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    return tmp_path


def test_hunks_are_read_by_file() -> None:
    written = b"""\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1 +1,2 @@ def f():
-old
+++ b/trap.py
+new
@@ -9,2 +10,0 @@
-gone
-gone
@@ -20 +19 @@
-x
+y
\\ No newline at end of file
diff --git a/b.py b/b.py
deleted file mode 100644
--- a/b.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/c b/c
--- "a/q\\"\\303\\244.py"
+++ "b/q\\"\\303\\244.py"
@@ -0,0 +3 @@
+z
diff --git a/with space b/with space
--- a/with space
+++ b/with space\t
@@ -0,0 +1 @@
+z
"""
    assert parse_diff(written) == {
        "a.py": frozenset({1, 2, 19}),
        'q"ä.py': frozenset({3}),
        "with space": frozenset({1}),
    }


def test_lines_count_from_where_the_branch_began(repository: Path) -> None:
    git(repository, "checkout", "-qb", "mine")
    git(repository, "checkout", "-q", "main")
    (repository / "a.py").write_text("others\n" + (repository / "a.py").read_text())
    git(repository, "commit", "-qam", "two")
    git(repository, "checkout", "-q", "mine")
    (repository / "a.py").write_text((repository / "a.py").read_text().replace("line 8", "mine"))
    file = str(repository / "a.py")
    found = changed_lines("main", [file])
    assert found.lines == {file: frozenset({8})}
    assert (found.touch(file, 1, 7), found.touch(file, 5, 8), found.has_file(file)) == (False, True, True)


def test_settings_of_the_repository_change_nothing(repository: Path) -> None:
    git(repository, "config", "diff.noprefix", "true")
    git(repository, "config", "diff.external", "false")
    git(repository, "config", "color.ui", "always")
    git(repository, "mv", "a.py", "ä b.py")
    file = repository / "ä b.py"
    file.write_text(file.read_text() + "more\n")
    (repository / "sub").mkdir()
    assert changed_lines("HEAD", [str(repository / "sub")]).lines == {str(file): frozenset({9})}


@pytest.mark.parametrize("ref", ["nope", "", "-x", "--output=x", "HEAD:a.py"])
def test_a_ref_that_is_none_is_refused(repository: Path, ref: str) -> None:
    with pytest.raises(InputError, match="--diff: expected a branch, tag or commit"):
        changed_lines(ref, [str(repository)])


def test_files_outside_of_git_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--diff: expected files in a git repository"):
        changed_lines("HEAD", [str(tmp_path)])
