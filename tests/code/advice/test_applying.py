"""Diffs that fit a text give the new one; those that do not are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.code.advice.applying import applied
from faultkit.code.changes.diff import unified_diff

TEXTS = st.lists(
    st.sampled_from(["a", "b", "\n", "\n\n", " ", "\r\n", "-", "+", "@@", "\\", "\x0c", "é"])
).map("".join)
OLD = "one\ntwo\nthree\nfour\n"
DIFF = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


@given(TEXTS, TEXTS)
def test_a_diff_of_ours_gives_the_new_text(old: str, new: str) -> None:
    diff = unified_diff(old, new)
    assert (applied(old, diff) if diff else old) == new


def test_a_diff_is_applied_where_it_says() -> None:
    assert applied(OLD, DIFF) == "one\n2\nthree\nfour\n"


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
        applied(old, diff)
