"""A language-neutral, pure view of one text, for rules and for all who ask what code does."""

from faultkit.code.facts.build import facts_of
from faultkit.code.facts.facts import Facts, is_within
from faultkit.code.facts.model import (
    Access,
    Argument,
    Assignment,
    Call,
    Handler,
    Loop,
    Parameter,
    Route,
    Scope,
    Step,
    Text,
    Try,
    Value,
)

__all__ = [
    "Access",
    "Argument",
    "Assignment",
    "Call",
    "Facts",
    "Handler",
    "Loop",
    "Parameter",
    "Route",
    "Scope",
    "Step",
    "Text",
    "Try",
    "Value",
    "facts_of",
    "is_within",
]
