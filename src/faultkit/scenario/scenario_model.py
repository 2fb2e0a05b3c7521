"""A scenario as plain values: calls, the faults around them, how often to call, what to expect. Pure.

`faultkit.scenario.scenario_keys` makes these values from YAML; `faultkit.scenario.scenario_run` runs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from faultkit.base.address import ProxyMap, UpstreamSet
from faultkit.load.expectation import Expectation
from faultkit.load.load import Load
from faultkit.load.slo import Slo
from faultkit.plan import Rule


@dataclass(frozen=True, slots=True)
class HttpCall:
    """The request of an item."""

    method: str
    url: str
    """Absolute, with its segments filled in."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of `config` and of the call; those of the call take precedence."""
    body: str | None = None
    timeout_s: float | None = None
    """None: the default of `faultkit.scenario.routes`."""
    operation_id: str | None = None
    """The operation of an API document, shown in reports."""


@dataclass(frozen=True, slots=True)
class SingleStrategy:
    """The strategy `single`: one call."""


@dataclass(frozen=True, slots=True)
class RepeatStrategy:
    """The strategy `repeat`: calls one after another, with a fault that grows."""

    step: float
    count: int
    stepped: tuple[tuple[int, str], ...]
    """The settings that grow by `step` with each call: pairs of the index of a fault and its setting."""
    wait_s: float = 0.0
    """The pause between two calls."""
    failfast: bool = False
    """Stop at the first call that misses the expectation."""
    add_baseline_call: bool = False
    """Begin with a call without faults."""


@dataclass(frozen=True, slots=True)
class LoadStrategy:
    """The strategy `load`: requests at a rate for some time."""

    load: Load
    clients: int
    rps: float | None
    """Requests a second of each client; None if not given."""


Strategy: TypeAlias = SingleStrategy | RepeatStrategy | LoadStrategy


@dataclass(frozen=True, slots=True)
class WrittenFault:
    """A fault under its name in the file, and its rule."""

    written: str
    """Its type in the file, such as `packetloss`."""
    rule: Rule


@dataclass(frozen=True, slots=True)
class ScenarioItem:
    """One call with its faults, strategy and expectations."""

    call: HttpCall
    faults: tuple[WrittenFault, ...] = ()
    strategy: Strategy = SingleStrategy()
    slos: tuple[Slo, ...] = ()
    expect: Expectation = Expectation()  # noqa: RUF009
    upstreams: UpstreamSet = UpstreamSet()  # noqa: RUF009
    """Hosts whose traffic through the forward proxy is broken. Empty, with no maps: the call's own host."""
    maps: tuple[ProxyMap, ...] = ()
    """Ports through which the service under test reaches its dependencies."""
    http_proxy: bool = True
    """False: no forward proxy; calls go straight to their URL."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One document of a scenario file."""

    title: str
    items: tuple[ScenarioItem, ...]
    description: str | None = None
    file: str | None = None
    document: int = 1
    """Counted from 1 within its file."""
