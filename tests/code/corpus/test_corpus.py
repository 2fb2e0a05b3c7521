"""The better version of a piece of code scores higher and has few findings; the figures are printed."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from faultkit.code.advice.analysis import score_value
from faultkit.code.languages import language_named
from faultkit.code.languages.syntax import parse
from faultkit.code.review.engine import findings_of
from faultkit.code.rules.rule import LIKELY, Finding

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Pair:
    language: str
    name: str
    before: str
    after: str


def pairs() -> tuple[Pair, ...]:
    found = []
    for before in sorted(FOLDER.glob("*/*.before")):
        after = before.with_suffix(".after")
        found.append(
            Pair(before.parent.name, before.stem, before.read_text("utf-8"), after.read_text("utf-8"))
        )
    return tuple(found)


PAIRS = pairs()
LEAST = {"python": 24, "javascript": 16, "go": 12, "java": 8, "rust": 2, "csharp": 2, "kotlin": 2}
FAMILY = {"typescript": "javascript", "tsx": "javascript"}


@cache
def findings(pair: Pair) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    return findings_of(pair.before, pair.language), findings_of(pair.after, pair.language)


def test_there_are_enough_pairs_in_enough_languages() -> None:
    count = Counter(FAMILY.get(pair.language, pair.language) for pair in PAIRS)
    assert len(PAIRS) >= 64
    assert {name: count[name] >= least for name, least in LEAST.items()} == dict.fromkeys(LEAST, True)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.language}/{pair.name}")
def test_both_versions_parse_and_differ(pair: Pair) -> None:
    language = language_named(pair.language)
    assert pair.before != pair.after
    for text in (pair.before, pair.after):
        assert not parse(text.encode(), language).root.has_error


def test_the_better_version_scores_higher_in_at_least_95_of_100(capsys: pytest.CaptureFixture[str]) -> None:
    lines, higher = list[str](), 0
    for pair in PAIRS:
        worse, better = (score_value(each) for each in findings(pair))
        many, few = (len(each) for each in findings(pair))
        higher += better > worse
        lines.append(f"{pair.language + '/' + pair.name:<34}{worse:>8.2f}{better:>8.2f}{many:>7} -> {few}")
    share = 100 * higher / len(PAIRS)
    lines.append(f"the better version scores higher in {higher} of {len(PAIRS)} pairs ({share:.1f} %)")
    show(capsys, [f"{'pair':<34}{'before':>8}{'after':>8}   findings", *lines])
    assert higher >= 0.95 * len(PAIRS)


def test_the_better_versions_have_few_findings(capsys: pytest.CaptureFixture[str]) -> None:
    found = [each for pair in PAIRS for each in findings(pair)[1]]
    sure = [each for each in found if each.confidence >= LIKELY]
    before = sum(len(findings(pair)[0]) for pair in PAIRS)
    by_rule = Counter(f"{each.rule.id} {each.rule.slug}" for each in found)
    show(
        capsys,
        [
            f"{before} findings before; {len(found)} after, {len(sure)} of them sure, in {len(PAIRS)} pairs",
            *(f"{many:>5}  {name}" for name, many in by_rule.most_common()),
        ],
    )
    assert len(found) <= 0.25 * len(PAIRS)
    assert len(sure) <= 0.08 * len(PAIRS)


def show(capsys: pytest.CaptureFixture[str], lines: list[str]) -> None:
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.language}/{pair.name}")
def test_a_text_that_breaks_off_is_judged_as_far_as_it_goes(pair: Pair) -> None:
    for text in (pair.before, pair.after):
        for share in (3, 5, 8, 13, 21):
            part = text[: len(text) * share // 23]
            for each in findings_of(part, pair.language):
                assert 1 <= each.line <= part.count("\n") + 1
