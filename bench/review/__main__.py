"""`python -m bench.review`: how often the reviewer is right, what it misses, and how long it takes.

Without a command it measures the speed on a small folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.review.checked import checked_tables
from bench.review.fetch import cache_folder, fetch
from bench.review.findings import collect
from bench.review.judgements import add_judgements, judgements_path, match, read_judgements
from bench.review.precision import precision_tables
from bench.review.projects import HALVES
from bench.review.recall import outcome_of, pairs_folder, read_pairs, recall_table
from bench.review.sample import draw, sample_lines
from bench.review.speed import FILES, measure
from faultkit.base.errors import FaultkitError
from faultkit.code.rules.rule import LIKELY


def main(words: Sequence[str]) -> int:
    """Run a command; return the exit code."""
    asked = arguments(words)
    try:
        return int(asked.run(asked) or 0)
    except FaultkitError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """Return what was asked for; options without a command are those of `speed`."""
    if not words or (words[0].startswith("--") and words[0] != "--help"):
        words = ("speed", *words)
    return _parser().parse_args(words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.review", description=__doc__)
    commands = parser.add_subparsers(required=True)

    one = commands.add_parser("fetch", help="Fetch the pinned projects and check their SHA-256.")
    _corpus(one)
    one.add_argument("--half", choices=HALVES)
    one.set_defaults(run=_fetch)

    one = commands.add_parser(
        "sample", help="Draw findings to be judged, as JSON lines with the code around each."
    )
    _corpus(one)
    _half(one)
    one.add_argument("--count", type=int, default=200)
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--output", type=Path, help="The file to write; without it, standard output.")
    one.set_defaults(run=_sample)

    one = commands.add_parser("add", help="Add the lines of a judged sample to the judgements of a half.")
    one.add_argument("file", type=Path)
    one.add_argument("--half", choices=HALVES, required=True)
    one.add_argument("--judge", required=True, help="Who judged.")
    one.set_defaults(run=_add)

    one = commands.add_parser("precision", help="Show the shares of true, arguable and false findings.")
    _corpus(one)
    _half(one)
    one.set_defaults(run=_precision)

    one = commands.add_parser(
        "checked", help="Show the shares of what a language model confirmed of the judged findings."
    )
    one.add_argument("--half", choices=HALVES, required=True)
    one.set_defaults(run=_checked)

    one = commands.add_parser("recall", help="Show how many defects of a set of pairs are found.")
    one.add_argument("folder", type=Path, help="A folder of pairs, or an archive of one.")
    one.add_argument(
        "--min-confidence", type=float, default=LIKELY, help="By default that of `fault review`."
    )
    one.set_defaults(run=_recall)

    one = commands.add_parser("speed", help="Measure the time of a review.")
    _corpus(one)
    one.add_argument("--files", type=int, default=FILES)
    one.add_argument("--rules", action="store_true", help="Also say which rules take the longest.")
    one.set_defaults(run=_speed)
    return parser


def _corpus(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--corpus", type=Path, default=cache_folder(), help="Folder of the projects (default: %(default)s)."
    )


def _half(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--half", choices=HALVES, required=True)
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        help="Only this rule, also if it is off by default; repeatable.",
    )
    parser.add_argument("--jobs", type=int, help="Processes (default: one a core).")


def _fetch(asked: argparse.Namespace) -> None:
    for project, folder, files in fetch(asked.corpus, asked.half):
        print(f"{project.name} {project.version}: {files} files in {folder}")


def _sample(asked: argparse.Namespace) -> None:
    findings = collect(asked.corpus, asked.half, asked.rule, asked.jobs)
    judged = match(findings, read_judgements(judgements_path(asked.half)))
    unjudged = [each for each, judgement in judged if judgement is None]
    text = "".join(
        f"{line}\n" for line in sample_lines(draw(unjudged, asked.count, asked.seed), asked.corpus)
    )
    if asked.output is None:
        print(text, end="")
    else:
        asked.output.write_text(text, "utf-8")


def _add(asked: argparse.Namespace) -> None:
    path = judgements_path(asked.half)
    added = add_judgements(path, asked.file, asked.judge)
    print(f"{added} judgements added to {path.name}, which has {len(read_judgements(path))} now")


def _precision(asked: argparse.Namespace) -> None:
    findings = collect(asked.corpus, asked.half, asked.rule, asked.jobs)
    judgements = read_judgements(judgements_path(asked.half))
    wanted = [each for each in judgements if not asked.rule or each.rule in asked.rule]
    print(precision_tables(findings, wanted))


def _checked(asked: argparse.Namespace) -> None:
    print(checked_tables(read_judgements(judgements_path(asked.half))))


def _recall(asked: argparse.Namespace) -> None:
    with pairs_folder(asked.folder) as folder:
        print(recall_table(outcome_of(pair, asked.min_confidence) for pair in read_pairs(folder)))


def _speed(asked: argparse.Namespace) -> int:
    return measure(asked.files, asked.corpus, rules=asked.rules)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
