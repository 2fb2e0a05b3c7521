"""Objectives for a function, derived offline from what its code does."""

from faultkit.advice.slos.suggest import suggest_slos
from faultkit.advice.slos.suggested import SuggestedSlo

__all__ = ["SuggestedSlo", "suggest_slos"]
