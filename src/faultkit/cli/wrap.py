"""`fault gateway wrap`: a client's config with all its servers behind the gateway, and back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from faultkit.base.errors import InputError


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
    "--fault", "faults", metavar="SPEC", multiple=True, help="What to break, as for `fault gateway`."
)
@click.option("--plan", "plan_file", metavar="FILE", help="A plan of rules besides, or in place of, --fault.")
@click.option("--only", metavar="NAME", multiple=True, help="This server only; can be given again.")
@click.option("--seed", default=None, help="Seed of all chance.")
@click.option("--record", metavar="FOLDER", help="Each server's messages go to a file in it.")
@click.option("--undo", is_flag=True, help="Put back what was there, to the byte.")
@click.option(
    "--write", is_flag=True, help="Write it to CONFIG; what it was unwrapped goes to CONFIG.before-fault."
)
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

    CONFIG has them under "mcpServers" (Claude, Cursor) or "servers" (VS Code). The result is printed, or
    written with --write. Doing it again changes how they are wrapped, --undo brings the file back as it was.
    """
    from faultkit.cli.agent.install import BACKUP
    from faultkit.cli.calls import call_plan
    from faultkit.cli.rewrite import replace_file
    from faultkit.faults.call.call import ERAS
    from faultkit.mcp.hosts.wrap import Wrapping, check_servers, unwrap, wrap
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
        # Whatever spoke HTTP before, the client speaks stdio to the gateway.
        check_plan(written.plan, "stdio", ERAS)
        with _of_config(config):
            check_servers(text, written.plan)
    with _of_config(config):
        done = unwrap(text, only) if undo else wrap(text, wrapping, only)
    for note in done.notes:
        click.echo(note, err=True)
    if not write:
        click.echo(done.text, nl=False)
        return
    if done.text != text:
        # Of what is wrapped already there is a better backup: the one that was made before.
        backup = BACKUP if done.was_untouched else None
        replace_file(config, done.text.encode("utf-8"), before, backup=backup)
    names = ", ".join(done.names) or "nothing to do"
    click.echo(f"{config}: {'put back' if undo else 'wrapped'}: {names}", err=True)


@contextmanager
def _of_config(config: str) -> Iterator[None]:
    """Errors about the file name it."""
    try:
        yield
    except InputError as error:
        if error.path.startswith(("--", "rules[")):
            raise
        raise InputError(f"{config}: {error.path}" if error.path else config, error.problem) from None


def _program() -> tuple[str, ...]:
    """How a client can start us, which need not know the way to us that a shell knows."""
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
