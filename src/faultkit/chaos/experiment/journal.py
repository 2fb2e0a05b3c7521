"""The journal of a run: a superset of Chaos Toolkit's, the same for both forms of experiments.

What Chaos Toolkit does not know stands under the one key `faultkit`. Docs: docs/chaos-toolkit.md.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from faultkit import __version__
from faultkit.chaos.outcome import ExperimentResult, result_document

OURS = "faultkit"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run, as it happens."""

    kind: str
    """A key of EVENTS."""
    at_s: float
    """Since the run began."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Plain JSON, without secrets."""


EVENTS: Mapping[str, str] = {
    "run_began": "experiment, dry_run",
    "phase_began": "phase: gate, method, recheck, rollback",
    "phase_ended": "phase, met (of gate and recheck)",
    "check_ended": "phase, name, met, why, duration_s",
    "action_began": "name, says",
    "action_ended": "name, ok, why, duration_s",
    "pause_began": "seconds",
    "stopping": "why",
    "rolled_back": "says, ok, message",
    "said": "level, text: a line of the log of Chaos Toolkit",
    "run_ended": "outcome, error",
}
"""The kinds of events, and what their data hold."""


@dataclass(frozen=True, slots=True)
class Journal:
    result: ExperimentResult
    document: Mapping[str, Any]
    """What `journal.json` holds."""


def journal_head(experiment: Mapping[str, Any], started_at: str) -> dict[str, Any]:
    """As Chaos Toolkit begins its own."""
    return {
        "chaoslib-version": None,
        "platform": platform.platform(),
        "node": platform.node(),
        "experiment": dict(experiment),
        "start": started_at,
        "status": None,
        "deviated": False,
        "steady_states": {"before": None, "after": None, "during": []},
        "run": [],
        "rollbacks": [],
    }


def ours(
    result: ExperimentResult,
    *,
    file: str | None,
    seed: int | str | None = None,
    plan: Sequence[Mapping[str, Any]] = (),
    reasons: Sequence[str] = (),
    undone: Sequence[Mapping[str, Any]] = (),
    events: Sequence[Event] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """The part under `faultkit`."""
    return {
        "version": __version__,
        **result_document(result),
        "gate_failed": result.outcome == "gate_not_met",
        "file": file,
        "seed": seed,
        "plan": list(plan),
        "reasons": list(reasons),
        "undone": list(undone),
        "warnings": list(warnings),
        "events": [{"kind": each.kind, "at_s": each.at_s, **each.data} for each in events],
    }
