"""What becomes of the findings of a review: shown, or hidden and why. Pure.

A finding is hidden by the first of these that applies: a rule that is ignored for its path (it is left out
altogether), a comment, its severity, its confidence, the baseline, lines that did not change, a language
model that was asked about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

from faultkit.code.review.context_rules import rules_in
from faultkit.code.review.path_patterns import PathPatterns
from faultkit.code.review.review_files import ReviewedFile
from faultkit.code.review.selection import exactness
from faultkit.code.rules.rule import KINDS, LIKELY, SEVERITIES, Finding, Rule, Severity

Hiding: TypeAlias = Literal[
    "", "comment", "severity", "confidence", "baseline", "unchanged", "minor", "refuted"
]


NOT_CONFIRMED: tuple[Hiding, ...] = ("minor", "refuted")
"""What hides findings that a model was asked about."""
Verdict: TypeAlias = Literal["defect", "minor", "wrong"]
"""What a model says of a finding."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class JudgedFinding:
    """A finding, and what hides it."""

    finding: Finding
    path: str
    """The absolute path of its file."""
    hidden: Hiding = ""
    detail: str = ""
    """The reason of a comment, or of a model."""
    verdict: Verdict | None = None
    """None if no model was asked."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """By which a finding is shown or hidden, apart from what is in its file."""

    kind: str | None = None
    min_severity: Severity = "low"
    min_confidence: float = LIKELY
    """By default, what code elsewhere may well make right is not shown."""
    severities: Mapping[str, Severity] = field(default_factory=dict)
    """Severities by the names of rules; the most exact name counts."""
    ignores: Sequence[tuple[PathPatterns, tuple[str, ...]]] = ()
    """Names of rules that are ignored for files that fit."""

    def ignored_in(self, path: str, relative: str) -> tuple[str, ...]:
        """Return the names of the rules that are ignored in a file."""
        return tuple(
            name for patterns, names in self.ignores if patterns.match(path, relative) for name in names
        )

    def shows(self, finding: Finding) -> bool:
        """Return whether a finding is severe and certain enough."""
        return not _threshold(replace(finding, severity=_severity(finding, self.severities)), self)


def judge(file: ReviewedFile, by: Judgement) -> Iterator[JudgedFinding]:
    """Yield the findings of a file with what hides each, without those of rules that are ignored there."""
    ignored = by.ignored_in(file.path, file.relative)
    for each, reason in [*((each, None) for each in file.findings), *file.suppressed]:
        if not _counts(each.rule, ignored, by):
            continue
        finding = replace(each, severity=_severity(each, by.severities))
        if reason is not None:
            yield JudgedFinding(finding, file.path, "comment", reason)
        else:
            yield JudgedFinding(finding, file.path, _threshold(finding, by))


def judge_all(files: Iterable[ReviewedFile], by: Judgement) -> list[JudgedFinding]:
    """Return the findings of several files, in their order, as `judge` gives them."""
    return [each for file in files for each in judge(file, by)]


def rules_judged(file: ReviewedFile, rules: Iterable[Rule], by: Judgement) -> frozenset[str]:
    """Return the ids of those of the rules that were run on a file and whose findings count."""
    if file.skipped or file.is_left_out:
        return frozenset()
    ignored = by.ignored_in(file.path, file.relative)
    return frozenset(rule.id for rule in rules_in(file.context, rules) if _counts(rule, ignored, by))


def _counts(rule: Rule, ignored: Iterable[str], by: Judgement) -> bool:
    return by.kind in (None, rule.kind) and not any(exactness(name, rule) for name in ignored)


def _severity(finding: Finding, severities: Mapping[str, Severity]) -> Severity:
    named = {exactness(name, finding.rule): severity for name, severity in severities.items()}
    strongest = max(named, default=0)
    return named[strongest] if strongest else finding.severity


def _threshold(finding: Finding, by: Judgement) -> Hiding:
    """Return the threshold that hides a finding, or nothing."""
    if not is_at_least(finding.severity, by.min_severity):
        return "severity"
    return "confidence" if finding.confidence < by.min_confidence else ""


def is_at_least(severity: Severity, least: Severity) -> bool:
    """Return whether a severity is this one or a higher one."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(least)


def hide(
    findings: Iterable[JudgedFinding], hiding: Hiding, applies: Callable[[JudgedFinding], bool]
) -> list[JudgedFinding]:
    """Return the findings, of which those that are shown so far and fit are hidden by this."""
    return [replace(each, hidden=hiding) if not each.hidden and applies(each) else each for each in findings]


def shown(findings: Iterable[JudgedFinding]) -> list[Finding]:
    """Return the findings that nothing hides."""
    return [each.finding for each in findings if not each.hidden]


def reported_in(file: ReviewedFile, by: Judgement) -> list[Finding]:
    """Return what is shown of a file, without what is about comments that suppress findings."""
    return [each for each in shown(judge(file, by)) if each.rule.kind in KINDS]


def most_urgent_first(findings: Iterable[JudgedFinding]) -> list[JudgedFinding]:
    """Return the findings, the most severe and then the most certain ones first."""
    return sorted(
        findings, key=lambda each: (-SEVERITIES.index(each.finding.severity), -each.finding.confidence)
    )


def not_confirmed(findings: Iterable[JudgedFinding]) -> list[JudgedFinding]:
    """Return the findings without those that a model confirms; what it does not confirm is shown again."""
    return [replace(each, hidden="") if each.verdict else each for each in findings if each.hidden]
