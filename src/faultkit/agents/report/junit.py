"""Results as JUnit XML, for CI systems: a suite for each file, a case for each row.

Nothing but `passed` is a pass. Schemas know no properties of a case, so figures are properties of the suite
under the number of their case: `3.time_to_recovery_ms`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree as ET

from faultkit import __version__
from faultkit.agents.report.numbers import plain, row_numbers
from faultkit.agents.report.pretty import row_lines
from faultkit.agents.report.words import INTERRUPTED, Shown, shown, told, where
from faultkit.agents.result import Results, Row, SuiteResult
from faultkit.base.numerals import decimals, flat, second
from faultkit.scenario.report.junit import clean

_TAGS: dict[Shown, str] = {
    "failed": "failure",
    "not_exercised": "failure",
    "inconclusive": "failure",
    "error": "error",
    "skipped": "skipped",
}
_NO_TIME = "1970-01-01T00:00:00"


def render_junit(results: Results) -> str:
    root = ET.Element("testsuites")
    for number, suite in enumerate(results.suites):
        root.append(_suite(number, suite, results))
    if results.interrupted:
        # Else a run that was cut short could look like a good one.
        cut_short = _case("all tests were run", "The run", 0.0)
        ET.SubElement(cut_short, "error", type="interrupted", message=INTERRUPTED)
        root.append(_new_suite(len(results.suites), "The run", [cut_short], results))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(number: int, suite: SuiteResult, results: Results) -> ET.Element:
    cases = [_row_case(row) for row in suite.rows]
    if suite.problem:
        case = _case("the suite could be run", suite.file, 0.0)
        ET.SubElement(case, "error", type="problem", message=clean(flat(suite.problem)))
        cases.append(case)
    lines = [line for row in suite.rows for line in row_lines(row)]
    return _new_suite(number, suite.file, cases, results, _properties(suite), "\n".join(lines))


def _new_suite(
    number: int,
    name: str,
    cases: Sequence[ET.Element],
    results: Results,
    properties: Iterable[tuple[str, str]] = (),
    said: str = "",
) -> ET.Element:
    tags = [child.tag for case in cases for child in case]
    suite = ET.Element(
        "testsuite",
        id=str(number),
        name=_name(name),
        package="faultkit",
        hostname="localhost",
        tests=str(len(cases)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
        time=decimals(sum(float(case.get("time", "0")) for case in cases), 3),
        timestamp=second(results.started_at) if results.started_at else _NO_TIME,
    )
    about = ET.SubElement(suite, "properties")
    ours = (
        ("tool", f"faultkit {__version__}"),
        ("seed", str(results.seed)),
        ("clock", results.clock),
    )
    for key, value in (*ours, *properties):
        ET.SubElement(about, "property", name=key, value=clean(value))
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = clean(said)
    ET.SubElement(suite, "system-err")
    return suite


def _properties(suite: SuiteResult) -> Iterator[tuple[str, str]]:
    for number, row in enumerate(suite.rows, 1):
        yield f"{number}.verdict", shown(row)
        yield f"{number}.place", where(row)
        for name, value in row_numbers(row).items():
            yield f"{number}.{name}", flat(plain(value))


def _row_case(row: Row) -> ET.Element:
    verdict = shown(row)
    case = _case(row.name, row.place.file, row.duration_ms)
    if verdict == "skipped":
        ET.SubElement(case, "skipped").text = clean(told(row))
    elif verdict in _TAGS:
        outcome = ET.SubElement(case, _TAGS[verdict], type=verdict, message=clean(told(row)))
        outcome.text = clean("\n".join(row_lines(row)))
    return case


def _case(name: str, classname: str, duration_ms: float) -> ET.Element:
    return ET.Element(
        "testcase", name=_name(name), classname=_name(classname), time=decimals(duration_ms / 1000, 3)
    )


def _name(text: str) -> str:
    return clean(flat(text)) or "unnamed"
