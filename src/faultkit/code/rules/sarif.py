"""Findings as SARIF 2.1.0, for code scanning services. It only makes the document.

Lines and columns count from 1, columns in characters. A fingerprint is made of rule, file, function and
message, so that a finding stays the same when lines are added above it.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from faultkit import __version__
from faultkit.code.rules.rule import Finding, Rule, Severity
from faultkit.code.rules.table import RULES

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[Severity, str] = {"low": "note", "medium": "warning", "high": "error", "critical": "error"}
_RANKS: dict[Severity, float] = {"low": 2.0, "medium": 5.0, "high": 8.0, "critical": 9.5}
"""From 0 to 10, as services sort by."""


def sarif_document(findings: Iterable[Finding], rules: Iterable[Rule] = RULES) -> dict[str, Any]:
    listed = tuple(rules)
    places = {rule.id: place for place, rule in enumerate(listed)}
    seen: dict[str, int] = {}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "faultkit",
                        "semanticVersion": __version__,
                        "rules": [_rule(rule) for rule in listed],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(each, places, seen) for each in findings],
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.slug.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix, "markdown": rule.fix},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {
            "tags": [rule.kind, *rule.languages],
            "problem.severity": {"note": "recommendation"}.get(
                _LEVELS[rule.severity], _LEVELS[rule.severity]
            ),
        },
    }


def _result(finding: Finding, places: dict[str, int], seen: dict[str, int]) -> dict[str, Any]:
    rule = finding.rule
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(finding.file)},
            "region": {
                "startLine": finding.line,
                "startColumn": finding.column,
                "endLine": finding.end_line,
                "endColumn": finding.end_column,
            },
        }
    }
    if finding.function:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.function, "kind": "function"}]
    result: dict[str, Any] = {
        "ruleId": rule.id,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}. {rule.fix}"},
        "locations": [location],
        "rank": round(10 * _RANKS[finding.severity] * finding.confidence, 1),
        "partialFingerprints": {"faultkit/v1": _fingerprint(finding, seen)},
    }
    if rule.id in places:
        result["ruleIndex"] = places[rule.id]
    return result


def _uri(file: str) -> str:
    """Relative to the folder that the command ran in, as services want it."""
    return quote(file.replace("\\", "/").removeprefix("./") or "snippet", safe="/")


def _fingerprint(finding: Finding, seen: dict[str, int]) -> str:
    what = "\0".join((finding.rule.id, finding.file, finding.function, finding.message))
    seen[what] = seen.get(what, 0) + 1
    return sha256(f"{what}\0{seen[what]}".encode("utf-8", "replace")).hexdigest()[:32]
