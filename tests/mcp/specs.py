"""Fault specs for tests: several of them as the rules of one plan."""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.mcp.fault_specs import parse_spec
from faultkit.plan import Rule


def parse_specs(texts: Iterable[str]) -> tuple[Rule, ...]:
    """Parse several specs into rules with distinct names."""
    rules: list[Rule] = []
    for text in texts:
        rule = parse_spec(text, {rule.name for rule in rules})
        if rule is not None:
            rules.append(rule)
    return tuple(rules)
