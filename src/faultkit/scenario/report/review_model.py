"""Findings of a review as plain values: `review_rules` makes the remarks; `review` and the HTML page show
them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["broken", "risk", "doubt", "note", "good"]
"""`broken`: users saw it, or an objective was missed. `risk`: it held, but points at a weakness.
`doubt`: the figures decide less than they seem to. `note`: worth knowing. `good`: it works."""

SEVERITIES: tuple[Severity, ...] = ("broken", "risk", "doubt", "note", "good")


@dataclass(frozen=True, slots=True)
class Remark:
    """The statement of a rule about one item."""

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
class ReviewFinding:
    """A remark and the item that it is about."""

    rule: str
    """The name of the rule; scripts may rely on it."""
    scenario: str
    item: int
    """The number of the item, from 1 over the whole report."""
    call: str
    """The call: `GET http://127.0.0.1:9090/`."""
    remark: Remark


@dataclass(frozen=True, slots=True)
class Review:
    """All findings of a report."""

    summary: str
    """One or two sentences about the whole report."""
    findings: tuple[ReviewFinding, ...]
    """The gravest first; those of equal weight in the order of the report."""

    def of_item(self, item: int) -> tuple[ReviewFinding, ...]:
        """Return the findings about one item."""
        return tuple(finding for finding in self.findings if finding.item == item)
