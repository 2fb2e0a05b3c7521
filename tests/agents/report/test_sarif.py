"""SARIF of results: what fails at its line of the YAML, valid by the schema of the standard."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from faultkit.agents.report.ci_formats import render_sarif
from faultkit.agents.suite.definition import Place
from faultkit.agents.suite.results import Results
from faultkit.code.review.review_sarif import sarif_document as sarif_of_findings
from faultkit.report.sarif import SCHEMA
from tests.agents.report.samples import ALL, CUT_SHORT, FAILED, GOOD, PASSED, SAMPLES, TOOL_FAILED, results
from tests.code.rules.test_sarif_schema import SCHEMA as INSTALLED


def run_of(made: Results) -> dict[str, Any]:
    (run,) = json.loads(render_sarif(made))["runs"]
    return dict(run)


def test_every_sample_is_valid_by_the_standard() -> None:
    if not INSTALLED.is_file():
        pytest.skip(f"the schema is not installed: npm install --prefix {INSTALLED.parents[4].name}")
    schema = json.loads(Path(INSTALLED).read_text("utf-8"))
    validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    for name, made in SAMPLES.items():
        errors = [
            f"{each.json_path}: {each.message}"
            for each in validator.iter_errors(json.loads(render_sarif(made)))
        ]
        assert errors == [], name


def test_the_schema_is_named_as_elsewhere() -> None:
    assert sarif_of_findings([])["$schema"] == SCHEMA


def test_a_failing_row_has_rule_level_place_and_figures() -> None:
    run = run_of(results(PASSED, FAILED))
    (result,) = run["results"]
    assert result["ruleId"] == "EDGE-006"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "EDGE-006"
    assert result["level"] == "error"
    assert result["message"]["text"].startswith("slow to recover (recovery): max_recovery_ms is 5000: ")
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "suites/search.yml"},
                "region": {"startLine": 30},
            },
            "logicalLocations": [{"fullyQualifiedName": "slow to recover (recovery)", "kind": "test"}],
        }
    ]
    assert result["properties"]["time_to_recovery_ms"] == 6040
    assert result["properties"]["limit"] == "max_recovery_ms"


def test_rules_are_edge_ids_and_kinds_of_verdicts() -> None:
    run = run_of(ALL)
    listed = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert listed == ["failed", "not_exercised", "inconclusive", "error", "EDGE-006"]
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("EDGE-006", "error"),
        ("EDGE-006", "error"),
        ("EDGE-006", "warning"),
        ("EDGE-006", "error"),
        ("EDGE-006", "warning"),
        ("error", "error"),
        ("failed", "error"),
    ]


def test_nothing_that_passes_is_told() -> None:
    run = run_of(GOOD)
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_a_run_that_was_cut_short_was_no_successful_invocation() -> None:
    run = run_of(CUT_SHORT)
    assert run["invocations"][0]["executionSuccessful"] is False
    (result,) = run["results"]
    assert result["message"]["text"] == "server files: no such program"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_a_fingerprint_outlives_lines_above_and_other_figures() -> None:
    moved = replace(TOOL_FAILED, place=Place(TOOL_FAILED.place.file, 999), message="got 2")
    prints = [run_of(results(row))["results"][0]["partialFingerprints"] for row in (TOOL_FAILED, moved)]
    assert prints[0] == prints[1]
    twice = run_of(results(TOOL_FAILED, moved))["results"]
    assert twice[0]["partialFingerprints"] != twice[1]["partialFingerprints"]
