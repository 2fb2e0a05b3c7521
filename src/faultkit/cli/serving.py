"""Options that `fault mock` and `fault gateway replay` have in common, and what both do with them."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from faultkit.mcp.mock.model import Manifest
    from faultkit.mcp.mock.recording import Recording
    from faultkit.mcp.mock.run import MockJob
    from faultkit.plan import Plan

_OF_RULE = re.compile(r"rules\[(\d+)\]")


def serving_options(port: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`port` is the usual one."""
    options = (
        click.option(
            "--fault",
            "faults",
            metavar="SPEC",
            multiple=True,
            help="none, hang, wedged, slow:MS, recover-after:N, or any other fault: "
            "KIND[:VALUE][%PROBABILITY][@TOOL].",
        ),
        click.option(
            "--plan", "plan_file", metavar="FILE", help="A plan of rules besides, or in place of, --fault."
        ),
        click.option(
            "--front",
            type=click.Choice(["stdio", "http"]),
            default="stdio",
            show_default=True,
            help="How clients speak to it.",
        ),
        click.option("--host", default="127.0.0.1", show_default=True, help="Address for --front http."),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            help="Port for --front http.",
        ),
        click.option("--seed", default=None, help="Seed of all chance; that of the plan if not given."),
    )

    def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return with_options


def serve(
    load: Callable[[], Manifest | Recording],
    faults: tuple[str, ...],
    plan_file: str | None,
    front: Literal["stdio", "http"],
    host: str,
    port: int,
    seed: str | None,
) -> None:
    """Until the client hangs up or a signal comes."""
    # What is imported and loaded stays: nothing is gained by looking for garbage in it, now or later.
    gc.disable()
    try:
        from faultkit.mcp.mock.run import MockJob, run_mock
        from faultkit.mcp.serving import run_to_end

        job = MockJob(load(), _plan(faults, plan_file, seed), front, host, port)
        _check(job, faults, plan_file)
    finally:
        gc.enable()
    gc.freeze()
    run_to_end(run_mock(job, lambda line: click.echo(line, err=True)))


def _plan(faults: tuple[str, ...], plan_file: str | None, seed: str | None) -> Plan:
    from faultkit.plan import Plan

    if not faults and plan_file is None:
        return Plan()
    from faultkit.cli.calls import call_plan

    return call_plan(faults, plan_file, seed)


def _check(job: MockJob, faults: tuple[str, ...], plan_file: str | None) -> None:
    from faultkit.errors import InputError
    from faultkit.mcp.mock.run import check_job

    try:
        check_job(job)
    except InputError as error:
        raise InputError(_place(error.path, faults, plan_file), error.problem) from None


def _place(path: str, faults: tuple[str, ...], plan_file: str | None) -> str:
    """Where a rule was written: the rules of `--fault` go before those of the file."""
    match = _OF_RULE.match(path)
    if match is None:
        return path
    from faultkit.mcp.specs import NONE

    specs = [spec for spec in faults if spec.strip() != NONE]
    index = int(match[1])
    if index < len(specs):
        return f'--fault "{specs[index]}"'
    return f"{plan_file}: rules[{index - len(specs)}]{path[match.end() :]}"
