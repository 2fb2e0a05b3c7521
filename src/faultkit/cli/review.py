"""`fault review`: find reliability and performance problems by offline rules; prove a change with --prove."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.errors import InputError
from faultkit.base.files import check_output_path, write_output
from faultkit.base.text import count_of, escaped_line
from faultkit.cli.proof import ProofFlags, print_proof, proof_options, prove_file
from faultkit.cli.shared_options import json_option, print_json
from faultkit.code import language_named
from faultkit.code.advice.analysis import mean_value, score_of
from faultkit.code.review.engine import DEFAULT_RULES
from faultkit.code.review.review_files import (
    FileToReview,
    ReviewedFile,
    files_to_review,
    review_all,
    review_file,
    sarif_document,
)
from faultkit.code.rules import KINDS, SEVERITIES, Finding, Rule, Severity

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: dict[Severity, str] = {"low": "cyan", "medium": "yellow", "high": "red", "critical": "bold red"}
_MOST_SKIPPED_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Review:
    files: tuple[ReviewedFile, ...]
    findings: tuple[Finding, ...]
    """Findings that the options select, by file and line."""
    kinds: tuple[str, ...]


@click.command(
    "review",
    epilog="""\b
Examples:
  fault review app.py
  fault review src --min-severity high --fail-on high
  fault review . --sarif findings.sarif
  fault review app.py --prove
""",
)
@click.argument("path", metavar="FILE|DIR")
@click.option(
    "--lang", metavar="NAME", help="Review only this language; for FILE, by default told by its extension."
)
@click.option("--kind", type=click.Choice(KINDS), help="Report only findings of this kind.")
@click.option(
    "--min-severity",
    type=click.Choice(SEVERITIES),
    default="low",
    show_default=True,
    help="Omit findings below this severity.",
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Omit findings below this confidence.",
)
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    help="Exit with 1 on a finding of this severity or a higher one.",
)
@json_option()
@click.option("--sarif", "sarif", metavar="FILE", help="Write SARIF 2.1.0, for code scanning, to this file.")
@proof_options
def command(
    path: str,
    lang: str | None,
    kind: str | None,
    min_severity: Severity,
    min_confidence: float,
    fail_on: Severity | None,
    as_json: bool,
    sarif: str | None,
    **proof_flags: Any,
) -> int:
    """Report what may fail in production in FILE, or in the source files of DIR, and how to fix it.

    Only rules are used: nothing leaves this machine. A line with the comment `fault: ignore`, or with the
    names of rules as in `fault: ignore[FK-R001]`, is not reported.

    With --prove, FILE is a service in Python or JavaScript: it is run as it is and with the changes that
    `fault improve` would make, side by side under the same faults, and both are measured. FILE itself is not
    changed.
    """
    if sarif is not None:
        check_output_path(sarif, (".sarif", ".json"))
    rules = tuple(rule for rule in DEFAULT_RULES if kind in (None, rule.kind))
    wanted, skipped = files_to_review(path, None if lang is None else language_named(lang))
    is_file = len(wanted) == 1 and wanted[0].path == wanted[0].shown
    if not wanted:
        raise InputError(path, "expected source files of a language that the rules know, found none")
    files = (review_file(wanted[0], rules),) if is_file else tuple(_review_with_progress(wanted, rules))
    findings = tuple(
        each
        for file in files
        for each in file.findings
        if _is_at_least(each.severity, min_severity) and each.confidence >= min_confidence
    )
    review = _Review((*files, *skipped), findings, (kind,) if kind else KINDS)
    if sarif is not None:
        write_output(sarif, json.dumps(sarif_document(findings, rules), indent=2, ensure_ascii=False) + "\n")
    proof = None
    flags = ProofFlags(**proof_flags)
    if flags.prove:
        if not is_file:
            raise InputError("--prove", f'expected one file that is a service, got "{path}"')
        proof = prove_file(wanted[0].path, flags)
    if as_json:
        print_json(_document(review) | ({} if proof is None else {"proof": proof.document()}))
    else:
        _print(review)
        if proof is not None:
            print_proof(proof)
    if fail_on is not None and any(_is_at_least(each.severity, fail_on) for each in findings):
        return 1
    return 0 if proof is None else proof.exit_code


def _is_at_least(severity: Severity, least: Severity) -> bool:
    return SEVERITIES.index(severity) >= SEVERITIES.index(least)


def _review_with_progress(wanted: list[FileToReview], rules: tuple[Rule, ...]) -> Iterator[ReviewedFile]:
    """Yield the reviewed files, with a progress bar if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield from review_all(wanted, rules)
        return
    # Imported here, as in `_print`: with --json and without a terminal the command starts faster.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("reviewing", total=len(wanted))
        for each in review_all(wanted, rules):
            yield each
            bar.advance(task)


def _scores(review: _Review) -> dict[str, float]:
    """Return the score of each kind, computed from all findings and not only from those shown."""
    looked_at = [file for file in review.files if not file.skipped]
    return {
        kind: mean_value(score_of(file.findings, kind).value for file in looked_at)
        for kind in KINDS
        if kind in review.kinds
    }


def _document(review: _Review) -> dict[str, Any]:
    return {
        "files": len([file for file in review.files if not file.skipped]),
        "scores": _scores(review),
        "findings": [_finding_document(each) for each in review.findings],
        "skipped": [{"file": file.file, "why": file.skipped} for file in review.files if file.skipped],
        "not_all_read": [
            {"file": file.file, "lines": list(file.broken_lines)}
            for file in review.files
            if file.broken_lines
        ],
    }


def _finding_document(finding: Finding) -> dict[str, Any]:
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


def _print(review: _Review) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for each in review.findings:
        severity = Text(each.severity, style=_STYLES[each.severity])
        title = f"{each.rule.title} ({each.rule.id})"
        console.print(Text("  ").join((Text(each.place, style="bold"), severity, Text(title))))
        console.print(f"    {each.message}", markup=False)
        console.print(f"    fix: {each.rule.fix}", markup=False)
    _print_end(review, console)


def _print_end(review: _Review, console: Console) -> None:
    looked_at = [file for file in review.files if not file.skipped]
    severities = [each.severity for each in review.findings]
    counts = {each: severities.count(each) for each in reversed(SEVERITIES)}
    by = ", ".join(f"{count} {each}" for each, count in counts.items() if count)
    count = len(review.findings)
    found = f"{count_of(count, 'finding')} ({by})" if by else "nothing found"
    scores = ", ".join(f"{kind} {value:.2f}" for kind, value in _scores(review).items())
    console.print(f"{count_of(len(looked_at), 'file')}: {found}; {scores}", markup=False)
    skipped = [file for file in review.files if file.skipped]
    for file in skipped[:_MOST_SKIPPED_SHOWN]:
        click.echo(f"skipped {escaped_line(file.file)}: {file.skipped}", err=True)
    if len(skipped) > _MOST_SKIPPED_SHOWN:
        click.echo(f"skipped {len(skipped) - _MOST_SKIPPED_SHOWN} more (all with --json)", err=True)
    for file in review.files:
        if file.broken_lines:
            lines = ", ".join(map(str, file.broken_lines[:5]))
            click.echo(
                f"warning: {escaped_line(file.file)}: not all of it could be read: see line {lines}", err=True
            )
