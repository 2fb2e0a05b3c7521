"""Diffs that git accepts, and edits of bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultkit.code.changes import Edit, apply_edits, edits_between, unified_diff
from faultkit.code.changes.change import apply_diff, lines_of
from faultkit.code.languages.syntax import Span

LINES = st.sampled_from(["a", "b", "c", "", "  é", "\u2028x", "\x0cf", "\\", "-", "+++ q", "end\r"])
TEXTS = st.builds(
    lambda lines, ends: "\n".join(lines) + ("\n" if ends and lines else ""),
    st.lists(LINES, max_size=30),
    st.booleans(),
)


def git_apply(folder: Path, diff: str) -> str:
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=folder, input=diff.encode(), capture_output=True, timeout=30, check=False,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )  # fmt: skip
    return done.stderr.decode()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=TEXTS, new=TEXTS)
def test_git_applies_the_diff(tmp_path: Path, old: str, new: str) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(f"first\n{old}".encode())
    diff = unified_diff(f"first\n{old}", f"first\n{new}", "a.py")
    assert bool(diff) == (old != new)
    if diff:
        assert git_apply(tmp_path, diff) == ""
    assert file.read_bytes() == f"first\n{new}".encode()


@pytest.mark.parametrize("path", ["a.py", "b/c.py", "with blank.py", 'quo"te.py', "tab\there.py", "ü.py"])
def test_names_of_files_are_written_as_git_reads_them(tmp_path: Path, path: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("one\n")
    assert git_apply(tmp_path, unified_diff("one\n", "two\n", path)) == ""
    assert file.read_text() == "two\n"


def test_a_diff_has_three_lines_of_context_and_git_s_names() -> None:
    old = "".join(f"{n}\n" for n in range(10))
    assert unified_diff(old, old.replace("5\n", "five\n"), "src/a.py") == (
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -3,7 +3,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


def test_a_missing_line_end_is_marked() -> None:
    assert unified_diff("a\nb", "a\nb\n") == (
        "--- a/snippet\n+++ b/snippet\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
    )


def test_carriage_returns_stay_where_they_are() -> None:
    assert unified_diff("a\r\nb\r\n", "a\r\nc\r\n").splitlines(keepends=True)[-2:] == ["-b\r\n", "+c\r\n"]


def test_the_same_text_has_no_diff() -> None:
    assert unified_diff("a\n", "a\n", "a.py") == ""


@given(TEXTS, TEXTS)
def test_edits_between_two_texts_turn_one_into_the_other(old: str, new: str) -> None:
    assert apply_edits(old, edits_between(old, new)) == new


@given(TEXTS)
def test_joined_lines_are_the_text(text: str) -> None:
    assert "".join(lines_of(text)) == text


def test_edits_count_bytes_and_insertions_keep_their_order() -> None:
    edits = (Edit(Span(2, 2), "x"), Edit(Span(2, 2), "y"), Edit(Span(0, 2), "e"))
    assert apply_edits("éa", edits) == "exya"


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="edits: expected spans that do not overlap"):
        apply_edits("abc", (Edit(Span(0, 2), "x"), Edit(Span(1, 3), "y")))


# Applying diffs.


PATCH_TEXTS = st.lists(
    st.sampled_from(["a", "b", "\n", "\n\n", " ", "\r\n", "-", "+", "@@", "\\", "\x0c", "é"])
).map("".join)
OLD = "one\ntwo\nthree\nfour\n"
DIFF = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


@given(PATCH_TEXTS, PATCH_TEXTS)
def test_applying_our_diff_gives_the_new_text(old: str, new: str) -> None:
    diff = unified_diff(old, new)
    assert (apply_diff(old, diff) if diff else old) == new


def test_a_diff_is_applied_at_its_lines() -> None:
    assert apply_diff(OLD, DIFF) == "one\n2\nthree\nfour\n"


WRONG = {
    "no names": ("@@ -1 +1 @@\n-one\n+1\n", OLD),
    "no hunk": ("--- a/f\n+++ b/f\n one\n", OLD),
    "another old line": (DIFF, OLD.replace("two", "Two")),
    "a line further up": (DIFF, f"zero\n{OLD}"),
    "a wrong count": (DIFF.replace("-1,3", "-1,4"), OLD),
    "a wrong place in the new text": (DIFF.replace("+1,3", "+2,3"), OLD),
    "no end of line": ("--- a/f\n+++ b/f\n@@ -4 +4 @@\n-four\n\\ No newline at end of file\n+4\n", OLD),
}


@pytest.mark.parametrize(("diff", "old"), WRONG.values(), ids=WRONG)
def test_a_diff_that_does_not_fit_is_refused(diff: str, old: str) -> None:
    with pytest.raises(ValueError, match=r"^diff: expected "):
        apply_diff(old, diff)


def test_a_long_text_of_equal_lines_is_compared_line_by_line() -> None:
    old = "".join(f"def f{at}(url):\n    r = get(url)\n    return r.json()\n\n\n" for at in range(200))
    new = "import time\n" + old.replace("get(url)", "get(url, timeout=5)")
    diff = unified_diff(old, new)
    assert apply_diff(old, diff) == new
    assert apply_edits(old, edits_between(old, new)) == new
    assert sum(line.startswith("-    ") for line in diff.splitlines()) == 200


def _calls_to_compare(times: int) -> int:
    old = "".join(f"def f{at}(url):\n    r = get(url)\n    return r.json()\n\n\n" for at in range(times))
    new = old.replace("get(url)", "get(url, timeout=5)")
    count = 0

    def on_event(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(on_event)
    try:
        edits_between(old, new)
    finally:
        sys.setprofile(None)
    return count


def test_the_cost_of_a_comparison_grows_with_the_text_and_not_with_its_square() -> None:
    assert _calls_to_compare(200) <= 2.6 * _calls_to_compare(100)
