"""Rules over facts: what will fail or be slow in production. Pure; `faultkit.code.review` applies them."""

from faultkit.code.rules.rule import KINDS, SEVERITIES, Finding, Hit, Kind, Rule, Severity

__all__ = ["KINDS", "SEVERITIES", "Finding", "Hit", "Kind", "Rule", "Severity"]
