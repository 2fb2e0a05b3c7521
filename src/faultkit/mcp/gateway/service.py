"""The gateway as a service: each request is judged, and passed on, or its verdict is carried out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from faultkit.faults.call.call import Frame, Verdict
from faultkit.mcp.gateway.link import Link
from faultkit.mcp.gateway.listings import Listings
from faultkit.mcp.gateway.parameter_headers import ParameterHeaders
from faultkit.mcp.gateway.recording import Witness, judged
from faultkit.mcp.gateway.running import stopwatch
from faultkit.mcp.gateway.unheard import Unheard
from faultkit.mcp.injector import Injector
from faultkit.mcp.upstreams.upstream import Connect
from faultkit.mcp.wire.era import HEADER_MISMATCH
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import METHOD_NOT_FOUND, Incoming, error_of

_UNASKED_S = 0.05


class Gateway:
    """Stands between sessions and their servers. A server is started when its session says its first word."""

    def __init__(
        self,
        connect: Connect,
        injector: Injector,
        *,
        server: str = "",
        recorder: Witness | None = None,
        elapsed: Callable[[], float] | None = None,
        lost: Callable[[Session, str, int | None], None] = lambda session, why, code: None,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`elapsed`: the clock that schedules go by. `lost` is told when a session's server has left, `note`
        what nobody else can be told."""
        self._connect = connect
        self._injector = injector
        self._server = server
        self._recorder = recorder
        self._lost = lost
        self._note = note
        self._links: dict[str, Link] = {}
        self._leaving: dict[asyncio.Task[None], Link] = {}
        self._carried: dict[asyncio.Task[None], Verdict] = {}
        self._unheard = Unheard()
        self._parameters = ParameterHeaders()
        self._listings = Listings(injector, note)
        self._elapsed = elapsed or stopwatch()

    async def stop(self, *, urgent: bool = False) -> None:
        """No server is left."""
        for task in tuple(self._carried):
            task.cancel()
        await asyncio.gather(*self._carried, return_exceptions=True)
        for id in tuple(self._links):
            self._leave(id)
        if urgent:
            await asyncio.gather(*(link.stop(urgent=True) for link in self._leaving.values()))
        await asyncio.gather(*self._leaving)

    async def last_words(self, session: Session) -> None:
        """The client will say no more: waits for what its server still has to say."""
        link = self._links.get(session.id)
        asking = [task for task, verdict in self._carried.items() if verdict.ask]
        others = [task for task, verdict in self._carried.items() if not verdict.ask]
        if others:
            # Most are done at once. Those that hang would be cut short by any server's end.
            await asyncio.wait(others, timeout=_UNASKED_S)
        if asking:
            await asyncio.wait(asking)
        if link is not None:
            await link.last_words()
            await link.stop()

    def foreign(self, session: Session, incoming: Incoming) -> bool:
        """What is no single message is the server's to answer; a batch that rules may act on is ours."""
        if incoming.kind == "batch" and self._injector.plan.rules:
            return False
        self._tell(session, incoming)
        return True

    # Of Service.

    def opened(self, session: Session) -> None:
        pass

    def closed(self, session: Session) -> None:
        self._leave(session.id)

    def request(self, exchange: Exchange) -> None:
        session, request = exchange.session, exchange.request
        if self._recorder is not None:
            self._recorder.message(session.id, "client", request)
        refusal = self._refusal_of(exchange)
        if refusal is not None:
            exchange.reply(refusal)
            return
        verdict = self._verdict(session, request) if self._injector.plan.rules else None
        if verdict is None:
            self._link(session).pass_on(exchange)
        else:
            self._carry(verdict, exchange)

    def notification(self, session: Session, incoming: Incoming) -> None:
        if self._unheard.calls_off(session, incoming):
            if self._recorder is not None:
                self._recorder.message(session.id, "client", incoming)
            return
        self._tell(session, incoming)

    def response(self, session: Session, incoming: Incoming) -> None:
        self._tell(session, incoming)

    def _tell(self, session: Session, incoming: Incoming) -> None:
        if self._recorder is not None:
            self._recorder.message(session.id, "client", incoming)
        self._link(session).tell(incoming)

    def _verdict(self, session: Session, request: Incoming) -> Verdict | None:
        now_s = self._elapsed()
        return judged(self._injector, session, request, self._server, now_s, self._recorder)

    def _carry(self, verdict: Verdict, exchange: Exchange) -> None:
        session = exchange.session

        def ask() -> Awaitable[Incoming | None]:
            # Not before: a server that is never asked is never started.
            return self._link(session).ask(exchange, deaf=verdict.deaf)

        assert exchange.request.id is not None
        sent = (
            _unseen
            if self._recorder is None
            else partial(self._recorder.sent, session.id, exchange.request.id)
        )
        work = self._unheard.carried(verdict, exchange, ask, sent)
        task = asyncio.get_running_loop().create_task(work)
        self._carried[task] = verdict
        task.add_done_callback(self._carried.pop)

    def _refusal_of(self, exchange: Exchange) -> bytes | None:
        """What a server of modern HTTP has to refuse, and a server on pipes cannot."""
        session, request = exchange.session, exchange.request
        if session.era != "modern" or session.transport != "http":
            return None
        if request.method == "initialize":
            # It would make the server speak the other era, to everybody.
            return error_of(request.id, METHOD_NOT_FOUND, "Method not found", "initialize")
        wrong = self._parameters.mismatch(request, exchange.headers)
        if wrong is not None:
            return error_of(request.id, HEADER_MISMATCH, f"Header mismatch: {wrong}")
        return None

    def _link(self, session: Session) -> Link:
        link = self._links.get(session.id)
        if link is None:
            link = Link(session, self._connect, self._hear, self._gone, self._note)
            self._links[session.id] = link
        return link

    def _leave(self, id: str) -> None:
        link = self._links.pop(id, None)
        if link is not None:
            task = asyncio.get_running_loop().create_task(link.stop())
            self._leaving[task] = link
            task.add_done_callback(self._leaving.pop)

    def _hear(self, session: Session, incoming: Incoming) -> None:
        self._listings.hear(incoming)
        if session.era == "modern" and incoming.kind == "response":
            self._parameters.learn(incoming)
        if self._recorder is not None:
            self._recorder.message(session.id, "server", incoming)

    def _gone(self, session: Session, why: str, code: int | None) -> None:
        self._leave(session.id)
        self._lost(session, why, code)


def _unseen(frame: Frame) -> None:
    pass
