"""`fault chaos status`: what is broken now and by whom, the stop lever, and what came of experiments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from faultkit.cli.chaos.options import STATE, STORE, state_dir, store_of


@click.command("status")
@STATE
@STORE
@click.option("--experiment", metavar="NAME", help="Only the results of this one.")
@click.option("--limit", type=click.IntRange(0, 1000), default=10, show_default=True, help="Results to show.")
@click.option("--json", "as_json", is_flag=True, help="As JSON on stdout.")
def command(state: str | None, store: str | None, experiment: str | None, limit: int, as_json: bool) -> None:
    """Show what is broken now, whether the stop lever is pulled, and what came of experiments."""
    from faultkit.audit.opening import open_store
    from faultkit.chaos.audit import Audit
    from faultkit.chaos.history import History
    from faultkit.chaos.ledger import Ledger
    from faultkit.chaos.lever import Lever
    from faultkit.chaos.outcome import result_document

    folder = state_dir(state)
    ledger, stop = Ledger(folder), Lever(folder).pulled()
    with open_store(store_of(store)) as opened:
        Audit(opened, "cli").add_undone(ledger)
        history = History(opened)
        totals = history.totals(experiment)
        results = [result_document(each.result) for each in history.results(experiment, limit)]
    leases = [
        {
            "lease": view.id,
            "owner": view.owner,
            "state": ledger.state_of(view),
            "left": [intent.undo.says for intent in view.left],
        }
        for view in ledger.views()
        if not view.is_over
    ]
    found: dict[str, Any] = {
        "stopped": None if stop is None else stop.why,
        "leases": leases,
        "total_runs": totals.runs,
        "success_rate": totals.success_rate,
        "results": results,
    }
    click.echo(json.dumps(found, ensure_ascii=False, indent=2) if as_json else "\n".join(_lines(found)))


def _lines(found: dict[str, Any]) -> Iterator[str]:
    if found["stopped"] is not None:
        yield f"STOPPED: {found['stopped']} (`fault chaos stop --release` takes it back)"
    if not found["leases"]:
        yield "nothing is broken"
    for lease in found["leases"]:
        yield f"{lease['state']}: {lease['owner']} ({lease['lease']})"
        yield from (f"  to undo: {says}" for says in lease["left"])
    if any(lease["state"] in ("orphaned", "lapsed", "left") for lease in found["leases"]):
        yield "`fault chaos recover` undoes what was left"
    yield f"{found['total_runs']} runs, {100 * found['success_rate']:.0f} % kept their steady state"
    for result in found["results"]:
        error = f": {' '.join(result['error'].split())}" if result["error"] else ""
        yield f"  {result['started_at'][:19]}Z  {result['outcome']:<15} {result['experiment_name']}{error}"
