"""External agents: a program that runs in real time with its servers behind gateways.

Each server of the test gets a gateway on loopback that injects the faults of the test. The program finds
them, and its task, in its environment:

    FAULT_MCP_CONFIG         a file with `mcpServers`, each with the URL of its gateway
    FAULT_MCP_STDIO_CONFIG   the same for clients that only start commands
    FAULT_MCP_URL_<NAME>     the URL of one server, its name in capitals and with _ for other characters
    FAULT_PROMPT             the task, which is on its stdin as well
    FAULT_SYSTEM_PROMPT, FAULT_SEED
    FAULT_LLM_URL            a mock of its model, if the test has one; also OPENAI_BASE_URL and its like

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

from faultkit.agents.execute.connected_servers import listed_tools
from faultkit.agents.execute.program_model import (
    ModelObserver,
    ProgramModel,
    program_model,
)
from faultkit.agents.execute.upstreams import check_command_in, listen, open_upstream
from faultkit.agents.execute.wire_observer import WireObserver
from faultkit.agents.recovery.trace import FinalReply, RunEnding, Trace
from faultkit.agents.suite.agent_interface import AgentAnswer, AgentTask, BudgetExceeded, BudgetUse, RunBudget
from faultkit.agents.suite.definition import CommandAgent, SuiteServer
from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.errors import TargetError
from faultkit.base.external_program import Program, inherited_environment
from faultkit.base.text import untrusted_line
from faultkit.faults.call_fault import ERAS
from faultkit.llm.profile.client_environment import removed_variables, variables_for
from faultkit.mcp.gateway.gateway_service import GatewayService
from faultkit.mcp.injector import Injector, check_plan
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.plan import Plan

_LONGEST_VARIABLE = 100_000
"""Bytes. A longer prompt is on stdin only, because operating systems limit the size of a variable."""
_LISTING_S = 4.0
"""Longest time for the list of a server's tools after the run, within the extra time of a program's test."""
_UNLISTED = "the agent called tools that it did not list, so each of these calls counts as an effect"
_NO_PROXY_VARIABLES = ("NO_PROXY", "no_proxy")


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """The trace of a program's run."""

    trace: Trace
    problem: str = ""
    """Why there is no final reply: the program hung or failed."""
    is_cut: bool = False
    """The program was ended at a limit (--timeout) that is not one of the test's budgets."""
    notes: tuple[str, ...] = ()
    """Remarks on servers that failed by themselves."""


async def run_program(
    agent: CommandAgent,
    task: AgentTask,
    servers: Sequence[SuiteServer],
    plan: Plan,
    budget: RunBudget,
    *,
    limit_s: float,
    model: ProgramModel | None = None,
) -> ProgramRun:
    """Run a program until it exits, at most for `limit_s` or the budget's time.

    Raises InputError for a fault that cannot act on a gateway over HTTP, TargetError if the program cannot be
    started.
    """
    check_command_in(agent.argv[0], agent.cwd)
    run = _ProgramRunner(budget)
    budget_s = None if budget.time_ms is None else budget.time_ms / 1000
    has_budget_first = budget_s is not None and budget_s <= limit_s
    limit_s = limit_s if budget_s is None else min(limit_s, budget_s)
    async with AsyncExitStack() as stack:
        urls = {
            server.name: await stack.enter_async_context(run.gateway_for(server, plan)) for server in servers
        }
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="faultkit-"))
        program = Program(run.now_ms)
        stack.push_async_callback(program.stop)
        env = {**inherited_environment(), **agent.env, **_environment(task, urls, Path(folder))}
        if model is not None:
            url = await run.serve_model(model, stack)
            env = {name: value for name, value in env.items() if name not in removed_variables()}
            env |= variables_for(url)
        run.begin()
        await program.start(agent.argv, task.prompt, env, agent.cwd)
        ending, problem = await run.wait_for_end(program, limit_s)
        if program.exit_code is None:
            await program.stop()
        await run.learn_tools()
        result = run.result(program, ending, problem)
        if ending != "time" or has_budget_first:
            return result
        return replace(result, problem=f"{problem} (--timeout)", is_cut=True)


class _ProgramRunner:
    """The clock, the gateways and the budget of one run of a program."""

    def __init__(self, budget: RunBudget) -> None:
        self._loop = asyncio.get_running_loop()
        self._began_s = self._loop.time()
        self._budget_use = BudgetUse(budget)
        self._exceeded: asyncio.Future[RunEnding] = self._loop.create_future()
        """Resolved with the limit that a call exceeded."""
        self._observers: list[WireObserver] = []
        self._servers: list[SuiteServer] = []
        """The server of each observer."""
        self._model: ModelObserver | None = None
        self._notes: list[str] = []

    def begin(self) -> None:
        """Set the time to 0."""
        self._began_s = self._loop.time()

    def now_ms(self) -> float:
        """Return the milliseconds since `begin`."""
        return (self._loop.time() - self._began_s) * 1000

    @asynccontextmanager
    async def gateway_for(self, server: SuiteServer, plan: Plan) -> AsyncIterator[str]:
        """Open a gateway in front of a server and yield its URL."""
        rules = [rule for rule in plan.rules if fnmatchcase(server.name, rule.match.server or "*")]
        check_plan(Plan(tuple(rules), plan.seed), "http", ERAS)
        observer = WireObserver(server.name, self.now_ms, self._count_call)
        self._observers.append(observer)
        self._servers.append(server)
        async with open_upstream(server) as connect:

            def lost(session: Session, why: str, code: int | None) -> None:
                self._notes.append(f"{server.name}: {why}")
                observer.lost(session.id)
                front.forget(session)

            gateway = GatewayService(
                connect,
                Injector(Plan(tuple(rules), plan.seed), server.name),
                server=server.name,
                observer=observer,
                elapsed=lambda: self.now_ms() / 1000,
                on_lost=lost,
                warn=lambda text: self._notes.append(f"{server.name}: {text}"),
            )
            front = HttpFront(gateway, hosts=LOOPBACK_NAMES, admit=observer.admit)
            try:
                async with listen(front) as url:
                    yield url
            finally:
                await gateway.stop(urgent=True)

    async def serve_model(self, model: ProgramModel, stack: AsyncExitStack) -> str:
        """Serve the mock of the program's model until the stack closes; return its URL."""
        url, self._model = await stack.enter_async_context(program_model(model, self.now_ms))
        return url

    async def wait_for_end(self, program: Program, limit_s: float) -> tuple[RunEnding, str]:
        """Wait until the program exits, exceeds its budget or its time. Return which, and the problem."""
        ended = self._loop.create_task(program.ended())
        try:
            events: list[asyncio.Future[Any]] = [ended, self._exceeded]
            await asyncio.wait(events, timeout=limit_s, return_when="FIRST_COMPLETED")
        finally:
            ended.cancel()
        if self._exceeded.done():
            return self._exceeded.result(), f"the budget of {self._exceeded.result()} was used up"
        if not ended.done():
            return "time", f"the agent did not end within {limit_s:g} s"
        if program.exit_code != 0:
            return "error", _describe_exit(program)
        return "reply", ""

    async def learn_tools(self) -> None:
        """Ask the servers for the tools that the program called without listing them: only the list says
        which calls read."""
        for server, observer in zip(self._servers, self._observers, strict=True):
            if observer.lacks_tools:
                try:
                    observer.know(await listed_tools(server, _LISTING_S))
                except TargetError as error:
                    self._notes.append(f"{_UNLISTED}: {error}")

    def result(self, program: Program, ending: RunEnding, problem: str) -> ProgramRun:
        """Return the trace of the run, with the calls that the gateways observed."""
        reply = None
        if ending == "reply":
            answer = answer_in(program.stdout)
            at_ms = program.last_output_ms if answer.text else self.now_ms()
            reply = FinalReply(answer.text, at_ms, answer.claims_success)
        reply_ms = None if reply is None else reply.at_ms
        calls = [call for observer in self._observers for call in observer.traced_calls(reply_ms)]
        requests, elsewhere = ([], []) if self._model is None else self._model.calls()
        calls += requests
        overruns = tuple(self._budget_use.overruns)
        if ending == "time":
            overruns = (*overruns, "time")
        ordered = tuple(sorted(calls, key=lambda call: call.start_ms))
        elsewhere += [name for observer in self._observers for name in observer.met_elsewhere]
        trace = Trace(ordered, reply, ending, None, overruns, tuple(elsewhere))
        return ProgramRun(trace, problem, notes=tuple(self._notes))

    def _count_call(self) -> None:
        try:
            self._budget_use.spend(calls=1)
        except BudgetExceeded as exceeded:
            if not self._exceeded.done():
                self._exceeded.set_result(exceeded.ending)


def answer_in(stdout: str) -> AgentAnswer:
    """Return the answer in the output of a program."""
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


def _environment(task: AgentTask, urls: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Write the config files of the program, and return the variables for its environment."""
    by_url = {name: {"type": "http", "url": url} for name, url in urls.items()}
    by_command = {
        name: {
            "command": sys.executable,
            "args": ["-m", "faultkit", "gateway", "--upstream", url, "--front", "stdio"],
        }
        for name, url in urls.items()
    }
    variables = {
        "FAULT_MCP_CONFIG": _write_config(folder / "mcp.json", by_url),
        "FAULT_MCP_STDIO_CONFIG": _write_config(folder / "mcp-stdio.json", by_command),
        "FAULT_SYSTEM_PROMPT": task.system_prompt,
        "FAULT_SEED": str(task.seed),
    }
    if len(task.prompt.encode("utf-8", "replace")) <= _LONGEST_VARIABLE:
        variables["FAULT_PROMPT"] = task.prompt
    for name, url in urls.items():
        variables[f"FAULT_MCP_URL_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"] = url
    # A proxy that the user set cannot reach the loopback interface of this machine.
    for variable in _NO_PROXY_VARIABLES:
        variables[variable] = ",".join(
            part for part in (os.environ.get(variable, ""), *LOOPBACK_NAMES) if part
        )
    return variables


def _write_config(path: Path, servers: Mapping[str, Mapping[str, object]]) -> str:
    path.write_text(json.dumps({"mcpServers": servers}, indent=2) + "\n", "utf-8")
    return str(path)


def _describe_exit(program: Program) -> str:
    code = program.exit_code
    how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
    lines = [line for line in program.stderr.splitlines() if line.strip()]
    return f"the agent {how}" + (f": {untrusted_line(lines[-1])}" if lines else "")
