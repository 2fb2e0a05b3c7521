"""Lines of a changed text, and the lines that they stand for."""

from __future__ import annotations

import pytest

from faultkit.code.advice.line_origins import line_origins


@pytest.mark.parametrize(
    ("old", "new", "origins"),
    [
        ("a\nb\n", "a\nb\n", [0, 1]),
        ("a\nb\n", "x\na\nb\n", [0, 0, 1]),
        ("a\nb\n", "a\nb\nx\n", [0, 1, 1]),
        ("a\nb\nc\n", "a\nc\n", [0, 2]),
        ("a\nreturn get(u).json()\n", "a\nr = get(u)\nr.check()\nreturn r.json()\n", [0, 1, 1, 1]),
        ("a\nx = 1\ny = 2\n", "a\ntry:\n  x = 1\n  y = 2\nend\n", [0, 1, 1, 2, 2]),
        # A function that an earlier line is moved to.
        ("a\nb\nreturn get(u)\n", "def f(u):\n  return get(u)\na\nb\nreturn f(u)\n", [2, 2, 0, 1, 2]),
        ("", "x\n", [0]),
    ],
)
def test_a_line_stands_for_the_one_it_comes_from(old: str, new: str, origins: list[int]) -> None:
    assert line_origins(old, new) == origins
