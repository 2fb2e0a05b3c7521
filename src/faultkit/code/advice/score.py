"""A score from 0 to 1 for what the rules found, for reliability and for performance apart. Pure.

    weight   low 0.08, medium 0.27, high 0.55, critical 1.0, times the confidence of the finding
    loss     of one rule: its weights, the greatest first, each counting half of the one before:
             w1 + w2 / 2 + w3 / 4 + …; of all rules together: the sum
    score    e to the power of -loss, rounded to two digits

Nothing found is 1.0. A finding more never raises the score: the weights of a rule, sorted, only grow, so the
loss only grows. That a mistake counts half when it is made again keeps a long file with one bad habit apart
from one that has every fault there is. Folders have the mean of their files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from faultkit.code.rules.rule import Finding, Kind, Severity

WEIGHTS: dict[Severity, float] = {"low": 0.08, "medium": 0.27, "high": 0.55, "critical": 1.0}
MOST_NAMED = 12
"""Findings in an explanation; the rest is a number."""


@dataclass(frozen=True, slots=True)
class Score:
    kind: Kind
    value: float
    explanation: str
    """Names the findings with their lines, the gravest first."""
    findings: tuple[Finding, ...]
    """Those that it is made of, the gravest first."""


def weight(finding: Finding) -> float:
    return WEIGHTS[finding.severity] * finding.confidence


def score_value(findings: Iterable[Finding]) -> float:
    """The formula alone, over whatever findings are given."""
    by_rule: dict[str, list[float]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule.id, []).append(weight(finding))
    # Summed in a fixed order, so that the same findings in any order are the same number.
    loss = math.fsum(
        each / 2**place
        for weights in by_rule.values()
        for place, each in enumerate(sorted(weights, reverse=True))
    )
    return round(math.exp(-loss), 2)


def score_of(findings: Iterable[Finding], kind: Kind) -> Score:
    """For one text, from all its findings: those of the other kind are left out."""
    own = sorted(
        (each for each in findings if each.rule.kind == kind),
        key=lambda each: (-weight(each), each.file, each.line, each.rule.id),
    )
    value = score_value(own)
    return Score(kind, value, _explanation(kind, value, own), tuple(own))


def mean_value(values: Iterable[float]) -> float:
    """Of a folder, from the scores of its files; 1.0 if there are none."""
    listed = list(values)
    return round(math.fsum(listed) / len(listed), 2) if listed else 1.0


def _explanation(kind: Kind, value: float, findings: list[Finding]) -> str:
    if not findings:
        return f"No rule about {kind} found anything."
    count = f"{len(findings)} finding{'s' if len(findings) != 1 else ''}"
    named = [f"{each.place}: {each.rule.title} ({each.message})." for each in findings[:MOST_NAMED]]
    more = len(findings) - len(named)
    rest = f" And {more} more." if more > 0 else ""
    return f"{value:.2f} for {kind}, by {count}. {' '.join(named)}{rest}"
