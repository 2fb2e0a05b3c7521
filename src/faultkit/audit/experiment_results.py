"""Results of chaos experiments. Old results are removed; the totals still count them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from faultkit.audit.audit_sql import results, totals
from faultkit.audit.store import Store

_INSERTS: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@dataclass(frozen=True, slots=True)
class ResultRow:
    """The result of one experiment."""

    name: str
    outcome: str
    success: bool
    result: str
    """JSON."""
    journal: str | None = None
    """JSON; None when results are listed."""
    seq: int = 0


def add_result(store: Store, row: ResultRow, most_rows: int) -> int:
    """Store a result and return its position. The oldest ones beyond `most_rows` are removed."""

    def write(connection: Connection) -> int:
        values = {"name": row.name, "outcome": row.outcome, "success": row.success}
        added = connection.execute(
            results.insert().values(**values, result=row.result, journal=row.journal).returning(results.c.seq)
        ).scalar_one()
        _count(connection, totals, row)
        connection.execute(delete(results).where(results.c.seq <= added - most_rows))
        return int(added)

    return store.write(write)


def _count(connection: Connection, table: Table, row: ResultRow) -> None:
    insert = _INSERTS[connection.dialect.name]
    one = insert(table).values(name=row.name, runs=1, successes=int(row.success))
    connection.execute(
        one.on_conflict_do_update(
            index_elements=[table.c.name],
            set_={"runs": table.c.runs + 1, "successes": table.c.successes + int(row.success)},
        )
    )


def read_results(store: Store, name: str | None, limit: int) -> tuple[ResultRow, ...]:
    """Return results, newest first and without journals."""
    columns = [each for each in results.c if each.name != "journal"]
    wanted = select(*columns).order_by(results.c.seq.desc()).limit(limit)
    if name is not None:
        wanted = wanted.where(results.c.name == name)
    return store.read(
        lambda connection: tuple(ResultRow(**row) for row in connection.execute(wanted).mappings())
    )


def count_outcomes(store: Store, name: str | None) -> dict[str, int]:
    """Return how many of the kept results have each outcome."""
    wanted = select(results.c.outcome, func.count()).group_by(results.c.outcome)
    if name is not None:
        wanted = wanted.where(results.c.name == name)
    return store.read(
        lambda connection: {str(outcome): int(count) for outcome, count in connection.execute(wanted)}
    )


def read_journal(store: Store, seq: int) -> str | None:
    """Return the journal of the result at a position, as JSON."""
    wanted = select(results.c.journal).where(results.c.seq == seq)
    return store.read(lambda connection: connection.execute(wanted).scalar_one_or_none())


def read_totals(store: Store, name: str | None) -> tuple[int, int]:
    """Return the number of all runs ever stored, and of those that kept their steady state."""
    sums = [func.coalesce(func.sum(each), 0) for each in (totals.c.runs, totals.c.successes)]
    wanted = select(*sums) if name is None else select(*sums).where(totals.c.name == name)
    runs, successes = store.read(lambda connection: connection.execute(wanted).one())
    return int(runs), int(successes)
