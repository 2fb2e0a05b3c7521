"""The report as JUnit XML, for CI systems: a suite for each scenario, a case for each item.

Nothing but `passed` is a pass. What was missed or proved nothing is a `failure`, what could not be run is an
`error`. Only what the strictest of the usual schemas knows is used; figures are properties of the suite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from xml.etree import ElementTree as ET

from faultkit.base.numerals import decimals, flat, second, short
from faultkit.scenario.report.model import Item, Report, Scenario
from faultkit.scenario.report.phrases import VERDICTS
from faultkit.scenario.report.text import latency_text, render_item

_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS = {
    "failed": ("failure", "failed"),
    "inconclusive": ("failure", "inconclusive"),
    "not exercised": ("failure", "inconclusive"),
    "unfinished": ("error", "unfinished"),
}


def render_junit(report: Report) -> str:
    root = ET.Element("testsuites")
    for number, scenario in enumerate(report.scenarios):
        root.append(_suite(number, scenario, report))
    if report.partial is not None:
        root.append(_cut_short(len(report.scenarios), report, report.partial))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(number: int, scenario: Scenario, report: Report) -> ET.Element:
    items = scenario.items
    tags = [_TAGS[item.verdict][0] for item in items if item.verdict in _TAGS]
    suite = _new_suite(number, scenario.title, len(items), tags, sum(map(_seconds, items)))
    suite.set("timestamp", second(items[0].started_at if items else report.started_at))
    properties = ET.SubElement(suite, "properties")
    about = {"tool": report.tool, "seed": str(report.seed), "file": scenario.file or ""}
    for name, value in about.items():
        ET.SubElement(properties, "property", name=name, value=clean(value))
    for place, item in enumerate(items, 1):
        for name, value in _figures(item):
            ET.SubElement(properties, "property", name=f"{place}.{name}", value=clean(value))
    for place, item in enumerate(items, 1):
        suite.append(_case(place, item, scenario))
    lines = [line for item in items for line in (*render_item(item), "")]
    ET.SubElement(suite, "system-out").text = clean("\n".join(lines))
    ET.SubElement(suite, "system-err")
    return suite


def _new_suite(number: int, name: str, tests: int, tags: list[str], seconds: float) -> ET.Element:
    return ET.Element(
        "testsuite",
        id=str(number),
        name=clean(flat(name)) or "scenario",
        package="faultkit",
        hostname="localhost",
        tests=str(tests),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped="0",
        time=_shown_seconds(seconds),
    )


def _case(place: int, item: Item, scenario: Scenario) -> ET.Element:
    call = item.call
    # The place makes names differ where one call is made twice.
    name = flat(
        f"{place}. {call.method} {call.url} ({', '.join(f.written for f in item.faults) or 'no faults'})"
    )
    case = ET.Element(
        "testcase",
        name=clean(name),
        classname=clean(flat(scenario.title)) or "scenario",
        time=_shown_seconds(_seconds(item)),
    )
    if item.verdict in _TAGS:
        tag, kind = _TAGS[item.verdict]
        message = flat("; ".join((VERDICTS[item.verdict], *item.reasons)))
        outcome = ET.SubElement(case, tag, type=kind, message=clean(message))
        outcome.text = clean("\n".join(render_item(item)))
    return case


def _cut_short(number: int, report: Report, why: str) -> ET.Element:
    """A case that fails, for what never ran: else a partial run could look like a good one."""
    suite = _new_suite(number, "The run", 1, ["error"], 0.0)
    suite.set("timestamp", second(report.ended_at))
    ET.SubElement(suite, "properties")
    case = ET.SubElement(suite, "testcase", name="all scenarios were run", classname="The run", time="0.000")
    ET.SubElement(case, "error", type="partial", message=clean(flat(why)))
    ET.SubElement(suite, "system-out")
    ET.SubElement(suite, "system-err")
    return suite


def _seconds(item: Item) -> float:
    return item.run.total_s + (item.baseline.total_s if item.baseline else 0.0)


def _shown_seconds(seconds: float) -> str:
    return decimals(seconds, 3) if isfinite(seconds) else "0.000"


def _figures(item: Item) -> Iterator[tuple[str, str]]:
    run = item.run
    yield "verdict", item.verdict
    yield "requests", str(run.requests)
    yield "errors", str(run.errors)
    yield "injected", str(item.injection.injected)
    yield "achieved_rps", decimals(run.achieved_rps)
    if run.response.count:
        yield "mean_ms", decimals(run.response.mean_ms)
        for each in run.response.percentiles:
            yield f"p{short(each.percent)}_ms", decimals(each.ms)
    yield "latency", latency_text(run.response)
    for result in item.slos:
        if result.passed is not None:
            yield f"slo {flat(result.slo.title)}", "kept" if result.passed else "missed"


def clean(text: str) -> str:
    """Without the characters that XML cannot hold, not even escaped."""
    return _INVALID.sub("", text)
