"""Options that `fault mock` and `fault gateway replay` have in common, and what both do with them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from faultkit.base.errors import InputError

if TYPE_CHECKING:
    from faultkit.mcp.mock.model import Manifest
    from faultkit.mcp.mock.recording import Recording

FAULT_FORM = (
    "KIND[:VALUE][,KEY=VALUE…][%PROBABILITY][@TARGET], where TARGET is a tool, a method such as tools/list, "
    "or one of resource:, prompt:, tool:, method:, server: and a glob. Can be given again."
)
OF_HTTP_FRONT = ("--host", "--port")


def serving_options(port: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`port` is the usual one."""
    options = (
        click.option(
            "--fault",
            "faults",
            metavar="SPEC",
            multiple=True,
            help=f"none, hang, wedged, slow:MS, recover-after:N, or any other fault: {FAULT_FORM}",
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


def refuse_unused(flags: Iterable[str], beside: str) -> None:
    """InputError for one of these that this command line has, and that would do nothing there."""
    ctx = click.get_current_context()
    for parameter in ctx.command.params:
        source = None if parameter.name is None else ctx.get_parameter_source(parameter.name)
        for flag in parameter.opts:
            if flag in flags and source is ParameterSource.COMMANDLINE:
                raise InputError(flag, f"expected {beside} beside it, without which it does nothing")


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
    if front == "stdio":
        refuse_unused(OF_HTTP_FRONT, "--front http")
    # What is imported and loaded stays: nothing is gained by looking for garbage in it, now or later.
    gc.disable()
    try:
        from faultkit.base.serving import run_to_end
        from faultkit.mcp.mock.run import MockJob, check_job, run_mock
        from faultkit.plan import Plan

        job = MockJob(load(), Plan(), front, host, port)
        if faults or plan_file is not None:
            from faultkit.cli.calls import call_plan

            written = call_plan(faults, plan_file, seed)
            job = replace(job, plan=written.plan)
            with written.naming_places():
                check_job(job)
    finally:
        gc.enable()
    gc.freeze()
    run_to_end(run_mock(job, lambda line: click.echo(line, err=True)))
