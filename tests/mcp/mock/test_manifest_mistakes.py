"""Mistakes in the keys of a manifest for pages, templates, messages during a call and changes."""

from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.mcp.mock.manifest import read_manifest

WRONG = [
    ("page_size: 0", "page_size: expected a whole number from 1 to 100000, got 0"),
    ("page_size: many", 'page_size: expected a whole number from 1 to 100000, got "many"'),
]


@pytest.mark.parametrize(("line", "problem"), WRONG)
def test_a_mistake_is_said_with_its_field_and_line(line: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read_manifest(f"tools:\n  - name: a\n  - name: b\n{line}\n", "m.yml")
    assert str(error.value) == f"m.yml: line 4: {problem}"
