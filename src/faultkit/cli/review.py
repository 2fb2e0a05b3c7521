"""`fault review`: find reliability and performance problems by rules; check them by a model or a proof."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import click

from faultkit.base.errors import FaultkitError, InputError
from faultkit.base.files import check_output_path, write_output
from faultkit.base.text import count_of
from faultkit.cli.finding_check import CheckFlags, ModelReview, check_options
from faultkit.cli.proof import ProofFlags, ProofOutcome, print_proof, proof_options, prove_file
from faultkit.cli.review_output import (
    FORMATS,
    Review,
    languages_found,
    print_for_ci,
    print_review,
    review_document,
    skipped_lines,
)
from faultkit.cli.shared_options import add_options, json_option, language_given, print_json
from faultkit.code import Language
from faultkit.code.advice.answers import Engine
from faultkit.code.review.baseline import (
    Baseline,
    Identity,
    Reviewed,
    against,
    baseline_text,
    empty_baseline,
    read_baseline,
    renewed,
)
from faultkit.code.review.changed_lines import changed_lines, changed_text
from faultkit.code.review.config_file import ReviewConfig, config_for, read_config
from faultkit.code.review.context import CONTEXT_NAMES
from faultkit.code.review.model_rules import MODEL_RULES
from faultkit.code.review.new_findings import hide_old
from faultkit.code.review.outcome import (
    JudgedFinding,
    is_at_least,
    judge_all,
    not_confirmed,
    rules_judged,
    shown,
)
from faultkit.code.review.review_files import (
    FilesFound,
    FileToReview,
    ReviewedFile,
    find_files,
    review_file,
    text_to_review,
)
from faultkit.code.review.sarif_findings import sarif_of_review
from faultkit.code.review.settings import ReviewFlags, judgement_of, listed, path_choice, rules_of
from faultkit.code.rules import KINDS, SEVERITIES, Rule, Severity
from faultkit.code.rules.rule import LIKELY, POSSIBLE
from faultkit.code.source_files import MOST_BYTES, local_path, repository_of

F = TypeVar("F", bound=Callable[..., Any])
STDIN = "-"


def _choice_options(command: F) -> F:
    """Add the options that choose files, rules and findings; a configuration file may set them, too."""
    return add_options(
        command,
        click.option("--config", metavar="FILE", help="Configuration file, instead of the nearest one."),
        click.option("--no-config", is_flag=True, help="Use no configuration file."),
        click.option(
            "--select",
            metavar="RULES",
            multiple=True,
            help="Run only these rules: ids, slugs, FK-P, a kind, all.",
        ),
        click.option("--extend-select", metavar="RULES", multiple=True, help="Run these rules besides."),
        click.option("--ignore", metavar="RULES", multiple=True, help="Do not run these rules."),
        click.option(
            "--exclude",
            metavar="PATTERN",
            multiple=True,
            help="Leave out files, as in .gitignore. Repeatable.",
        ),
        click.option(
            "--include",
            metavar="CONTEXTS",
            multiple=True,
            help=f"Review these like production code: {', '.join(CONTEXT_NAMES)}.",
        ),
        click.option(
            "--force-exclude",
            "is_strict",
            is_flag=True,
            help="Apply exclusions and contexts to each FILE that is named, too, as hooks need it.",
        ),
        click.option("--kind", type=click.Choice(KINDS), help="Report only findings of this kind."),
        click.option(
            "--min-severity",
            type=click.Choice(SEVERITIES),
            help="Omit findings below this severity.",
        ),
        click.option(
            "--min-confidence",
            type=click.FloatRange(0, 1),
            help="Omit findings below this confidence; by default 0.8, with --ask-model 0.5.",
        ),
        click.option(
            "--fail-on",
            type=click.Choice(SEVERITIES),
            help="Exit with 1 on a finding of this severity or a higher one.",
        ),
        click.option(
            "--baseline",
            "baseline_file",
            metavar="FILE",
            help="Report only findings that are not in this file.",
        ),
        click.option(
            "--write-baseline",
            is_flag=True,
            help="Write the findings to the file of --baseline, and exit with 0.",
        ),
        click.option(
            "--diff",
            "since",
            metavar="REF",
            help="Report only findings that are new since this git ref, or on lines that changed since.",
        ),
        click.option(
            "--jobs",
            type=click.IntRange(1),
            help="Number of processes; by default one for each processor.",
        ),
        click.option("--no-cache", is_flag=True, help="Review all files, also those that did not change."),
    )


@click.command(
    "review",
    epilog="""\b
Examples:
  fault review app.py
  fault review src --min-severity high --fail-on high
  fault review . --select FK-R --ignore FK-R005 --exclude 'legacy/**'
  fault review . --diff origin/main --fail-on medium
  fault review . --baseline review.json --write-baseline
  fault review . --sarif findings.sarif
  fault review . --format github --diff origin/main
  fault review . --diff origin/main --ask-model --llm-client anthropic
  fault review . --diff origin/main --ask-model --find-more --llm-client anthropic
  fault review app.py --prove
""",
)
@click.argument("paths", metavar="FILE|DIR|-...", nargs=-1, required=True)
@click.option(
    "--lang", metavar="NAME", help="Review only this language; for FILE, by default told by its extension."
)
@click.option("--stdin-filename", metavar="NAME", help="With -: name of the file that is on standard input.")
@_choice_options
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    help="Format of the output: annotations for GitHub or GitLab, JUnit XML, SARIF, JSON; by default text.",
)
@json_option("Print JSON, as --format json does.")
@click.option("--sarif", "sarif", metavar="FILE", help="Write SARIF 2.1.0, for code scanning, to this file.")
@click.option(
    "--sarif-accepted",
    is_flag=True,
    help="In SARIF: also write findings that comments suppress, the baseline has or a model does not "
    "confirm, marked as such.",
)
@check_options
@proof_options
def command(
    paths: tuple[str, ...],
    lang: str | None,
    stdin_filename: str | None,
    config: str | None,
    no_config: bool,
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    exclude: tuple[str, ...],
    include: tuple[str, ...],
    is_strict: bool,
    kind: str | None,
    min_severity: Severity | None,
    min_confidence: float | None,
    fail_on: Severity | None,
    baseline_file: str | None,
    write_baseline: bool,
    since: str | None,
    jobs: int | None,
    no_cache: bool,
    output_format: str | None,
    as_json: bool,
    sarif: str | None,
    sarif_accepted: bool,
    asking: CheckFlags,
    **proof_flags: Any,
) -> int:
    """Report what may fail in production in FILE, or in the source files of DIR, and how to fix it.

    Only rules are used, and nothing leaves this machine, unless --ask-model is given. Settings come from the
    nearest pyproject.toml with [tool.faultkit.review], or faultkit.toml with [review]; options go before it.
    In DIR, generated, vendored and built files are skipped, and tests, examples, scripts and the like are
    counted, not reviewed; see --include. A FILE that is named is reviewed as it is. Comments suppress
    findings: `fault: ignore[FK-R001] reason` in a statement, `fault: ignore-next-line` above it,
    `fault: ignore-file` at the top of a file.

    With --ask-model, a language model checks each finding by the code around it, and only what it confirms is
    shown. With --write-baseline, too, the baseline gets what it does not confirm: later reviews, without a
    model, show the rest.

    With --prove, FILE is a service in Python or JavaScript: it is run as it is and with the changes that
    `fault improve` would make, side by side under the same faults, and both are measured. FILE itself is not
    changed, but what the service does is real: it writes to its database, queues and files hundreds of times.
    """
    if sarif is not None:
        check_output_path(sarif, (".sarif", ".json"))
    language = language_given(lang)
    names = _names(paths, stdin_filename, language)
    settings = _config(names, config, no_config)
    flags = ReviewFlags(
        listed("--select", select),
        listed("--extend-select", extend_select),
        listed("--ignore", ignore),
        exclude,
        listed("--include", include),
        is_strict,
        kind,
        min_severity,
        min_confidence,
    )
    proving = ProofFlags(**proof_flags)
    proving.check(
        {"--write-baseline": write_baseline, "--diff": since is not None, "--ask-model": asking.ask_model}
    )
    asking.check(write_baseline=write_baseline)
    model = asking.model() if asking.ask_model else None
    form = _format(output_format, as_json, proving.prove)
    if sarif_accepted and sarif is None and form != "sarif":
        raise InputError("--sarif-accepted", "expected --sarif FILE or --format sarif beside it, got neither")
    if proving.prove and not _is_file(paths):
        raise InputError("--prove", f'expected one file that is a service, got "{" ".join(paths)}"')
    baseline_path = _baseline_path(baseline_file, write_baseline, settings)
    baseline = _baseline(baseline_path, write_baseline)
    rules, choice = _rules(settings, flags, asking), path_choice(settings, flags)
    if STDIN in paths:
        text = _standard_input()
        found = text_to_review(text, names[0], language, choice)
        changed = None if since is None else changed_text(since, names[0], text)
    else:
        found = find_files(names, language, choice)
        _check_found(names, found)
        changed = None if since is None else changed_lines(since, list(names))
    wanted = [each for each in found.wanted if changed is None or changed.has_file(each.path)]
    is_alone = (STDIN in paths or _is_file(names)) and not is_strict
    checks = tuple(rule for rule in rules if rule not in MODEL_RULES)
    run = partial(_reviewed, rules=checks, jobs=jobs, no_cache=no_cache)
    files = tuple(run(wanted, is_alone))
    by = judgement_of(settings, flags, LIKELY if model is None else POSSIBLE)
    by_model = None if model is None else ModelReview(model, wanted, rules, no_cache=no_cache)
    questions = (
        by_model.search_questions(files, by, changed) if by_model is not None and asking.find_more else []
    )
    if by_model is not None and questions and not asking.show_prompt:
        files = tuple(by_model.search(files, questions))
    findings = judge_all(files, by)
    fixed: dict[Identity, int] = {}
    if baseline is not None and baseline_path is not None:
        reviewed = {file.path: rules_judged(file, rules, by) for file in files}
        if write_baseline:
            if by_model is not None:
                findings = not_confirmed(by_model.check(findings))
            _write_baseline(baseline_path, baseline, findings, reviewed)
            return 0
        findings, fixed = against(baseline, findings, reviewed)
    if changed is not None:
        findings = hide_old(findings, wanted, changed, by, lambda old: run(old, False))
    if by_model is not None:
        if asking.show_prompt:
            by_model.show_prompts(findings, questions)
            return 0
        findings = by_model.check(findings)
    review = Review(
        (*files, *found.skipped),
        tuple(findings),
        rules,
        kind,
        found.excluded,
        tuple(sorted(fixed.items())),
        since,
        None if model is None else Engine(model.engine, model.settings.model),
        choice.excluded_by,
    )
    if sarif is not None or form == "sarif":
        log = sarif_of_review(
            findings,
            rules,
            _root(names),
            has_baseline=baseline is not None,
            with_accepted=sarif_accepted,
        )
        if sarif is not None:
            write_output(sarif, json.dumps(log, indent=2, ensure_ascii=False) + "\n")
        if form == "sarif":
            print_json(log)
    proof: ProofOutcome | None = None
    if form == "text":
        print_review(review)
    if proving.prove:
        try:
            proof = prove_file(names[0], proving, settings)
        except FaultkitError as error:
            if form == "json":
                print_json(review_document(review) | {"proof": {"error": str(error)}})
            raise
    if form == "json":
        print_json(review_document(review) | ({} if proof is None else {"proof": proof.document()}))
    elif form != "text":
        print_for_ci(form, review, _root(names))
    elif proof is not None:
        print_proof(proof)
    gate = fail_on or settings.fail_on
    if gate is not None and any(is_at_least(each.severity, gate) for each in shown(findings)):
        return 1
    return 0 if proof is None else proof.exit_code


def _rules(settings: ReviewConfig, flags: ReviewFlags, asking: CheckFlags) -> tuple[Rule, ...]:
    """Return the rules of the review; those of a model only if it is asked for more findings."""
    rules = rules_of(settings, flags, on=MODEL_RULES if asking.find_more else ())
    of_model = [rule for rule in rules if rule in MODEL_RULES and flags.kind in (None, rule.kind)]
    if asking.find_more and not of_model:
        raise InputError(
            "--find-more", "expected FK-M001 or FK-M002 among the rules, got neither: --extend-select FK-M"
        )
    if asking.find_more:
        return rules
    others = tuple(rule for rule in rules if rule not in MODEL_RULES)
    if of_model and not others:
        raise InputError("--select", f"expected --ask-model --find-more for {of_model[0].id}, got neither")
    return others


def _format(given: str | None, as_json: bool, prove: bool) -> str:
    """Return the format of the output."""
    form = given or ("json" if as_json else "text")
    if as_json and form != "json":
        raise InputError("--json", f"expected no --format beside it but json, got {form}")
    if prove and form not in ("text", "json"):
        raise InputError("--format", f"expected text or json with --prove, got {form}")
    return form


def _is_file(names: Sequence[str]) -> bool:
    return len(names) == 1 and names[0] != STDIN and not os.path.isdir(names[0])


def _names(paths: Sequence[str], stdin_filename: str | None, language: Language | None) -> tuple[str, ...]:
    """Return the paths, with a name in place of standard input."""
    if STDIN not in paths:
        if stdin_filename is not None:
            raise InputError("--stdin-filename", "expected - as FILE, got none")
        return tuple(map(local_path, paths))
    if len(paths) > 1:
        raise InputError(STDIN, "expected no other path beside standard input")
    if stdin_filename is not None:
        return (stdin_filename,)
    if language is None:
        raise InputError(STDIN, "expected --stdin-filename or --lang, which tell the language, got neither")
    return (f"stdin{language.endings[0]}",)


def _standard_input() -> bytes:
    # The stream of a closed standard input was replaced by an empty one.
    if sys.__stdin__ is None:
        raise InputError(STDIN, "expected source on standard input, which is closed")
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(STDIN, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(data) > MOST_BYTES:
        raise InputError(STDIN, f"expected at most {MOST_BYTES // 2**20} MiB of source, got more")
    return data


def _config(names: Sequence[str], config: str | None, no_config: bool) -> ReviewConfig:
    if config is not None and no_config:
        raise InputError("--config", "expected no --no-config beside it")
    if config is not None:
        return read_config(config)
    return ReviewConfig() if no_config else config_for(names)


def _check_found(paths: Sequence[str], found: FilesFound) -> None:
    if found.wanted or found.excluded:
        return
    others = languages_found(found.skipped)
    none = f"none, but {others}" if others else "none"
    unknown = "; ".join(skipped_lines([file for file in found.skipped if not file.language]))
    none += f" ({unknown})" if unknown else ""
    raise InputError(
        " ".join(paths), f"expected source files of a language that the rules know, found {none}"
    )


def _baseline_path(given: str | None, write: bool, settings: ReviewConfig) -> str | None:
    path = given
    if path is None and settings.baseline_path is not None:
        path = os.path.relpath(settings.baseline_path)
    if path is None and write:
        raise InputError("--write-baseline", "expected the file to write as --baseline FILE, got none")
    if path is not None and write:
        check_output_path(path, (".json",))
    return path


def _baseline(path: str | None, write: bool) -> Baseline | None:
    if path is None:
        return None
    if os.path.exists(path):
        return read_baseline(path)
    if write:
        return empty_baseline(path)
    raise InputError(path, "cannot be read: there is no such file; --write-baseline writes it")


def _write_baseline(path: str, old: Baseline, findings: Sequence[JudgedFinding], reviewed: Reviewed) -> None:
    new = renewed(old, findings, reviewed)
    write_output(path, baseline_text(new))
    number = sum(new.known.values())
    kept = number - len(shown(findings))
    kept_text = f", {kept} of them from before, which this run did not look at or show" if kept else ""
    click.echo(f"wrote {count_of(number, 'finding')} to {path}{kept_text}", err=True)


def _root(names: Sequence[str]) -> str:
    """Return the folder that paths in SARIF are relative to: the repository, else this folder, else DIR."""
    first = Path(os.path.realpath(names[0]))
    folder = first if first.is_dir() else first.parent
    here = Path.cwd().resolve()
    top = repository_of(folder)
    if top is not None:
        return str(top)
    return str(here if all(Path(os.path.realpath(name)).is_relative_to(here) for name in names) else folder)


def _reviewed(
    wanted: list[FileToReview], is_alone: bool, rules: tuple[Rule, ...], jobs: int | None, no_cache: bool
) -> Iterator[ReviewedFile]:
    """Yield the reviewed files, with a progress bar if stderr is a terminal."""
    if is_alone:
        # An error about the only file is the result; among others, it is one of the files that were skipped.
        yield from (review_file(each, rules) for each in wanted)
        return
    # Imported here: a single file needs none of this.
    from faultkit.base.child_process import usable_processors
    from faultkit.code.review.cache import open_cache
    from faultkit.code.review.review_many import review_many

    with nullcontext() if no_cache else open_cache(rules) as cache:
        found = review_many(wanted, rules, jobs=jobs or usable_processors(), cache=cache)
        yield from found if not sys.stderr.isatty() else _with_progress(found, len(wanted))


def _with_progress(found: Iterator[ReviewedFile], count: int) -> Iterator[ReviewedFile]:
    # Imported here: with --json and without a terminal the command starts faster.
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
    # The bar has a thread, and a process with threads is not forked: the workers are started before.
    first = list(islice(found, 1))
    with bar:
        task = bar.add_task("reviewing", total=count)
        for each in chain(first, found):
            yield each
            bar.advance(task)
