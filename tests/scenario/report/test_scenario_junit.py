"""JUnit XML: the structure of the strictest schema in use, and only `passed` is a pass."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.scenario.report.report_model import Report
from faultkit.scenario.report.scenario_junit import render_junit
from tests.scenario.report.examples import ALL_KINDS, EXAMPLES, HOSTILE, LOAD, PARTIAL, SINGLE

# Children in their order with how often they may come, and attributes that must be there, as the schema of
# Ant's JUnit task has them; of the attributes that may be there we use `skipped` alone.
CHILDREN = {
    "testsuites": "(testsuite )*",
    "testsuite": "(properties )(testcase )*(system-out )(system-err )",
    "properties": "(property )*",
    "property": "",
    "testcase": "((skipped |error |failure ))?",
    "failure": "",
    "error": "",
    "system-out": "",
    "system-err": "",
}
ATTRIBUTES = {
    "testsuite": "name timestamp hostname tests failures errors time id package skipped",
    "property": "name value",
    "testcase": "name classname time",
    "failure": "type message",
    "error": "type message",
}
FORMS = {
    "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
    "time": r"\d+\.\d{3}",
    "tests": r"\d+",
    "failures": r"\d+",
    "errors": r"\d+",
    "skipped": r"\d+",
    "id": r"\d+",
    "hostname": r"\S+",
    "classname": r"(?s).+",
}


def check(root: ET.Element) -> None:
    for element in root.iter():
        assert element.tag in CHILDREN
        children = "".join(f"{child.tag} " for child in element)
        assert re.fullmatch(CHILDREN[element.tag], children), (element.tag, children)
        assert set(element.attrib) == set(ATTRIBUTES.get(element.tag, "").split())
        for name, form in FORMS.items():
            assert re.fullmatch(form, element.get(name, "")) or name not in element.attrib, (
                name,
                element.attrib,
            )
    for number, suite in enumerate(root):
        found = Counter(element.tag for element in suite.iter())
        counts = tuple(str(found[tag]) for tag in ("testcase", "failure", "error", "skipped"))
        assert tuple(suite.get(key) for key in ("tests", "failures", "errors", "skipped")) == counts
        assert suite.get("id") == str(number)


@pytest.mark.parametrize("report", EXAMPLES.values(), ids=EXAMPLES)
def test_every_report_keeps_to_the_schema(report: Report) -> None:
    text = render_junit(report)
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<testsuites')
    check(ET.fromstring(text.encode()))


def test_only_passed_is_a_pass() -> None:
    cases = ET.fromstring(render_junit(ALL_KINDS)).iter("testcase")
    outcomes = [(case[0].tag, case[0].get("type")) if len(case) else None for case in cases]
    assert outcomes == [
        None,
        ("failure", "failed"),
        None,
        ("failure", "failed"),
        ("error", "inconclusive"),
        ("error", "not exercised"),
        ("error", "unfinished"),
    ]
    assert [item.verdict for item in ALL_KINDS.items] == [
        "passed",
        "failed",
        "passed",
        "failed",
        "inconclusive",
        "not exercised",
        "unfinished",
    ]


def test_a_partial_report_fails_even_if_all_that_ran_has_passed() -> None:
    root = ET.fromstring(render_junit(replace(SINGLE, partial="interrupted")))
    check(root)
    assert [suite.get("errors") for suite in root] == ["0", "1"]
    error = root.find("testsuite/testcase/error")
    assert error is not None
    assert error.attrib == {"type": "partial", "message": "interrupted"}


def test_a_case_names_its_call_its_time_and_its_reasons() -> None:
    case = ET.fromstring(render_junit(PARTIAL))[0].findall("testcase")[1]
    assert case.attrib == {
        "name": "2. GET http://localhost:9090/ (latency)",
        "classname": "Cut short",
        "time": "0.000",
    }
    assert case[0].get("message") == "Unfinished; localhost:9090 cannot be reached: connection refused"
    assert (case[0].text or "").startswith("UNFINISHED: GET http://localhost:9090/\n  because ")


def test_time_is_that_of_both_runs_and_the_figures_are_properties() -> None:
    suite = ET.fromstring(render_junit(LOAD))[0]
    assert suite.get("time") == "20.170"
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert {name: properties[name] for name in ("seed", "1.verdict", "1.requests", "1.injected")} == {
        "seed": "42",
        "1.verdict": "passed",
        "1.requests": "300",
        "1.injected": "135",
    }
    assert properties["1.p95_ms"] == f"{LOAD.items[0].run.response.percentiles[4].ms:.2f}"
    assert properties["1.slo three nines"] == "kept"
    assert "Below by 136.2ms" in (suite.findtext("system-out") or "")


def test_characters_that_xml_cannot_hold_are_taken_out() -> None:
    assert "\x1b" not in render_junit(HOSTILE)
    assert "\ufffe" not in render_junit(HOSTILE)


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_no_text_breaks_the_document(text: str) -> None:
    item = replace(
        LOAD.items[0], verdict="failed", reasons=(text,), call=replace(LOAD.items[0].call, url=text)
    )
    scenario = replace(LOAD.scenarios[0], title=text, file=text, items=(item,))
    check(ET.fromstring(render_junit(replace(LOAD, scenarios=(scenario,), partial=text, tool=text)).encode()))
