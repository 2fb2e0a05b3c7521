"""Results of experiments in the store, and rows of the audit log for everything that chaos does."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from faultkit.audit.experiment_results import (
    ResultRow,
    add_result,
    count_outcomes,
    read_journal,
    read_results,
    read_totals,
)
from faultkit.audit.redaction import json_text, redacted, redacted_text
from faultkit.audit.row import AuditEntry, AuditRow, new_row_id
from faultkit.audit.store import Store
from faultkit.base.errors import RunError
from faultkit.base.times import now_us, parse_time
from faultkit.chaos.experiment.experiment_model import (
    ExperimentResult,
    Journal,
    Outcome,
    parse_result,
    result_document,
)
from faultkit.chaos.safety.lease import ENDED_ITSELF, Intent, LeaseView
from faultkit.chaos.safety.ledger import Ledger

MOST_KEPT = 10_000
RUN_OWNER = "experiment "
"""Begins the owner of the lease of a run, before the name of the experiment."""
GROUP = "chaos"
"""The tool group of chaos in the audit log."""
_LONGEST_ERROR = 2000
"""Characters of an error in the audit log."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of runs, and of those that proved something: the steady state held, or deviated."""

    runs: int
    held: int
    proven: int

    @property
    def success_rate(self) -> float | None:
        """The share of proven runs that held, from 0 to 1; None before the first."""
        return self.held / self.proven if self.proven else None


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result, and the number under which its journal is found."""

    seq: int
    result: ExperimentResult


class ResultHistory:
    """The newest results, kept over restarts. Dry runs are neither kept nor counted."""

    def __init__(self, store: Store, most_kept: int = MOST_KEPT) -> None:
        """The caller closes the store."""
        self._store = store
        self._most_kept = most_kept

    def add(self, kept: Journal | ExperimentResult) -> int | None:
        """Append a result; return its number, None for a dry run. Raises RunError if the store fails."""
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

    def results(self, experiment_name: str | None = None, limit: int = 100) -> tuple[StoredResult, ...]:
        """Return results, the newest first."""
        rows = read_results(self._store, experiment_name, limit)
        return tuple(StoredResult(row.seq, parse_result(json.loads(row.result))) for row in rows)

    def journal(self, seq: int) -> dict[str, object] | None:
        """Return the journal of a result."""
        text = read_journal(self._store, seq)
        return None if text is None else json.loads(text)

    def totals(self, experiment_name: str | None = None) -> Totals:
        """Return the number of all runs ever, and how many of the kept results held and were proven."""
        runs, _ = read_totals(self._store, experiment_name)
        counts = count_outcomes(self._store, experiment_name)
        held = counts.get(Outcome.HELD, 0)
        return Totals(runs, held, held + counts.get(Outcome.DEVIATED, 0))

    def add_killed(self, ledger: Ledger) -> None:
        """Add the runs whose process was killed: only the ledger knows of them. Each is added once."""
        for view in ledger.views():
            if view.owner.startswith(RUN_OWNER) and ledger.was_killed(view):
                ledger.keep_in_history(view.id, partial(self.add, _killed_run(view)))


def _killed_run(view: LeaseView) -> ExperimentResult:
    gates = [note for note in view.notes if note["event"] == "phase_ended" and note.get("phase") == "gate"]
    return ExperimentResult(
        experiment_name=view.owner.removeprefix(RUN_OWNER),
        success=False,
        steady_state_before=any(note.get("met") is True for note in gates),
        steady_state_after=False,
        duration_seconds=max((float(note.get("at_s", 0.0)) for note in view.notes), default=0.0),
        error=f"Stopped: its process was killed; {view.ended}",
        started_at=view.opened_at,
        outcome=Outcome.ROLLBACK_FAILED if view.left else Outcome.ABORTED,
        rollback_ok=not view.left,
    )


class ChaosAudit:
    """Rows of the audit log for everything that chaos does. Thread-safe.

    Writing a row never fails and never delays what it records: what could not be written is in `trouble`.
    Undos are read from the ledger, whichever process carried them out; their rows have fixed ids, so that
    each is written once."""

    def __init__(self, store: Store, source: str, transport: str = "") -> None:
        """The caller closes the store. `source`: where requests come from, such as mcp or cli."""
        self.trouble = ""
        """Why the last row could not be written; empty if it could."""
        self._store = store
        self._source = source
        self._transport = transport
        self._written_undos: set[str] = set()
        self._lock = threading.Lock()

    def add(self, what: str, given: Mapping[str, Any], began_us: int, error: str | None = None) -> None:
        """Add a row. `what`: register, inject, remove, run, stop or release. Secrets are masked."""
        self._write([_row(what, given, began_us, error, self._source, self._transport)])

    def add_undone(self, ledger: Ledger) -> None:
        """Add rows for the undos in the ledger that are not in the log yet."""
        rows = [
            _undo_row(view, intent)
            for view in ledger.views()
            for intent in view.intents
            if intent.result is not None and intent.by != ENDED_ITSELF
        ]
        with self._lock:
            fresh = [row for row in rows if row.id not in self._written_undos]
            if self._write(fresh):
                self._written_undos.update(row.id for row in fresh)

    def _write(self, rows: list[AuditRow]) -> bool:
        if not rows:
            return True
        try:
            self._store.append([AuditEntry(row) for row in rows])
        except RunError as error:
            self.trouble = f"not everything is in the audit log: {error}"
            return False
        self.trouble = ""
        return True


def _row(
    what: str,
    given: Mapping[str, Any],
    began_us: int,
    error: str | None,
    source: str,
    transport: str = "",
    id: str | None = None,
    ended_us: int | None = None,
) -> AuditRow:
    parameters = json_text(redacted(dict(given)))
    return AuditRow(
        id=id or new_row_id(began_us),
        at_us=began_us,
        duration_ms=max(0, (now_us() if ended_us is None else ended_us) - began_us) / 1000,
        tool_name=f"{GROUP}.{what}",
        success=error is None,
        tool_group=GROUP,
        parameters=parameters,
        error_message=redacted_text((error or "")[:_LONGEST_ERROR])[:_LONGEST_ERROR],
        request_chars=len(parameters),
        transport=transport,
        source=source,
    )


def _undo_row(view: LeaseView, intent: Intent) -> AuditRow:
    result = intent.result
    assert result is not None
    at_us = parse_time(intent.at or view.opened_at, 0)
    given = {"lease": view.id, "owner": view.owner, "undo": intent.undo.says, "message": result.message}
    error = None if result.ok else result.message
    id = f"{view.id}-{intent.id}-{'done' if result.ok else 'failed'}"
    return _row("undo", given, at_us, error, intent.by, id=id, ended_us=at_us)
