"""Chaos in your own code and tests: registered faults, experiments, and what keeps both safe.

    from faultkit.chaos import ChaosFault, FaultRegistry, with_chaos

    safety/        limits, kill switch, the ledger of what has to be undone, and its guardian process
    effects/       what a fault does: pauses and exceptions, a partition, exhaustion, rules at a proxy
    named_faults/  faults by name: register, trigger by chance, remove
    steps/         the kinds of checks and actions of an experiment
    experiment/    experiments in the short form: file, runner, result
    toolkit/       experiments in the format of Chaos Toolkit
    report/        reports of runs
    session, runner, game_day, records    what commands and tools use

Each public name is imported on first use, because pytest and a guardian need only a small part.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultkit.chaos.experiment.experiment_result import ExperimentResult as ExperimentResult
    from faultkit.chaos.experiment.experiment_result import Outcome as Outcome
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

    Lever = KillSwitch

_MODULES = {
    "ChaosExperiment": "experiment.function_experiment",
    "ChaosFault": "named_faults.chaos_fault",
    "Effect": "named_faults.chaos_fault",
    "ExperimentResult": "experiment.experiment_result",
    "FaultRegistry": "named_faults.fault_registry",
    "FaultState": "named_faults.chaos_fault",
    "InjectedFault": "named_faults.chaos_fault",
    "Injection": "named_faults.chaos_fault",
    "KillSwitch": "safety.kill_switch",
    "Ledger": "safety.ledger",
    "Limits": "safety.chaos_limits",
    "Outcome": "experiment.experiment_result",
    "SteadyStateHypothesis": "experiment.function_experiment",
    "parse_chaos_fault": "named_faults.chaos_fault",
    "run_experiment": "runner",
    "with_chaos": "named_faults.fault_registry",
}
"""The module of each public name."""
_FORMER_NAMES = {"Lever": "KillSwitch"}
"""Names of earlier versions, kept for programs that import them."""

__all__ = [*_MODULES, *_FORMER_NAMES]


def __getattr__(name: str) -> Any:
    name = _FORMER_NAMES.get(name, name)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
