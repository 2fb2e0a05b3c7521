"""A report is data first: these values, and `results.json` is them written down. Renderers only read.

What a field means is said here and in docs/results.md. Times are milliseconds where the name says
`_ms`, seconds where it says `_s`; instants are UTC, as ISO 8601 text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.load.impact import Difference
from faultkit.load.slo import SloResult
from faultkit.load.summary import Summary

VERSION = 1

Verdict: TypeAlias = Literal["passed", "failed", "inconclusive", "not exercised", "unfinished"]
"""`passed` and `failed` speak of expectations. `inconclusive`: the load or the faults were not what was
asked, so the figures decide nothing. `not exercised`: a fault never acted, be it one of several; never a
pass. `unfinished`: the run was cut short or its target could not be reached."""


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    url: str
    timeout_ms: float | None
    headers: dict[str, str]
    """Secrets are masked before they get here."""
    has_body: bool
    operation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Strategy:
    mode: Literal["single", "repeat", "load"]
    count: int = 1
    """Of repeat: calls with the fault; one more with `baseline_call`."""
    step: float = 0.0
    stepped: str | None = None
    """Of repeat: what grows, such as `latency.mean_ms`."""
    baseline_call: bool = False
    wait_ms: float = 0.0
    failfast: bool = False
    duration_s: float = 0.0
    clients: int = 1
    rps: float | None = None
    """Of load, and per client: all clients together send `clients` × `rps`."""
    model: Literal["open", "closed"] = "open"
    keep_alive: bool = False
    ramp_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule as it was applied."""

    kind: str
    """As the vocabulary names it."""
    written: str
    """As the scenario file names it: `packetloss` for `packet_loss`."""
    description: str
    rule: dict[str, object]
    """The plain form of the plan's rule."""
    windows: tuple[tuple[float, float], ...]
    """When it acted, as shares of the run from 0 to 1; one whole window if it has no schedule."""
    injected: int
    """How often it did something."""


@dataclass(frozen=True, slots=True)
class Expectation:
    status: int | None = None
    response_time_under_ms: float | None = None
    all_slo_are_valid: bool | None = None

    @property
    def empty(self) -> bool:
        return self == Expectation()


@dataclass(frozen=True, slots=True)
class CallResult:
    """One call of a single or repeat strategy."""

    number: int
    """From 0; the baseline call, if there is one, is 0."""
    baseline: bool
    stepped_value: float | None
    status: int
    """0: no answer."""
    failure: str | None
    """A label of `Failure`."""
    total_ms: float
    first_byte_ms: float | None
    dns_ms: float | None
    connect_ms: float | None
    tls_ms: float | None
    received_bytes: int
    met: bool | None
    """Whether it met the expectation; None if there was none for it."""
    why: str | None = None
    """What was not met: `status: expected 200, got 503`."""


@dataclass(frozen=True, slots=True)
class Injection:
    """What the proxy did, and its own error."""

    connections: int
    requests: int
    injected: int
    releases: int
    """Pieces of data that were held back on purpose and then released."""
    lateness_p50_us: float
    lateness_p99_us: float
    lateness_max_us: float


@dataclass(frozen=True, slots=True)
class Item:
    call: Call
    strategy: Strategy
    faults: tuple[Fault, ...]
    expectation: Expectation
    verdict: Verdict
    reasons: tuple[str, ...]
    """Why the verdict is not `passed`: plain sentences."""
    warnings: tuple[str, ...]
    started_at: str
    run: Summary
    """With the faults; of repeat without the baseline call."""
    baseline: Summary | None
    impact: tuple[Difference, ...]
    slos: tuple[SloResult, ...]
    calls: tuple[CallResult, ...]
    """Of single and repeat only."""
    expectation_failures: int
    injection: Injection
    routes: tuple[str, ...]
    """Where the proxies stood: `127.0.0.1:3180 → any host`."""


@dataclass(frozen=True, slots=True)
class Scenario:
    title: str
    description: str | None
    file: str | None
    document: int
    """Counted from 1 within its file."""
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Report:
    tool: str
    """`faultkit 0.1.0`."""
    started_at: str
    ended_at: str
    seed: int | str
    scenarios: tuple[Scenario, ...]
    partial: str | None = None
    """Why the run ended before all was done; None if all was done."""
    version: int = VERSION

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for scenario in self.scenarios for item in scenario.items)

    @property
    def held(self) -> bool:
        """Whether everything was run and passed."""
        return self.partial is None and all(item.verdict == "passed" for item in self.items)
