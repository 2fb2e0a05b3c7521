"""Objectives for a function, derived offline from what its code does."""

from faultkit.code.slos.suggest import suggest_slos
from faultkit.code.slos.suggested import SuggestedSlo

__all__ = ["SuggestedSlo", "suggest_slos"]
