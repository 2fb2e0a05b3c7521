"""HTTP in front and HTTP behind: requests and answers pass as they are, with their sessions and streams.

Only the body of a POST is looked at, and only the answer to a call that a rule acts on is taken apart.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial

from faultkit.faults.call.call import Era, Frame, Verdict
from faultkit.mcp.carry import replied
from faultkit.mcp.gateway.listings import Listings
from faultkit.mcp.gateway.recording import Recorder
from faultkit.mcp.gateway.running import stopwatch
from faultkit.mcp.gateway.tee import Tee
from faultkit.mcp.gateway.unheard import Unheard
from faultkit.mcp.injector import Injector
from faultkit.mcp.wire.era import SESSION_HEADER, STATUS_OF, era_of
from faultkit.mcp.wire.exchange import Session, call_of
from faultkit.mcp.wire.http.client import HttpClient, Lost, Reply
from faultkit.mcp.wire.http.origin import is_from
from faultkit.mcp.wire.http.server import Answer, Headers, Request
from faultkit.mcp.wire.http_exchange import HttpExchange
from faultkit.mcp.wire.message import Id, Incoming, cancelled_id, read
from faultkit.mcp.wire.sse import MOST_BYTES, SseReader, SseTooLong

_OF_THE_HOP = {
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_BODILESS = (204, 304)
_MOST_SESSIONS = 10_000


class HttpRelay:
    def __init__(
        self,
        url: str,
        injector: Injector,
        *,
        server: str = "",
        recorder: Recorder | None = None,
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
        answer.on_gone(lambda: _stop(task))

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
        if session.frozen:
            return
        if incoming is not None and self._cancelled_here(session, incoming):
            answer.whole(202)
            return
        if incoming is None or incoming.kind != "request" or incoming.id is None:
            await self._pass(request, None, answer, session)
            return
        call = call_of(session, incoming, self._server)
        decided = self._injector.decide(call, self._elapsed())
        if decided is None:
            await self._pass(request, incoming, answer, session)
            replied(session)
            return
        rule, verdict = decided
        if self._recorder is not None:
            self._recorder.injected(session.id, rule, call, verdict)
        await self._act(verdict, request, incoming, answer, session)

    async def _act(
        self, verdict: Verdict, request: Request, incoming: Incoming, answer: Answer, session: Session
    ) -> None:
        statuses = STATUS_OF if session.era == "modern" else {}
        headers: Headers = []
        exchange = HttpExchange(session, incoming, request.headers, answer, None, statuses, headers)
        ask = partial(self._ask, request, incoming.id, exchange, answer, headers)

        def sent(frame: Frame) -> None:
            if self._recorder is not None:
                self._recorder.sent(session.id, frame)

        try:
            await self._unheard.carried(verdict, exchange, ask, sent)
        finally:
            exchange.close()

    async def _ask(
        self, request: Request, id: Id | None, exchange: HttpExchange, answer: Answer, headers: Headers
    ) -> Incoming | None:
        """The reply out of an answer; what comes before it goes to the client at once."""
        reply = await self._forward(request, answer, is_read=True)
        if reply is None:
            return None
        own = reply.headers.get(SESSION_HEADER)
        if own is not None:
            headers.append((SESSION_HEADER, own))
        try:
            if not reply.is_stream:
                body = await reply.body(MOST_BYTES)
                incoming = read(body)
                self._heard(exchange.session, incoming)
                if incoming.kind == "response":
                    return incoming
                answer.whole(reply.status, _passed(reply.lines), body)
                return None
            reader = SseReader()
            while chunk := await reply.chunk():
                for event in reader.feed(chunk):
                    incoming = read(event.data)
                    self._heard(exchange.session, incoming)
                    if incoming.kind == "response" and incoming.id == id:
                        return incoming
                    if event.data:
                        exchange.note(event.data)
                await answer.drained()
            exchange.finish()
            return None
        except (Lost, SseTooLong) as lost:
            answer.abort(reset=isinstance(lost, Lost) and lost.reset)
            return None
        finally:
            reply.close()

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
            await _copy(request, reply, answer, tee)
        except Lost as lost:
            answer.abort(lost.reset)
        finally:
            reply.close()

    async def _forward(self, request: Request, answer: Answer, *, is_read: bool) -> Reply | None:
        """The upstream's answer; if there is none, the client has been told as it would have been. `is_read`:
        by us, who read plain text only."""
        headers = [
            (name, value)
            for name, value in _passed(request.lines)
            if name.lower() not in self._own_names and not (is_read and name.lower() == "accept-encoding")
        ]
        # What else a client may look for there, such as how to log in, is the upstream's to answer too.
        target = self._client.target if request.target == self.path else request.target
        try:
            return await self._client.request(request.method, [*headers, *self._own], request.body, target)
        except Lost as lost:
            answer.abort(lost.reset)
        except (OSError, TimeoutError) as error:
            text = f"cannot reach {self._url}: {error or 'it does not answer'}".encode()
            answer.whole(502, [("content-type", "text/plain; charset=utf-8")], text)
        return None

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

    def _note(self, session: Session, side: str, incoming: Incoming) -> None:
        if self._recorder is not None and (incoming.raw or incoming.message):
            self._recorder.message(session.id, "client" if side == "client" else "server", incoming)


async def _copy(request: Request, reply: Reply, answer: Answer, tee: Tee | None) -> None:
    lines = _passed(reply.lines)
    size = reply.headers.get("content-length")
    if reply.status in _BODILESS or request.method == "HEAD":
        answer.bodiless(reply.status, lines if size is None else [*lines, ("content-length", size)])
        return
    is_sized = size is not None and size.isdecimal()
    # Most answers are there with their head, and go out with it.
    chunk = reply.ready()
    if is_sized and size is not None:
        answer.begin_sized(reply.status, lines, int(size), chunk)
    else:
        answer.begin(reply.status, lines, chunk)
    write = answer.write_plain if is_sized else answer.write
    if tee is not None:
        tee.feed(chunk)
    while chunk := await reply.chunk():
        write(chunk)
        if tee is not None:
            tee.feed(chunk)
        if not answer.is_open:
            return
        await answer.drained()
    if tee is not None:
        tee.end()
    if is_sized:
        answer.end_sized()
    else:
        answer.end()


def _passed(lines: Headers) -> Headers:
    return [(name, value) for name, value in lines if name.lower() not in _OF_THE_HOP]


def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
