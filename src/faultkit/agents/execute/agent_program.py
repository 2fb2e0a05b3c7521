"""External agents: a program that runs in real time with its servers behind gateways.

Each server of the test gets a gateway on loopback that injects the faults of the test. The program finds
them, and its task, in its environment:

    FAULT_MCP_CONFIG         a file with `mcpServers`, each with the URL of its gateway
    FAULT_MCP_STDIO_CONFIG   the same for clients that only start commands
    FAULT_MCP_URL_<NAME>     the URL of one server, its name in capitals and with _ for other characters
    FAULT_PROMPT             the task, which is on its stdin as well
    FAULT_SYSTEM_PROMPT, FAULT_SEED

Its stdout is its final reply. If the last line is a JSON object with `reply`, then that member is the reply,
and `success` beside it is what the agent claims.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from faultkit.agents.execute.upstreams import check_command_in, listen, open_upstream
from faultkit.agents.execute.wire_marks import WireMarks
from faultkit.agents.recovery.trace import Ending, FinalReply, Trace
from faultkit.agents.suite.agent import AgentAnswer, BudgetUsedUp, Task
from faultkit.agents.suite.budget import BudgetUse, RunBudget
from faultkit.agents.suite.definition import CommandAgent, SuiteServer
from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.external_program import Program
from faultkit.base.text import untrusted_line
from faultkit.faults.call.call import ERAS
from faultkit.mcp.gateway.gateway_service import GatewayService
from faultkit.mcp.injector import Injector, check_plan
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.plan import Plan

_MOST_ENV = 100_000
"""A longer prompt is on stdin only: operating systems limit the size of one variable."""
_NO_PROXY = ("NO_PROXY", "no_proxy")


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """The trace of a program's run."""

    trace: Trace
    problem: str = ""
    """Why there is no final reply: the program hung or failed."""
    is_cut: bool = False
    """The program was ended at a limit that is not one of the test's budgets."""
    notes: tuple[str, ...] = ()
    """Remarks on servers that failed by themselves."""


async def run_program(
    agent: CommandAgent,
    task: Task,
    servers: Sequence[SuiteServer],
    plan: Plan,
    budget: RunBudget,
    *,
    limit_s: float,
) -> ProgramRun:
    """Run a program until it exits, at most for `limit_s` or the budget's time.

    Raises InputError for a fault that cannot act on a gateway over HTTP, TargetError if the program cannot be
    started.
    """
    check_command_in(agent.argv[0], agent.cwd)
    run = _Run(budget)
    own_s = None if budget.time_ms is None else budget.time_ms / 1000
    is_own = own_s is not None and own_s <= limit_s
    limit_s = limit_s if own_s is None else min(limit_s, own_s)
    async with AsyncExitStack() as stack:
        urls = {
            server.name: await stack.enter_async_context(run.gateway_for(server, plan)) for server in servers
        }
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="faultkit-"))
        program = Program(run.now_ms)
        stack.push_async_callback(program.stop)
        env = {**os.environ, **agent.env, **_environment(task, urls, Path(folder))}
        run.begin()
        await program.start(agent.argv, task.prompt, env, agent.cwd)
        ending, problem = await run.until_over(program, limit_s)
        done = run.result(program, ending, problem)
        if ending != "time" or is_own:
            return done
        return replace(done, problem=f"{problem} (--timeout)", is_cut=True)


class _Run:
    """One run: its clock, its calls, its budget."""

    def __init__(self, budget: RunBudget) -> None:
        self._loop = asyncio.get_running_loop()
        self._began_s = self._loop.time()
        self._spent = BudgetUse(budget)
        self._used_up: asyncio.Future[Ending] = self._loop.create_future()
        self._marks: list[WireMarks] = []
        self._notes: list[str] = []

    def begin(self) -> None:
        self._began_s = self._loop.time()

    def now_ms(self) -> float:
        return (self._loop.time() - self._began_s) * 1000

    @asynccontextmanager
    async def gateway_for(self, server: SuiteServer, plan: Plan) -> AsyncIterator[str]:
        """Open a gateway in front of a server and yield its URL."""
        rules = [rule for rule in plan.rules if fnmatchcase(server.name, rule.match.server or "*")]
        check_plan(Plan(tuple(rules), plan.seed), "http", ERAS)
        marks = WireMarks(server.name, self.now_ms, self._called)
        self._marks.append(marks)
        async with open_upstream(server) as connect:

            def lost(session: Session, why: str, code: int | None) -> None:
                self._notes.append(f"{server.name}: {why}")
                marks.lost(session.id)
                front.forget(session)

            gateway = GatewayService(
                connect,
                Injector(Plan(tuple(rules), plan.seed), server.name),
                server=server.name,
                recorder=marks,
                elapsed=lambda: self.now_ms() / 1000,
                lost=lost,
                note=lambda text: self._notes.append(f"{server.name}: {text}"),
            )
            front = HttpFront(gateway, hosts=LOOPBACK_NAMES, admit=marks.admit)
            try:
                async with listen(front) as url:
                    yield url
            finally:
                await gateway.stop(urgent=True)

    async def until_over(self, program: Program, limit_s: float) -> tuple[Ending, str]:
        ended = self._loop.create_task(program.ended())
        try:
            both: list[asyncio.Future[Any]] = [ended, self._used_up]
            await asyncio.wait(both, timeout=limit_s, return_when="FIRST_COMPLETED")
        finally:
            ended.cancel()
        if self._used_up.done():
            return self._used_up.result(), f"the budget of {self._used_up.result()} was used up"
        if not ended.done():
            return "time", f"the agent did not end within {limit_s:g} s"
        if program.exit_code != 0:
            return "error", _describe_exit(program)
        return "reply", ""

    def result(self, program: Program, ending: Ending, problem: str) -> ProgramRun:
        reply = None
        if ending == "reply":
            answer = answer_in(program.stdout)
            at_ms = program.last_said_ms if answer.text else self.now_ms()
            reply = FinalReply(answer.text, at_ms, answer.claims_success)
        known_ms = None if reply is None else reply.at_ms
        calls = [mark for marks in self._marks for mark in marks.marks(known_ms)]
        overruns = tuple(self._spent.overruns)
        if ending == "time":
            overruns = (*overruns, "time")
        ordered = tuple(sorted(calls, key=lambda mark: mark.start_ms))
        return ProgramRun(Trace(ordered, reply, ending, None, overruns), problem, notes=tuple(self._notes))

    def _called(self) -> None:
        try:
            self._spent.take(calls=1)
        except BudgetUsedUp as used_up:
            if not self._used_up.done():
                self._used_up.set_result(used_up.ending)


def answer_in(stdout: str) -> AgentAnswer:
    """Return the answer in a program's output."""
    text = stdout.strip()
    for piece in (text, text.rpartition("\n")[2]):
        try:
            value = json.loads(piece)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("reply"), str):
            success = value.get("success")
            return AgentAnswer(value["reply"], success if isinstance(success, bool) else None)
    return AgentAnswer(text)


def _environment(task: Task, urls: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the variables for the program's environment, and write its config files."""
    by_url = {name: {"type": "http", "url": url} for name, url in urls.items()}
    by_command = {
        name: {
            "command": sys.executable,
            "args": ["-m", "faultkit", "gateway", "--upstream", url, "--front", "stdio"],
        }
        for name, url in urls.items()
    }
    variables = {
        "FAULT_MCP_CONFIG": _config(folder / "mcp.json", by_url),
        "FAULT_MCP_STDIO_CONFIG": _config(folder / "mcp-stdio.json", by_command),
        "FAULT_SYSTEM_PROMPT": task.system_prompt,
        "FAULT_SEED": str(task.seed),
    }
    if len(task.prompt.encode("utf-8", "replace")) <= _MOST_ENV:
        variables["FAULT_PROMPT"] = task.prompt
    for name, url in urls.items():
        variables[f"FAULT_MCP_URL_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"] = url
    # A proxy that the user set cannot reach this machine's loopback.
    for variable in _NO_PROXY:
        variables[variable] = ",".join(
            part for part in (os.environ.get(variable, ""), *LOOPBACK_NAMES) if part
        )
    return variables


def _config(path: Path, servers: Mapping[str, Mapping[str, object]]) -> str:
    path.write_text(json.dumps({"mcpServers": servers}, indent=2) + "\n", "utf-8")
    return str(path)


def _describe_exit(program: Program) -> str:
    code = program.exit_code
    how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
    lines = [line for line in program.stderr.splitlines() if line.strip()]
    return f"the agent {how}" + (f": {untrusted_line(lines[-1])}" if lines else "")
