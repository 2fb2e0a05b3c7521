"""A report of experiments as JUnit XML: one suite, a case for each experiment. Only `held` is a pass."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from faultkit.base.numerals import decimals, flat, second
from faultkit.chaos.report.model import SAYS, ChaosReport, Run
from faultkit.chaos.report.text import render_chaos_text
from faultkit.scenario.report.junit import clean

_TAGS = {
    "deviated": "failure",
    "invalid": "error",
    "gate_not_met": "failure",
    "aborted": "error",
    "rollback_failed": "error",
}


def render_chaos_junit(report: ChaosReport) -> str:
    tags = [_TAGS[run.outcome] for run in report.runs if run.outcome in _TAGS]
    tags += ["error" for _ in report.not_run]
    suite = ET.Element(
        "testsuite",
        id="0",
        name=clean(flat(report.title)) or "chaos",
        package="faultkit",
        hostname="localhost",
        tests=str(len(report.runs) + len(report.not_run)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped="0",
        time=decimals(sum(run.duration_s for run in report.runs), 3),
        timestamp=second(report.runs[0].started_at) if report.runs else "1970-01-01T00:00:00",
    )
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", name="tool", value=clean(report.tool))
    for run in report.runs:
        suite.append(_case(run, report))
    for name in report.not_run:
        case = _new_case(name, report, 0.0)
        ET.SubElement(case, "error", type="not_run", message="it did not get its turn")
        suite.append(case)
    ET.SubElement(suite, "system-out").text = clean(render_chaos_text(report))
    ET.SubElement(suite, "system-err")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(run: Run, report: ChaosReport) -> ET.Element:
    case = _new_case(run.name, report, run.duration_s)
    if run.outcome in _TAGS:
        message = flat("; ".join((SAYS[run.outcome], *run.reasons, *([run.error] if run.error else []))))
        ET.SubElement(case, _TAGS[run.outcome], type=run.outcome, message=clean(message))
    return case


def _new_case(name: str, report: ChaosReport, seconds: float) -> ET.Element:
    return ET.Element(
        "testcase",
        name=clean(flat(name)) or "experiment",
        classname=clean(flat(report.title)) or "chaos",
        time=decimals(seconds, 3),
    )
