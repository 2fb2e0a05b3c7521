"""TAP of results, read by parsers that others wrote: Python's, and the reference one in strict mode."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tap.line import Result
from tap.parser import Parser

from faultkit.agents.report.ci_formats import render_tap
from faultkit.agents.suite.results import Results
from tests.agents.report.samples import (
    ALL,
    CUT_SHORT,
    EMPTY,
    ENEMY,
    FAILED,
    HOSTILE_TEXT,
    SKIPPED,
    TOOL_FAILED,
    results,
)

FORMATS = Path(__file__).parent / "formats"
REFERENCE = FORMATS / "node_modules" / ".bin" / "tap-parser"


def points(made: Results) -> list[Result]:
    return [line for line in Parser().parse_text(render_tap(made)) if line.category == "test"]


def reference(text: str) -> list[Any]:
    node = shutil.which("node")
    if node is None or not REFERENCE.is_file():
        pytest.skip(f"the reference parser is not installed: npm install --prefix {FORMATS.name}")
    done = subprocess.run(
        [node, str(REFERENCE), "--strict", "--json"], input=text, capture_output=True, text=True, timeout=30
    )
    events: list[Any] = json.loads(done.stdout)
    return events


def test_two_points_are_written_to_the_letter() -> None:
    assert render_tap(results(TOOL_FAILED, SKIPPED)) == (
        "TAP version 14\n"
        "1..2\n"
        "# virtual time, seed 7\n"
        "not ok 1 - finds ports\n"
        "  ---\n"
        '  severity: "fail"\n'
        '  message: "result.content[0].text: expected to contain \\"8080\\", got \\"none\\""\n'
        '  verdict: "failed"\n'
        '  at: {"file": "suites/search.yml", "line": 120}\n'
        "  duration_ms: 4\n"
        '  diff: "- 8080\\n+ none"\n'
        '  limit: "result.content[0].text"\n'
        "  ...\n"
        "ok 2 - left out # SKIP needs a paid key\n"
    )


def test_a_parser_finds_every_point_and_its_figures() -> None:
    found = points(ALL)
    assert [point.ok for point in found] == [
        True,
        True,
        False,
        False,
        True,
        False,
        False,
        False,
        False,
        True,
        False,
    ]
    assert [point.number for point in found if point.skip] == [10]
    (failed,) = points(results(FAILED))
    assert failed.yaml_block["time_to_recovery_ms"] == 6040
    assert failed.yaml_block["limit"] == "max_recovery_ms"
    assert failed.yaml_block["rule_id"] == "EDGE-006"
    assert failed.yaml_block["tool_misuse.tool_calls_used"] == 3


def test_no_test_is_a_plan_of_nothing() -> None:
    assert render_tap(EMPTY) == "TAP version 14\n1..0\n# virtual time, seed 0\n"


def test_a_run_that_was_cut_short_bails_out_and_tells_what_could_not_be_run() -> None:
    text = render_tap(CUT_SHORT)
    assert "1..2\n" in text
    assert "not ok 2 - suites/none.yml could be run\n" in text
    assert text.endswith("Bail out! the run was interrupted: tests that are missing here were not run\n")


def test_hostile_text_makes_no_point_and_ends_no_block() -> None:
    found = points(ENEMY)
    assert [point.number for point in found] == [1, 2, 3]
    assert not any(point.skip for point in found)
    assert found[0].yaml_block["diff"] == f"```\n{HOSTILE_TEXT}"


def test_the_reference_parser_has_no_complaint() -> None:
    for name, made in (("all", ALL), ("enemy", ENEMY)):
        events = reference(render_tap(made))
        kinds = [kind for kind, *_ in events]
        assert "extra" not in kinds, name
        (final,) = [each for kind, *rest in events for each in rest if kind == "complete"]
        asserted = [each["ok"] for kind, *rest in events for each in rest if kind == "assert"]
        assert len(asserted) == len(made.rows) + sum(bool(suite.problem) for suite in made.suites), name
        assert [failure for failure in final["failures"] if failure.get("tapError")] == [], name
