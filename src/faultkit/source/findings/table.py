"""The one list of all rules, in the order in which they are shown and asked."""

from __future__ import annotations

from faultkit.source.findings.performance import PERFORMANCE
from faultkit.source.findings.reliability import RELIABILITY
from faultkit.source.findings.rule import Rule

RULES: tuple[Rule, ...] = (*RELIABILITY, *PERFORMANCE)
