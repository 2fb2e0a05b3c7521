"""Recall on pairs of files: one with a defect, one in which it is mended.

A pair is a folder `<language>/<name>` with `bad.<ext>`, `good.<ext>` and `meta.json`:

    {"defect": "HTTP call without a timeout", "lines": [12, 14], "also": [30]}

`lines` are the first and the last line of the defect in the bad file, and `also`, if given, single lines
that name it as well, such as the declaration of what is used wrongly. It is found if a rule flags one of
these lines and flags the good file less often; findings that `fault review` does not show by default do not
count. Pairs are written by people who have not read the rules.
"""

from __future__ import annotations

import json
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.base.sample_statistics import proportion_interval
from faultkit.code.languages import language_of
from faultkit.code.review.engine import findings_of
from faultkit.code.rules.rule import LIKELY, Finding


@dataclass(frozen=True, slots=True)
class Pair:
    """A defect and its mended version."""

    language: str
    name: str
    defect: str
    lines: frozenset[int]
    """The lines of the bad file that name the defect."""
    bad: Path
    good: Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the rules said about a pair."""

    pair: Pair
    found_by: tuple[str, ...]
    """Ids of the rules that found the defect."""
    on_good: tuple[str, ...]
    """Ids of the rules with findings in the good file."""


@contextmanager
def pairs_folder(place: Path) -> Iterator[Path]:
    """Open a folder of pairs; an archive of one is unpacked for the time of the block.

    Ours are archives, so that linters, searches and reviews do not meet code that is wrong on purpose.
    """
    if place.is_dir():
        yield place
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            with tarfile.open(place) as archive:
                archive.extractall(folder, filter="data")
        except (OSError, tarfile.TarError) as error:
            raise InputError(str(place), f"expected a folder or an archive of pairs: {error}") from None
        yield Path(folder)


def read_pairs(folder: Path) -> list[Pair]:
    """Return the pairs below a folder."""
    metas = sorted(folder.glob("*/*/meta.json"))
    if not metas:
        raise InputError(str(folder), "expected <language>/<name>/meta.json below it, got none")
    return [_pair(path) for path in metas]


def _pair(meta: Path) -> Pair:
    given = json.loads(read_text(meta))
    lines = given.get("lines")
    if not (isinstance(lines, list) and len(lines) == 2 and all(type(each) is int for each in lines)):
        raise InputError(
            f"{meta}.lines", f"expected the first and the last line, such as [12, 14], got {lines!r}"
        )
    also = given.get("also", [])
    if not (isinstance(also, list) and all(type(each) is int for each in also)):
        raise InputError(f"{meta}.also", f"expected a list of lines, such as [30], got {also!r}")
    return Pair(
        language=meta.parent.parent.name,
        name=meta.parent.name,
        defect=str(given.get("defect", "")),
        lines=frozenset([*range(lines[0], lines[1] + 1), *also]),
        bad=_file(meta.parent, "bad"),
        good=_file(meta.parent, "good"),
    )


def _file(folder: Path, stem: str) -> Path:
    files = sorted(folder.glob(f"{stem}.*"))
    if len(files) != 1:
        raise InputError(str(folder), f"expected one file {stem}.<ext>, got {len(files)}")
    return files[0]


def outcome_of(pair: Pair, min_confidence: float = LIKELY) -> Outcome:
    """Review both files of a pair."""
    on_bad, on_good = (
        [each for each in _review(path) if each.confidence >= min_confidence]
        for path in (pair.bad, pair.good)
    )
    return judge_pair(pair, on_bad, on_good)


def _review(path: Path) -> tuple[Finding, ...]:
    return findings_of(read_text(path), language_of(path.name))


def judge_pair(pair: Pair, on_bad: Sequence[Finding], on_good: Sequence[Finding]) -> Outcome:
    """Return whether a finding on the bad file is about the defect."""
    before, after = (Counter(each.rule.id for each in findings) for findings in (on_bad, on_good))
    at_defect = {
        each.rule.id for each in on_bad if not pair.lines.isdisjoint(range(each.line, each.end_line + 1))
    }
    return Outcome(
        pair,
        found_by=tuple(sorted(rule for rule in at_defect if after[rule] < before[rule])),
        on_good=tuple(sorted(after)),
    )


def recall_table(outcomes: Iterable[Outcome]) -> str:
    """Return figures by language as Markdown, the missed defects, and the findings on good files."""
    groups: defaultdict[str, list[Outcome]] = defaultdict(list)
    for each in outcomes:
        groups[each.pair.language].append(each)
        groups["all"].append(each)
    rows = ["| language | pairs | found | recall % | good files with a finding |", "|---|---|---|---|---|"]
    for language in sorted(groups, key=lambda name: (name == "all", name)):
        members = groups[language]
        found = sum(1 for each in members if each.found_by)
        flagged = sum(1 for each in members if each.on_good)
        rows.append(
            f"| {language} | {len(members)} | {found} | {_share(found, len(members))} "
            f"| {flagged}: {_share(flagged, len(members))} |"
        )
    missed = [f"- {_name(each)}: {each.pair.defect}" for each in groups["all"] if not each.found_by]
    flagged_ones = [f"- {_name(each)}: {', '.join(each.on_good)}" for each in groups["all"] if each.on_good]
    return "\n".join([*rows, "", "Missed:", *missed, "", "Findings on good files:", *flagged_ones])


def _name(outcome: Outcome) -> str:
    return f"{outcome.pair.language}/{outcome.pair.name}"


def _share(hits: int, total: int) -> str:
    low, high = proportion_interval(hits, total)
    return f"{hits / total:.0%} ({100 * low:.0f}-{100 * high:.0f})"
