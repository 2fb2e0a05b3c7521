"""A scenario as the user wrote it: calls, the faults around them, how often to call, what to expect. Pure.

`faultkit.scenario.parse` makes these values from YAML; `faultkit.scenario.run` runs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from faultkit.base.address import ProxyMap, UpstreamSet
from faultkit.load.load import Load
from faultkit.load.slo import Slo
from faultkit.plan import Rule


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    url: str
    """Absolute, with its segments filled in."""
    headers: tuple[tuple[str, str], ...] = ()
    """Those of `config` and its own, which win."""
    body: str | None = None
    timeout_s: float | None = None
    operation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Single:
    pass


@dataclass(frozen=True, slots=True)
class Repeat:
    step: float
    count: int
    stepped: tuple[tuple[int, str], ...]
    """What `step` is added to, call after call: pairs of the number of a fault and a setting of it."""
    wait_s: float = 0.0
    failfast: bool = False
    add_baseline_call: bool = False


@dataclass(frozen=True, slots=True)
class Sustained:
    """The strategy `load`."""

    load: Load
    clients: int
    rps: float | None
    """Per client, as written."""


Strategy: TypeAlias = Single | Repeat | Sustained


@dataclass(frozen=True, slots=True)
class Expect:
    status: int | None = None
    response_time_under_ms: float | None = None
    all_slo_are_valid: bool | None = None


@dataclass(frozen=True, slots=True)
class WrittenFault:
    written: str
    """Its type in the file, such as `packetloss`."""
    rule: Rule


@dataclass(frozen=True, slots=True)
class Item:
    call: Call
    faults: tuple[WrittenFault, ...] = ()
    strategy: Strategy = Single()
    slos: tuple[Slo, ...] = ()
    expect: Expect = Expect()
    upstreams: UpstreamSet = UpstreamSet()  # noqa: RUF009
    """Hosts whose traffic through the forward proxy is broken. Empty, with no maps: the call's own host."""
    maps: tuple[ProxyMap, ...] = ()
    """Ports for the service under test to reach its dependencies through."""
    http_proxy: bool = True
    """False: no forward proxy; calls go straight to their URL."""


@dataclass(frozen=True, slots=True)
class Scenario:
    title: str
    items: tuple[Item, ...]
    description: str | None = None
    file: str | None = None
    document: int = 1
    """Counted from 1 within its file."""
