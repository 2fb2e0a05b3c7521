"""The gateway as a service: each request is judged, and passed on, or its verdict is carried out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial

from faultkit.faults.call.call import Call, Frame, Verdict
from faultkit.mcp.carry import carry
from faultkit.mcp.gateway.link import Link
from faultkit.mcp.gateway.recording import Recorder
from faultkit.mcp.gateway.upstream import Connect
from faultkit.mcp.injector import Injector
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Incoming, target_of


class Gateway:
    """Stands between sessions and their servers. A server is started when its session says its first word."""

    def __init__(
        self,
        connect: Connect,
        injector: Injector,
        *,
        server: str = "",
        recorder: Recorder | None = None,
        lost: Callable[[Session, str, int | None], None] = lambda session, why, code: None,
    ) -> None:
        """`lost` is told when a session's server has left."""
        self._connect = connect
        self._injector = injector
        self._server = server
        self._recorder = recorder
        self._lost = lost
        self._links: dict[str, Link] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._began = asyncio.get_running_loop().time()

    async def stop(self) -> None:
        """No server is left."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        links, self._links = self._links, {}
        await asyncio.gather(*(link.stop() for link in links.values()))

    # Of Service.

    def opened(self, session: Session) -> None:
        pass

    def closed(self, session: Session) -> None:
        link = self._links.pop(session.id, None)
        if link is not None:
            self._spawn(link.stop())

    def request(self, exchange: Exchange) -> None:
        session, request = exchange.session, exchange.request
        if self._recorder is not None:
            self._recorder.message(session.id, "client", request)
        decided = self._injector.decide(self._call(exchange), self._now())
        if decided is None:
            self._link(session).pass_on(exchange)
            return
        rule, verdict = decided
        if self._recorder is not None:
            self._recorder.injected(session.id, rule, self._call(exchange), verdict)
        self._spawn(self._carry(verdict, exchange))

    def notification(self, session: Session, incoming: Incoming) -> None:
        self._tell(session, incoming)

    def response(self, session: Session, incoming: Incoming) -> None:
        self._tell(session, incoming)

    def _tell(self, session: Session, incoming: Incoming) -> None:
        if self._recorder is not None:
            self._recorder.message(session.id, "client", incoming)
        self._link(session).tell(incoming)

    async def _carry(self, verdict: Verdict, exchange: Exchange) -> None:
        sent = _unheard if self._recorder is None else partial(self._recorder.sent, exchange.session.id)
        await carry(verdict, exchange, lambda: self._link(exchange.session).ask(exchange), sent)

    def _call(self, exchange: Exchange) -> Call:
        request, session = exchange.request, exchange.session
        assert request.id is not None
        name = target_of(request.method, request.params)
        return Call(
            request.method, name, request.params, request.id, self._server, session.transport, session.era
        )

    def _link(self, session: Session) -> Link:
        link = self._links.get(session.id)
        if link is None:
            link = self._links[session.id] = Link(session, self._connect, self._hear, self._gone)
        return link

    def _hear(self, session: Session, incoming: Incoming) -> None:
        learn_tools(self._injector, incoming)
        if self._recorder is not None:
            self._recorder.message(session.id, "server", incoming)

    def _gone(self, session: Session, why: str, code: int | None) -> None:
        link = self._links.pop(session.id, None)
        if link is not None:
            self._spawn(link.stop())
        self._lost(session, why, code)

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _now(self) -> float:
        return asyncio.get_running_loop().time() - self._began


def learn_tools(injector: Injector, reply: Incoming) -> None:
    """From any reply; those that list no tools teach nothing."""
    if reply.kind == "response" and b'"outputSchema"' in reply.raw:
        result = reply.message.get("result")
        tools = result.get("tools") if isinstance(result, dict) else None
        if isinstance(tools, list):
            injector.learn_tools(tools)


def _unheard(frame: Frame) -> None:
    pass
