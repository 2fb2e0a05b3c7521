"""Rules whose findings come from a language model, not from a check of facts.

They give such a finding an id, so that comments, baselines, settings and reports treat it like any other.
They run only if a model is asked: `fault review --ask-model --find-more`.
"""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.code.facts.facts import Facts
from faultkit.code.rules.rule import EVERY_LANGUAGE, Finding, Hit, Kind, Rule


def _no_hits(_: Facts) -> Iterable[Hit]:
    return ()


def _rule(number: int, kind: Kind, why: str) -> Rule:
    return Rule(
        id=f"FK-M{number:03}",
        slug=f"{kind}-defect-by-model",
        title=f"{kind.capitalize()} defect that a model found",
        why=why,
        fix="Read the claim against the code, and mend what it names.",
        kind=kind,
        severity="medium",
        languages=EVERY_LANGUAGE,
        check=_no_hits,
        by_default=False,
    )


RELIABILITY_BY_MODEL = _rule(
    1,
    "reliability",
    "What no rule describes fails in production all the same: an order of two calls, a state that one path "
    "leaves behind.",
)
PERFORMANCE_BY_MODEL = _rule(
    2, "performance", "Work that grows with the data or blocks others hurts under load, whatever form it has."
)
MODEL_RULES: tuple[Rule, ...] = (RELIABILITY_BY_MODEL, PERFORMANCE_BY_MODEL)


def lasting_message(finding: Finding) -> str:
    """Return what a finding is known again by, besides its place: its message, but not that of a model, which
    uses other words each time."""
    return "" if finding.rule in MODEL_RULES else finding.message


def names_model_rule(name: str) -> bool:
    """Return whether a name, as users write it, means nothing but rules of MODEL_RULES."""
    wanted = name.strip().lower()
    return wanted.startswith("fk-m") or any(wanted == rule.slug for rule in MODEL_RULES)
