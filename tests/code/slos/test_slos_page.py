"""The page about objectives: its examples run, and its tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from faultkit.code.slos.exporters import EXPORTERS
from faultkit.code.slos.rule_files import FORMATS

PAGE = (Path(__file__).parents[3] / "docs" / "slos.md").read_text("utf-8")


def test_the_examples_hold() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)


def test_each_exporter_has_a_row_with_its_names() -> None:
    for each in EXPORTERS.values():
        (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{each.name}` |"))
        for name in filter(None, (each.duration, each.total.removesuffix("_count"), each.route, each.status)):
            assert f"`{name}`" in row, (each.name, name)


def test_each_format_has_a_row() -> None:
    assert all(f"| `{each}` |" in PAGE for each in FORMATS)
