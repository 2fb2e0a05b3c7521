"""The table of reporters: each renders every result, and equal results alike."""

from __future__ import annotations

import pytest

from faultkit.agents.report.reporters import REPORTERS
from tests.agents.report.samples import SAMPLES


def test_every_reporter_of_the_issue_is_there() -> None:
    assert {name: reporter.suffix for name, reporter in REPORTERS.items()} == {
        "pretty": ".txt",
        "quiet": ".txt",
        "json": ".json",
        "junit": ".xml",
        "markdown": ".md",
        "html": ".html",
        "sarif": ".sarif",
        "tap": ".tap",
        "github": ".txt",
    }


@pytest.mark.parametrize("name", REPORTERS)
def test_a_reporter_takes_every_result_and_gives_utf_8_that_ends_its_line(name: str) -> None:
    for made in SAMPLES.values():
        text = REPORTERS[name].render(made)
        assert text == REPORTERS[name].render(made)
        text.encode("utf-8")
        assert text.endswith("\n") or (name == "quiet" and text == "")
