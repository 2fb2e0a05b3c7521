"""The output of `fault review`: text and JSON, the scores in both, and the formats of CI services."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.text import count_of, escaped_line
from faultkit.cli.shared_options import print_json
from faultkit.code.advice.analysis import mean_value, score_of
from faultkit.code.advice.answers import Engine
from faultkit.code.languages import LANGUAGES
from faultkit.code.review.baseline import Identity
from faultkit.code.review.ci_outputs import github_text, gitlab_issues, junit_text
from faultkit.code.review.context import BY_NAME
from faultkit.code.review.outcome import NOT_CONFIRMED, JudgedFinding, shown
from faultkit.code.review.review_files import ReviewedFile
from faultkit.code.rules import KINDS, SEVERITIES, Finding, Kind, Rule, Severity

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: dict[Severity, str] = {"low": "cyan", "medium": "yellow", "high": "red", "critical": "bold red"}
FORMATS = ("text", "json", "sarif", "github", "gitlab", "junit")
_MOST_NAMED = 3
_MOST_LINES_NAMED = 5


@dataclass(frozen=True, slots=True)
class Review:
    """A review as it is shown."""

    files: tuple[ReviewedFile, ...]
    """All files, those that were skipped last."""
    findings: tuple[JudgedFinding, ...]
    rules: tuple[Rule, ...]
    kind: str | None = None
    excluded: int = 0
    fixed: tuple[tuple[Identity, int], ...] = ()
    """What the baseline has and was not found."""
    since: str | None = None
    """The ref of `--diff`."""
    checked_by: Engine | None = None
    """The language model that was asked about the findings."""
    excluded_by: str = ""
    """The settings that exclude files."""

    @property
    def looked_at(self) -> list[ReviewedFile]:
        return [file for file in self.files if not file.skipped and not file.is_left_out]

    @property
    def left_out(self) -> dict[str, int]:
        """Return the number of files that each context leaves out, the most first."""
        found = Counter(file.context for file in self.files if file.is_left_out)
        return dict(found.most_common())

    @property
    def skipped(self) -> list[ReviewedFile]:
        return [file for file in self.files if file.skipped]

    def hidden(self, by: str) -> int:
        """Return the number of findings that something hides."""
        return sum(each.hidden == by for each in self.findings)


def scores_of(review: Review) -> dict[Kind, float | None]:
    """Return the score of each kind that a rule was run for: the mean of the files that have one.

    Findings that a threshold, the baseline or the diff hides count; those that a comment hides or a model
    refutes do not. A file that could not be read whole has no score. If no file has one, the score is
    None."""
    by_file: dict[str, list[Finding]] = {file.file: [] for file in review.looked_at if not file.broken_lines}
    for each in review.findings:
        if each.hidden not in ("comment", "refuted") and each.finding.file in by_file:
            by_file[each.finding.file].append(each.finding)
    ran = {rule.kind for rule in review.rules}
    return {
        kind: mean_value(score_of(found, kind).value for found in by_file.values()) if by_file else None
        for kind in KINDS
        if kind in ran and review.kind in (None, kind)
    }


def review_document(review: Review) -> dict[str, Any]:
    """Return a review as a JSON document."""
    return {
        "files": len(review.looked_at),
        "scores": scores_of(review),
        "findings": [_judged_document(each) for each in review.findings if not each.hidden],
        "hidden": {
            "comment": review.hidden("comment"),
            "baseline": review.hidden("baseline"),
            "unchanged": review.hidden("unchanged"),
            "severity": review.hidden("severity"),
            "confidence": review.hidden("confidence"),
            "minor": review.hidden("minor"),
            "refuted": review.hidden("refuted"),
        },
        "not_confirmed": [_judged_document(each) for each in review.findings if each.hidden in NOT_CONFIRMED],
        "checked_by": None
        if review.checked_by is None
        else {"engine": review.checked_by.name, "model": review.checked_by.model},
        "fixed": [
            {"rule": rule, "file": file, "function": function, "message": message, "count": count}
            for (rule, file, function, message), count in review.fixed
        ],
        "left_out": review.left_out,
        "excluded": review.excluded,
        "skipped": [{"file": file.file, "why": file.skipped} for file in review.skipped],
        "not_all_read": [
            {"file": file.file, "lines": list(file.broken_lines)}
            for file in review.files
            if file.broken_lines
        ],
    }


def _judged_document(judged: JudgedFinding) -> dict[str, Any]:
    checked = {"verdict": judged.verdict, "reason": judged.detail} if judged.verdict else {}
    return finding_document(judged.finding) | checked


def finding_document(finding: Finding) -> dict[str, Any]:
    """Return a finding as a JSON document."""
    return {
        "rule": finding.rule.id,
        "slug": finding.rule.slug,
        "kind": finding.rule.kind,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "title": finding.rule.title,
        "message": finding.message,
        "why": finding.rule.why,
        "fix": finding.rule.fix,
        "file": finding.file,
        "function": finding.function,
        "line": finding.line,
        "end_line": finding.end_line,
        "column": finding.column,
        "end_column": finding.end_column,
    }


def print_for_ci(form: str, review: Review, root: str) -> None:
    """Print the findings in the format of a CI service, and on stderr what was not read.

    form: `github`, `gitlab` or `junit`; of `sarif`, only the warnings are printed
    root: the absolute folder that paths are made relative to"""
    if form == "github":
        click.echo(github_text(review.findings, root), nl=False)
    elif form == "gitlab":
        print_json(gitlab_issues(review.findings, root))
    elif form == "junit":
        click.echo(junit_text(review.findings, review.files, root), nl=False)
    _print_warnings(review)


def print_review(review: Review) -> None:
    """Print the findings, and a summary."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for judged in review.findings:
        if judged.hidden:
            continue
        each = judged.finding
        severity = Text(each.severity, style=_STYLES[each.severity])
        title = f"{each.rule.title} ({each.rule.id})"
        console.print(Text("  ").join((Text(each.place, style="bold"), severity, Text(title))))
        console.print(f"    {each.message}", markup=False)
        if judged.verdict:
            console.print(f"    confirmed: {judged.detail}", markup=False)
        console.print(f"    fix: {each.rule.fix}", markup=False)
    _print_end(review, console)


def _print_end(review: Review, console: Console) -> None:
    severities = [each.severity for each in shown(review.findings)]
    counts = {each: severities.count(each) for each in reversed(SEVERITIES)}
    by = ", ".join(f"{count} {each}" for each, count in counts.items() if count)
    found = f"{count_of(len(severities), 'finding')} ({by})" if by else _nothing(review)
    count = count_of(len(review.looked_at), "file")
    console.print(f"{count}: {found}{_scores_text(review)}", markup=False)
    for line in _not_shown(review):
        console.print(line, markup=False)
    _print_warnings(review)


def _nothing(review: Review) -> str:
    """Return why there is no finding."""
    if not review.rules:
        return "no rule was run"
    if not review.looked_at and (review.excluded or review.left_out):
        return "nothing reviewed"
    if any(review.hidden(by) for by in NOT_CONFIRMED):
        return "nothing confirmed"
    return "nothing found"


def _print_warnings(review: Review) -> None:
    """Print on stderr what was not read."""
    for line in skipped_lines(review.skipped):
        click.echo(line, err=True)
    for file in review.files:
        if file.broken_lines:
            lines = ", ".join(map(str, file.broken_lines[:_MOST_LINES_NAMED]))
            click.echo(
                f"warning: {escaped_line(file.file)}: not all of it could be read: see line {lines}", err=True
            )


def _scores_text(review: Review) -> str:
    scores = scores_of(review)
    if not scores:
        return ""
    if None in scores.values():
        return "; no score"
    return "; " + ", ".join(f"{kind} {value:.2f}" for kind, value in scores.items())


def _not_shown(review: Review) -> Iterable[str]:
    """Yield a line for each cause that hides findings or leaves out files."""
    if left_out := review.left_out:
        total = count_of(sum(left_out.values()), "file")
        titles = [f"{count} of {BY_NAME[name].title}" for name, count in left_out.items()]
        of = f" ({', '.join(titles)})" if len(titles) > 1 else f" of {BY_NAME[next(iter(left_out))].title}"
        yield f"not reviewed: {total}{of}; --include {','.join(left_out)} reviews them"
    if review.excluded and not review.looked_at:
        yield f"not reviewed: {count_of(review.excluded, 'file')}, excluded by {review.excluded_by}"
    if slight := review.hidden("severity"):
        yield f"not shown: {count_of(slight, 'finding')} below min-severity"
    if possible := review.hidden("confidence"):
        lowest = min(each.finding.confidence for each in review.findings if each.hidden == "confidence")
        count = count_of(possible, "finding")
        yield f"not shown: {count} of low confidence; --min-confidence {lowest:g} shows them"
    if commented := review.hidden("comment"):
        yield f"not shown: {count_of(commented, 'finding')} that comments suppress"
    if known := review.hidden("baseline"):
        yield f"not shown: {count_of(known, 'finding')} of the baseline"
    if review.fixed:
        number = sum(count for _, count in review.fixed)
        yield f"fixed: {count_of(number, 'finding')} of the baseline; --write-baseline takes them out of it"
    if review.checked_by is not None:
        by = f"{review.checked_by.name} ({review.checked_by.model})"
        minor, wrong = review.hidden("minor"), review.hidden("refuted")
        reasons = "; --json has them with the reasons" if minor or wrong else ""
        yield f"checked by {by}: {minor} minor and {wrong} wrong not shown{reasons}"
    if unchanged := review.hidden("unchanged"):
        yield f"not shown: {count_of(unchanged, 'finding')} on lines that did not change since {review.since}"


def skipped_lines(files: Sequence[ReviewedFile]) -> Iterable[str]:
    """Yield why files were skipped, those with the same reason together."""
    reasons: dict[str, list[ReviewedFile]] = {}
    for file in files:
        reasons.setdefault(file.skipped, []).append(file)
    for why, same in reasons.items():
        names = ", ".join(escaped_line(file.file) for file in same[:_MOST_NAMED])
        if len(same) > _MOST_NAMED:
            yield f"skipped {len(same)} files ({names}, …): {why}"
        else:
            yield f"skipped {names}: {why}"


def languages_found(files: Iterable[ReviewedFile]) -> str:
    """Return the languages of skipped files, with their number: `2 Rust, 1 PHP`."""
    names = [LANGUAGES[file.language].title for file in files if file.language in LANGUAGES]
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))
