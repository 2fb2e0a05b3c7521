"""TOML text: mistakes in it, and the lines of its values."""

from __future__ import annotations

import pytest

from faultkit.base.documents.toml_text import read_toml_document, toml_line_of
from faultkit.base.errors import InputError

TEXT = """\
# a comment
[tool.x]
a = 1

select = [
  "one",  # the first
  "two",
]
[tool.x.severity]
"FK-R001" = "low"
flat = ["a", "b"]
inner = { c = 1, "d e" = 2 }
[[rows]]
n = 1
[[rows]]
n = 2
text = \"\"\"
[not.a.table]
\"\"\"
last = true
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("tool.x", 2),
        ("tool.x.a", 3),
        ("tool.x.select", 5),
        ("tool.x.select[0]", 6),
        ("tool.x.select[1]", 7),
        ("tool.x.severity.FK-R001", 10),
        ("tool.x.severity.flat[1]", 11),
        ("tool.x.severity.inner.c", 12),
        ('tool.x.severity.inner["d e"]', 12),
        ("rows[1].n", 16),
        ("rows[1].text", 17),
        ("rows[1].last", 20),
        ("", 1),
        ("tool.y", None),
        ("tool.x.select[2]", None),
    ],
)
def test_the_line_of_a_path(path: str, line: int | None) -> None:
    assert toml_line_of(TEXT, path) == line


def test_data_is_read() -> None:
    assert read_toml_document("a = [1]\n", "x.toml") == {"a": [1]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = 1\nb = \n", "x.toml: line 2: expected TOML, got something else: invalid value"),
        ("a = 1\na = 2\n", "x.toml: line 2: expected TOML, got something else: cannot overwrite a value"),
        ("a = " + "[" * 5000, "x.toml: expected TOML, got values that are nested too deeply"),
    ],
)
def test_other_text_is_an_error_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_toml_document(text, "x.toml")
    assert str(caught.value).startswith(problem)
