"""The protocol between the parent and the process of a Chaos Toolkit experiment: lines of JSON. Values only.

Also the strategies of an experiment, which the process reports before it starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

MESSAGES_FD_VARIABLE = "FAULTKIT_TOLD_FD"
"""Variable with the descriptor for messages. Not stdout, which belongs to the experiment's functions."""
MODULE = "faultkit.chaos.toolkit.toolkit_child"


@dataclass(frozen=True, slots=True)
class Order:
    """What the process is asked to do, on its stdin."""

    do: Literal["validate", "run", "gate", "rollbacks"]
    """gate: only the hypothesis, for a dry run. rollbacks: only the rollbacks, from number `first` on."""
    file: str
    settings: str | None = None
    """File of Chaos Toolkit's settings; None: the usual one."""
    variables: dict[str, Any] = field(default_factory=dict)
    """Values that override those of the experiment's configuration."""
    content: dict[str, Any] | None = None
    """The experiment itself, in place of its file, which may have been removed."""
    first: int = 0
    frequency_s: float = 1.0
    fail_fast: bool = False
    fail_fast_ratio: float = 0.0
    """For a hypothesis that is checked during the method."""


def order_document(order: Order) -> dict[str, Any]:
    """Return an order as JSON."""
    return asdict(order)


MESSAGES: dict[str, str] = {
    "valid": "hypothesis, rollbacks: strategies; count: of rollbacks; experiment. Then it waits for a line",
    "invalid": "why",
    "phase": "phase",
    "activity_began": "name, type, background",
    "activity_ended": "phase, name, type, status, duration_s, why",
    "state": "phase, met",
    "rollbacks_began": "",
    "rollback_began": "index, name",
    "rollback_ended": "index, name, status, why, and if nothing else is played its run",
    "rollbacks_ended": "",
    "said": "level, text",
    "journal": "journal",
}
"""The kinds of messages, and the keys of each."""


# --- strategies ------------------------------------------------------------------------------------


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
"""The strategies by the words that may be written, with the library's own words."""
ROLLBACK_STRATEGIES: Mapping[str, str] = {
    "default": "always",
    "always": "always",
    "never": "never",
    "deviated": "deviated",
}
"""The strategies by the words that may be written, with what is done. One differs from Chaos Toolkit: its
`default`, which plays no rollbacks after a failure or an interruption, means `always` here."""


def strategies_of(experiment: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[str, str]:
    """Return the strategies of hypothesis and rollbacks. Raises ValueError for an unknown word."""
    found = []
    for key, known in (("hypothesis", HYPOTHESIS_STRATEGIES), ("rollbacks", ROLLBACK_STRATEGIES)):
        # As in `chaos run`: the `runtime` of an experiment replaces that of the settings altogether.
        runtime = experiment.get("runtime") or settings.get("runtime") or {}
        written = (runtime.get(key) or {}).get("strategy", USUAL)
        if written not in known:
            raise ValueError(f"runtime.{key}.strategy: expected one of {', '.join(known)}, got {written!r}")
        found.append(known[written])
    return found[0], found[1]
