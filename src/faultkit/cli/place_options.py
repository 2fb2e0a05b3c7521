"""`--on`, `--pods` and `--dry-run`: where loads are sent from and where tests run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from faultkit.base.errors import InputError
from faultkit.cli.shared_options import F, add_options

if TYPE_CHECKING:
    from faultkit.load.place_names import PlaceName


def place_options(what: str) -> Callable[[F], F]:
    """Return a decorator that adds the flags of a place; `what` begins the help of --on.

    The command receives `place`, `pods` and `dry_run`."""
    return lambda command: add_options(
        command,
        click.option(
            "--on",
            "place",
            metavar="PLACE",
            help=f"{what}: local:N (processes), dask:N (a Dask cluster of N processes for this run), "
            "the scheduler of a cluster, dask://HOST:PORT or tls://HOST:PORT, or kubernetes:N (N pods).",
        ),
        click.option(
            "--pods",
            metavar="FILE",
            help="How the pods of --on kubernetes are made, in YAML or JSON: namespace, image, cpu, ….",
        ),
        click.option(
            "--dry-run",
            is_flag=True,
            help="Print what --on kubernetes would create, as YAML, and run nothing.",
        ),
    )


def place_of(text: str | None, pods: str | None, dry_run: bool, workers: int | None = None) -> PlaceName:
    """Return the place of the flags; by default one process of this machine. Raises InputError.

    workers: another way to say local:N"""
    where = _place(text, pods, workers)
    if dry_run and where.kind != "kubernetes":
        raise InputError("--dry-run", f"expected --on kubernetes beside it, got {text or 'none'}")
    if dry_run:
        _check_no_results(click.get_current_context())
    return where


_OF_RESULTS = {
    "as_json": "--json",
    "reporters": "--reporter",
    "output": "--output",
    "baseline": "--baseline",
    "reports": "--report",
    "result": "--result",
}
"""Flags that say what becomes of results, by the names of their parameters."""


def _check_no_results(ctx: click.Context) -> None:
    """Raise InputError for a flag about results, of which a dry run has none."""
    for name, flag in _OF_RESULTS.items():
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(flag, "expected none beside --dry-run, which prints YAML and has no results")


def _place(text: str | None, pods: str | None, workers: int | None) -> PlaceName:
    from faultkit.base.files import read_text
    from faultkit.load.kubernetes.pod_settings import parse_pod_settings
    from faultkit.load.place_names import PlaceName, parse_place

    if text is None:
        if pods is not None:
            raise InputError("--pods", "expected --on kubernetes beside it, got none")
        return PlaceName("local", workers or 1)
    if workers is not None:
        raise InputError(
            "--workers", f"expected none beside --on {text}, got {workers}: it means --on local:N"
        )
    where = parse_place(text)
    if pods is None:
        return where
    if where.kind != "kubernetes":
        raise InputError("--pods", f"expected --on kubernetes beside it, got --on {text}")
    return replace(where, pods=parse_pod_settings(read_text(pods), pods))
