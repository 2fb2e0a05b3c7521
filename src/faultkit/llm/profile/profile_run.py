"""Profiles of LLM clients: the client is run twice without a fault, then once for each case of the battery.

Each run has a mock of its own on loopback. The client leads a process group, which is ended at the time
limit and whenever the profile ends.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from faultkit.base.client_program import ClientProgram, argv_of
from faultkit.base.errors import InputError
from faultkit.base.external_program import check_program
from faultkit.base.tasks import work_on_each
from faultkit.base.text import counted
from faultkit.llm.mock.mock_answers import ScriptedTurn
from faultkit.llm.profile.cases import Case, battery, chosen, dialect_name, traffic_of
from faultkit.llm.profile.client_environment import URL_SIGN, environment_for
from faultkit.llm.profile.evidence import ClientRun, words_of
from faultkit.llm.profile.judging import CaseResult, control_problem, judge, unmet_result
from faultkit.llm.profile.recording import CaseServer, Recorder, answers_of
from faultkit.plan import Plan

_START_S = 60.0
"""How long a client may take to its first request."""
_SETTLE_S = 1.0
"""How long what ends with the client may take to end."""
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class LlmProfileJob:
    """The client and the settings that all runs of a profile have in common."""

    command: tuple[str, ...]
    dialect: str = ""
    """The name of the dialect on the command line; empty for any."""
    only: tuple[str, ...] = ()
    """Names of cases or faults; empty for all that fit."""
    turns: tuple[ScriptedTurn, ...] = ()
    seed: int | str = 0
    limit_s: float = 15.0


@dataclass(frozen=True, slots=True)
class LlmProfile:
    """The behaviour of one client in all cases."""

    command: str
    dialect: str
    """The dialect that the client speaks, by its name on the command line; empty if it sent nothing."""
    is_streamed: bool
    limit_s: float
    seed: int | str
    rows: tuple[CaseResult, ...] = ()
    problem: str = ""
    """Why the control run cannot be compared with."""
    notes: tuple[str, ...] = ()
    is_whole: bool = True
    """False if it was interrupted before all cases were finished."""

    @property
    def has_defects(self) -> bool:
        """True if the client did something wrong in a case."""
        return any(row.verdict == "defect" for row in self.rows)

    @property
    def is_conclusive(self) -> bool:
        """True if every case was judged."""
        return (
            self.is_whole
            and not self.problem
            and all(row.verdict in ("coped", "defect") for row in self.rows)
        )


OnRow = Callable[[int, int, CaseResult], None]
"""The number of the row, the number of all rows, and the row."""


def check_job(job: LlmProfileJob) -> None:
    """Raise InputError or TargetError for a job that cannot work, before anything is started."""
    if not job.command:
        raise InputError("", "expected the command of the client after --, got none")
    chosen(battery(job.limit_s), job.only)
    check_program(job.command[0])


async def run_client(job: LlmProfileJob, plan: Plan) -> ClientRun:
    """Run the client with a plan, from its first request for no longer than the time limit.

    Raises TargetError if the client cannot be started."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()

    def now_ms() -> float:
        return round((loop.time() - began_s) * 1000, 1)

    program = ClientProgram(now_ms)
    recorder = Recorder(now_ms, lambda: program.stdout)
    server = CaseServer(answers_of(job.turns, job.seed), plan, recorder)
    try:
        url = await server.start()
        began_s = loop.time()
        await program.start(argv_of(job.command, {URL_SIGN: [url]}), "", environment_for(url), None)
        has_ended = await _ends_in_time(program, recorder, job.limit_s)
        requests = recorder.requests
        elapsed_ms = now_ms() - (requests[0].at_ms if requests else 0.0)
        left_open = 0
        if has_ended:
            left_open = await _left_open(recorder)
            await program.ended()
        return ClientRun(
            requests,
            program.exit_code if has_ended else None,
            program.stdout,
            program.stderr,
            elapsed_ms,
            left_open,
        )
    finally:
        await program.stop()
        await server.stop()


async def _ends_in_time(program: ClientProgram, recorder: Recorder, limit_s: float) -> bool:
    """Return whether the client ends within its limit, which begins with its first request: how long a
    program takes to start says nothing about how it copes."""
    exited = asyncio.ensure_future(program.exited())
    asked = asyncio.ensure_future(recorder.asked.wait())
    try:
        await asyncio.wait((exited, asked), timeout=_START_S, return_when=asyncio.FIRST_COMPLETED)
        if asked.done() and not exited.done():
            await asyncio.wait((exited,), timeout=limit_s)
        return exited.done()
    finally:
        exited.cancel()
        asked.cancel()


async def _left_open(recorder: Recorder) -> int:
    """Return how many answers are still open after a while; returns at once when none is."""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + _SETTLE_S
    while True:
        count = recorder.open_count
        if not count or loop.time() >= until_s:
            return count
        await asyncio.sleep(_POLL_S)


async def profile_llm_client(
    job: LlmProfileJob,
    *,
    jobs: int = 4,
    on_row: OnRow = lambda number, of, row: None,
    on_interrupt: Callable[[LlmProfile], None] = lambda profile: None,
) -> LlmProfile:
    """Profile the client. Raises TargetError if it cannot be started. If it is cancelled while cases run,
    `on_interrupt` is called with those that are finished."""
    check_job(job)
    cases = chosen(battery(job.limit_s), job.only)
    control = await run_client(job, Plan())
    problem = control_problem(control, job.dialect)
    is_comparable = True
    if not problem:
        # Run it twice, because its output may differ each time.
        again = await run_client(job, Plan())
        problem = control_problem(again)
        is_comparable = words_of(again.stdout) == words_of(control.stdout)
    dialect = dialect_name(control.requests[0].dialect) if control.requests else ""
    is_streamed = any(request.is_streamed for request in control.requests)
    profile = LlmProfile(shlex.join(job.command), dialect, is_streamed, job.limit_s, job.seed)
    notes = []
    if problem:
        why = "the control run failed"
        rows = tuple(CaseResult(case.name, "inconclusive", why) for case in cases)
        notes.append(f"the control run failed, so no case can be judged: {problem}")
        return replace(profile, rows=rows, problem=problem, notes=tuple(notes))
    traffic = traffic_of(control)
    unmet = [case.name for case in cases if not traffic.meets(case)]
    if unmet and not job.only:
        cases = tuple(case for case in cases if traffic.meets(case))
        notes.append(f"left out, because nothing that the client does meets them: {', '.join(unmet)}")
    if not is_comparable:
        notes.append("the client prints something else each time, so its output is not compared")
    done: dict[str, CaseResult] = {}

    def note(number: int, of: int, row: CaseResult) -> None:
        done[row.case] = row
        on_row(number, of, row)

    try:
        rows = await _run_cases(job, cases, control, is_comparable, jobs, note)
    except asyncio.CancelledError:
        finished = tuple(done[case.name] for case in cases if case.name in done)
        notes.append(f"interrupted: {len(finished)} of {counted(len(cases), 'case')} finished")
        on_interrupt(replace(profile, rows=finished, notes=tuple(notes), is_whole=False))
        raise
    return replace(profile, rows=rows, notes=tuple(notes))


async def _run_cases(
    job: LlmProfileJob,
    cases: Sequence[Case],
    control: ClientRun,
    is_comparable: bool,
    jobs: int,
    on_row: OnRow,
) -> tuple[CaseResult, ...]:
    async def one(case: Case) -> CaseResult:
        if not traffic_of(control).meets(case):
            return unmet_result(case)
        run = await run_client(job, case.plan(job.seed))
        return judge(case, run, control, is_comparable=is_comparable)

    return await work_on_each(cases, one, jobs, on_row)
