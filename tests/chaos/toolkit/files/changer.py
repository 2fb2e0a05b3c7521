"""A control that changes what is in the journal. CHANGE selects what."""

from __future__ import annotations

import os
from typing import Any


def _is(change: str) -> bool:
    return os.environ.get("CHANGE") == change


def after_activity_control(context: Any, state: Any, **kwargs: Any) -> None:
    if _is("name"):
        context["name"] = 7
    if _is("duration"):
        state["duration"] = "long"
    if _is("exception"):
        state["exception"] = 5
    if _is("loop"):
        state["itself"] = state
    if _is("keys"):
        state[(1, 2)] = {None: 3}


def after_hypothesis_control(context: Any, state: Any, **kwargs: Any) -> None:
    if _is("probes") and state:
        state["probes"] = None


def after_experiment_control(context: Any, state: Any, **kwargs: Any) -> None:
    if _is("clear"):
        state.clear()
    for key in ("rollbacks", "steady_states", "run", "experiment", "deviated"):
        if _is(key):
            state[key] = None
    if _is("before"):
        state["steady_states"]["before"] = "gone"
    if _is("during"):
        state["steady_states"]["during"] = 5
