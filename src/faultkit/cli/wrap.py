"""`fault gateway wrap`: put the servers of a client's config file behind the gateway, or undo that."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from faultkit.base.errors import InputError
from faultkit.cli.shared_options import seed_option


@click.command(
    epilog="""\b
Examples:
  fault gateway wrap .mcp.json
  fault gateway wrap .mcp.json --fault slow:2000%0.2 --write
  fault gateway wrap .vscode/mcp.json --only github --plan plan.yaml --write
  fault gateway wrap .mcp.json --undo --write
"""
)
@click.argument("config", metavar="CONFIG")
@click.option(
    "--fault",
    "faults",
    metavar="SPEC",
    multiple=True,
    help="Fault to inject, as for `fault gateway`. Repeatable.",
)
@click.option("--plan", "plan_file", metavar="FILE", help="Plan file with rules, with or without --fault.")
@click.option("--only", metavar="NAME", multiple=True, help="Wrap only this server. Repeatable.")
@seed_option("Seed of all random choices.", metavar="TEXT")
@click.option("--record", metavar="FOLDER", help="Record the messages of each server to a file in FOLDER.")
@click.option("--undo", is_flag=True, help="Restore the original entries, byte for byte.")
@click.option("--write", is_flag=True, help="Write to CONFIG; the original is kept as CONFIG.before-fault.")
def command(
    config: str,
    faults: tuple[str, ...],
    plan_file: str | None,
    only: tuple[str, ...],
    seed: str | None,
    record: str | None,
    undo: bool,
    write: bool,
) -> None:
    """Put the servers of a client's config behind the gateway.

    CONFIG lists them under "mcpServers" (Claude, Cursor) or "servers" (VS Code). The result is printed, or
    written with --write. Wrapping again replaces the flags of the gateway; --undo restores the file.
    """
    from faultkit.base.files import rewrite_file
    from faultkit.cli.call_plan import call_plan
    from faultkit.faults.call.call import ERAS
    from faultkit.mcp.hosts.host_configs import BACKUP_SUFFIX
    from faultkit.mcp.hosts.wrapping import Wrapping, check_servers, errors_in, unwrap_servers, wrap_servers
    from faultkit.mcp.injector import check_plan

    if undo and (faults or plan_file or seed or record):
        raise InputError("--undo", "expected no --fault, --plan, --seed or --record with it")
    before = _read(Path(config))
    text = before.decode("utf-8")
    if plan_file is not None:
        plan_file = str(Path(plan_file).absolute())
    written = call_plan(faults, plan_file, seed)
    wrapping = Wrapping(
        _program(),
        faults,
        plan_file,
        written.plan,
        seed,
        None if record is None else str(Path(record).absolute()),
    )
    with written.naming_places():
        # The client talks to the gateway over stdio, also where the server itself is reached over HTTP.
        check_plan(written.plan, "stdio", ERAS)
        with errors_in(config):
            check_servers(text, written.plan)
    with errors_in(config):
        done = unwrap_servers(text, only) if undo else wrap_servers(text, wrapping, only)
    for note in done.notes:
        click.echo(note, err=True)
    if not write:
        click.echo(done.text, nl=False)
        return
    if done.text != text:
        # A file that is wrapped already keeps its first backup, which holds the original.
        backup = BACKUP_SUFFIX if done.was_untouched else None
        rewrite_file(config, done.text.encode("utf-8"), before, backup=backup)
    names = ", ".join(done.names) or "nothing to do"
    click.echo(f"{config}: {'put back' if undo else 'wrapped'}: {names}", err=True)


def _program() -> tuple[str, ...]:
    """Return the command that starts `fault` from a client, whose PATH may differ from the shell's."""
    beside = Path(sys.executable).parent / "fault"
    return (str(beside),) if beside.exists() else (sys.executable, "-m", "faultkit")


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        data.decode("utf-8")
        return data
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise InputError(str(path), "expected UTF-8 text, got other bytes") from None
