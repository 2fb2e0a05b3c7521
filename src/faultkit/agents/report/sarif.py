"""What fails as SARIF 2.1.0, for code scanning services: rules are EDGE ids and kinds of verdicts, places are
lines of the YAML. What passes is not told."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from faultkit import __version__
from faultkit.agents.report.json import json_text
from faultkit.agents.report.numbers import row_numbers
from faultkit.agents.report.words import INTERRUPTED, MEANINGS, WORDS, problems, shown, told
from faultkit.agents.result import EDGE_RULE, FAILING, Results, Row
from faultkit.base.numerals import flat

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"failed": "error", "error": "error", "not_exercised": "warning", "inconclusive": "warning"}
_EDGES = {EDGE_RULE: "A server that does not answer in time is met with a clean error, and recovered from."}


def render_sarif(results: Results) -> str:
    return json_text(sarif_document(results), indent=2) + "\n"


def sarif_document(results: Results) -> dict[str, Any]:
    failing = [row for row in results.rows if row.fails]
    rules = [*FAILING, *dict.fromkeys(row.rule for row in failing if row.rule)]
    seen: dict[str, int] = {}
    found = [_result(row, rules, seen) for row in failing]
    found += [_problem(file, problem, rules) for file, problem in problems(results)]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "faultkit",
                        "semanticVersion": __version__,
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "invocations": [_invocation(results)],
                "columnKind": "unicodeCodePoints",
                "results": found,
            }
        ],
    }


def _rule(rule: str) -> dict[str, Any]:
    meaning = next((text for verdict, text in MEANINGS.items() if verdict == rule), _EDGES.get(rule, rule))
    return {
        "id": rule,
        "shortDescription": {"text": meaning},
        "defaultConfiguration": {"level": _LEVELS.get(rule, "error")},
    }


def _invocation(results: Results) -> dict[str, Any]:
    """Told to have been successful if it came to its end, whatever it found."""
    found: dict[str, Any] = {"executionSuccessful": not results.interrupted and not problems(results)}
    if results.interrupted:
        found["toolExecutionNotifications"] = [{"level": "error", "message": {"text": INTERRUPTED}}]
    return found


def _result(row: Row, rules: list[str], seen: dict[str, int]) -> dict[str, Any]:
    rule = row.rule or row.verdict
    text = "\n".join(_sentences(row))
    return {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "level": _LEVELS[row.verdict],
        "message": {"text": text},
        "locations": [_location(row.place.file, row.place.line, row.name)],
        "partialFingerprints": {"faultkit/v1": _fingerprint(row, rule, seen)},
        "properties": {"verdict": shown(row), **row_numbers(row), "tags": sorted(set(row.tags))},
    }


def _sentences(row: Row) -> Iterator[str]:
    yield f"{flat(row.name)}: {told(row) or WORDS[shown(row)]}"
    if row.diff:
        yield row.diff


def _problem(file: str, problem: str, rules: list[str]) -> dict[str, Any]:
    return {
        "ruleId": "error",
        "ruleIndex": rules.index("error"),
        "level": "error",
        "message": {"text": flat(problem) or WORDS["error"]},
        "locations": [_location(file, 1)],
    }


def _location(file: str, line: int, test: str = "") -> dict[str, Any]:
    # Relative to the folder that the command ran in, as services want it.
    uri = quote(file.replace("\\", "/").removeprefix("./").encode("utf-8", "replace") or "suite", safe="/")
    place: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": max(line, 1)}}
    }
    if flat(test):
        place["logicalLocations"] = [{"fullyQualifiedName": flat(test), "kind": "test"}]
    return place


def _fingerprint(row: Row, rule: str, seen: dict[str, int]) -> str:
    """Of rule, file and test: it stays the same when lines are added above, or figures change."""
    what = "\0".join((rule, row.place.file, row.name))
    seen[what] = seen.get(what, 0) + 1
    return sha256(f"{what}\0{seen[what]}".encode("utf-8", "replace")).hexdigest()[:32]
