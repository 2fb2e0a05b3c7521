"""`fault review`: find reliability and performance problems by offline rules; prove a change with --prove."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.errors import InputError
from faultkit.base.files import check_output_path, write_output
from faultkit.base.text import count_of, escaped_line
from faultkit.cli.shared_options import json_option, print_json, seconds_of
from faultkit.code import language_named
from faultkit.code.advice.analysis import mean_value, score_of
from faultkit.code.proof.prove import Figures, Proof, ProofSettings, prove
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


@dataclass(frozen=True, slots=True)
class _ProofOutcome:
    """The result of `--prove`."""

    proof: Proof | None
    """None if there was nothing to change."""
    reason: str

    @property
    def held(self) -> bool:
        return self.proof is None or self.proof.judgement == "improved"

    def document(self) -> dict[str, Any]:
        if self.proof is None:
            return {"judgement": "nothing to change", "reason": self.reason}
        return self.proof.document()


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
@click.option(
    "--prove", "wants_proof", is_flag=True, help="Run the service before and after the change, under faults."
)
@click.option(
    "--upstream",
    "upstreams",
    metavar="VARIABLE=URL",
    multiple=True,
    help="With --prove: URL for an environment variable of the service; by default that of a built-in stub.",
)
@click.option(
    "--route", metavar="PATH", help="With --prove: route to call; by default one that calls an upstream."
)
@click.option(
    "--python",
    metavar="PATH",
    help="With --prove: interpreter that runs the service; by default that of the "
    "project's .venv, of VIRTUAL_ENV, or this one.",
)
@click.option(
    "--prove-duration",
    metavar="TIME",
    default="1s",
    show_default=True,
    help="With --prove: duration of each run.",
)
def command(
    path: str,
    lang: str | None,
    kind: str | None,
    min_severity: Severity,
    min_confidence: float,
    fail_on: Severity | None,
    as_json: bool,
    sarif: str | None,
    wants_proof: bool,
    upstreams: tuple[str, ...],
    route: str | None,
    python: str | None,
    prove_duration: str,
) -> int:
    """Report what may fail in production in FILE, or in the source files of DIR, and how to fix it.

    Only rules are used: nothing leaves this machine. A line with the comment `fault: ignore`, or with the
    names of rules as in `fault: ignore[FK-R001]`, is not reported.

    With --prove, FILE is a Python service: it is run as it is and with the changes that `fault improve` would
    make, under the same faults, and both are measured. FILE itself is not changed.
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
    if wants_proof:
        if not is_file or not wanted[0].path.endswith(".py"):
            raise InputError("--prove", f'expected one Python file that is a service, got "{path}"')
        settings = ProofSettings(
            upstreams=dict(map(_variable_and_url, upstreams)),
            route=route,
            python=python,
            duration_s=_proof_seconds(prove_duration),
        )
        proof = _prove(wanted[0].path, settings)
    if as_json:
        print_json(_document(review) | ({} if proof is None else {"proof": proof.document()}))
    else:
        _print(review)
        if proof is not None:
            _print_proof(proof)
    if proof is not None and not proof.held:
        return 1
    return int(fail_on is not None and any(_is_at_least(each.severity, fail_on) for each in findings))


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


def _variable_and_url(text: str) -> tuple[str, str]:
    """Return the two parts of an --upstream."""
    variable, equals, url = text.partition("=")
    if not equals or not variable or not url.startswith(("http://", "https://")):
        raise InputError(
            "--upstream", f'expected VARIABLE=URL such as UPSTREAM_URL=http://127.0.0.1:8000, got "{text}"'
        )
    return variable, url


def _proof_seconds(text: str) -> float:
    seconds = seconds_of("--prove-duration", text)
    if not 0.5 <= seconds <= 60:
        raise InputError("--prove-duration", f"expected from 0.5s to 60s, got {text}")
    return seconds


def _prove(path: str, settings: ProofSettings) -> _ProofOutcome:
    """Run and measure the file before and after its change; remove their files and processes afterwards."""
    from faultkit.base.signals import StopSignal
    from faultkit.code.advice.advisor import Advisor

    def show(what: str, step: int, of: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{step}/{of} {what}", err=True, nl=step == of)

    change = Advisor().change_file(path)
    if not change.diff:
        return _ProofOutcome(None, change.reason)
    stop = threading.Event()
    with StopSignal(stop.set) as signals:
        try:
            return _ProofOutcome(prove(path, change.old, change.new, settings, show, stop), change.reason)
        finally:
            if signals.reason == "interrupt":
                raise KeyboardInterrupt


def _print_proof(outcome: _ProofOutcome) -> None:
    """Print a proof as a table with its judgements."""
    if outcome.proof is None:
        click.echo(f"\nNothing to prove: {outcome.reason}")
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    proof = outcome.proof
    table = Table(
        title=f"GET {proof.url}: {'; '.join(proof.upstreams)}", title_justify="left", box=box.SIMPLE
    )
    for column in ("fault", "version", "answered", "statuses", "p95", "slowest", "SLOs"):
        table.add_column(column, no_wrap=column != "statuses")
    for each in proof.compared:
        table.add_row(each.fault, "before", *_cells(each.before))
        table.add_row("", "after", *_cells(each.after), end_section=True)
    console = Console(highlight=False)
    console.print()
    console.print(table)
    for each in proof.compared:
        console.print(f"{each.fault}: {each.judgement}. {each.reason}")
    console.print(f"\nproof: {proof.judgement}")


def _cells(figures: Figures) -> tuple[str, ...]:
    statuses = ", ".join(f"{count} × {status}" for status, count in sorted(figures.statuses.items()))
    missed = f"{len(figures.slos_missed)} missed" if figures.slos_missed else "met"
    return (
        f"{figures.answered} of {figures.requests}",
        statuses or "none",
        f"{figures.p95_ms:.0f} ms",
        f"{figures.max_ms:.0f} ms",
        missed,
    )
