"""Which strategies hold for an experiment: its own, then those of the settings. Pure.

One thing differs from Chaos Toolkit: its `default` for rollbacks, which plays none after a failure or an
interruption, means `always` here. `never` and `deviated` are what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

USUAL = "default"
HYPOTHESIS_STRATEGIES: Mapping[str, str] = {
    "default": "default",
    "before-method-only": "before-method-only",
    "after-method-only": "after-method-only",
    "during-method-only": "during-method-only",
    "continuously": "continuously",
    "continously": "continuously",
    "continuous": "continuously",
    "skip": "skip",
}
"""As it may be written, and what the library calls it."""
ROLLBACK_STRATEGIES: Mapping[str, str] = {
    "default": "always",
    "always": "always",
    "never": "never",
    "deviated": "deviated",
}
"""As it may be written, and what is done."""


def strategies_of(experiment: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[str, str]:
    """Of the hypothesis and of the rollbacks. ValueError for a word that nobody knows."""
    found = []
    for key, known in (("hypothesis", HYPOTHESIS_STRATEGIES), ("rollbacks", ROLLBACK_STRATEGIES)):
        # As `chaos run` has it: an experiment with a runtime of its own makes that of the settings void.
        runtime = experiment.get("runtime") or settings.get("runtime") or {}
        written = (runtime.get(key) or {}).get("strategy", USUAL)
        if written not in known:
            raise ValueError(f"runtime.{key}.strategy: expected one of {', '.join(known)}, got {written!r}")
        found.append(known[written])
    return found[0], found[1]
