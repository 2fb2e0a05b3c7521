"""Tools in real or scaled time: live servers behind a gateway with the faults in it, and a client that waits.

A call that is not answered within the caller's patience is called off on the wire. Servers on pipes and mocks
are spoken to as over stdio, others over HTTP, so that a fault means the same as in virtual time. Times are
those of the suite: on a clock that runs ten times as fast, 300 ms of waiting are 3000 ms.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from faultkit.agents.execute.budget import Budget, Spent
from faultkit.agents.execute.line import StdioLine
from faultkit.agents.execute.scaled import ScaledInjector
from faultkit.agents.execute.seen import answered, timed_out
from faultkit.agents.execute.virtual import USUAL_PATIENCE_MS, refusal_of
from faultkit.agents.kinds.agent import ToolInfo, ToolOutcome
from faultkit.agents.kinds.behind import connecting, listening
from faultkit.agents.kinds.wire_marks import WireMarks
from faultkit.agents.model import SuiteServer, UrlServer
from faultkit.agents.recovery.trace import CallMark
from faultkit.base.errors import TargetError
from faultkit.base.http.listening import LOOPBACK
from faultkit.faults.call.call import Message
from faultkit.mcp.client import At, Client
from faultkit.mcp.gateway.link import UPSTREAM_FAILED
from faultkit.mcp.gateway.service import Gateway
from faultkit.mcp.upstreams.upstream import Listener, Upstream
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.front_http import HttpFront
from faultkit.plan import Plan

_LOST = ToolOutcome("lost", "the connection was closed before the answer")
_OF_OUR_CLIENT = ("the upstream's ", "cannot reach ")


class SuiteClock:
    """How late it is in the suite."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self._loop = asyncio.get_running_loop()
        self.begin()

    def begin(self) -> None:
        self._began_s = self._loop.time()

    def now_ms(self) -> float:
        return (self._loop.time() - self._began_s) * 1000 * self.scale

    def real_s(self, ms: float) -> float:
        return ms / 1000 / self.scale


class RealServer:
    """One server behind its gateway, and our client in front of that."""

    def __init__(self, name: str, marks: WireMarks, open_client: Callable[[], Client]) -> None:
        self.name = name
        self.marks = marks
        self.died = ""
        """Why it is gone though no fault sent it away; empty while it is well."""
        self._open = open_client
        self._client: Client | None = None

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        """TargetError: it has left, or cannot be had again."""
        return await (await self.connected()).call(tool, arguments)

    async def connected(self) -> Client:
        """A connection that was lost is made anew, as any client would."""
        if self._client is not None and self._client.is_gone:
            await self.close()
        if self._client is None:
            client = self._open()
            self._client = await client.__aenter__()
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            with suppress(TargetError):
                await client.__aexit__(None, None, None)


@dataclass(slots=True)
class _Made:
    """A call as its caller saw it, and which one of its server's it is on the wire."""

    mark: CallMark
    server: RealServer | None = None
    number: int = 0


class RealToolbox:
    def __init__(
        self,
        servers: Sequence[RealServer],
        tools: Sequence[ToolInfo],
        budget: Budget,
        clock: SuiteClock,
        patience_ms: float = USUAL_PATIENCE_MS,
    ) -> None:
        by_name = {server.name: server for server in servers}
        self._places = {info.name: (by_name[info.server], info) for info in reversed(tools)}
        self._clock = clock
        self._patience_ms = patience_ms
        self._made: list[_Made] = []
        self.tools: Sequence[ToolInfo] = tools
        self.spent = Spent(budget)

    @property
    def marks(self) -> list[CallMark]:
        """What the caller saw, with what only the wire knows: the fault that it was, and what was done."""
        return [_whole(made) for made in self._made]

    def now_ms(self) -> float:
        return self._clock.now_ms()

    async def sleep(self, ms: float) -> None:
        """No longer than until the budget of time is used up: nobody would come back from it."""
        now_ms, most_ms = self.now_ms(), self.spent.budget.time_ms
        until_ms = now_ms + max(0.0, ms)
        end_ms = until_ms if most_ms is None else min(until_ms, most_ms)
        await asyncio.sleep(self._clock.real_s(max(0.0, end_ms - now_ms)))
        self.spent.check_time(max(until_ms, self.now_ms()))

    def spend(self, *, turns: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        self.spent.take(turns=turns, tokens=tokens, money=money)

    def refuse(self, name: str, arguments: Mapping[str, Any], problem: str) -> ToolOutcome:
        self.spent.take(calls=1)
        outcome, mark = refusal_of(name, arguments, problem, self.now_ms())
        self._made.append(_Made(mark))
        return outcome

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        if name not in self._places:
            return self.refuse(
                name, arguments, f"unknown tool `{name}`; there are: {', '.join(self._places)}"
            )
        self.spent.take(calls=1)
        server, info = self._places[name]
        number = len(server.marks.marks(None))
        start_ms = self.now_ms()
        outcome = await self._ask(server, name, arguments)
        end_ms = self.now_ms()
        if outcome.outcome == "timeout":
            # The alarm was set to then; that the machine may ring it late is not the agent's doing.
            end_ms = start_ms + self._patience_ms
        mark = CallMark(
            name,
            start_ms,
            end_ms,
            outcome.outcome,
            arguments,
            server=server.name,
            retry_after_ms=outcome.retry_after_ms,
            is_read=info.read_only,
        )
        self._made.append(_Made(mark, server, number))
        if server.died:
            # As in virtual time: of a run that lost its server nothing can be said.
            raise TargetError(server.died)
        self.spent.check_time(self.now_ms())
        return outcome

    async def _ask(self, server: RealServer, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        try:
            async with asyncio.timeout(self._clock.real_s(self._patience_ms)):
                return heard(await server.call(name, arguments))
        except TimeoutError:
            return timed_out(name, self._patience_ms)
        except TargetError:
            return _LOST


def heard(reply: Message) -> ToolOutcome:
    """Our client tells of what happened to HTTP in the words of JSON-RPC: back to what an agent would see."""
    outcome = answered(reply)
    error = reply.get("error")
    if not isinstance(error, Mapping) or error.get("code") != UPSTREAM_FAILED:
        return outcome
    data, told = error.get("data"), str(error.get("message"))
    status = data.get("status") if isinstance(data, Mapping) else None
    if isinstance(status, int):
        return replace(outcome, text=f"HTTP {status}", error_code=status)
    return _LOST if told.startswith(_OF_OUR_CLIENT) else outcome


def _whole(made: _Made) -> CallMark:
    seen = made.mark
    wired = [] if made.server is None else made.server.marks.marks(None)
    if len(wired) <= made.number:
        # A session that is frozen takes nothing in any more: what froze it is to blame.
        frozen = next((mark for mark in reversed(wired) if mark.permanent), None)
        if frozen is None or seen.outcome != "timeout":
            return seen
        return replace(seen, fault=frozen.fault, permanent=True)
    wire = wired[made.number]
    return replace(
        seen,
        fault=wire.fault,
        permanent=wire.permanent,
        invalid=wire.invalid,
        effect="" if seen.is_read else wire.effect,
        canaries=wire.canaries,
    )


@asynccontextmanager
async def real_toolbox(
    servers: Sequence[SuiteServer],
    tools: Sequence[ToolInfo],
    plan: Plan,
    budget: Budget,
    patience_ms: float,
    scale: float,
) -> AsyncIterator[RealToolbox]:
    """TargetError if a server cannot be had. Its clock begins when all of them are there."""
    clock = SuiteClock(scale)
    async with AsyncExitStack() as stack:
        live = [await stack.enter_async_context(_live(server, plan, clock)) for server in servers]
        for each in live:
            await each.connected()
        clock.begin()
        yield RealToolbox(live, tools, budget, clock, patience_ms)


@asynccontextmanager
async def _live(server: SuiteServer, plan: Plan, clock: SuiteClock) -> AsyncIterator[RealServer]:
    rules = tuple(rule for rule in plan.rules if fnmatchcase(server.name, rule.match.server or "*"))
    marks = WireMarks(server.name, clock.now_ms)
    lines: dict[str, StdioLine] = {}
    async with AsyncExitStack() as stack:
        connect = await stack.enter_async_context(connecting(server))

        def lost(session: Session, why: str, code: int | None) -> None:
            marks.lost(session.id)
            real.died = real.died or f"{server.name}: {why}"
            if front is not None:
                front.forget(session)
            elif session.id in lines:
                lines[session.id].hang_up()

        gateway = Gateway(
            connect,
            ScaledInjector(Plan(rules, plan.seed), server.name, scale=clock.scale),
            server=server.name,
            recorder=marks,
            # The injector makes suite time of it.
            elapsed=lambda: clock.now_ms() / 1000 / clock.scale,
            lost=lost,
        )
        stack.push_async_callback(gateway.stop, urgent=True)
        front: HttpFront | None = None
        url = ""
        if isinstance(server.serving, UrlServer):
            front = HttpFront(gateway, hosts=LOOPBACK, admit=marks.admit)
            url = await stack.enter_async_context(listening(front))

        def line(listener: Listener) -> Upstream:
            id = f"stdio-{len(lines) + 1}"
            lines[id] = StdioLine(lambda: gateway, id, listener)
            return lines[id]

        def client() -> Client:
            return Client(At(url=url)) if url else Client(At((server.name,)), connect=line)

        real = RealServer(server.name, marks, client)
        stack.push_async_callback(real.close)
        yield real
