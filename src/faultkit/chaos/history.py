"""What came of experiments, kept in the store: append-only, over restarts, the newest so many of them.

Dry runs are not kept and not counted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from faultkit.audit.results import ResultRow, add_result, read_journal, read_results, read_totals
from faultkit.audit.store import Store
from faultkit.chaos.experiment.journal import Journal
from faultkit.chaos.outcome import ExperimentResult, result_document, result_of

MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Totals:
    runs: int
    successes: int

    @property
    def success_rate(self) -> float:
        """From 0 to 1; 0 before the first run."""
        return self.successes / self.runs if self.runs else 0.0


@dataclass(frozen=True, slots=True)
class Kept:
    """A result and its place, by which its journal is found."""

    seq: int
    result: ExperimentResult


class History:
    def __init__(self, store: Store, most_kept: int = MOST_KEPT) -> None:
        """The store is the caller's to close."""
        self._store = store
        self._most_kept = most_kept

    def add(self, kept: Journal | ExperimentResult) -> int | None:
        """Its place; None for a dry run. Raises RunError if the store does not take it."""
        result = kept.result if isinstance(kept, Journal) else kept
        if result.dry_run:
            return None
        journal = json.dumps(kept.document, default=repr) if isinstance(kept, Journal) else None
        row = ResultRow(
            name=result.experiment_name,
            outcome=str(result.outcome),
            success=result.success,
            result=json.dumps(result_document(result)),
            journal=journal,
        )
        return add_result(self._store, row, self._most_kept)

    def results(self, experiment_name: str | None = None, limit: int = 100) -> tuple[Kept, ...]:
        """Newest first."""
        rows = read_results(self._store, experiment_name, limit)
        return tuple(Kept(row.seq, result_of(json.loads(row.result))) for row in rows)

    def journal(self, seq: int) -> dict[str, object] | None:
        text = read_journal(self._store, seq)
        return None if text is None else json.loads(text)

    def totals(self, experiment_name: str | None = None) -> Totals:
        """Of all runs that there ever were, also of those that are no longer kept."""
        return Totals(*read_totals(self._store, experiment_name))
