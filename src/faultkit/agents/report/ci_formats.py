"""Results of suites for CI systems: JUnit XML, SARIF, TAP version 14, and GitHub's workflow commands.

Only `passed` is a pass in each of them. An interrupted run has an error, because it could look like a
complete one otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from faultkit import __version__
from faultkit.agents.report.row_facts import (
    INTERRUPTED,
    STATUS_MEANINGS,
    STATUS_WORDS,
    RowStatus,
    clocks_of,
    degraded_lines,
    explanation,
    place_of,
    row_figures,
    run_conditions,
    status_of,
    suite_problems,
    tally,
)
from faultkit.agents.report.suite_json import json_text
from faultkit.agents.report.suite_text import row_lines
from faultkit.agents.suite.results import EDGE_RULE, FAILING, ResultRow, SuiteResult, SuiteResults
from faultkit.base.numbers import value_text
from faultkit.base.text import printable_line
from faultkit.report.annotations import workflow_command
from faultkit.report.junit import JUnitCase, JUnitProblem, JUnitSuite, render_junit_suites
from faultkit.report.sarif import SarifLevel, SarifResult, SarifRule, sarif_log

_JUNIT_TAGS: dict[RowStatus, Literal["failure", "error", "skipped"]] = {
    "failed": "failure",
    "not_exercised": "failure",
    "inconclusive": "failure",
    "error": "error",
    "skipped": "skipped",
}
_SARIF_LEVELS: dict[str, SarifLevel] = {
    "failed": "error",
    "error": "error",
    "not_exercised": "warning",
    "inconclusive": "warning",
}
_EDGE_RULES = {
    EDGE_RULE: "The client gets a clean error from a server that does not answer in time, and recovers."
}
_TAP_DIRECTIVE = re.compile(r"#(?=\s*(?:skip|todo))", re.IGNORECASE)


# JUnit


def render_junit(results: SuiteResults) -> str:
    """Return a suite for each file and a case for each row.

    Schemas allow no properties of a case, so figures are properties of the suite under the number of their
    case: `3.time_to_recovery_ms`.
    """
    common = (
        ("tool", f"faultkit {__version__}"),
        ("seed", str(results.seed)),
        ("clock", clocks_of(results)),
        *(("degraded", line) for line in degraded_lines(results)),
    )
    suites = []
    for suite in results.suites:
        cases = [_junit_case(row) for row in suite.rows]
        if suite.problem:
            problem = JUnitProblem("error", "problem", suite.problem)
            cases.append(JUnitCase("the suite could be run", suite.file, 0.0, problem))
        properties = (*common, *_junit_properties(suite))
        output = "\n".join(line for row in suite.rows for line in row_lines(row))
        suites.append(JUnitSuite(suite.file, cases, results.started_at, properties, output))
    if results.interrupted:
        interrupted = JUnitProblem("error", "interrupted", INTERRUPTED)
        case = JUnitCase("all tests were run", "The run", 0.0, interrupted)
        suites.append(JUnitSuite("The run", [case], results.started_at, common))
    return render_junit_suites(suites)


def _junit_properties(suite: SuiteResult) -> Iterator[tuple[str, str]]:
    for number, row in enumerate(suite.rows, 1):
        yield f"{number}.verdict", status_of(row)
        yield f"{number}.place", place_of(row)
        for name, value in row_figures(row).items():
            yield f"{number}.{name}", printable_line(value_text(value))


def _junit_case(row: ResultRow) -> JUnitCase:
    status, problem = status_of(row), None
    if status == "skipped":
        problem = JUnitProblem("skipped", text=explanation(row))
    elif status in _JUNIT_TAGS:
        text = "\n".join(row_lines(row))
        problem = JUnitProblem(_JUNIT_TAGS[status], status, explanation(row), text)
    return JUnitCase(row.name, row.place.file, row.duration_ms / 1000, problem)


# SARIF


def render_sarif(results: SuiteResults) -> str:
    """Return the rows that fail as SARIF. Rules are EDGE ids and verdicts, places are lines of the YAML."""
    return json_text(sarif_document(results), indent=2) + "\n"


def sarif_document(results: SuiteResults) -> dict[str, Any]:
    """Return the rows that fail as a SARIF log."""
    failing = [row for row in results.rows if row.fails]
    rules = [*FAILING, *dict.fromkeys(row.rule for row in failing if row.rule)]
    found = [_sarif_result(row) for row in failing]
    found += [
        SarifResult(
            "error", "error", printable_line(problem) or STATUS_WORDS["error"], file or "suite", _line(1)
        )
        for file, problem in suite_problems(results)
    ]
    # SARIF 2.1.0, 3.20.14: an invocation is successful if it ran to its end, whatever it found.
    is_complete = not results.interrupted and not results.lost and not suite_problems(results)
    invocation: dict[str, Any] = {"executionSuccessful": is_complete}
    texts = [*([INTERRUPTED] if results.interrupted else []), *degraded_lines(results)]
    if texts:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": text}} for text in texts
        ]
    return sarif_log(map(_sarif_rule, rules), found, invocation)


def _sarif_rule(rule: str) -> SarifRule:
    meanings = {str(status): text for status, text in STATUS_MEANINGS.items()} | _EDGE_RULES
    return SarifRule(rule, meanings.get(rule, rule), _SARIF_LEVELS.get(rule, "error"))


def _sarif_result(row: ResultRow) -> SarifResult:
    rule, status = row.rule or row.verdict, status_of(row)
    sentence = f"{printable_line(row.name)}: {explanation(row) or STATUS_WORDS[status]}"
    return SarifResult(
        rule,
        _SARIF_LEVELS[row.verdict],
        "\n".join([sentence, *([row.diff] if row.diff else [])]),
        row.place.file or "suite",
        _line(row.place.line),
        (printable_line(row.name), "test") if printable_line(row.name) else None,
        (rule, row.place.file, row.name),
        {"properties": {"verdict": status, **row_figures(row), "tags": sorted(set(row.tags))}},
    )


def _line(number: int) -> dict[str, int]:
    return {"startLine": max(number, 1)}


# TAP


def render_tap(results: SuiteResults) -> str:
    """Return a test point for each row, with its figures in a YAML block below it.

    The values of a block are written as JSON, which is YAML on one line, so that no text of a test can end
    the block.
    """
    points: list[tuple[bool, str, dict[str, Any]]] = []
    for row in results.rows:
        directive = f" # SKIP {_tap_text(explanation(row))}" if row.skipped else ""
        block = {} if row.skipped else _tap_diagnostics(row)
        points.append((not row.fails, f"{_tap_text(row.name)}{directive}", block))
    points += [
        (False, f"{_tap_text(file)} could be run", {"message": problem, "severity": "error"})
        for file, problem in suite_problems(results)
    ]
    lines = ["TAP version 14", f"1..{len(points)}", f"# {run_conditions(results)}"]
    lines += [f"# degraded: {_tap_text(line)}" for line in degraded_lines(results)]
    for number, (ok, description, block) in enumerate(points, 1):
        lines.append(f"{'ok' if ok else 'not ok'} {number} - {description}")
        if block:
            values = (f"  {name}: {json_text(value)}" for name, value in block.items())
            lines += ["  ---", *values, "  ..."]
    if results.interrupted:
        lines.append(f"Bail out! {INTERRUPTED}")
    return "\n".join(lines) + "\n"


def _tap_diagnostics(row: ResultRow) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if row.fails:
        found["severity"] = "error" if row.verdict == "error" else "fail"
    if row.message:
        found["message"] = explanation(row)
    found["verdict"] = status_of(row)
    found["at"] = {"file": row.place.file, "line": row.place.line}
    found["duration_ms"] = round(row.duration_ms, 3)
    if row.diff:
        found["diff"] = row.diff
    return found | row_figures(row)


def _tap_text(text: str) -> str:
    """Return text on one line in which no `#` begins a directive.

    TAP 14 has an escape for `#`. TAP 13 has none, so a `#` in front of SKIP or TODO becomes a wide one.
    """
    return _TAP_DIRECTIVE.sub("\uff03", printable_line(text)).replace("\\", "\\\\").replace("#", "\\#")


# GitHub


def render_github(results: SuiteResults) -> str:
    """Return an annotation at the line of the YAML for each row that fails, and the tally."""
    lines = [_annotation(row) for row in results.rows if row.fails]
    lines += [
        workflow_command("error", problem, file=file, line=1) for file, problem in suite_problems(results)
    ]
    lines += [workflow_command("error", INTERRUPTED, title="interrupted")] if results.interrupted else []
    lines += [workflow_command("error", line, title="degraded") for line in degraded_lines(results)]
    return "\n".join([*lines, tally(results)]) + "\n"


def _annotation(row: ResultRow) -> str:
    word = STATUS_WORDS[status_of(row)]
    message = "\n".join([explanation(row) or word, *([row.diff] if row.diff else [])])
    line = max(row.place.line, 1)
    return workflow_command("error", message, file=row.place.file, line=line, title=f"{word}: {row.name}")
