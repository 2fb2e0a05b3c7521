"""Review of files and folders: reads them, finds what the rules find, and writes SARIF.

`engine` reviews one text. The SARIF document itself is made by `faultkit.report.sarif`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import InputError
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.languages import Language
from faultkit.code.review.engine import DEFAULT_RULES, RULES, findings_in
from faultkit.code.rules.rule import Finding, Rule, Severity
from faultkit.code.source_files import local_path, read_source, source_files
from faultkit.report.sarif import SarifLevel, SarifResult, SarifRule, sarif_log


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A file and its findings, or why it was skipped."""

    file: str
    """The path as shown: as given, or with its folder."""
    language: str
    findings: tuple[Finding, ...] = ()
    broken_lines: tuple[int, ...] = ()
    """Lines that could not be parsed."""
    skipped: str = ""
    """Why the file was skipped; empty if it was not."""


@dataclass(frozen=True, slots=True)
class FileToReview:
    """A file that is to be reviewed."""

    path: str
    shown: str
    language: Language | None


def files_to_review(
    path: str, language: Language | None = None
) -> tuple[list[FileToReview], list[ReviewedFile]]:
    """Return the files to review below a path, and the source files that are skipped.

    A file that is named is always reviewed; in a folder only files of known languages.
    """
    name = local_path(path)
    if not name:
        raise InputError("path", "expected a file or a folder, got nothing")
    if not os.path.isdir(name):
        return [FileToReview(name, name, language)], []
    skipped: list[ReviewedFile] = []
    base = name.rstrip("/") or name

    def on_skip(relative: str, why: str) -> None:
        skipped.append(ReviewedFile(_joined(base, relative), "", skipped=why))

    found = [
        FileToReview(each.path, _joined(base, each.relative), each.language)
        for each in source_files(name, language, on_skip)
        if each.language.name in GRAMMARS
    ]
    return found, skipped


def _joined(base: str, relative: str) -> str:
    return relative if base == "." else f"{base}/{relative}"


def review_file(wanted: FileToReview, rules: Iterable[Rule] = DEFAULT_RULES) -> ReviewedFile:
    """Review one file."""
    source = read_source(wanted.path, wanted.language)
    if source.language.name not in GRAMMARS:
        known = ", ".join(GRAMMARS)
        raise InputError(
            wanted.shown, f"expected one of {known}, which the rules know, got {source.language.title}"
        )
    syntax = source.parse()
    findings = findings_in(syntax, file=wanted.shown, rules=rules)
    return ReviewedFile(wanted.shown, source.language.name, findings, tuple(syntax.broken_lines()))


def review_all(
    wanted: Iterable[FileToReview], rules: Iterable[Rule] = DEFAULT_RULES
) -> Iterator[ReviewedFile]:
    """Review files one after the other; unreadable ones are skipped with a reason."""
    listed = tuple(rules)
    for each in wanted:
        try:
            yield review_file(each, listed)
        except InputError as error:
            language = "" if each.language is None else each.language.name
            yield ReviewedFile(each.shown, language, skipped=error.problem)


# Findings as SARIF, for code scanning services. A finding is identified by rule, file, function and message,
# so that it stays the same when lines are added above it.


_LEVELS: dict[Severity, SarifLevel] = {
    "low": "note",
    "medium": "warning",
    "high": "error",
    "critical": "error",
}
_RANKS: dict[Severity, float] = {"low": 2.0, "medium": 5.0, "high": 8.0, "critical": 9.5}
"""Ranks from 0 to 10, by which services sort."""


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
