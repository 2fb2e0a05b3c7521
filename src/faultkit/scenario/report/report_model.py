"""The values of a report. Their fields are the keys of `results.json`; all formats are built from them.

The fields are documented here and in docs/results.md. Times are milliseconds where the name ends in `_ms`,
seconds where it ends in `_s`; instants are UTC, as ISO 8601 text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.load.fold import LostWorker
from faultkit.load.impact import Difference
from faultkit.load.slo import SloResult
from faultkit.load.summary import Summary
from faultkit.scenario.report.frontier_model import FrontierReport
from faultkit.scenario.report.search_model import SearchReport

VERSION = 1
USUAL_PLACE = "local:1"
"""Where loads are sent from unless `--on` says otherwise: one process of this machine."""

Verdict: TypeAlias = Literal["passed", "failed", "inconclusive", "not exercised", "unfinished"]
"""`passed` and `failed`: expectations were met or missed. `inconclusive`: the load or the faults were not as
requested, so the figures decide nothing. `not exercised`: nothing was missed, but at least one fault
never acted; never a pass.
`unfinished`: the run was cut short, or its target could not be reached."""


@dataclass(frozen=True, slots=True)
class ReportedCall:
    """The request that an item makes."""

    method: str
    url: str
    timeout_ms: float | None
    headers: dict[str, str]
    """Header values; secrets are masked already."""
    has_body: bool
    operation_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReportedStrategy:
    """How often the call is made: once, repeated with a growing fault, as load, or in a search."""

    mode: Literal["single", "repeat", "load", "search"]
    count: int = 1
    """For repeat: the calls with the fault; `baseline_call` adds one."""
    step: float = 0.0
    stepped: str | None = None
    """For repeat: the setting that grows, such as `latency.mean_ms`."""
    baseline_call: bool = False
    wait_ms: float = 0.0
    failfast: bool = False
    duration_s: float = 0.0
    clients: int = 1
    rps: float | None = None
    """For load and search: requests per second and client; all clients together send `clients` × `rps`."""
    model: Literal["open", "closed"] = "open"
    keep_alive: bool = False
    ramp_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ReportedFault:
    """A fault as it was applied, with the count of its injections."""

    kind: str
    """The name in the fault vocabulary."""
    written: str
    """The name in the scenario file: `packetloss` for `packet_loss`."""
    description: str
    rule: dict[str, object]
    """The rule of the plan as plain data."""
    windows: tuple[tuple[float, float], ...]
    """When the fault acted, as shares of the run from 0 to 1; one window over all if it has no schedule."""
    injected: int
    """How often the fault acted."""


@dataclass(frozen=True, slots=True)
class ReportedExpectation:
    """What the scenario expects of an item; None where it expects nothing."""

    status: int | None = None
    response_time_under_ms: float | None = None
    all_slo_are_valid: bool | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing is expected."""
        return self == ReportedExpectation()


@dataclass(frozen=True, slots=True)
class CallResult:
    """One call of a single or repeat strategy."""

    number: int
    """From 0; the baseline call, if there is one, is 0."""
    baseline: bool
    stepped_value: float | None
    status: int
    """The HTTP status; 0 if there was no answer."""
    failure: str | None
    """A label of `Failure`."""
    total_ms: float
    first_byte_ms: float | None
    dns_ms: float | None
    connect_ms: float | None
    tls_ms: float | None
    received_bytes: int
    met: bool | None
    """Whether the call met the expectation; None if there was none."""
    why: str | None = None
    """The expectation that was missed: `status: expected 200, got 503`."""


@dataclass(frozen=True, slots=True)
class InjectionSummary:
    """Counts of the proxies of an item, and how late they released data."""

    connections: int
    requests: int
    injected: int
    releases: int
    """Pieces of data that were delayed on purpose and then released."""
    lateness_p50_us: float
    lateness_p99_us: float
    lateness_max_us: float


@dataclass(frozen=True, slots=True)
class Degraded:
    """A load that lost workers on its way."""

    phase: Literal["baseline", "faults"]
    planned: int | None
    """Requests of the schedule; None for a load without one."""
    measured: int
    """Requests whose results arrived."""
    lost: tuple[LostWorker, ...]
    """Who was lost, when, and why."""


@dataclass(frozen=True, slots=True)
class ItemReport:
    """The report of one item: its verdict and figures."""

    call: ReportedCall
    strategy: ReportedStrategy
    faults: tuple[ReportedFault, ...]
    expectation: ReportedExpectation
    verdict: Verdict
    reasons: tuple[str, ...]
    """Why the verdict is not `passed`, in sentences."""
    warnings: tuple[str, ...]
    started_at: str
    run: Summary
    """The run with faults; for repeat, without the baseline call."""
    baseline: Summary | None
    impact: tuple[Difference, ...]
    slos: tuple[SloResult, ...]
    calls: tuple[CallResult, ...]
    """For single and repeat only."""
    expectation_failures: int
    injection: InjectionSummary
    routes: tuple[str, ...]
    """The proxies: `127.0.0.1:3180 → any host`."""
    degraded: tuple[Degraded, ...] = ()
    """The loads that lost workers; empty if none did."""
    search: SearchReport | None = None
    """For search only: where the objectives break. `run` has the requests of all values together."""
    frontier: FrontierReport | None = None
    """The same for a search of two settings."""


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    """The report of one scenario document."""

    title: str
    description: str | None
    file: str | None
    document: int
    """Counted from 1 within its file."""
    items: tuple[ItemReport, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a run of one or more scenarios."""

    tool: str
    """`faultkit 0.1.0`."""
    started_at: str
    ended_at: str
    seed: int | str
    scenarios: tuple[ScenarioReport, ...]
    partial: str | None = None
    """Why the run ended early; None if it did not."""
    on: str = USUAL_PLACE
    """Where loads were sent from, as `--on` has it."""
    version: int = VERSION

    @property
    def items(self) -> tuple[ItemReport, ...]:
        """The items of all scenarios, in order."""
        return tuple(item for scenario in self.scenarios for item in scenario.items)

    @property
    def all_passed(self) -> bool:
        """Whether all items were run and passed."""
        return self.partial is None and all(item.verdict == "passed" for item in self.items)
