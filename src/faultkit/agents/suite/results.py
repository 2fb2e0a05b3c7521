"""The results of suites. Values only: reports are built from them alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faultkit.agents.recovery.metrics import RecoveryMetrics, ToolMisuse
from faultkit.agents.recovery.score import PassShare
from faultkit.agents.recovery.trace import Trace
from faultkit.agents.suite.definition import SourcePlace
from faultkit.agents.suite.gate import ClockKind, GateResult, RecoveryGate, RowVerdict

EDGE_RULE = "EDGE-006"
"""The compliance rule of a recovery row: a server that does not answer."""
RECOVERY_SUFFIX = " (recovery)"
"""Ends the name of the row for the recovery of an agent."""
BREAKING_POINT = "breaking_point"
"""The name of the detail with the result of a search."""
FAILING: tuple[RowVerdict, ...] = ("failed", "not_exercised", "inconclusive", "error")


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """One run of an agent: its trace, metrics and gate."""

    trace: Trace
    metrics: RecoveryMetrics
    misuse: ToolMisuse
    gate: GateResult | None
    error_recovery: int | None
    """Percentage of failed calls that recovered later; None if none failed."""
    clock: ClockKind
    seed: int | str
    wanted: RecoveryGate | None = None
    """The limits of its gate."""
    expectations: RowVerdict = "passed"
    """Verdict on the expectations of its test, apart from the gate."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One line of a report: a test, or the recovery gate of a test."""

    name: str
    verdict: RowVerdict
    message: str
    place: SourcePlace
    duration_ms: float
    """Wall time: the one figure in which two runs with the same seed differ."""
    tags: tuple[str, ...] = ()
    rule: str = ""
    """Id of the compliance rule that the row is about; empty for none."""
    limit: str = ""
    """Name of the limit that was broken."""
    runs: tuple[ScoredRun, ...] = ()
    """The runs that the verdict is based on."""
    passed_share: PassShare | None = None
    """Share of the runs that passed; None with one run."""
    diff: str = ""
    """Difference between the expected and the actual value, on several lines."""
    skipped: str = ""
    """Why the test was skipped; `verdict` means nothing then."""
    stub: bool = False
    """A stub stood in for the model."""
    details: tuple[tuple[str, Any], ...] = ()
    """Further facts as pairs of a name and a value."""
    injected: Mapping[str, Any] = field(default_factory=dict)
    """The rules of the faults that the test injects, by their names, as `dump_rule` returns them."""
    unrun: bool = False
    """Its worker was lost, so the verdict is not known."""

    @property
    def breaking_point(self) -> Mapping[str, Any] | None:
        """The result of the search of a test with a `breakpoint`; None for any other row."""
        found: Mapping[str, Any] | None = dict(self.details).get(BREAKING_POINT)
        return found

    @property
    def fails(self) -> bool:
        """True if the row makes the run fail."""
        return not self.skipped and self.verdict in FAILING


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The rows of one suite."""

    file: str
    rows: tuple[ResultRow, ...]
    problem: str = ""
    """Why the suite could not run at all."""


@dataclass(frozen=True, slots=True)
class LostShare:
    """A worker that did not finish its share of the cases: tests, or single runs of them."""

    worker: str
    at_s: float | None
    """When it was missed, in seconds from the start of the run; None: before the start."""
    why: str
    planned: int
    """Cases that it was to run."""
    ended: int
    """Those of them whose results arrived."""

    def __str__(self) -> str:
        when = "before the start" if self.at_s is None else f"{self.at_s:.1f} s after the start"
        return f"{self.worker} was lost {when} ({self.why})"


@dataclass(frozen=True, slots=True)
class SuiteResults:
    """The results of all suites of one run."""

    suites: tuple[SuiteResult, ...]
    seed: int | str
    clock: ClockKind
    interrupted: bool = False
    started_at: str = ""
    """ISO 8601; empty if the time was not taken."""
    duration_ms: float | None = None
    """Wall time of all suites."""
    bailed: bool = False
    """The run stopped at its first failure, so later tests may have no rows."""
    planned_clocks: frozenset[ClockKind] = frozenset()
    """The clocks of the tests that were to run: programs run in real time, whatever `clock` is."""
    lost: tuple[LostShare, ...] = ()
    """The workers that did not finish: then the run is degraded."""

    @property
    def rows(self) -> tuple[ResultRow, ...]:
        """The rows of all suites."""
        return tuple(row for suite in self.suites for row in suite.rows)

    def count(self, verdict: RowVerdict) -> int:
        """Return the number of rows with a verdict."""
        return sum(row.verdict == verdict and not row.skipped for row in self.rows)

    @property
    def skipped(self) -> int:
        """Number of skipped rows."""
        return sum(bool(row.skipped) for row in self.rows)

    @property
    def ok(self) -> bool:
        """True if every row passed and every suite ran."""
        return not self.interrupted and not any(
            suite.problem or any(row.fails for row in suite.rows) for suite in self.suites
        )
