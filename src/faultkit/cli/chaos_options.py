"""Options that the commands of `fault chaos` share: state, store, experiments, limits and lease."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from faultkit.base.errors import InputError
from faultkit.cli.shared_options import add_options, seconds_of

if TYPE_CHECKING:
    from faultkit.chaos.safety.chaos_limits import Limits
    from faultkit.chaos.session import ChaosSettings

F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_LEASE = "60s"
ROLLBACK_FAILED = 5
"""The exit code of a command that could not undo a fault."""
STATE = click.option(
    "--state",
    metavar="DIR",
    envvar="FAULT_CHAOS_STATE",
    help="Folder of the ledger and the kill switch; by default in the user's state folder.",
)
STORE = click.option(
    "--store",
    metavar="PATH|URL",
    envvar="FAULT_STORE",
    help="Store of the history and the audit log; by default audit.db in the user's state folder.",
)
EXPERIMENTS = click.option(
    "--experiments",
    metavar="DIR",
    envvar="FAULT_CHAOS_EXPERIMENTS",
    default="chaos",
    show_default=True,
    help="Folder of experiments.",
)
LIMITS = click.option(
    "--limits",
    metavar="FILE",
    envvar="FAULT_CHAOS_LIMITS",
    help="File that limits what may be broken, where and for how long.",
)
LEASE = click.option(
    "--lease",
    metavar="DURATION",
    envvar="FAULT_CHAOS_LEASE",
    default=DEFAULT_LEASE,
    show_default=True,
    help="Longest time that a fault outlives its process.",
)
_LEAST_LEASE_S = 1.0


@dataclass(frozen=True, slots=True)
class ChaosOptions:
    """The values of the options; None where one is absent."""

    state: str | None
    store: str | None
    experiments: str
    limits: str | None
    lease: str


def chaos_options(function: F) -> F:
    """Add all options to a command, which receives them as one argument, `chaos`."""

    @functools.wraps(function)
    def collected(*args: Any, **kwargs: Any) -> Any:
        values = {name: kwargs.pop(name) for name in ("state", "store", "experiments", "limits", "lease")}
        return function(*args, chaos=ChaosOptions(**values), **kwargs)

    return add_options(collected, LEASE, LIMITS, EXPERIMENTS, STORE, STATE)  # type: ignore[return-value]


def options_from_environment(env: Mapping[str, str], experiments: str) -> ChaosOptions:
    """Return the options of a command that has only --experiments; the others come from variables."""
    return ChaosOptions(
        env.get("FAULT_CHAOS_STATE"),
        env.get("FAULT_STORE"),
        experiments,
        env.get("FAULT_CHAOS_LIMITS"),
        env.get("FAULT_CHAOS_LEASE") or DEFAULT_LEASE,
    )


def state_dir(option: str | None) -> Path:
    """Return the folder that --state names, or the default one."""
    from faultkit.chaos.safety.ledger import default_state_dir

    return Path(option or default_state_dir(os.environ)).absolute()


def store_place(option: str | None) -> str:
    """Return the store that --store names, or the default one."""
    from faultkit.audit.log_file import default_store

    return option or str(default_store(os.environ))


def chaos_settings(options: ChaosOptions, *, source: str, transport: str = "") -> ChaosSettings:
    """Return the settings of a chaos session; raise InputError for a wrong limits file or lease."""
    from faultkit.chaos.session import ChaosSettings

    lease_s = seconds_of("--lease", options.lease)
    if lease_s < _LEAST_LEASE_S:
        raise InputError("--lease", f'expected at least 1s, got "{options.lease}"')
    return ChaosSettings(
        state_dir(options.state),
        store_place(options.store),
        Path(options.experiments),
        read_limits(options.limits),
        lease_s,
        source,
        transport,
    )


def read_limits(file: str | None) -> Limits:
    """Read a limits file; without one, return the default limits."""
    from faultkit.base.documents.yaml_text import read_document
    from faultkit.base.files import read_text
    from faultkit.chaos.safety.chaos_limits import limits_of

    document = None if file is None else read_document(read_text(file), file)
    return limits_of(document, os.environ, file or "limits")
