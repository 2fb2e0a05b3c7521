"""The one list of all rules, in the order in which they are shown and asked."""

from __future__ import annotations

from faultkit.code.rules.performance import PERFORMANCE
from faultkit.code.rules.reliability import RELIABILITY
from faultkit.code.rules.rule import Rule

RULES: tuple[Rule, ...] = (*RELIABILITY, *PERFORMANCE)
