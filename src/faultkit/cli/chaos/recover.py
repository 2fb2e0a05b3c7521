"""`fault chaos recover`: undo what a crash has left, and tell what was found and what was done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.errors import FaultkitError
from faultkit.cli.chaos.options import ROLLBACK_FAILED, STATE, STORE, state_dir, store_of

if TYPE_CHECKING:
    from faultkit.chaos.lease_file import LeaseView
    from faultkit.chaos.ledger import Ledger
    from faultkit.chaos.recover import Recovered

_FOUND = {
    "orphaned": "its owner is gone, and has not written that it ended",
    "lapsed": "its lease lapsed",
    "left": "it ended with something left",
    "running": "it runs",
}
_NAMELESS = "a lease whose first line cannot be read"
_BY_GUARDIAN = "undone by the guardian"


@click.command(
    "recover", epilog="Ends with 0 if nothing is left broken, with 5 if something could not be undone."
)
@click.option("--also-running", is_flag=True, help="Also end what runs and is renewed by a living owner.")
@STATE
@STORE
@click.option("--json", "as_json", is_flag=True, help="As JSON on stdout.")
@click.pass_context
def command(
    ctx: click.Context, also_running: bool, state: str | None, store: str | None, as_json: bool
) -> None:
    """Undo what a crash has left broken, and report what was found.

    What a guardian has undone by itself is told, too. It does no harm to run it twice.
    """
    from faultkit.chaos.ledger import Ledger
    from faultkit.chaos.recover import recover

    ledger = Ledger(state_dir(state))
    guarded = [
        view for view in ledger.views() if view.is_over and (view.ended or "").startswith(_BY_GUARDIAN)
    ]
    found = recover(ledger, also_running=also_running)
    _note(ledger, store)
    told = {
        "recovered": [_document(each) for each in found],
        "undone_by_guardians": [_guarded(view) for view in guarded],
    }
    click.echo(json.dumps(told, ensure_ascii=False, indent=2) if as_json else "\n".join(_lines(told)))
    for each in found:
        if each.unwritten is not None:
            click.echo(
                f"warning: {each.lease.id}: its end could not be written ({each.unwritten}): "
                "the next recover finds it again",
                err=True,
            )
    if not all(each.ok for each in found):
        ctx.exit(ROLLBACK_FAILED)


def _document(each: Recovered) -> dict[str, Any]:
    undone = [{"says": undo.says, "ok": result.ok, "message": result.message} for undo, result in each.undone]
    return {
        "lease": each.lease.id,
        "owner": each.lease.owner,
        "opened_at": each.lease.opened_at,
        "found": each.found,
        "undone": undone,
        "ok": each.ok,
    }


def _guarded(view: LeaseView) -> dict[str, Any]:
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


def _lines(told: dict[str, Any]) -> Iterator[str]:
    for lease in told["undone_by_guardians"]:
        yield f"{lease['owner']}: {lease['why']} ({lease['lease']}, at {lease['at']})"
        yield from (f"  undone: {each['says']}: {each['message']}" for each in lease["undone"])
    for lease in told["recovered"]:
        yield f"{lease['owner'] or _NAMELESS}: {_FOUND[lease['found']]} ({lease['lease']})"
        if lease["found"] == "running" and not lease["undone"]:
            yield "  left alone: its owner renews it (--also-running ends it)"
        for each in lease["undone"]:
            yield f"  {'undone' if each['ok'] else 'FAILED'}: {each['says']}: {each['message']}"
    if not told["recovered"]:
        yield "nothing was left broken"


def _note(ledger: Ledger, store: str | None) -> None:
    """What was undone counts, whether or not it can be told."""
    from faultkit.audit.opening import open_store
    from faultkit.chaos.audit import Audit

    try:
        with open_store(store_of(store)) as opened:
            audit = Audit(opened, "recover")
            audit.add_undone(ledger)
            if audit.trouble:
                click.echo(f"warning: {audit.trouble}", err=True)
    except FaultkitError as error:
        click.echo(f"warning: not in the audit log: {error}", err=True)
