"""Service level objectives for a function, derived offline from what its code does."""

from faultkit.code.slos.suggest import (
    BY_CODE,
    FunctionObjectives,
    MetricChoice,
    SuggestedSlo,
    all_objectives,
    objectives_of,
    route_of,
    suggest_slos,
    with_common_buckets,
)

__all__ = [
    "BY_CODE",
    "FunctionObjectives",
    "MetricChoice",
    "SuggestedSlo",
    "all_objectives",
    "objectives_of",
    "route_of",
    "suggest_slos",
    "with_common_buckets",
]
