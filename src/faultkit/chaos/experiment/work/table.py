"""The kinds of steps by their keys: how each is read, and where it may stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import InputError
from faultkit.chaos.experiment.tolerance import Anything, Compared, Equals, Expectation, Truthy
from faultkit.chaos.experiment.work.command import parse_command
from faultkit.chaos.experiment.work.faults import parse_fault
from faultkit.chaos.experiment.work.http import parse_http
from faultkit.chaos.experiment.work.load import parse_load, parse_slo
from faultkit.chaos.experiment.work.mcp import parse_mcp
from faultkit.chaos.experiment.work.plans import parse_gateway, parse_proxy
from faultkit.chaos.experiment.work.processes import parse_signal, parse_start
from faultkit.chaos.experiment.work.promql import parse_promql
from faultkit.chaos.experiment.work.python import parse_python
from faultkit.chaos.experiment.work.tcp import parse_tcp


@dataclass(frozen=True, slots=True)
class Kind:
    read: Callable[[object, str, list[InputError]], Any]
    looks: Expectation | None = None
    """It may be a check, and this is what is expected if nothing is written."""
    acts: bool = False
    """It may be an action. What may be both is a check where it has an `expect`."""
    undoes: bool = False
    """It may stand in a rollback."""


KINDS: Mapping[str, Kind] = {
    "http": Kind(parse_http, Compared("below", 400, "status"), acts=True, undoes=True),
    "tcp": Kind(parse_tcp, Equals("open")),
    "process": Kind(parse_command, Equals(0), acts=True, undoes=True),
    "python": Kind(parse_python, Truthy(), acts=True, undoes=True),
    "mcp": Kind(parse_mcp, Equals("ok")),
    "slo": Kind(parse_slo, Equals("passed")),
    "promql": Kind(parse_promql, Anything()),
    "fault": Kind(parse_fault, acts=True, undoes=True),
    "proxy": Kind(parse_proxy, acts=True, undoes=True),
    "gateway": Kind(parse_gateway, acts=True, undoes=True),
    "scenario": Kind(parse_load, acts=True),
    "start": Kind(parse_start, acts=True),
    "signal": Kind(parse_signal, acts=True, undoes=True),
}

CHECKS = tuple(name for name, kind in KINDS.items() if kind.looks is not None)
ACTIONS = tuple(name for name, kind in KINDS.items() if kind.acts)
UNDOS = tuple(name for name, kind in KINDS.items() if kind.undoes)
