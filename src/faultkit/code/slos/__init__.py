"""Service level objectives for a function, derived offline from what its code does."""

from faultkit.code.slos.slo_types import SuggestedSlo
from faultkit.code.slos.suggest import suggest_slos

__all__ = ["SuggestedSlo", "suggest_slos"]
