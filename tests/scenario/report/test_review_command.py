"""`fault scenario review`: where it writes to is checked before it reads, as `run` does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faultkit.cli.main import invoke
from faultkit.scenario.report.report_files import write_report
from faultkit.scenario.report.review import render_review, review
from tests.scenario.report.examples import ALL_KINDS


def test_a_review_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_report(ALL_KINDS, "results.json")
    assert invoke(["scenario", "review", "--report", "review.md"]) == 0
    assert Path("review.md").read_text("utf-8") == render_review(review(ALL_KINDS))


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("no/review.md", 'expected a folder that exists, got "no"'),
        ("review.pdf", 'expected a file that ends in .md, got ".pdf"'),
    ],
)
def test_a_place_that_cannot_be_written_is_wrong_input(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_report(ALL_KINDS, "results.json")
    assert invoke(["scenario", "review", "--report", path]) == 2
    assert capsys.readouterr().err == f"error: {path}: {why}\n"
    assert os.listdir(tmp_path) == ["results.json"]
