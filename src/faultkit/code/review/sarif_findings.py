"""Findings as SARIF, for code scanning services. `faultkit.report.sarif` builds the document itself.

A finding is identified by rule, file, function and message, so that it stays the same when lines are added
above it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from faultkit.code.review.engine import RULES
from faultkit.code.review.model_rules import lasting_message
from faultkit.code.review.outcome import NOT_CONFIRMED, JudgedFinding
from faultkit.code.rules.rule import Finding, Rule, Severity
from faultkit.report.sarif import SarifLevel, SarifResult, SarifRule, sarif_log

_LEVELS: dict[Severity, SarifLevel] = {
    "low": "note",
    "medium": "warning",
    "high": "error",
    "critical": "error",
}
_RANKS: dict[Severity, float] = {"low": 2.0, "medium": 5.0, "high": 8.0, "critical": 9.5}
"""Ranks from 0 to 10, by which services sort."""


_PROJECT = "https://pypi.org/project/faultkit/"
"""The page of the package, which leads to the docs; it has no part for each rule."""


def sarif_document(findings: Iterable[Finding], rules: Iterable[Rule] = RULES) -> dict[str, Any]:
    """Return the findings and the rules as a SARIF log."""
    return sarif_log(map(_rule, rules), (_result(each, each.file) for each in findings))


def sarif_of_review(
    findings: Iterable[JudgedFinding],
    rules: Iterable[Rule],
    root: str,
    *,
    has_baseline: bool = False,
    with_accepted: bool = False,
) -> dict[str, Any]:
    """Return a SARIF log of what is shown.

    root:          the absolute folder that paths are made relative to
    has_baseline:  whether the findings were compared with a baseline
    with_accepted: whether what comments suppress, what the baseline has, and what a model does not confirm is
                   in it as well. Not all services know these marks: GitHub shows such a result like any
                   other."""
    wanted = ("", "comment", "baseline", *NOT_CONFIRMED) if with_accepted else ("",)
    results = [
        _result(each.finding, path_in(root, each.path), _state(each, has_baseline))
        for each in findings
        if each.hidden in wanted
    ]
    return sarif_log(map(_rule, rules), results, root=root)


def _state(judged: JudgedFinding, has_baseline: bool) -> dict[str, Any]:
    state: dict[str, Any] = {}
    if has_baseline:
        state["baselineState"] = "unchanged" if judged.hidden == "baseline" else "new"
    if judged.hidden in ("comment", *NOT_CONFIRMED):
        reason = {"justification": judged.detail} if judged.detail else {}
        kind = "inSource" if judged.hidden == "comment" else "external"
        state["suppressions"] = [{"kind": kind, **reason}]
    return state


def path_in(root: str, path: str) -> str:
    """Return the path of a file from a folder; a file elsewhere keeps its absolute path."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(root)).replace(os.sep, "/")
    return path.replace(os.sep, "/") if relative.startswith("../") else relative


def _rule(rule: Rule) -> SarifRule:
    level = _LEVELS[rule.severity]
    help_text = f"{rule.fix} `fault explain {rule.id}` shows bad and good code."
    return SarifRule(
        rule.id,
        rule.title,
        level,
        {
            "name": "".join(word.capitalize() for word in rule.slug.split("-")),
            "fullDescription": {"text": rule.why},
            "help": {"text": help_text, "markdown": help_text},
            "helpUri": _PROJECT,
            "properties": {
                "tags": [rule.kind, *rule.languages],
                # GitHub's name for the lowest level.
                "problem.severity": "recommendation" if level == "note" else level,
            },
        },
    )


def _result(finding: Finding, file: str, state: Mapping[str, Any] | None = None) -> SarifResult:
    rule = finding.rule
    return SarifResult(
        rule.id,
        _LEVELS[finding.severity],
        f"{finding.message}. {rule.fix}",
        file.replace("\\", "/").removeprefix("./") or "snippet",
        {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endLine": finding.end_line,
            "endColumn": finding.end_column,
        },
        (finding.function, "function") if finding.function else None,
        (rule.id, file, finding.function, lasting_message(finding)),
        {"rank": round(10 * _RANKS[finding.severity] * finding.confidence, 1), **(state or {})},
    )
