"""The gateway as a service: each request is judged, then forwarded, or its verdict is executed.

For stdio fronts, and for HTTP fronts with a stdio server behind them. HTTP on both sides is `http_relay`.
This module decides which way a message takes; `link` forwards it, `interception` judges it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from faultkit.faults.call_fault import Verdict
from faultkit.mcp.gateway.interception import Interception
from faultkit.mcp.gateway.link import Link
from faultkit.mcp.gateway.recorder import TrafficObserver
from faultkit.mcp.injector import Injector
from faultkit.mcp.interpreter import UNASKED_S, will_reply
from faultkit.mcp.upstreams.upstream import Connect
from faultkit.mcp.wire.era import HEADER_MISMATCH, ParameterHeaders
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import METHOD_NOT_FOUND, Incoming, error_of
from faultkit.plan import Plan


class GatewayService:
    """A `Service` with one `Link` per session. A server is started by the first message of its session."""

    def __init__(
        self,
        connect: Connect,
        injector: Injector,
        *,
        server: str = "",
        observer: TrafficObserver | None = None,
        elapsed: Callable[[], float] | None = None,
        on_lost: Callable[[Session, str, int | None], None] = lambda session, why, code: None,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`elapsed`: the clock of schedules. `on_lost` is called when a session's server exits by itself.
        `warn` gets problems that no message can report."""
        self._connect = connect
        self._on_lost = on_lost
        self._warn = warn
        self._links: dict[str, Link] = {}
        self._stopping: dict[asyncio.Task[None], Link] = {}
        self._executing: dict[asyncio.Task[None], Verdict] = {}
        self._parameters = ParameterHeaders()
        self._interception = Interception(injector, server, observer, elapsed, warn)

    async def stop(self, *, urgent: bool = False) -> None:
        """End every call and every server; with `urgent`, without a grace period."""
        for task in tuple(self._executing):
            task.cancel()
        await asyncio.gather(*self._executing, return_exceptions=True)
        for id in tuple(self._links):
            self._stop_link(id)
        if urgent:
            await asyncio.gather(*(link.stop(urgent=True) for link in self._stopping.values()))
        await asyncio.gather(*self._stopping)

    async def drain(self, session: Session) -> None:
        """Wait for the pending replies of a session whose client has closed its end, then end its server."""
        link = self._links.get(session.id)
        asking = [task for task, verdict in self._executing.items() if will_reply(verdict)]
        others = [task for task, verdict in self._executing.items() if not will_reply(verdict)]
        if others:
            # Most end at once. Calls that hang would be cut short by the end of any server.
            await asyncio.wait(others, timeout=UNASKED_S)
        if asking:
            await asyncio.wait(asking)
        if link is not None:
            await link.drain()
            await link.stop()

    def forward_non_message(self, session: Session, incoming: Incoming) -> bool:
        """Forward a batch or invalid bytes for the server to answer; return False for a batch while there are
        rules, because rules act on single calls."""
        if incoming.kind == "batch" and self._interception.has_rules:
            return False
        self._forward(session, incoming)
        return True

    def on_plan(self, plan: Plan) -> None:
        """Notify all clients if a new plan changes their lists of tools."""
        if self._interception.changes_tool_list(plan):
            for link in tuple(self._links.values()):
                link.announce_tools_changed()

    # --- Service ------------------------------------------------------------------------------

    def opened(self, session: Session) -> None:
        if self._interception.is_recording:
            session.on_unanswered = partial(self._interception.record, session, "client")

    def closed(self, session: Session) -> None:
        self._stop_link(session.id)

    def request(self, exchange: Exchange) -> None:
        session, request = exchange.session, exchange.request
        if self._interception.is_recording:
            self._interception.record(session, "client", request)
            if _is_modern_http(session):
                # Closing the response is what cancels here; there is no message to record.
                exchange.on_cancel(partial(self._interception.record_closed, session, request))
        if _is_modern_http(session) and (refusal := self._refusal_of(exchange)) is not None:
            exchange.reply(refusal)
            return
        verdict = self._interception.judge(session, request)
        if verdict is None:
            self._link(session).forward_request(exchange)
        else:
            self._execute(verdict, exchange)

    def notification(self, session: Session, incoming: Incoming) -> None:
        if not self._interception.local_calls.is_cancellation(session, incoming):
            self._forward(session, incoming)
        elif self._interception.is_recording:
            self._interception.record(session, "client", incoming)

    def response(self, session: Session, incoming: Incoming) -> None:
        self._forward(session, incoming)

    def _forward(self, session: Session, incoming: Incoming) -> None:
        if self._interception.is_recording:
            self._interception.record(session, "client", incoming)
        self._link(session).forward(incoming)

    def _execute(self, verdict: Verdict, exchange: Exchange) -> None:
        def ask() -> Awaitable[Incoming | None]:
            # The link is made here, so that a server that is never asked is never started.
            return self._link(exchange.session).request(exchange, ignores_cancel=verdict.ignores_cancel)

        work = self._interception.execute(verdict, exchange, ask)
        task = asyncio.get_running_loop().create_task(work)
        self._executing[task] = verdict
        task.add_done_callback(self._executing.pop)

    def _refusal_of(self, exchange: Exchange) -> bytes | None:
        """Return the error for a request that a modern HTTP server must refuse and a stdio server cannot.

        A stdio server sees no headers, so the gateway does the validation (MCP 2026-07-28, Streamable HTTP,
        Server Validation) in its place; the standard headers are validated by `HttpFront`."""
        request = exchange.request
        if request.method == "initialize":
            # It would switch the shared server to the legacy era for all clients.
            return error_of(request.id, METHOD_NOT_FOUND, "Method not found", "initialize")
        wrong = self._parameters.mismatch(request, exchange.headers)
        if wrong is not None:
            return error_of(request.id, HEADER_MISMATCH, f"Header mismatch: {wrong}")
        return None

    def _link(self, session: Session) -> Link:
        link = self._links.get(session.id)
        if link is None:
            # The marks of `x-mcp-header` are learnt only where requests have headers.
            is_modern_http = _is_modern_http(session)
            observe = self._on_modern_message if is_modern_http else self._interception.on_server_message
            link = Link(session, self._connect, observe, self._on_server_lost, self._warn)
            self._links[session.id] = link
        return link

    def _stop_link(self, id: str) -> None:
        link = self._links.pop(id, None)
        if link is not None:
            task = asyncio.get_running_loop().create_task(link.stop())
            self._stopping[task] = link
            task.add_done_callback(self._stopping.pop)

    def _on_modern_message(self, session: Session, incoming: Incoming) -> None:
        if incoming.kind == "response":
            self._parameters.learn(incoming)
        self._interception.on_server_message(session, incoming)

    def _on_server_lost(self, session: Session, why: str, code: int | None) -> None:
        self._stop_link(session.id)
        self._on_lost(session, why, code)


def _is_modern_http(session: Session) -> bool:
    # The transport first: it differs most often.
    return session.transport == "http" and session.era == "modern"
