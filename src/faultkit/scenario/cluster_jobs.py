"""What a run of scenarios creates in a Kubernetes cluster, without creating it: `--dry-run`.

Each load of an item is a Job: one without the faults, and one with them. Both are alike, so each item gives
one manifest. Names are new for each run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml

from faultkit.base.address import Endpoint, stays_here
from faultkit.base.errors import InputError
from faultkit.load.kubernetes.manifests import Manifest
from faultkit.load.kubernetes.pod_settings import PodSettings
from faultkit.load.kubernetes_place import job_of
from faultkit.load.split import LoadPlan
from faultkit.scenario.control_api import ControlApi
from faultkit.scenario.routes import Routes, origin_of, routes_of, target_of
from faultkit.scenario.scenario_model import LoadStrategy, Scenario, ScenarioItem
from faultkit.scenario.strategy import load_of


def jobs_as_yaml(scenarios: Sequence[Scenario], settings: PodSettings, size: int) -> str:
    """Return the Jobs as documents of YAML, as `kubectl create -f -` takes them."""
    jobs = _jobs(scenarios, settings, size)
    return yaml.safe_dump_all(jobs, sort_keys=False, explicit_start=True)


def check_reach(scenarios: Sequence[Scenario], listen: Endpoint | None, given: ControlApi | None) -> None:
    """Raise InputError for a load whose connections would go to an address of this machine: a pod has another
    network. `listen` is the address of the forward proxy, `given` a control API in place of the scenarios'.

    A run finds that out from its pods."""
    for scenario in scenarios:
        for index, item in enumerate(scenario.items):
            if not isinstance(item.strategy, LoadStrategy):
                continue
            path, address, host = _first_hop(item, listen, given or scenario.control)
            if stays_here(host):
                where = (
                    f"{scenario.file or scenario.title}: items[{index}].{path}" if path else "--proxy-address"
                )
                expected = "an address that pods can reach"
                raise InputError(where, f"expected {expected}, got {address}, which is of this machine")


def _first_hop(
    item: ScenarioItem, listen: Endpoint | None, control: ControlApi | None
) -> tuple[str, str, str]:
    """Return where the connections of a load go: the key that says it (empty: the flag), the value, the
    host."""
    if control is not None and item.through is not None:
        return "context.proxy.through", f"a proxy at {control.at}", control.host
    routes = routes_of(item, listen)
    if control is None and routes.through is not None:
        proxy = next(spec for spec in routes.proxies if spec.name == routes.through)
        return "", proxy.listen.host, proxy.listen.host
    return "call.url", item.call.url, origin_of(item.call.url).host if item.call.url else ""


def _jobs(scenarios: Sequence[Scenario], settings: PodSettings, size: int) -> Iterator[Manifest]:
    for scenario in scenarios:
        for item in scenario.items:
            if isinstance(item.strategy, LoadStrategy):
                target = target_of(item.call, Routes((), None), {})
                yield job_of(LoadPlan(target, load_of(item.strategy, item.call)), settings, size)
