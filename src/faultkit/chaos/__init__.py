"""Chaos in your own code and tests: registered faults, experiments, and what keeps both safe.

    from faultkit.chaos import ChaosFault, FaultRegistry, with_chaos

    safety/        limits, kill switch, the ledger of what has to be undone, recovery after a crash
    effects/       what a fault does: pauses and exceptions, a partition, exhaustion, rules at a proxy
    named_faults/  faults by name: register, trigger by chance, remove
    steps/         the kinds of checks and actions of an experiment
    experiment/    experiments, in the short form or in that of Chaos Toolkit: files, runners, results
    report/        reports of runs
    session, runner, game_day, records    what commands and tools use

Each public name is imported on first use, because pytest and a guardian need only a small part.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultkit.chaos.experiment.experiment_model import ExperimentResult as ExperimentResult
    from faultkit.chaos.experiment.experiment_model import Outcome as Outcome
    from faultkit.chaos.experiment.function_experiment import ChaosExperiment as ChaosExperiment
    from faultkit.chaos.experiment.function_experiment import SteadyStateHypothesis as SteadyStateHypothesis
    from faultkit.chaos.named_faults.chaos_fault import ChaosFault as ChaosFault
    from faultkit.chaos.named_faults.chaos_fault import Effect as Effect
    from faultkit.chaos.named_faults.chaos_fault import FaultState as FaultState
    from faultkit.chaos.named_faults.chaos_fault import InjectedFault as InjectedFault
    from faultkit.chaos.named_faults.chaos_fault import Injection as Injection
    from faultkit.chaos.named_faults.chaos_fault import parse_chaos_fault as parse_chaos_fault
    from faultkit.chaos.named_faults.fault_registry import FaultRegistry as FaultRegistry
    from faultkit.chaos.named_faults.fault_registry import with_chaos as with_chaos
    from faultkit.chaos.runner import run_experiment as run_experiment
    from faultkit.chaos.safety.chaos_limits import Limits as Limits
    from faultkit.chaos.safety.kill_switch import KillSwitch as KillSwitch
    from faultkit.chaos.safety.ledger import Ledger as Ledger

_MODULES = {
    "ChaosExperiment": "faultkit.chaos.experiment.function_experiment",
    "ChaosFault": "faultkit.chaos.named_faults.chaos_fault",
    "Effect": "faultkit.chaos.named_faults.chaos_fault",
    "ExperimentResult": "faultkit.chaos.experiment.experiment_model",
    "FaultRegistry": "faultkit.chaos.named_faults.fault_registry",
    "FaultState": "faultkit.chaos.named_faults.chaos_fault",
    "InjectedFault": "faultkit.chaos.named_faults.chaos_fault",
    "Injection": "faultkit.chaos.named_faults.chaos_fault",
    "KillSwitch": "faultkit.chaos.safety.kill_switch",
    "Ledger": "faultkit.chaos.safety.ledger",
    "Limits": "faultkit.chaos.safety.chaos_limits",
    "Outcome": "faultkit.chaos.experiment.experiment_model",
    "SteadyStateHypothesis": "faultkit.chaos.experiment.function_experiment",
    "parse_chaos_fault": "faultkit.chaos.named_faults.chaos_fault",
    "run_experiment": "faultkit.chaos.runner",
    "with_chaos": "faultkit.chaos.named_faults.fault_registry",
}
"""The module of each public name."""

__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
