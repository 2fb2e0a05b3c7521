"""Profiles a client: two control runs first, then one run for each fault that fits, several at a time."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence

from faultkit.base.errors import InputError
from faultkit.base.external_program import check_program
from faultkit.faults.call.call import ERAS, Era
from faultkit.mcp.fault_specs import NONE
from faultkit.mcp.injector import check_plan
from faultkit.mcp.probe.clients.client_behaviour import (
    ClientBehaviour,
    ClientRun,
    Profile,
    behaviour_of,
    control_problem,
    era_in,
    inconclusive_behaviour,
)
from faultkit.mcp.probe.clients.client_run import SERVER, URL, ProfileJob, run_case
from faultkit.mcp.probe.clients.fault_battery import BATTERY, fitting, manifest_of, plan_of

OnRow = Callable[[int, int, ClientBehaviour], None]
"""The number of the row, the number of all rows, and the row."""


def check_job(job: ProfileJob, specs: Sequence[str]) -> None:
    """Raise InputError for a job that cannot work, before anything is started."""
    if not job.command:
        raise InputError("", "expected the command of the client after --, got none")
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
    job: ProfileJob,
    specs: Sequence[str] = (),
    *,
    parallel: int = 2,
    on_row: OnRow = lambda number, of, behaviour: None,
) -> Profile:
    """Profile the client; `specs` replace the battery. Raises TargetError if it cannot be started."""
    check_job(job, specs)
    usual = again = await run_case(job, NONE)
    problem = control_problem(usual)
    if not problem:
        # ClientRun it twice, because its output may differ each time.
        again = await run_case(job, NONE)
        problem = control_problem(again)
    era = era_in(usual)
    wanted = tuple(specs) or fitting(BATTERY, job.transport, era or job.era or "legacy")
    command = shlex.join(job.command)
    if problem:
        rows = tuple(inconclusive_behaviour(spec, "the control run failed") for spec in wanted)
        note = f"the control run failed, so no fault can be judged: {problem}"
        return Profile(command, job.transport, era, inconclusive_behaviour("", problem), rows, (note,))
    comparable = usual.stdout == again.stdout
    rows = await _all(job, wanted, usual, comparable, parallel, on_row)
    notes = (
        () if comparable else ("the client prints something else each time, so its output is not compared",)
    )
    return Profile(command, job.transport, era, behaviour_of("", usual, usual), rows, notes)


async def _all(
    job: ProfileJob, specs: Sequence[str], control: ClientRun, comparable: bool, parallel: int, on_row: OnRow
) -> tuple[ClientBehaviour, ...]:
    gate = asyncio.Semaphore(parallel)
    done = 0

    async def one(spec: str) -> ClientBehaviour:
        nonlocal done
        async with gate:
            behaviour = behaviour_of(spec, await run_case(job, spec), control, comparable=comparable)
        done += 1
        on_row(done, len(specs), behaviour)
        return behaviour

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(spec)) for spec in specs]
    return tuple(task.result() for task in tasks)
