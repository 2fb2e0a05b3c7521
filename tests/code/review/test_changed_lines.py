"""Lines that changed since a git ref, as `git diff` writes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code.review.changed_lines import ChangedLines, FileChange, Hunk, changed_lines, parse_diff


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
diff --git "a/old name.py" "b/sp ace/q\\"uote.py"
--- a/old name.py\t
+++ "b/sp ace/q\\"uote.py"\t
@@ -2 +2 @@
--- a/trap.py
+z
diff --git a/with space b/with space
--- /dev/null
+++ b/with space\t
@@ -0,0 +1 @@
+z
"""
    assert parse_diff(written) == {
        "a.py": FileChange("a.py", (Hunk(1, 1, 1, 2), Hunk(9, 2, 10, 0), Hunk(20, 1, 19, 1))),
        'q"ä.py': FileChange('q"ä.py', (Hunk(0, 0, 3, 1),)),
        'sp ace/q"uote.py': FileChange("old name.py", (Hunk(2, 1, 2, 1),)),
        "with space": FileChange(None, (Hunk(0, 0, 1, 1),)),
    }


def test_lines_have_the_numbers_that_they_had_before() -> None:
    change = FileChange("a.py", (Hunk(1, 1, 1, 2), Hunk(9, 2, 9, 0), Hunk(20, 0, 19, 1)))
    found = ChangedLines({"/a.py": change})
    assert [found.old_line("/a.py", line) for line in (3, 9, 10, 18, 20)] == [2, 8, 11, 19, 20]
    assert [found.touch("/a.py", *lines) for lines in ((1, 1), (3, 9), (9, 10), (10, 18), (18, 19))] == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_lines_count_from_where_the_branch_began(repository: Path) -> None:
    git(repository, "checkout", "-qb", "mine")
    git(repository, "checkout", "-q", "main")
    (repository / "a.py").write_text("others\n" + (repository / "a.py").read_text())
    git(repository, "commit", "-qam", "two")
    git(repository, "checkout", "-q", "mine")
    (repository / "a.py").write_text((repository / "a.py").read_text().replace("line 8", "mine"))
    file = str(repository / "a.py")
    found = changed_lines("main", [file])
    assert found.changes == {file: FileChange("a.py", (Hunk(8, 1, 8, 1),))}
    assert (found.touch(file, 1, 7), found.touch(file, 5, 8), found.has_file(file)) == (False, True, True)


def test_settings_of_the_repository_change_nothing(repository: Path) -> None:
    git(repository, "config", "diff.noprefix", "true")
    git(repository, "config", "diff.external", "false")
    git(repository, "config", "color.ui", "always")
    git(repository, "mv", "a.py", "ä b.py")
    file = repository / "ä b.py"
    file.write_text(file.read_text() + "more\n")
    (repository / "sub").mkdir()
    found = changed_lines("HEAD", [str(repository / "sub")])
    assert found.changes == {str(file): FileChange("a.py", (Hunk(8, 0, 9, 1),))}
    assert found.old_source(str(file)) == "".join(f"line {n}\n" for n in range(1, 9)).encode()


def test_attributes_do_not_hide_lines(repository: Path) -> None:
    git(repository, "config", "diff.interHunkContext", "5")
    (repository / ".gitattributes").write_text("*.py -diff\n")
    file = repository / "a.py"
    file.write_text(file.read_text().replace("line 3\n", "").replace("line 6", "six"))
    changes = changed_lines("HEAD", [str(repository)]).changes
    assert changes == {str(file): FileChange("a.py", (Hunk(3, 1, 2, 0), Hunk(6, 1, 5, 1)))}


@pytest.mark.parametrize("ref", ["nope", "", "-x", "--output=x", "HEAD:a.py"])
def test_a_ref_that_is_none_is_refused(repository: Path, ref: str) -> None:
    with pytest.raises(InputError, match="--diff: expected a branch, tag or commit"):
        changed_lines(ref, [str(repository)])


def test_files_outside_of_git_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--diff: expected files in a git repository"):
        changed_lines("HEAD", [str(tmp_path)])
