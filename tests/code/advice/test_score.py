"""The score: its formula, and that one more finding never raises it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.code.advice.analysis import WEIGHTS, Score, mean_value, score_of, score_value
from faultkit.code.languages.syntax import Span
from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules import SEVERITIES, Finding

APP = """\
import os

import httpx
from fastapi import FastAPI

UPSTREAM_URL = os.getenv("UPSTREAM_URL", "https://jsonplaceholder.typicode.com")

app = FastAPI()


@app.get("/")
def index():
    return httpx.get(f"{UPSTREAM_URL}/todos/1", headers={
        "Host": "jsonplaceholder.typicode.com"
    }).json()
"""

FINDINGS = st.builds(
    lambda rule, line, severity, confidence: Finding(
        rule, "a.py", "f", Span(line, line + 1), line, line, 1, 2, "something", severity, confidence
    ),
    st.sampled_from(RULES),
    st.integers(1, 500),
    st.sampled_from(SEVERITIES),
    st.sampled_from([0.5, 0.8, 0.95]),
)


def reliability(text: str, language: str = "python") -> Score:
    return score_of(findings_of(text, language), "reliability")


def test_no_findings_score_one() -> None:
    score = reliability("x = 1\n")
    assert (score.value, score.explanation) == (1.0, "No rule about reliability found anything.")


def test_the_formula_is_the_documented_one() -> None:
    finding = findings_of("try:\n    save()\nexcept Exception:\n    pass\n", "python")[0]
    assert (finding.severity, finding.confidence) == ("high", 0.95)
    # 0.55 × 0.95 = 0.5225; twice the same rule: 0.5225 × 1.5 = 0.78375.
    assert score_value([finding]) == 0.59
    assert score_value([finding, finding]) == 0.46
    assert WEIGHTS == {"low": 0.08, "medium": 0.27, "high": 0.55, "critical": 1.0}


@given(st.lists(FINDINGS, max_size=30), FINDINGS, st.randoms(use_true_random=False))
def test_one_more_finding_never_raises_the_score(
    findings: list[Finding], more: Finding, order: st.DataObject
) -> None:
    before = score_value(findings)
    added = [*findings, more]
    order.shuffle(added)  # type: ignore[attr-defined]
    assert 0.0 <= score_value(added) <= before <= 1.0


@given(st.lists(FINDINGS, max_size=30))
def test_the_order_of_findings_does_not_matter(findings: list[Finding]) -> None:
    assert score_value(findings) == score_value(findings[::-1])


@given(st.lists(FINDINGS, min_size=1, max_size=20))
def test_a_graver_finding_never_raises_the_score(findings: list[Finding]) -> None:
    graver = [replace(findings[0], severity="critical", confidence=0.95), *findings[1:]]
    assert score_value(graver) <= score_value(findings)


@given(st.lists(FINDINGS, max_size=20))
def test_the_two_kinds_are_scored_apart(findings: list[Finding]) -> None:
    own = [each for each in findings if each.rule.kind == "reliability"]
    assert score_of(findings, "reliability").value == score_value(own)
    assert {*score_of(findings, "reliability").findings} == {*own}


def test_the_demo_app_scores_low_and_its_findings_name_what_is_missing() -> None:
    score = reliability(APP)
    assert score.value <= 0.5
    slugs = {each.rule.slug for each in score.findings}
    assert slugs >= {"http-call-without-timeout", "upstream-error-not-mapped"}
    assert {each.line for each in score.findings} == {13}
    for words in ("line 13", "without a timeout", "Error of a dependency not handled"):
        assert words in score.explanation


def test_an_explanation_names_the_gravest_first_and_counts_the_rest() -> None:
    text = "import requests\n" + "requests.get(u)\n" * 20
    score = reliability(text)
    assert score.explanation.startswith(
        f"{score.value:.2f} for reliability, by 20 findings. line 2: HTTP call without"
    )
    assert score.explanation.endswith("And 8 more.")


@pytest.mark.parametrize(("values", "mean"), [([], 1.0), ([0.5], 0.5), ([1.0, 0.0, 0.5], 0.5)])
def test_a_folder_has_the_mean_of_its_files(values: list[float], mean: float) -> None:
    assert mean_value(values) == mean
