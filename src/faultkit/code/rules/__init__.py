"""What will hurt in production: facts about a text, rules over them, findings. Pure and offline."""

from faultkit.code.rules.engine import findings_in, findings_of
from faultkit.code.rules.rule import KINDS, SEVERITIES, Finding, Hit, Kind, Rule, Severity
from faultkit.code.rules.table import RULES

__all__ = [
    "KINDS",
    "RULES",
    "SEVERITIES",
    "Finding",
    "Hit",
    "Kind",
    "Rule",
    "Severity",
    "findings_in",
    "findings_of",
]
