"""A scenario as plain values: calls, the faults around them, how often to call, what to expect. Pure.

`faultkit.scenario.scenario_keys` makes these values from YAML; `faultkit.scenario.scenario_run` runs them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TypeAlias

from faultkit.base.address import ProxyMap, UpstreamSet
from faultkit.base.secrets import hide_secrets, mask_url
from faultkit.faults.call_fault import Era
from faultkit.load.expectation import Expectation
from faultkit.load.load import Load, StreamUntil
from faultkit.load.search.frontier import Grid, grid_of
from faultkit.load.search.scale import Scale
from faultkit.load.slo import Slo
from faultkit.plan import Rule
from faultkit.scenario.control_api import ControlApi


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
    stream: StreamUntil | None = None
    """The answer is an event stream, read until then."""
    llm: bool = False
    """It is a request to a model, whose answer is measured token by token."""

    @property
    def shown(self) -> str:
        """The call in one line, without secrets."""
        return f"{self.method} {mask_url(self.url)}"


@dataclass(frozen=True, slots=True)
class McpCall:
    """A call of a tool of an MCP server."""

    tool: str
    arguments: str = "{}"
    """A JSON object."""
    url: str = ""
    """The endpoint of a server over HTTP, with its segments filled in; empty over stdio."""
    headers: tuple[tuple[str, str], ...] = ()
    """As those of an HTTP call."""
    command: tuple[str, ...] = ()
    """The program of a server over stdio."""
    env: tuple[tuple[str, str], ...] = ()
    cwd: str | None = None
    era: Era = "legacy"
    timeout_s: float | None = None
    operation_id: str | None = None

    @property
    def method(self) -> str:
        """The method and the tool, as reports show them."""
        return f"tools/call {self.tool}"

    @property
    def place(self) -> str:
        """The URL or the program, as reports show them, without secrets."""
        return mask_url(self.url) if self.url else f"stdio: {hide_secrets(shlex.join(self.command))}"

    @property
    def shown(self) -> str:
        """The call in one line, without secrets."""
        return f"{self.method} {self.place}"


Call: TypeAlias = HttpCall | McpCall


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
    ends_early: bool = False
    """The load ends once all objectives are decided."""


@dataclass(frozen=True, slots=True)
class VariedSetting:
    """A number that a search changes, and its range."""

    path: str
    """As the file names it: `faults.latency.mean`, `load.rps`."""
    fault: int | None
    """The index of the fault; None: the load."""
    name: str
    """The setting of the fault, or `probability`; of the load `rps` or `clients`."""
    unit: str
    """Such as ms; empty if it has none."""
    scale: Scale


@dataclass(frozen=True, slots=True)
class SearchStrategy:
    """The strategy `search`: loads at several values of a setting, or of two, to find where objectives
    break."""

    load: Load
    """Its duration does not matter: each load of the search has its own."""
    clients: int
    rps: float
    """Requests a second of each client."""
    varied: VariedSetting
    budget_s: float | None
    """The time that the search may take; None: `budget_requests` limits it."""
    budget_requests: int | None
    breaks_above: float | None = None
    """The value up to which the objectives must be shown to hold; None: none is expected."""
    second: VariedSetting | None = None
    """The other setting of a search of two; None: there is one."""

    @property
    def settings(self) -> tuple[VariedSetting, ...]:
        return (self.varied,) if self.second is None else (self.varied, self.second)

    @property
    def grid(self) -> Grid | None:
        """The pairs of values of a search of two settings; None: there is one."""
        return None if self.second is None else grid_of(self.varied.scale, self.second.scale)


Strategy: TypeAlias = SingleStrategy | RepeatStrategy | LoadStrategy | SearchStrategy


@dataclass(frozen=True, slots=True)
class WrittenFault:
    """A fault under its name in the file, and its rule."""

    written: str
    """Its type in the file, such as `packetloss`."""
    rule: Rule


@dataclass(frozen=True, slots=True)
class ScenarioItem:
    """One call with its faults, strategy and expectations."""

    call: Call
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
    through: str | None = None
    """The proxy of a control API that the calls go through, by its name; None: straight."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One document of a scenario file."""

    title: str
    items: tuple[ScenarioItem, ...]
    description: str | None = None
    file: str | None = None
    document: int = 1
    """Counted from 1 within its file."""
    control: ControlApi | None = None
    """Where the proxies run that its faults act in; None: in a process of their own on this machine."""
