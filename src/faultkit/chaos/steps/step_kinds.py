"""The kinds of steps by their keys: how each is parsed, and where it may be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import InputError
from faultkit.chaos.steps.expectations import Anything, Compared, Equals, Expectation, Truthy
from faultkit.chaos.steps.fault_steps import parse_fault, parse_gateway, parse_proxy
from faultkit.chaos.steps.network_steps import parse_http, parse_mcp, parse_promql, parse_tcp
from faultkit.chaos.steps.process_steps import parse_command, parse_python, parse_signal, parse_start
from faultkit.chaos.steps.scenario_step import parse_load, parse_slo


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of step."""

    read: Callable[[object, str, list[InputError]], Any]
    looks: Expectation | None = None
    """The default expectation of a check; None: it cannot be a check."""
    acts: bool = False
    """True if it may be an action. A kind that may be both is a check where it has an `expect`."""
    undoes: bool = False
    """True if it may be part of a rollback."""


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
