"""docs/findings.md is what the table of rules says."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_made_from_the_table() -> None:
    made = runpy.run_path(str(DOCS / "generate_findings.py"))["findings_page"]()
    assert (DOCS / "findings.md").read_text("utf-8") == made, "run `python docs/generate_findings.py`"
