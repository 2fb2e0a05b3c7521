from __future__ import annotations

import pytest

from faultkit.code.comments import comment_text


@pytest.mark.parametrize(
    ("comments", "text"),
    [
        ([], ""),
        (["// one"], "one"),
        (["/// one\n", "///\n", "///   two\n"], "one\n\n  two"),
        (["# one", "#two"], "one\ntwo"),
        (["/** one */"], "one"),
        (["/* one\n   two */"], "one\ntwo"),
        (["/**\n * one\n *\n *   - two\n */"], "one\n\n  - two"),
        (["/*! one */", "// two"], "one\ntwo"),
        (["/**/"], ""),
        (["-- one"], "one"),
    ],
)
def test_marks_stars_and_indentation_are_taken_off(comments: list[str], text: str) -> None:
    assert comment_text(comments) == text
