"""Findings of a review, as plain data. `faultkit.scenario.report.rules` makes them; renderers show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["broken", "risk", "doubt", "note", "good"]
"""`broken`: users saw it, or a promise was not kept. `risk`: it held, but points at a weakness.
`doubt`: the figures decide less than they seem to. `note`: worth knowing. `good`: it works."""

SEVERITIES: tuple[Severity, ...] = ("broken", "risk", "doubt", "note", "good")


@dataclass(frozen=True, slots=True)
class Remark:
    """What a rule has to say about one item."""

    severity: Severity
    what: str
    """What happened, in one sentence."""
    much: str
    """How much, in figures."""
    cause: str | None = None
    """The likely cause."""
    next: str | None = None
    """What to try."""


@dataclass(frozen=True, slots=True)
class Finding:
    rule: str
    """The name of the rule that found it: stable, for scripts."""
    scenario: str
    item: int
    """Counted from 1 over the whole report."""
    call: str
    """`GET http://127.0.0.1:9090/`."""
    remark: Remark


@dataclass(frozen=True, slots=True)
class Review:
    summary: str
    """One or two sentences over all."""
    findings: tuple[Finding, ...]
    """The gravest first; those of equal weight in the order of the report."""

    def of_item(self, item: int) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.item == item)
