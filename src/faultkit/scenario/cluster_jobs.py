"""What a run of scenarios creates in a Kubernetes cluster, without creating it: `--dry-run`.

Each load of an item is a Job: one without the faults, and one with them. Both are alike, so each item gives
one manifest. Names are new for each run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml

from faultkit.load.kubernetes.manifests import Manifest
from faultkit.load.kubernetes.pod_settings import PodSettings
from faultkit.load.kubernetes_place import job_of
from faultkit.load.split import LoadPlan
from faultkit.scenario.routes import Routes, target_of
from faultkit.scenario.scenario_model import LoadStrategy, Scenario
from faultkit.scenario.strategy import load_of


def jobs_as_yaml(scenarios: Sequence[Scenario], settings: PodSettings, size: int) -> str:
    """Return the Jobs as documents of YAML, as `kubectl create -f -` takes them."""
    jobs = _jobs(scenarios, settings, size)
    return yaml.safe_dump_all(jobs, sort_keys=False, explicit_start=True)


def _jobs(scenarios: Sequence[Scenario], settings: PodSettings, size: int) -> Iterator[Manifest]:
    for scenario in scenarios:
        for item in scenario.items:
            if isinstance(item.strategy, LoadStrategy):
                target = target_of(item.call, Routes((), None), {})
                yield job_of(LoadPlan(target, load_of(item.strategy, item.call)), settings, size)
