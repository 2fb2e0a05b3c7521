"""JUnit XML, for CI systems. The only module that writes it.

The output keeps to what the strictest of the schemas in use (Ant's) allows: the attributes and children
below, and no properties of a case. Figures of a case are properties of its suite.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal
from xml.etree import ElementTree as ET

from faultkit.base.numbers import decimals, instant_to_second
from faultkit.base.text import printable_line

_INVALID_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML 1.0 cannot hold, not even escaped (section 2.2)."""
_NO_TIME = "1970-01-01T00:00:00"
"""Schemas require a timestamp, and a run that never started has none."""


@dataclass(frozen=True, slots=True)
class JUnitProblem:
    """Why a case is not a pass."""

    tag: Literal["failure", "error", "skipped"]
    type: str = ""
    message: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """One test. A case without a problem passed."""

    name: str
    classname: str
    seconds: float
    problem: JUnitProblem | None = None


@dataclass(frozen=True, slots=True)
class JUnitSuite:
    """Cases that belong together."""

    name: str
    cases: Sequence[JUnitCase]
    started_at: str
    """ISO 8601; empty if unknown."""
    properties: Iterable[tuple[str, str]] = ()
    output: str = ""


def render_junit_suites(suites: Iterable[JUnitSuite]) -> str:
    """Return the suites as an XML document."""
    root = ET.Element("testsuites")
    for number, suite in enumerate(suites):
        root.append(_suite(number, suite))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(number: int, suite: JUnitSuite) -> ET.Element:
    tags = [case.problem.tag for case in suite.cases if case.problem is not None]
    node = ET.Element(
        "testsuite",
        id=str(number),
        name=_name(suite.name),
        package="faultkit",
        hostname="localhost",
        tests=str(len(suite.cases)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
        time=_seconds(sum(case.seconds for case in suite.cases)),
        timestamp=instant_to_second(suite.started_at) if suite.started_at else _NO_TIME,
    )
    properties = ET.SubElement(node, "properties")
    for name, value in suite.properties:
        ET.SubElement(properties, "property", name=_valid_text(name), value=_valid_text(value))
    node.extend(map(_case, suite.cases))
    ET.SubElement(node, "system-out").text = _valid_text(suite.output)
    ET.SubElement(node, "system-err")
    return node


def _case(case: JUnitCase) -> ET.Element:
    node = ET.Element(
        "testcase", name=_name(case.name), classname=_name(case.classname), time=_seconds(case.seconds)
    )
    problem = case.problem
    if problem is not None:
        attributes = (
            {"type": problem.type, "message": _valid_text(printable_line(problem.message))}
            if problem.type
            else {}
        )
        ET.SubElement(node, problem.tag, attributes).text = _valid_text(problem.text) or None
    return node


def _name(text: str) -> str:
    return _valid_text(printable_line(text)) or "unnamed"


def _seconds(seconds: float) -> str:
    return decimals(seconds, 3) if isfinite(seconds) else "0.000"


def _valid_text(text: str) -> str:
    return _INVALID_IN_XML.sub("", text)
