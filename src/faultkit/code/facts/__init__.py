"""A pure view of one text that is the same for all languages: what code does, for rules, advice and SLOs."""

from faultkit.code.facts.assignments import Assignment
from faultkit.code.facts.build import facts_of
from faultkit.code.facts.fact_values import (
    Access,
    Argument,
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
from faultkit.code.facts.facts import Facts, is_within
from faultkit.code.facts.nesting import Place
from faultkit.code.facts.project import NO_PROJECT, Project

__all__ = [
    "NO_PROJECT",
    "Access",
    "Argument",
    "Assignment",
    "Call",
    "Facts",
    "Handler",
    "Loop",
    "Parameter",
    "Place",
    "Project",
    "Route",
    "Scope",
    "Step",
    "Text",
    "Try",
    "Value",
    "facts_of",
    "is_within",
]
