"""Chaos in your own code and tests: registered faults, experiments, and what keeps both safe.

    from faultkit.chaos import ChaosFault, FaultRegistry, with_chaos

What is named here is loaded when it is first used: pytest and a guardian need only a small part of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultkit.chaos.decorator import with_chaos as with_chaos
    from faultkit.chaos.experiment.library import ChaosExperiment as ChaosExperiment
    from faultkit.chaos.experiment.library import SteadyStateHypothesis as SteadyStateHypothesis
    from faultkit.chaos.experiment.run import run_experiment as run_experiment
    from faultkit.chaos.faults import ChaosFault as ChaosFault
    from faultkit.chaos.faults import InjectedFault as InjectedFault
    from faultkit.chaos.faults import parse_chaos_fault as parse_chaos_fault
    from faultkit.chaos.injection import Effect as Effect
    from faultkit.chaos.injection import FaultState as FaultState
    from faultkit.chaos.injection import Injection as Injection
    from faultkit.chaos.ledger import Ledger as Ledger
    from faultkit.chaos.lever import Lever as Lever
    from faultkit.chaos.limits import Limits as Limits
    from faultkit.chaos.outcome import ExperimentResult as ExperimentResult
    from faultkit.chaos.outcome import Outcome as Outcome
    from faultkit.chaos.registry import FaultRegistry as FaultRegistry

_HOMES = {
    "ChaosExperiment": "experiment.library",
    "ChaosFault": "faults",
    "Effect": "injection",
    "ExperimentResult": "outcome",
    "FaultRegistry": "registry",
    "FaultState": "injection",
    "InjectedFault": "faults",
    "Injection": "injection",
    "Ledger": "ledger",
    "Lever": "lever",
    "Limits": "limits",
    "Outcome": "outcome",
    "SteadyStateHypothesis": "experiment.library",
    "parse_chaos_fault": "faults",
    "run_experiment": "experiment.run",
    "with_chaos": "decorator",
}
"""The module of each public name."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
