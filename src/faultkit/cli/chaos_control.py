"""`fault chaos status`, `stop` and `recover`: active faults, past results, the kill switch, and clean-up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.errors import FaultkitError
from faultkit.base.text import counted
from faultkit.cli.chaos_options import ROLLBACK_FAILED, STATE, STORE, state_dir, store_place
from faultkit.cli.shared_options import json_option, print_json, seconds_of

if TYPE_CHECKING:
    from faultkit.chaos.safety.lease import LeaseView
    from faultkit.chaos.safety.ledger import Ledger
    from faultkit.chaos.safety.recovery import RecoveredLease


@click.command("status")
@STATE
@STORE
@click.option("--experiment", metavar="NAME", help="Show only results of this experiment.")
@click.option("--limit", type=click.IntRange(0, 1000), default=10, show_default=True, help="Results to show.")
@json_option()
def status_command(
    state: str | None, store: str | None, experiment: str | None, limit: int, as_json: bool
) -> None:
    """Show active faults, whether experiments are stopped, and the results of past runs."""
    from faultkit.audit.store_factory import open_store
    from faultkit.chaos.experiment.experiment_model import result_document
    from faultkit.chaos.records import ChaosAudit, ResultHistory
    from faultkit.chaos.safety.kill_switch import KillSwitch
    from faultkit.chaos.safety.ledger import Ledger

    folder = state_dir(state)
    ledger, stop = Ledger(folder), KillSwitch(folder).pulled()
    with open_store(store_place(store)) as opened:
        ChaosAudit(opened, "cli").add_undone(ledger)
        history = ResultHistory(opened)
        history.add_killed(ledger)
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
    status: dict[str, Any] = {
        "stopped": None if stop is None else stop.why,
        "leases": leases,
        "total_runs": totals.runs,
        "proven_runs": totals.proven,
        "success_rate": totals.success_rate,
        "results": results,
    }
    if as_json:
        print_json(status)
    else:
        click.echo("\n".join(_status_lines(status)))


def _status_lines(status: dict[str, Any]) -> Iterator[str]:
    if status["stopped"] is not None:
        yield f"STOPPED: {status['stopped']} (`fault chaos stop --release` takes it back)"
    if not status["leases"]:
        yield "nothing is broken"
    for lease in status["leases"]:
        yield f"{lease['state']}: {lease['owner']} ({lease['lease']})"
        yield from (f"  to undo: {says}" for says in lease["left"])
    if any(lease["state"] in ("orphaned", "lapsed", "left") for lease in status["leases"]):
        yield "`fault chaos recover` undoes what was left"
    runs, proven, rate = status["total_runs"], status["proven_runs"], status["success_rate"]
    share = "" if rate is None else f", {100 * rate:.0f} % of them held"
    yield f"{counted(runs, 'run')}, {proven} held or deviated{share}"
    for result in status["results"]:
        error = f": {' '.join(result['error'].split())}" if result["error"] else ""
        yield f"  {result['started_at'][:19]}Z  {result['outcome']:<15} {result['experiment_name']}{error}"


_POLL_S = 0.1


@click.command("stop", epilog="Ends with 0 if nothing is broken any more, with 4 if something still is.")
@click.argument("why", default="fault chaos stop")
@click.option("--release", is_flag=True, help="Release the stop, so that experiments can start again.")
@click.option(
    "--wait",
    metavar="DURATION",
    default="30s",
    show_default=True,
    help="How long to wait for all rollbacks.",
)
@STATE
@STORE
@click.pass_context
def stop_command(
    ctx: click.Context, why: str, release: bool, wait: str, state: str | None, store: str | None
) -> None:
    """Stop every experiment and every fault on this machine, and refuse new ones.

    Each running experiment rolls itself back; if it does not, its guardian process does. WHY is part of the
    error with which new experiments are refused.
    """
    from faultkit.base.times import now_us
    from faultkit.chaos.safety.kill_switch import KillSwitch
    from faultkit.chaos.safety.ledger import Ledger

    folder, began_us = state_dir(state), now_us()
    switch, ledger = KillSwitch(folder), Ledger(folder)
    wait_s = seconds_of("--wait", wait)
    if release:
        was_pulled = switch.release()
        _audit_stop("release", "", began_us, store)
        click.echo(
            "released: experiments can start again" if was_pulled else "nothing to release: not stopped"
        )
        return
    switch.pull(why)
    _audit_stop("stop", why, began_us, store)
    deadline = time.monotonic() + wait_s
    while (remaining := _remaining_undos(ledger)) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    for undo in remaining:
        click.echo(f"still broken: {undo}", err=True)
    if remaining:
        click.echo("`fault chaos recover` undoes what its owners do not", err=True)
        ctx.exit(4)
    click.echo("stopped: nothing is broken, and nothing new begins until `fault chaos stop --release`")


def _remaining_undos(ledger: Ledger) -> list[str]:
    return [intent.undo.says for view in ledger.views() for intent in view.left]


def _audit_stop(what: str, why: str, began_us: int, store: str | None) -> None:
    """Log the stop; a log that cannot be written is a warning, because the stop itself must work."""
    from faultkit.audit.store_factory import open_store
    from faultkit.chaos.records import ChaosAudit

    try:
        with open_store(store_place(store)) as opened:
            ChaosAudit(opened, "cli").add(what, {"why": why} if why else {}, began_us)
    except FaultkitError as error:
        click.echo(f"warning: not in the audit log: {error}", err=True)


_LEASE_STATES = {
    "orphaned": "its process is gone without having ended the lease",
    "lapsed": "its lease has expired",
    "left": "it ended without undoing everything",
    "running": "it is running",
}
_NAMELESS = "a lease whose first line cannot be read"


@click.command(
    "recover", epilog="Ends with 0 if nothing is left broken, with 5 if something could not be undone."
)
@click.option("--also-running", is_flag=True, help="Also end faults whose process is still running.")
@click.option("--all", "show_all", is_flag=True, help="Also show what guardian processes have undone before.")
@click.option(
    "--forget",
    metavar="LEASE",
    help="Undo nothing: give up what is left of this lease, because it can never be undone or you undid it.",
)
@STATE
@STORE
@json_option()
@click.pass_context
def recover_command(
    ctx: click.Context,
    also_running: bool,
    show_all: bool,
    forget: str | None,
    state: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Undo the faults that a crash has left, and report them.

    Running this twice does no harm. With --json, the report always includes what guardians have undone.
    """
    from faultkit.chaos.safety.ledger import Ledger
    from faultkit.chaos.safety.recovery import BY_GUARDIAN, recover

    ledger = Ledger(state_dir(state))
    if forget is not None:
        _forget(ledger, forget, store, as_json)
        return
    guarded = [view for view in ledger.views() if view.is_over and (view.ended or "").startswith(BY_GUARDIAN)]
    recovered = recover(ledger, also_running=also_running)
    _audit_recovery(ledger, store)
    report = {
        "recovered": [_recovered_document(each) for each in recovered],
        "undone_by_guardians": [_guarded_document(view) for view in guarded],
    }
    if as_json:
        print_json(report)
    else:
        click.echo("\n".join(_recovery_lines(report, show_all)))
    for each in recovered:
        if each.unwritten is not None:
            click.echo(
                f"warning: {each.lease.id}: its end could not be written ({each.unwritten}): "
                "the next `fault chaos recover` finds it again",
                err=True,
            )
    if not all(each.ok for each in recovered):
        ctx.exit(ROLLBACK_FAILED)


def _recovered_document(each: RecoveredLease) -> dict[str, Any]:
    undone = [{"says": undo.says, "ok": result.ok, "message": result.message} for undo, result in each.undone]
    return {
        "lease": each.lease.id,
        "owner": each.lease.owner,
        "opened_at": each.lease.opened_at,
        "found": each.found,
        "undone": undone,
        "ok": each.ok,
    }


def _guarded_document(view: LeaseView) -> dict[str, Any]:
    undone = [
        {
            "says": intent.undo.says,
            "ok": True,
            "message": "" if intent.result is None else intent.result.message,
        }
        for intent in reversed(view.intents)
        if intent.by == "guardian"
    ]
    at = max((intent.at for intent in view.intents if intent.by == "guardian"), default=view.opened_at)
    return {"lease": view.id, "owner": view.owner, "why": view.ended, "at": at, "undone": undone}


def _forget(ledger: Ledger, lease: str, store: str | None, as_json: bool) -> None:
    left = ledger.forget(lease)
    _audit_recovery(ledger, store)
    if as_json:
        print_json({"lease": lease, "given_up": [undo.says for undo in left]})
        return
    for undo in left:
        click.echo(f"given up, and perhaps still broken: {undo.says}")
    click.echo(f"{lease} is closed: nothing undoes it any more")


def _recovery_lines(report: dict[str, Any], show_all: bool) -> Iterator[str]:
    guarded = report["undone_by_guardians"]
    if guarded and not show_all:
        yield f"guardians have undone {counted(len(guarded), 'lease')} before (--all shows them)"
    for lease in guarded if show_all else ():
        yield f"{lease['owner']}: {lease['why']} ({lease['lease']}, at {lease['at']})"
        yield from (f"  undone: {each['says']}: {each['message']}" for each in lease["undone"])
    for lease in report["recovered"]:
        yield f"{lease['owner'] or _NAMELESS}: {_LEASE_STATES[lease['found']]} ({lease['lease']})"
        if lease["found"] == "running" and not lease["undone"]:
            yield "  not changed: its process renews it (--also-running ends it)"
        for each in lease["undone"]:
            yield f"  {'undone' if each['ok'] else 'FAILED'}: {each['says']}: {each['message']}"
        if not lease["ok"]:
            yield f"  `fault chaos recover --forget {lease['lease']}` gives it up"
    if not report["recovered"]:
        yield "nothing was left broken"


def _audit_recovery(ledger: Ledger, store: str | None) -> None:
    """Log what was undone; a log that cannot be written is a warning, because the recovery has worked."""
    from faultkit.audit.store_factory import open_store
    from faultkit.chaos.records import ChaosAudit

    try:
        with open_store(store_place(store)) as opened:
            audit = ChaosAudit(opened, "recover")
            audit.add_undone(ledger)
            if audit.trouble:
                click.echo(f"warning: {audit.trouble}", err=True)
    except FaultkitError as error:
        click.echo(f"warning: not in the audit log: {error}", err=True)
