"""What will hurt in production: facts about a text, rules over them, findings. Pure and offline."""

from faultkit.source.findings.engine import findings_in, findings_of
from faultkit.source.findings.rule import KINDS, SEVERITIES, Finding, Hit, Kind, Rule, Severity
from faultkit.source.findings.table import RULES

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
