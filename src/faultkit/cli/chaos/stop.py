"""`fault chaos stop`: the lever that halts everything, until it is released."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from faultkit.base.errors import FaultkitError
from faultkit.cli.chaos.options import STATE, STORE, state_dir, store_of
from faultkit.cli.durations import seconds_of

if TYPE_CHECKING:
    from faultkit.chaos.ledger import Ledger

_LOOK_EVERY_S = 0.1


@click.command("stop", epilog="Ends with 0 if nothing is broken any more, with 4 if something still is.")
@click.argument("why", default="fault chaos stop")
@click.option("--release", is_flag=True, help="Take it back: new work may begin.")
@click.option(
    "--wait",
    metavar="DURATION",
    default="30s",
    show_default=True,
    help="How long to wait until everything is rolled back.",
)
@STATE
@STORE
@click.pass_context
def command(
    ctx: click.Context, why: str, release: bool, wait: str, state: str | None, store: str | None
) -> None:
    """Halt every experiment and every fault of this machine, and let nothing new begin.

    Whatever runs rolls back by itself; its guardian does if it does not. WHY is told to whoever is refused.
    """
    from faultkit.base.times import now_us
    from faultkit.chaos.ledger import Ledger
    from faultkit.chaos.lever import Lever

    folder, began_us = state_dir(state), now_us()
    lever, ledger = Lever(folder), Ledger(folder)
    wait_s = seconds_of("--wait", wait)
    if release:
        was_pulled = lever.release()
        _note("release", "", began_us, store)
        click.echo("released: new work may begin" if was_pulled else "it was not pulled")
        return
    lever.pull(why)
    _note("stop", why, began_us, store)
    deadline = time.monotonic() + wait_s
    while (left := _left(ledger)) and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY_S)
    for says in left:
        click.echo(f"still broken: {says}", err=True)
    if left:
        click.echo("`fault chaos recover` undoes what its owners do not", err=True)
        ctx.exit(4)
    click.echo("stopped: nothing is broken, and nothing new begins until `fault chaos stop --release`")


def _left(ledger: Ledger) -> list[str]:
    return [intent.undo.says for view in ledger.views() for intent in view.left]


def _note(what: str, why: str, began_us: int, store: str | None) -> None:
    """The lever must work though the log does not."""
    from faultkit.audit.opening import open_store
    from faultkit.chaos.audit import Audit

    try:
        with open_store(store_of(store)) as opened:
            Audit(opened, "cli").add(what, {"why": why} if why else {}, began_us)
    except FaultkitError as error:
        click.echo(f"warning: not in the audit log: {error}", err=True)
