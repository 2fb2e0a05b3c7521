"""What the process of a Chaos Toolkit experiment is asked, and what it tells: JSON, a line each. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

TOLD_FD_VARIABLE = "FAULTKIT_TOLD_FD"
"""Names the descriptor of the way back: stdout belongs to the functions of the experiment."""
MODULE = "faultkit.chaos.toolkit.child"


@dataclass(frozen=True, slots=True)
class Order:
    """What the process is to do, on its stdin."""

    do: Literal["validate", "run", "gate", "rollbacks"]
    """gate: the hypothesis only, for a dry run. rollbacks: nothing else, from `first` on."""
    file: str
    settings: str | None = None
    """The file of Chaos Toolkit's settings; None: the usual one."""
    variables: dict[str, Any] = field(default_factory=dict)
    """Override those of the experiment's configuration."""
    content: dict[str, Any] | None = None
    """The experiment itself, in place of its file, which may be gone by now."""
    first: int = 0
    frequency_s: float = 1.0
    fail_fast: bool = False
    fail_fast_ratio: float = 0.0
    """Of a hypothesis that is looked at during the method."""


def order_document(order: Order) -> dict[str, Any]:
    return asdict(order)


TELLS: dict[str, str] = {
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
"""The kinds of what is told, and what each holds."""
