"""Findings as SARIF, for code scanning services. The document itself is made by `faultkit.report.sarif`.

A finding is identified by rule, file, function and message, so that it stays the same when lines are added
above it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from faultkit.code.review.engine import RULES
from faultkit.code.rules.rule import Finding, Rule, Severity
from faultkit.report.sarif import Level, SarifResult, SarifRule, sarif_log

_LEVELS: dict[Severity, Level] = {"low": "note", "medium": "warning", "high": "error", "critical": "error"}
_RANKS: dict[Severity, float] = {"low": 2.0, "medium": 5.0, "high": 8.0, "critical": 9.5}
"""From 0 to 10; services sort by them."""


def sarif_document(findings: Iterable[Finding], rules: Iterable[Rule] = RULES) -> dict[str, Any]:
    """Return the findings and the rules as a SARIF log."""
    return sarif_log(map(_rule, rules), map(_result, findings))


def _rule(rule: Rule) -> SarifRule:
    level = _LEVELS[rule.severity]
    return SarifRule(
        rule.id,
        rule.title,
        level,
        {
            "name": "".join(word.capitalize() for word in rule.slug.split("-")),
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.fix, "markdown": rule.fix},
            "properties": {
                "tags": [rule.kind, *rule.languages],
                # GitHub's name for the lowest level.
                "problem.severity": "recommendation" if level == "note" else level,
            },
        },
    )


def _result(finding: Finding) -> SarifResult:
    rule = finding.rule
    return SarifResult(
        rule.id,
        _LEVELS[finding.severity],
        f"{finding.message}. {rule.fix}",
        finding.file.replace("\\", "/").removeprefix("./") or "snippet",
        {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endLine": finding.end_line,
            "endColumn": finding.end_column,
        },
        (finding.function, "function") if finding.function else None,
        (rule.id, finding.file, finding.function, finding.message),
        {"rank": round(10 * _RANKS[finding.severity] * finding.confidence, 1)},
    )
