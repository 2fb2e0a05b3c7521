"""Findings of a review for CI services: GitHub's annotations, GitLab's Code Quality report, and JUnit XML.

Findings that something hides are left out. Paths are relative to a folder, mostly the top of the repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from faultkit.code.review.model_rules import lasting_message
from faultkit.code.review.outcome import JudgedFinding, most_urgent_first
from faultkit.code.review.review_files import ReviewedFile
from faultkit.code.review.sarif_findings import path_in
from faultkit.code.rules.rule import Severity
from faultkit.report.annotations import (
    GitHubLevel,
    GitLabSeverity,
    fingerprint_of,
    quality_issue,
    workflow_command,
)
from faultkit.report.junit import JUnitCase, JUnitProblem, JUnitSuite, render_junit_suites

_GITHUB: dict[Severity, GitHubLevel] = {
    "low": "notice",
    "medium": "warning",
    "high": "error",
    "critical": "error",
}
_GITLAB: dict[Severity, GitLabSeverity] = {
    "low": "info",
    "medium": "minor",
    "high": "major",
    "critical": "critical",
}
_SUITE = "fault review"


def github_text(findings: Iterable[JudgedFinding], root: str) -> str:
    """Return a workflow command for each finding, the most severe first: GitHub shows ten of each level.

    root: the absolute folder that paths are made relative to"""
    ordered = most_urgent_first(_shown(findings))
    return "".join(f"{_annotation(each, root)}\n" for each in ordered)


def _annotation(judged: JudgedFinding, root: str) -> str:
    finding = judged.finding
    # GitHub refuses a column if the annotation has several lines.
    column = {"col": finding.column} if finding.line == finding.end_line else {}
    return workflow_command(
        _GITHUB[finding.severity],
        _sentence(judged),
        file=path_in(root, judged.path),
        line=finding.line,
        endLine=finding.end_line,
        **column,
        title=f"{finding.rule.title} ({finding.rule.id})",
    )


def gitlab_issues(findings: Iterable[JudgedFinding], root: str) -> list[dict[str, Any]]:
    """Return the findings as a Code Quality report, as plain data for `json`."""
    seen: dict[str, int] = {}
    issues = []
    for judged in _shown(findings):
        finding, path = judged.finding, path_in(root, judged.path)
        identity = (finding.rule.id, path, finding.function, lasting_message(finding))
        issues.append(
            quality_issue(
                _GITLAB[finding.severity],
                finding.rule.id,
                _sentence(judged),
                path,
                (finding.line, finding.end_line),
                fingerprint_of(identity, seen),
            )
        )
    return issues


def junit_text(findings: Iterable[JudgedFinding], files: Sequence[ReviewedFile], root: str) -> str:
    """Return a case for each file, and for each of its findings one that failed.

    A file without findings has one case that passed; one that was skipped has one that says why."""
    found: dict[str, list[JudgedFinding]] = {}
    for judged in _shown(findings):
        found.setdefault(judged.path, []).append(judged)
    cases = [
        case
        for file in files
        # A file that was skipped has only the path that is shown.
        for case in _cases(file, found.get(file.path, ()), path_in(root, file.path or file.file))
    ]
    return render_junit_suites([JUnitSuite(_SUITE, cases, "")])


def _cases(file: ReviewedFile, found: Sequence[JudgedFinding], path: str) -> list[JUnitCase]:
    if file.skipped:
        return [JUnitCase("can be reviewed", path, 0.0, JUnitProblem("skipped", text=file.skipped))]
    if not found:
        return [JUnitCase("nothing to report", path, 0.0)]
    return [_failure(judged, path) for judged in found]


def _failure(judged: JudgedFinding, path: str) -> JUnitCase:
    finding = judged.finding
    rule = finding.rule
    text = f"{path}:{finding.line}: {finding.severity}: {finding.message}\n{rule.why}\nfix: {rule.fix}"
    problem = JUnitProblem("failure", rule.id, finding.message, text)
    return JUnitCase(f"{rule.title} ({rule.id}), line {finding.line}", path, 0.0, problem)


def _shown(findings: Iterable[JudgedFinding]) -> list[JudgedFinding]:
    return [each for each in findings if not each.hidden]


def _sentence(judged: JudgedFinding) -> str:
    return f"{judged.finding.message}. {judged.finding.rule.fix}"
