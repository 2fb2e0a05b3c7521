"""What hides a finding: paths, comments and thresholds, in this order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from faultkit.code.review.engine import findings_of
from faultkit.code.review.outcome import Judgement, hide, judge, rules_judged, shown
from faultkit.code.review.path_patterns import path_patterns
from faultkit.code.review.review_files import ReviewedFile
from faultkit.code.rules.rule import POSSIBLE, Severity

FINDING = next(
    each
    for each in findings_of("import requests\nrequests.get(u)\n", "python", file="a.py")
    if each.rule.id == "FK-R001"
)
FILE = ReviewedFile("a.py", "python", (FINDING,), path="/p/a.py", relative="a.py")


def outcome(file: ReviewedFile = FILE, by: Judgement = Judgement()) -> list[tuple[str, str]]:  # noqa: B008
    return [(each.hidden, each.detail) for each in judge(file, by)]


def test_a_finding_is_shown_unless_something_hides_it() -> None:
    assert outcome() == [("", "")]
    assert outcome(by=Judgement(min_severity="critical")) == [("severity", "")]
    assert outcome(by=Judgement(min_confidence=0.99)) == [("confidence", "")]
    possible = replace(FILE, findings=(replace(FINDING, confidence=POSSIBLE),))
    assert outcome(possible) == [("confidence", "")]
    assert outcome(possible, Judgement(min_confidence=POSSIBLE)) == [("", "")]
    assert outcome(by=Judgement(kind="performance")) == []


def test_a_comment_goes_before_thresholds_and_counts_once() -> None:
    suppressed = replace(FILE, findings=(), suppressed=((FINDING, "local"),))
    assert outcome(suppressed, Judgement(min_severity="critical")) == [("comment", "local")]


def test_rules_are_ignored_for_paths() -> None:
    here = (path_patterns(["a.py"], "/p"), ("FK-R",))
    assert outcome(by=Judgement(ignores=[here])) == []
    assert outcome(by=Judgement(ignores=[(path_patterns(["b.py"], "/p"), ("FK-R",))])) == [("", "")]
    assert outcome(by=Judgement(ignores=[(path_patterns(["a.py"], "/p"), ("FK-P",))])) == [("", "")]


def test_rules_that_were_not_run_or_do_not_count_are_not_judged() -> None:
    def judged(file: ReviewedFile = FILE, **by: Any) -> bool:
        return rules_judged(file, [FINDING.rule], Judgement(**by)) == {"FK-R001"}

    assert judged()
    assert judged(kind="reliability")
    assert judged(min_severity="critical")
    assert not judged(kind="performance")
    assert not judged(ignores=[(path_patterns(["a.py"], "/p"), ("FK-R",))])
    assert not judged(replace(FILE, skipped="is a binary file"))
    assert not judged(replace(FILE, context="tests"))
    assert not judged(replace(FILE, context="browser"))


@pytest.mark.parametrize(
    ("severities", "expected"),
    [
        ({}, "high"),
        ({"FK-R001": "low"}, "low"),
        ({"FK-R001": "low", "FK-R": "critical"}, "low"),
        ({"reliability": "medium", "FK-P": "low"}, "medium"),
    ],
)
def test_the_most_exact_name_sets_the_severity(severities: dict[str, Severity], expected: str) -> None:
    (judged,) = judge(FILE, Judgement(severities=severities))
    assert judged.finding.severity == expected


def test_only_what_is_shown_is_hidden_later() -> None:
    findings = [*judge(FILE, Judgement()), *judge(FILE, Judgement(min_severity="critical"))]
    left = hide(findings, "unchanged", lambda each: True)
    assert [each.hidden for each in left] == ["unchanged", "severity"]
    assert (shown(findings), shown(left)) == ([FINDING], [])
