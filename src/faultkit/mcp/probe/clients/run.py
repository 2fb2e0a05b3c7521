"""A profile: control runs first, then every fault that fits what they showed, several at a time."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence

from faultkit.base.commands import check_program
from faultkit.base.errors import InputError
from faultkit.faults.call.call import ERAS, Era
from faultkit.mcp.injector import check_plan
from faultkit.mcp.probe.clients.battery import BATTERY, fitting, plan_of
from faultkit.mcp.probe.clients.case import Job, run_case
from faultkit.mcp.probe.clients.client import SERVER, URL
from faultkit.mcp.probe.clients.conduct import (
    Conduct,
    Profile,
    Run,
    conduct_of,
    control_problem,
    era_in,
    unknown,
)
from faultkit.mcp.probe.clients.manifest import manifest_of
from faultkit.mcp.specs import NONE

Say = Callable[[int, int, Conduct], None]
"""Which of how many, and what came of it."""


def check_job(job: Job, specs: Sequence[str]) -> None:
    """Raises before anything is started."""
    if not job.command:
        raise InputError("", "expected the client's command behind --, got none")
    check_program(job.command[0])
    for sign, of in ((SERVER, "stdio"), (URL, "http")):
        if job.transport != of and any(sign in word for word in job.command):
            raise InputError(
                "--transport", f"expected {of}, got {job.transport}: {sign} stands for a server over {of}"
            )
    manifest_of(job.tools_from)
    eras: tuple[Era, ...] = ERAS if job.era is None else (job.era,)
    for spec in specs:
        try:
            check_plan(plan_of(spec, job.seed), job.transport, eras)
        except InputError as error:
            raise InputError(f'--fault "{spec}"', error.problem) from None


async def profile_client(
    job: Job,
    specs: Sequence[str] = (),
    *,
    parallel: int = 2,
    say: Say = lambda number, of, conduct: None,
) -> Profile:
    """`specs`: in place of the battery."""
    check_job(job, specs)
    usual = again = await run_case(job, NONE)
    problem = control_problem(usual)
    if not problem:
        # Twice, for what it prints may differ each time.
        again = await run_case(job, NONE)
        problem = control_problem(again)
    era = era_in(usual)
    wanted = tuple(specs) or fitting(BATTERY, job.transport, era or job.era or "legacy")
    command = shlex.join(job.command)
    if problem:
        rows = tuple(unknown(spec, "the control run failed") for spec in wanted)
        note = f"the control run failed, so that nothing can be said of any fault: {problem}"
        return Profile(command, job.transport, era, unknown("", problem), rows, (note,))
    comparable = usual.stdout == again.stdout
    rows = await _all(job, wanted, usual, comparable, parallel, say)
    notes = () if comparable else ("it prints something else each time: what it prints is not compared",)
    return Profile(command, job.transport, era, conduct_of("", usual, usual), rows, notes)


async def _all(
    job: Job, specs: Sequence[str], control: Run, comparable: bool, parallel: int, say: Say
) -> tuple[Conduct, ...]:
    gate = asyncio.Semaphore(parallel)
    done = 0

    async def one(spec: str) -> Conduct:
        nonlocal done
        async with gate:
            conduct = conduct_of(spec, await run_case(job, spec), control, comparable=comparable)
        done += 1
        say(done, len(specs), conduct)
        return conduct

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(spec)) for spec in specs]
    return tuple(task.result() for task in tasks)
