"""A toolbox in real or scaled time: live servers behind gateways that inject the faults.

    agent -> RealToolbox -> McpClient -> GatewayService (faults, WireObserver) -> upstream -> server

The client is an ordinary MCP client, so a fault acts on real messages, and the call is cancelled on the wire
when the caller's patience ends. Programs and mocks are reached over stdio (`MemoryStdio`: inside one process
no pipe is needed), servers with a URL over HTTP, so that a fault means the same as in virtual time.

A call has two descriptions. The toolbox knows what the caller received and when; only the gateway knows which
fault acted and what the server did. `RealToolbox.calls` joins the two by the position of the call among the
calls to its server, because ids on the wire belong to the client.

Times are those of the suite: on a clock that is ten times as fast, 300 ms of waiting are 3000 ms. Every wait
of a fault is divided by the scale (`ScaledInjector`), every measured time is multiplied by it
(`SuiteClock`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from faultkit.agents.execute.agent_model import AgentModel, InnerModel, served_model
from faultkit.agents.execute.observed_outcome import outcome_of_reply, timeout_outcome
from faultkit.agents.execute.upstreams import MemoryStdio, listen, open_upstream
from faultkit.agents.execute.virtual_toolbox import USUAL_PATIENCE_MS, refusal_of
from faultkit.agents.execute.wire_observer import WireObserver
from faultkit.agents.kinds.script_model import ModelSpec
from faultkit.agents.recovery.trace import TracedCall
from faultkit.agents.suite.agent_interface import BudgetUse, ModelOutcome, RunBudget, ToolInfo, ToolOutcome
from faultkit.agents.suite.definition import SuiteServer, UrlServer
from faultkit.base.address import LOOPBACK_NAMES
from faultkit.base.errors import TargetError
from faultkit.faults.call_fault import Call, Drip, Frame, KeepAlive, Message, Verdict
from faultkit.llm.conversation import Conversation
from faultkit.mcp.gateway.gateway_service import GatewayService
from faultkit.mcp.injector import Injector, OnInjection
from faultkit.mcp.interpreter import MOST_OVERTAKEN_S
from faultkit.mcp.mcp_client import McpClient, ServerAddress
from faultkit.mcp.upstreams.upstream import UPSTREAM_FAILED, Upstream, UpstreamListener
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.plan import Plan, Rule

_LOST = ToolOutcome("lost", "the connection was closed before the answer")
_UPSTREAM_MESSAGES = ("the upstream's ", "cannot reach ")


class SuiteClock:
    """The clock of a suite: real time, multiplied by `scale`."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self._loop = asyncio.get_running_loop()
        self.begin()

    def begin(self) -> None:
        """Set the time to 0."""
        self._began_s = self._loop.time()

    def now_ms(self) -> float:
        """Return the milliseconds of the suite since `begin`."""
        return (self._loop.time() - self._began_s) * 1000 * self.scale

    def real_s(self, ms: float) -> float:
        """Return how many real seconds a duration of the suite takes."""
        return ms / 1000 / self.scale


OpenModel: TypeAlias = Callable[[SuiteClock], AbstractAsyncContextManager[AgentModel]]
"""Opens the model of a run on the clock of the suite."""


class RealServer:
    """A server behind its gateway, and the client in front of it."""

    def __init__(self, name: str, observer: WireObserver, open_client: Callable[[], McpClient]) -> None:
        self.name = name
        self.observer = observer
        self.exit_reason = ""
        """Why the server exited without a fault; empty while it runs."""
        self._open_client = open_client
        self._client: McpClient | None = None

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        """Call a tool. Raises TargetError if the server exited or cannot be reached again."""
        return await (await self.connected()).call(tool, arguments)

    async def connected(self) -> McpClient:
        """Return a connected client. Opens a lost connection again, as any client would."""
        if self._client is not None and self._client.is_gone:
            await self.close()
        if self._client is None:
            client = self._open_client()
            self._client = await client.__aenter__()
        return self._client

    async def close(self) -> None:
        """Close the client."""
        if self._client is not None:
            client, self._client = self._client, None
            with suppress(TargetError):
                await client.__aexit__(None, None, None)


@dataclass(slots=True)
class _CallerView:
    """A call as its caller observed it."""

    call: TracedCall
    server: RealServer | None = None
    """None: the call was refused and not sent, or it is a request to the model."""
    position: int = 0
    """Number of earlier calls to the server."""


class RealToolbox:
    """The toolbox of one run in real or scaled time."""

    def __init__(
        self,
        servers: Sequence[RealServer],
        tools: Sequence[ToolInfo],
        budget: RunBudget,
        clock: SuiteClock,
        patience_ms: float = USUAL_PATIENCE_MS,
        model: AgentModel | None = None,
    ) -> None:
        by_name = {server.name: server for server in servers}
        # If two servers have a tool of the same name, that of the first server is called.
        self._tools = {info.name: (by_name[info.server], info) for info in reversed(tools)}
        self._clock = clock
        self._patience_ms = patience_ms
        self._model = model
        self.met_elsewhere: list[str] = []
        """Faults that acted beside the one that the trace names."""
        self._caller_views: list[_CallerView] = []
        self.tools: Sequence[ToolInfo] = tools
        self.budget_use = BudgetUse(budget)

    @property
    def calls(self) -> list[TracedCall]:
        """The calls as the caller observed them, with the faults and effects that only the wire shows."""
        return [_with_wire_facts(view) for view in self._caller_views]

    def now_ms(self) -> float:
        return self._clock.now_ms()

    async def sleep(self, ms: float) -> None:
        """Wait, at most until the time budget is used up, which then raises BudgetExceeded."""
        now_ms, limit_ms = self.now_ms(), self.budget_use.budget.time_ms
        until_ms = now_ms + max(0.0, ms)
        end_ms = until_ms if limit_ms is None else min(until_ms, limit_ms)
        await asyncio.sleep(self._clock.real_s(max(0.0, end_ms - now_ms)))
        self.budget_use.check_time(max(until_ms, self.now_ms()))

    def spend(self, *, turns: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        self.budget_use.spend(turns=turns, tokens=tokens, money=money)

    def refuse(self, name: str, arguments: Mapping[str, Any], problem: str) -> ToolOutcome:
        self.budget_use.spend(calls=1)
        outcome, call = refusal_of(name, arguments, problem, self.now_ms())
        self._caller_views.append(_CallerView(call))
        return outcome

    @property
    def has_model(self) -> bool:
        return self._model is not None

    async def ask(self, conversation: Conversation) -> ModelOutcome:
        assert self._model is not None
        asked = await self._model.ask(conversation, self.now_ms(), self._patience_ms)
        # An answer that was made in this process has its time, and has not taken it yet.
        await asyncio.sleep(self._clock.real_s(max(0.0, (asked.call.end_ms or 0.0) - self.now_ms())))
        self._caller_views.append(_CallerView(asked.call))
        self.met_elsewhere += asked.others
        self.budget_use.check_time(self.now_ms())
        return asked.outcome

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        if name not in self._tools:
            return self.refuse(name, arguments, f"unknown tool `{name}`; there are: {', '.join(self._tools)}")
        self.budget_use.spend(calls=1)
        server, info = self._tools[name]
        position = len(server.observer.traced_calls(None))
        start_ms = self.now_ms()
        outcome = await self._ask(server, name, arguments)
        end_ms = self.now_ms()
        if outcome.outcome == "timeout":
            # When the timer was due. A busy machine fires it later, which must not change the trace.
            end_ms = start_ms + self._patience_ms
        call = TracedCall(
            name,
            start_ms,
            end_ms,
            outcome.outcome,
            arguments,
            server=server.name,
            retry_after_ms=outcome.retry_after_ms,
            is_read=info.read_only,
        )
        self._caller_views.append(_CallerView(call, server, position))
        if server.exit_reason:
            # As in virtual time: a run whose server exited has no verdict.
            raise TargetError(server.exit_reason)
        self.budget_use.check_time(self.now_ms())
        return outcome

    async def _ask(self, server: RealServer, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        try:
            async with asyncio.timeout(self._clock.real_s(self._patience_ms)):
                return outcome_for_agent(await server.call(name, arguments))
        except TimeoutError:
            return timeout_outcome(name, self._patience_ms)
        except TargetError:
            return _LOST


def outcome_for_agent(reply: Message) -> ToolOutcome:
    """Return the outcome as an agent sees it.

    The HTTP upstream reports HTTP errors and lost connections as JSON-RPC errors of its own. They are turned
    back into the HTTP status or the lost connection that any other client would see.
    """
    outcome = outcome_of_reply(reply)
    error = reply.get("error")
    if not isinstance(error, Mapping) or error.get("code") != UPSTREAM_FAILED:
        return outcome
    data, text = error.get("data"), str(error.get("message"))
    status = data.get("status") if isinstance(data, Mapping) else None
    if isinstance(status, int):
        return replace(outcome, text=f"HTTP {status}", error_code=status)
    return _LOST if text.startswith(_UPSTREAM_MESSAGES) else outcome


def _with_wire_facts(view: _CallerView) -> TracedCall:
    """Return a call with the fault and the effect that the gateway observed."""
    call = view.call
    wire_calls = [] if view.server is None else view.server.observer.traced_calls(None)
    if len(wire_calls) <= view.position:
        # The call never reached the gateway, because a frozen session reads nothing. It failed by the fault
        # that froze the session.
        frozen = next((wire_call for wire_call in reversed(wire_calls) if wire_call.permanent), None)
        if frozen is None or call.outcome != "timeout":
            return call
        return replace(call, fault=frozen.fault, permanent=True)
    wire_call = wire_calls[view.position]
    return replace(
        call,
        fault=wire_call.fault,
        permanent=wire_call.permanent,
        invalid=wire_call.invalid,
        effect="" if call.is_read else wire_call.effect,
        canaries=wire_call.canaries,
        misleading=wire_call.misleading,
        is_traceable=wire_call.is_traceable,
    )


@asynccontextmanager
async def real_toolbox(
    servers: Sequence[SuiteServer],
    tools: Sequence[ToolInfo],
    plan: Plan,
    budget: RunBudget,
    patience_ms: float,
    scale: float,
    model: OpenModel | None = None,
) -> AsyncIterator[RealToolbox]:
    """Open a toolbox on live servers. Its clock starts when all servers are connected.

    Raises TargetError if a server cannot be reached.
    """
    clock = SuiteClock(scale)
    async with AsyncExitStack() as stack:
        live = [await stack.enter_async_context(_open_server(server, plan, clock)) for server in servers]
        for each in live:
            each.observer.know(info for info in tools if info.server == each.name)
            await each.connected()
        opened = None if model is None else await stack.enter_async_context(model(clock))
        clock.begin()
        yield RealToolbox(live, tools, budget, clock, patience_ms, opened)


@asynccontextmanager
async def real_model(spec: ModelSpec, plan: Plan, clock: SuiteClock) -> AsyncIterator[AgentModel]:
    """Open the model of a run: a mock is served on loopback, others are asked from this process."""
    if spec.answers is None:
        yield InnerModel(spec, plan)
        return
    async with served_model(spec, plan, clock.now_ms, clock.scale) as served:
        yield served


@asynccontextmanager
async def _open_server(server: SuiteServer, plan: Plan, clock: SuiteClock) -> AsyncIterator[RealServer]:
    """Open a gateway in front of a server, and yield the server with a client of that gateway."""
    rules = tuple(rule for rule in plan.rules if fnmatchcase(server.name, rule.match.server or "*"))
    observer = WireObserver(server.name, clock.now_ms)
    connections: dict[str, MemoryStdio] = {}
    async with AsyncExitStack() as stack:
        connect = await stack.enter_async_context(open_upstream(server))

        def lost(session: Session, why: str, code: int | None) -> None:
            observer.lost(session.id)
            real.exit_reason = real.exit_reason or f"{server.name}: {why}"
            if front is not None:
                front.forget(session)
            elif session.id in connections:
                connections[session.id].hang_up()

        gateway = GatewayService(
            connect,
            ScaledInjector(Plan(rules, plan.seed), server.name, scale=clock.scale),
            server=server.name,
            observer=observer,
            # The scaled injector converts real seconds to those of the suite.
            elapsed=lambda: clock.now_ms() / 1000 / clock.scale,
            on_lost=lost,
        )
        stack.push_async_callback(gateway.stop, urgent=True)
        front: HttpFront | None = None
        url = ""
        if isinstance(server.serving, UrlServer):
            front = HttpFront(gateway, hosts=LOOPBACK_NAMES, admit=observer.admit)
            url = await stack.enter_async_context(listen(front))

        def connect_in_memory(listener: UpstreamListener) -> Upstream:
            id = f"stdio-{len(connections) + 1}"
            connections[id] = MemoryStdio(lambda: gateway, id, listener)
            return connections[id]

        def open_client() -> McpClient:
            if url:
                return McpClient(ServerAddress(url=url))
            return McpClient(ServerAddress((server.name,)), connect=connect_in_memory)

        real = RealServer(server.name, observer, open_client)
        stack.push_async_callback(real.close)
        yield real


class ScaledInjector(Injector):
    """An injector whose faults wait `scale` times as briefly as the plan says."""

    def __init__(
        self, plan: Plan, server: str = "", on_injection: OnInjection | None = None, *, scale: float
    ) -> None:
        """Create an injector. `scale` is the number of seconds of the plan per real second."""
        super().__init__(plan, server, on_injection)
        self._scale = scale

    def decide(self, call: Call, now_s: float) -> tuple[Rule, Verdict] | None:
        """Decide by the plan at the suite's time, and scale the waits. `now_s` is in real seconds."""
        decision = super().decide(call, now_s * self._scale)
        return None if decision is None else (decision[0], scaled_verdict(decision[1], self._scale))


def scaled_verdict(verdict: Verdict, scale: float) -> Verdict:
    """Return a verdict with all its waits divided by `scale`."""
    rewrite = verdict.frames
    if verdict.overtaken_by:
        verdict = replace(verdict, overtaken_for_s=MOST_OVERTAKEN_S / scale)
    if rewrite is None:
        return replace(verdict, delay_s=verdict.delay_s / scale)

    def frames(reply: Message | None) -> tuple[Frame, ...]:
        return tuple(_scaled_frame(frame, scale) for frame in rewrite(reply))

    return replace(verdict, delay_s=verdict.delay_s / scale, frames=frames)


def _scaled_frame(frame: Frame, scale: float) -> Frame:
    sooner: Frame = replace(frame, after_s=frame.after_s / scale)
    if isinstance(sooner, Drip):
        return replace(sooner, every_s=sooner.every_s / scale)
    if isinstance(sooner, KeepAlive):
        return replace(sooner, every_s=sooner.every_s / scale, for_s=sooner.for_s / scale)
    return sooner
