"""Service level objectives for a function, derived offline from what its code does."""

from faultkit.code.slos.suggest import SuggestedSlo, suggest_slos

__all__ = ["SuggestedSlo", "suggest_slos"]
