"""The rules of a review: one small function each, and the tables of all.

A rule looks at one item and returns a remark or None. It sees figures and not the service, so it names likely
causes. Texts are for engineers: plain and short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from faultkit.scenario.report.delay_rules import (
    delay_hidden,
    delay_multiplied,
    delay_passed_on,
    no_difference,
    tail_only,
)
from faultkit.scenario.report.failure_rules import (
    amplified,
    client_gave_up,
    error_classes,
    no_recovery,
    recovers,
    retries_work,
    timeouts,
)
from faultkit.scenario.report.objective_rules import (
    baseline_misses_slo,
    breaking_point,
    expectation_missed,
    slo_margin_small,
    slo_missed,
)
from faultkit.scenario.report.report_model import Item
from faultkit.scenario.report.review_model import Remark
from faultkit.scenario.report.trust_rules import (
    baseline_fails,
    inconclusive,
    late_starts,
    not_exercised,
    not_trusted,
    too_few_samples,
    unfinished,
    wrong_page,
)

Rule: TypeAlias = Callable[[Item], Remark | None]

TRUST: tuple[tuple[str, Rule], ...] = (
    ("baseline-fails", baseline_fails),
    ("not-trusted", not_trusted),
    ("baseline-misses-slo", baseline_misses_slo),
    ("unfinished", unfinished),
    ("not-exercised", not_exercised),
    ("inconclusive", inconclusive),
    ("wrong-page", wrong_page),
    ("too-few-samples", too_few_samples),
    ("late-starts", late_starts),
)
"""Rules about whether the figures can be trusted; they look at every item."""

FIGURES: tuple[tuple[str, Rule], ...] = (
    ("breaking-point", breaking_point),
    ("slo-missed", slo_missed),
    ("expectation-missed", expectation_missed),
    ("client-gave-up", client_gave_up),
    ("timeouts", timeouts),
    ("error-classes", error_classes),
    ("amplified", amplified),
    ("no-recovery", no_recovery),
    ("slo-margin-small", slo_margin_small),
    ("delay-multiplied", delay_multiplied),
    ("tail-only", tail_only),
    ("recovers", recovers),
    ("delay-passed-on", delay_passed_on),
    ("delay-hidden", delay_hidden),
    ("retries-work", retries_work),
    ("no-difference", no_difference),
)
"""Rules about the figures; they look only at items whose figures decide something."""


DECIDED = ("passed", "failed")
"""Verdicts of items whose figures decide something."""

FIRST = ("baseline-fails", "not-trusted", "baseline-misses-slo")
"""Rules about the service without faults: their findings come first among those of the same severity."""


def remarks(item: Item) -> Iterator[tuple[str, Remark]]:
    """Yield the remarks of all rules about an item, each with the name of its rule."""
    for name, rule in (*TRUST, *FIGURES) if item.verdict in DECIDED else TRUST:
        remark = rule(item)
        if remark is not None:
            yield name, remark
