"""The options that say where chaos keeps its state, and what it may do: the same for every command."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from faultkit.base.errors import InputError
from faultkit.cli.durations import seconds_of

if TYPE_CHECKING:
    from faultkit.chaos.limits import Limits
    from faultkit.chaos.session import ChaosSettings

F = TypeVar("F", bound=Callable[..., Any])
USUAL_LEASE = "60s"
ROLLBACK_FAILED = 5
"""The exit code of whatever leaves something broken."""
STATE = click.option(
    "--state",
    metavar="DIR",
    envvar="FAULT_CHAOS_STATE",
    help="Where the ledger and the stop lever are. By default in the user's folder for state.",
)
STORE = click.option(
    "--store",
    metavar="PATH|URL",
    envvar="FAULT_STORE",
    help="Where history and audit log are kept. By default audit.db in the user's folder for state.",
)
EXPERIMENTS = click.option(
    "--experiments",
    metavar="DIR",
    envvar="FAULT_CHAOS_EXPERIMENTS",
    default="chaos",
    show_default=True,
    help="The folder of experiments.",
)
LIMITS = click.option(
    "--limits",
    metavar="FILE",
    envvar="FAULT_CHAOS_LIMITS",
    help="A file that says what may be broken, where and for how long.",
)
LEASE = click.option(
    "--lease",
    metavar="DURATION",
    envvar="FAULT_CHAOS_LEASE",
    default=USUAL_LEASE,
    show_default=True,
    help="How long faults outlive the one who keeps them, at most.",
)
_LEAST_LEASE_S = 1.0


@dataclass(frozen=True, slots=True)
class ChaosOptions:
    state: str | None
    store: str | None
    experiments: str
    limits: str | None
    lease: str


def chaos_options(function: F) -> F:
    """Gives a command all of them; it gets them as one argument, `chaos`."""

    @functools.wraps(function)
    def collected(*args: Any, **kwargs: Any) -> Any:
        values = {name: kwargs.pop(name) for name in ("state", "store", "experiments", "limits", "lease")}
        return function(*args, chaos=ChaosOptions(**values), **kwargs)

    for option in (STATE, STORE, EXPERIMENTS, LIMITS, LEASE):
        option(collected)
    return collected  # type: ignore[return-value]


def options_from(env: Mapping[str, str], experiments: str) -> ChaosOptions:
    """For a command that has none of these flags but one: the variables say the rest."""
    return ChaosOptions(
        env.get("FAULT_CHAOS_STATE"),
        env.get("FAULT_STORE"),
        experiments,
        env.get("FAULT_CHAOS_LIMITS"),
        env.get("FAULT_CHAOS_LEASE") or USUAL_LEASE,
    )


def state_dir(given: str | None) -> Path:
    from faultkit.chaos.ledger import default_state_dir

    return Path(given or default_state_dir(os.environ)).absolute()


def store_of(given: str | None) -> str:
    from faultkit.audit.place import default_store

    return given or str(default_store(os.environ))


def settings_of(options: ChaosOptions, *, source: str, transport: str = "") -> ChaosSettings:
    from faultkit.chaos.session import ChaosSettings

    lease_s = seconds_of("--lease", options.lease)
    if lease_s < _LEAST_LEASE_S:
        raise InputError("--lease", f'expected at least 1s, got "{options.lease}"')
    return ChaosSettings(
        state_dir(options.state),
        store_of(options.store),
        Path(options.experiments),
        limits_from(options.limits),
        lease_s,
        source,
        transport,
    )


def limits_from(file: str | None) -> Limits:
    from faultkit.chaos.limits import limits_of
    from faultkit.plan import read_document
    from faultkit.plan.file import read_text

    document = None if file is None else read_document(read_text(file), file)
    return limits_of(document, os.environ, file or "limits")
