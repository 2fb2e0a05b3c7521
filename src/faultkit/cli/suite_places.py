"""`fault test --on`: the tests are split among workers, and their results merged into one report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from faultkit.agents.suite.results import ResultRow
from faultkit.agents.suite.run_options import RunOptions, SelectedTests
from faultkit.agents.suite_runner import FinishedRun
from faultkit.base.errors import InputError
from faultkit.cli.place_options import place_of

if TYPE_CHECKING:
    from faultkit.agents.shards.suite_plan import SuitePlan
    from faultkit.load.place_names import PlaceName

_NOT_BESIDE: Mapping[str, tuple[str, str]] = {
    "record": ("--record", "a worker would write the cassettes"),
    "update_snapshots": ("--update-snapshots", "a worker would write the snapshots"),
    "bail": ("--bail", "which tests ran before the first failure would depend on the workers"),
    "max_cost": ("--max-cost", "workers do not know what the others spend"),
    "watch": ("--watch", "a place is opened for one run"),
    "collect_only": ("--collect-only", "it runs nothing"),
}
"""Options of `fault test` that make no sense with --on: the flag, and why."""


def place_named(text: str | None, pods: str | None, dry_run: bool) -> PlaceName | None:
    """Return the place of --on; None without it. Raises InputError."""
    where = place_of(text, pods, dry_run)
    return None if text is None else where


def check_beside_place(ctx: click.Context) -> None:
    """Raise InputError for an option that makes no sense with --on."""
    for name, (flag, why) in _NOT_BESIDE.items():
        if ctx.params[name]:
            raise InputError(flag, f"expected none beside --on {ctx.params['place']}: {why}")


def plan_on(
    where: PlaceName, chosen: Sequence[SelectedTests], options: RunOptions, variables: Mapping[str, str]
) -> SuitePlan:
    """Return the plan of a run on a place. Raises InputError if it cannot be split among its workers."""
    from faultkit.agents.shards.plan_suites import check_parts, plan_suites

    plan = plan_suites(chosen, options, variables)
    if where.kind != "dask scheduler":  # Of a cluster of others, as many workers are used as there are tests.
        check_parts(plan, where.size, str(where))
    return plan


def jobs_text(where: PlaceName, plan: SuitePlan) -> str:
    """Return the Job that a run on Kubernetes would create, as YAML. Raises InputError for servers of this
    machine: a pod has another network. (A run finds that out from its pods.)"""
    import yaml

    from faultkit.load.kubernetes_place import job_of

    if plan.local_urls:
        got = f"{plan.local_urls[0]}, which is of this machine"
        raise InputError("--on", f"expected servers that pods can reach, got {got}")
    return yaml.safe_dump(job_of(plan, where.pods, where.size), sort_keys=False, explicit_start=True)


def run_on(
    where: PlaceName,
    plan: SuitePlan,
    chosen: Sequence[SelectedTests],
    options: RunOptions,
    on_row: Callable[[ResultRow], None],
) -> FinishedRun:
    """Run the tests on a place, and return their results as those of one run."""
    from faultkit.agents.shards.shard_run import run_sharded_blocking
    from faultkit.load.place_names import open_place

    return run_sharded_blocking(chosen, options, plan, open_place(where), on_row)
