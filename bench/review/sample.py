"""Draw findings to be judged, with the code around each."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.review.findings import Found
from bench.review.projects import halves_of, read_projects

_AROUND = 14
_LONGEST = 60


def draw(findings: Iterable[Found], count: int, seed: int) -> list[Found]:
    """Return up to `count` findings at random, spread over rules, languages and severities.

    The share of a stratum grows with the square root of its findings, so that small ones are seen too.
    The largest strata come first.
    """
    strata: defaultdict[tuple[str, str, str], list[Found]] = defaultdict(list)
    for each in findings:
        strata[each.stratum].append(each)
    shares = shares_of({name: len(members) for name, members in strata.items()}, count)
    chosen = []
    for name in sorted(strata, key=lambda name: (-len(strata[name]), name)):
        members = sorted(strata[name], key=lambda each: (each.key, each.line))
        chosen += random.Random(f"{seed} {' '.join(name)}").sample(members, shares[name])
    return chosen


def shares_of(sizes: dict[tuple[str, str, str], int], count: int) -> dict[tuple[str, str, str], int]:
    """Return how many to draw from each stratum: the next goes to the highest n / (drawn + 1)²."""
    shares = dict.fromkeys(sizes, 0)
    for _ in range(min(count, sum(sizes.values()))):
        open_ones = [name for name in sizes if shares[name] < sizes[name]]
        best = max(open_ones, key=lambda name: (sizes[name] / (shares[name] + 1) ** 2, name))
        shares[best] += 1
    return shares


def excerpt(lines: Sequence[str], line: int, end_line: int) -> str:
    """Return the lines around a finding with their numbers, those of the finding marked."""
    first = max(1, line - _AROUND)
    last = min(len(lines), min(end_line, line + _LONGEST) + _AROUND)
    shown = range(first, last + 1)
    return "\n".join(f"{'>' if line <= at <= end_line else ' '}{at:5} {lines[at - 1][:200]}" for at in shown)


def sample_lines(findings: Iterable[Found], corpus: Path) -> Iterable[str]:
    """Yield a JSON line for each finding, with an excerpt and empty `verdict` and `reason`."""
    projects = {each.name: each for each in read_projects()}
    halves = halves_of(projects.values())
    for each in findings:
        path = corpus / halves[each.project] / projects[each.project].folder / each.file
        lines = path.read_text("utf-8", "replace").split("\n")
        shown = {"excerpt": excerpt(lines, each.line, each.end_line), "verdict": "", "reason": ""}
        yield json.dumps({**asdict(each), **shown}, ensure_ascii=False)
