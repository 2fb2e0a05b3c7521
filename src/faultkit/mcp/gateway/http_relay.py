"""HTTP in front and HTTP behind: requests and answers pass as they are, with their sessions and streams.

Only the body of a POST is looked at, and only the answer to a call that a rule acts on is taken apart.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from functools import partial

from faultkit.base.http.client import HttpClient, Lost, Reply
from faultkit.base.http.origin import is_from
from faultkit.base.http.server import Answer, Headers, Request
from faultkit.faults.call.call import Era, Frame, Verdict
from faultkit.mcp.carry import Ask, replied
from faultkit.mcp.gateway.hop import copy, leads_away, passed, passed_back
from faultkit.mcp.gateway.listings import Listings
from faultkit.mcp.gateway.recording import Side, Witness, judged
from faultkit.mcp.gateway.relayed import RelayedExchange, reply_among
from faultkit.mcp.gateway.running import stopwatch
from faultkit.mcp.gateway.tee import Tee
from faultkit.mcp.gateway.unheard import Unheard
from faultkit.mcp.injector import Injector
from faultkit.mcp.wire.era import BATCH_VERSIONS, SESSION_HEADER, STATUS_OF, VERSION_HEADER, era_of
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.http_batch import HttpBatchExchange, http_batch
from faultkit.mcp.wire.message import Incoming, cancelled_id, encode, read

_MOST_SESSIONS = 10_000


class HttpRelay:
    def __init__(
        self,
        url: str,
        injector: Injector,
        *,
        server: str = "",
        recorder: Witness | None = None,
        elapsed: Callable[[], float] | None = None,
        headers: Iterable[tuple[str, str]] = (),
        verify: bool = True,
        hosts: tuple[str, ...] | None = None,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`hosts`: names that Host and Origin may have, None for any. `headers` go to the upstream with each
        request, in place of those of the same name. `elapsed`: the clock that schedules go by. `note` is told
        what nobody else can be told."""
        self._client = HttpClient(url, verify=verify)
        self._url = url
        self._injector = injector
        self._server = server
        self._recorder = recorder
        self._say = note
        self._listings = Listings(injector, note)
        self._own = list(headers)
        self._own_names = {name.lower() for name, _ in self._own}
        self._hosts = hosts
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._unheard = Unheard()
        self._tasks: set[asyncio.Task[None]] = set()
        self._elapsed = elapsed or stopwatch()

    @property
    def path(self) -> str:
        """Where it is served: as with the upstream."""
        return self._client.target.partition("?")[0]

    async def stop(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._client.close()

    def handle(self, request: Request, answer: Answer) -> None:
        """The handler of a server."""
        if not is_from(request, self._hosts):
            answer.whole(403, [("content-type", "text/plain")], b"this host or origin may not call")
            return
        incoming = read(request.body) if request.method == "POST" and request.body else None
        task = asyncio.get_running_loop().create_task(self._serve(request, incoming, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # The server sees its client leave, as it would without us. What that means is its own affair.
        answer.on_gone(task.cancel)

    async def _serve(self, request: Request, incoming: Incoming | None, answer: Answer) -> None:
        era: Era = "legacy" if incoming is None else era_of(incoming, request.headers)
        session = self._session(request.headers.get(SESSION_HEADER, era), era)
        try:
            await self._serve_in(session, request, incoming, answer)
        finally:
            # An id is whatever a client says: only one that something is known of is worth its memory.
            is_known = session.frozen or session.exchanges or any(session.info.values())
            if not is_known and self._sessions.get(session.id) is session:
                del self._sessions[session.id]

    async def _serve_in(
        self, session: Session, request: Request, incoming: Incoming | None, answer: Answer
    ) -> None:
        if incoming is not None:
            self._note(session, "client", incoming)
            if incoming.method == "initialize" and session.id == session.era:
                # Before a server without sessions, this is all there is of a new one.
                session.frozen = False
        if session.frozen:
            return
        if incoming is not None and self._cancelled_here(session, incoming):
            answer.whole(202)
        elif incoming is not None and self._is_for_rules(request, incoming):
            await self._serve_batch(session, request, incoming, answer)
        elif incoming is None or incoming.kind != "request" or incoming.id is None:
            await self._pass(request, None, answer, session)
        elif (verdict := self._verdict(session, incoming)) is None:
            await self._pass(request, incoming, answer, session)
            replied(session)
        else:
            await self._act(verdict, request, incoming, answer, session)

    def _verdict(self, session: Session, incoming: Incoming) -> Verdict | None:
        now_s = self._elapsed()
        return judged(self._injector, session, incoming, self._server, now_s, self._recorder)

    async def _act(
        self, verdict: Verdict, request: Request, incoming: Incoming, answer: Answer, session: Session
    ) -> None:
        statuses = STATUS_OF if session.era == "modern" else {}
        exchange = RelayedExchange(session, incoming, request.headers, answer, statuses)
        unable = partial(self._unable, verdict, incoming)

        async def ask() -> Incoming | None:
            reply = await self._forward(request, answer, is_read=True)
            if reply is None:
                return None
            lines = self._back(reply, request)
            return await exchange.take(reply, lines, partial(self._heard, session), unable)

        await self._carry(verdict, exchange, ask)

    async def _carry(self, verdict: Verdict, exchange: Exchange, ask: Ask) -> None:
        session, id = exchange.session, exchange.request.id

        def sent(frame: Frame) -> None:
            if self._recorder is not None and id is not None:
                self._recorder.sent(session.id, id, frame)

        try:
            await self._unheard.carried(verdict, exchange, ask, sent)
        finally:
            exchange.close()

    def _unable(self, verdict: Verdict, incoming: Incoming, why: str) -> None:
        """Whoever counts on a fault has to know when it was none."""
        if verdict.frames is not None or verdict.behind:
            self._say(f"{verdict.effect or 'a fault'} could not act on {incoming.method}: {why}")

    # Batches, which no rule would cover as they are: a rule is about one call.

    def _is_for_rules(self, request: Request, incoming: Incoming) -> bool:
        version = request.headers.get(VERSION_HEADER)
        return (
            incoming.kind == "batch"
            and bool(self._injector.plan.rules)
            and (version is None or version in BATCH_VERSIONS)
            and any(item.kind == "request" for item in incoming.items)
        )

    async def _serve_batch(
        self, session: Session, request: Request, incoming: Incoming, answer: Answer
    ) -> None:
        """Each of its messages goes to the upstream by itself."""
        batch = http_batch(session, answer)
        work: list[Coroutine[object, object, None]] = []

        def dispatch(item: Incoming) -> None:
            alone = replace(request, body=encode(item.message))
            if item.kind != "request":
                work.append(self._tell(alone, answer))
                return
            exchange = HttpBatchExchange(session, item, request.headers, answer, batch)
            verdict = self._verdict(session, item) or Verdict()
            work.append(self._carry(verdict, exchange, partial(self._ask, alone, exchange, answer)))

        batch.take(incoming.items, dispatch)
        await asyncio.gather(*work)

    async def _tell(self, request: Request, answer: Answer) -> None:
        reply = await self._forward(request, answer, is_read=True)
        if reply is not None:
            reply.close()

    async def _ask(self, request: Request, exchange: Exchange, answer: Answer) -> Incoming | None:
        reply = await self._forward(request, answer, is_read=True)
        if reply is None:
            return None
        return await reply_among(
            reply, exchange, answer, self._back(reply, request), partial(self._heard, exchange.session)
        )

    async def _pass(
        self, request: Request, incoming: Incoming | None, answer: Answer, session: Session
    ) -> None:
        """As it is: what comes in goes out, byte for byte."""
        is_read = self._recorder is not None or (
            incoming is not None and self._listings.wants(incoming.method)
        )
        reply = await self._forward(request, answer, is_read=is_read)
        if reply is None:
            return
        tee = Tee(reply.is_stream, partial(self._heard, session)) if is_read else None
        try:
            await copy(request, reply, self._back(reply, request), answer, tee)
        except Lost as lost:
            answer.abort(lost.reset)
        finally:
            reply.close()

    async def _forward(self, request: Request, answer: Answer, *, is_read: bool) -> Reply | None:
        """The upstream's answer; if there is none, the client has been told as it would have been. `is_read`:
        by us, who read plain text only."""
        headers = [
            (name, value)
            for name, value in passed(request.lines)
            if name.lower() not in self._own_names and not (is_read and name.lower() == "accept-encoding")
        ]
        target = self._target(request)
        try:
            reply = await self._client.request(request.method, [*headers, *self._own], request.body, target)
        except Lost as lost:
            answer.abort(lost.reset)
        except (OSError, TimeoutError) as error:
            text = f"cannot reach {self._url}: {error or 'it does not answer'}".encode()
            answer.whole(502, [("content-type", "text/plain; charset=utf-8")], text)
        else:
            away = leads_away(reply, self._client.address, target)
            if away is not None:
                self._say(f"sends its client on to {away}, past this gateway; give that as --upstream")
            return reply
        return None

    def _target(self, request: Request) -> str:
        # What else a client may look for there, such as how to log in, is the upstream's to answer too.
        return self._client.target if request.target == self.path else request.target

    def _back(self, reply: Reply, request: Request) -> Headers:
        return passed_back(reply.lines, self._client.address, self._target(request))

    def _session(self, id: str, era: Era) -> Session:
        session = self._sessions.get(id)
        if session is None:
            session = self._sessions[id] = Session(id, "http", era, lambda raw: None)
            while len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return session

    def _cancelled_here(self, session: Session, incoming: Incoming) -> bool:
        """Whether a cancellation is of a call that ends here, so that the server must not hear of it."""
        called_off = cancelled_id(incoming)
        if called_off is None:
            return False
        is_ours = self._unheard.calls_off(session, incoming)
        session.cancel(called_off)
        return is_ours

    def _heard(self, session: Session, incoming: Incoming) -> None:
        self._listings.hear(incoming)
        self._note(session, "server", incoming)

    def _note(self, session: Session, side: Side, incoming: Incoming) -> None:
        if self._recorder is not None and (incoming.raw or incoming.message):
            self._recorder.message(session.id, side, incoming)
