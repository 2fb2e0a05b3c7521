"""Everything on the port of `fault serve` but the tools: finds the handler, asks who it is, answers.

Nothing that goes wrong here reaches the tools: an answer that cannot be given is an error for whoever asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from faultkit.audit.access.access import Access
from faultkit.audit.access.identity import ANONYMOUS, Identity, Refusal, Scope
from faultkit.audit.access.rates import Buckets, Rate
from faultkit.base.errors import InputError, RunError
from faultkit.base.http.server import Answer, Request
from faultkit.base.times import now_us
from faultkit.mcp.failures.door import Door
from faultkit.mcp.failures.service import Ended, FailureServer, Log, ServeSettings
from faultkit.mcp.failures.table import tools_of
from faultkit.mcp.failures.tool import Caller
from faultkit.mcp.wire.exchange import Exchange
from faultkit.web import about, calling, events, figures, keys
from faultkit.web.ask import Ask, Audit, Parts
from faultkit.web.live import Live
from faultkit.web.metrics import Metrics
from faultkit.web.reply import SAFETY, Refused, Reply, error_reply
from faultkit.web.routes import Found, Route, find

Handler: TypeAlias = Callable[[Ask], Awaitable[Reply | int]]
"""A number: it has answered by itself, with this status."""
_Route: TypeAlias = Route[Handler]

_THREADS = 4
_REPLAYS = Rate(5, 60)
_PORTAL = "/api/v1/portal"
_AUDIT = f"{_PORTAL}/audit"
_ADMIN = "/api/v1/admin"

ROUTES: tuple[_Route, ...] = (
    Route("GET", "/healthz", None, about.health),
    Route("GET", "/readyz", None, about.ready),
    Route("GET", "/metrics", "read", about.metrics),
    Route("GET", "/", None, about.to_portal),
    Route("GET", "/mcp", None, about.to_portal),
    Route("GET", "/portal*", None, about.portal),
    Route("GET", "/.well-known/oauth-protected-resource*", None, about.protected_resource),
    Route("GET", "/.well-known/oauth-authorization-server*", None, about.authorization_server),
    Route("GET", f"{_PORTAL}/me", "read", about.me),
    Route("GET", f"{_PORTAL}/server", "read", about.server),
    Route("GET", f"{_PORTAL}/instructions", "read", about.instructions),
    Route("GET", f"{_PORTAL}/tools", "read", about.tools),
    Route("GET", f"{_PORTAL}/tools/{{name}}", "read", about.one_tool),
    Route("GET", f"{_PORTAL}/wellknown", "read", about.well_known),
    Route("GET", f"{_PORTAL}/dashboard", "read", figures.dashboard),
    Route("GET", f"{_AUDIT}/meta", "read", events.meta),
    Route("GET", f"{_AUDIT}/events", "read", events.events),
    Route("GET", f"{_AUDIT}/events/{{id}}", "read", events.event),
    Route("GET", f"{_AUDIT}/export", "read", events.export, streamed=True),
    Route("GET", f"{_AUDIT}/stream", "read", events.stream, streamed=True),
    Route("GET", f"{_AUDIT}/timeseries", "read", figures.timeseries),
    Route("GET", f"{_AUDIT}/breakdown", "read", figures.breakdown),
    Route("POST", f"{_AUDIT}/events/{{id}}/replay", "call", calling.replay),
    Route("POST", f"{_ADMIN}/tryit/{{name}}", "call", calling.try_it),
    Route("GET", f"{_ADMIN}/keys", "admin", keys.list_keys),
    Route("POST", f"{_ADMIN}/keys", "admin", keys.create_key),
    Route("DELETE", f"{_ADMIN}/keys/{{name}}", "admin", keys.revoke_key),
)
_ELSEWHERE = "(none)"
"""How requests for paths that are not there are counted."""


class Site:
    """For one event loop, and one server of tools."""

    def __init__(
        self,
        settings: ServeSettings,
        audit: Audit | None = None,
        access: Access | None = None,
        *,
        say: Callable[[str], None] = lambda line: None,
        replays: Rate = _REPLAYS,
    ) -> None:
        self._settings = settings
        self._audit = audit
        self._access = access or Access()
        self._say = say
        self._replays = Buckets(replays)
        self._tools = tools_of(settings.groups)
        self._metrics = Metrics(self._tools)
        self._threads = ThreadPoolExecutor(_THREADS, "web-database")
        self._parts: Parts | None = None
        self._asks: set[asyncio.Task[None]] = set()
        self._idle: asyncio.Future[None] | None = None
        self._closed = False

    # What the server of the tools is told to do, so that calls can be counted, and the portal can call.

    def identify(self, door: Door) -> Callable[[Exchange], Caller]:
        """Asked once when a call begins."""

        def identify(exchange: Exchange) -> Caller:
            self._metrics.running += 1
            return (
                exchange.caller if isinstance(exchange, calling.PortalExchange) else door.identify(exchange)
            )

        return identify

    def log(self, log: Log) -> Log:
        """Told once when a call has ended."""

        def note(ended: Ended) -> None:
            self._metrics.running -= 1
            self._metrics.called(ended)
            caller = ended.caller
            if not isinstance(caller, calling.PortalCaller):
                log(ended)
            elif caller.exchange is not None:
                caller.exchange.seconds = ended.seconds
                if self._audit is not None:
                    calling.log_of(caller.exchange, ended, self._audit.writer)
            if self._idle is not None and not self._metrics.running and not self._idle.done():
                self._idle.set_result(None)

        return note

    # Of Beside.

    def begin(self, server: FailureServer, sessions: Callable[[], int]) -> None:
        audit = self._audit
        self._parts = Parts(
            self._settings,
            server,
            self._tools,
            audit,
            self._access,
            self._metrics,
            None if audit is None else Live(audit.store, self._metrics, self._threads),
            self._replays,
            self._threads,
            now_us(),
            sessions,
        )

    def handle(self, request: Request, answer: Answer) -> None:
        if self._closed:
            _send(request, answer, error_reply(503, "the server is stopping"))
            return
        task = asyncio.get_running_loop().create_task(self._answer(request, answer))
        self._asks.add(task)
        task.add_done_callback(self._asks.discard)

    def drain(self) -> None:
        if self._parts is not None:
            self._parts.draining = True

    async def idle(self) -> None:
        """Returns when no call is running."""
        if self._metrics.running:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle

    async def close(self) -> None:
        self._closed = True
        if self._parts is not None and self._parts.live is not None:
            await self._parts.live.close()
        for task in tuple(self._asks):
            task.cancel()
        await asyncio.gather(*self._asks, return_exceptions=True)
        # What hangs in a database that is away ends with the process.
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, request: Request, answer: Answer) -> None:
        found = find(ROUTES, request.method, request.path)
        if isinstance(found, tuple):
            where = _ELSEWHERE
            reply: Reply | int = _not_found(request, found)
        else:
            where = found.route.path
            reply = await self._reply(found, request, answer)
        self._metrics.requests[where, reply if isinstance(reply, int) else reply.status] += 1
        if not isinstance(reply, int):
            _send(request, answer, reply)

    async def _reply(self, found: Found[Handler], request: Request, answer: Answer) -> Reply | int:
        assert self._parts is not None, "requests come only after the beginning"
        scope = found.route.scope
        try:
            by = ANONYMOUS if scope is None else await self._let_in(request, scope)
            if scope is not None and found.route.streamed:
                self._access.watch(request, scope, answer)
            return await found.route.handler(Ask(request, answer, found.names, by, self._parts))
        except Refused as refused:
            return refused.reply
        except InputError as error:
            return error_reply(400, str(error))
        except RunError as error:
            return error_reply(503, f"the database cannot be had just now: {error}")
        except Exception as error:
            self._say(f"web: {request.method} {request.path[:100]!r}: {type(error).__name__}: {error}")
            if answer.began:
                answer.abort()
                return 200
            return error_reply(500, "this should not have happened: the server's own output says what did")

    async def _let_in(self, request: Request, scope: Scope) -> Identity:
        decision = self._access.check(request, scope)
        if not isinstance(decision, Identity | Refusal):
            decision = await decision
        if isinstance(decision, Refusal):
            raise Refused(decision.status, decision.message, **dict(decision.headers))
        if decision.auth_type == "anonymous" and not _is_from_here(request):
            self._access.foreign(request)
            raise Refused(403, "expected an X-Requested-With header, or an Origin that is this server")
        return decision


def _is_from_here(request: Request) -> bool:
    """Any page may make a browser send a simple request, but none may add a header of its own to it, or lie
    about where it is from."""
    if request.method in ("GET", "HEAD") or "x-requested-with" in request.headers:
        return True
    origin = request.headers.get("origin", "")
    return origin.partition("://")[2] == request.headers.get("host")


def _not_found(request: Request, allowed: tuple[str, ...]) -> Reply:
    if allowed:
        listed = ", ".join(allowed)
        return error_reply(405, f"expected {listed}, got {request.method}", (("allow", listed),))
    return error_reply(404, f'there is nothing at "{request.path[:100]}"')


def _send(request: Request, answer: Answer, reply: Reply) -> None:
    type = [("content-type", reply.type)] if reply.type else []
    headers = [*type, *SAFETY, *reply.headers]
    if request.method == "HEAD":
        answer.bodiless(reply.status, [*headers, ("content-length", str(len(reply.body)))])
    elif reply.status == 204:
        answer.bodiless(204, headers)
    else:
        answer.whole(reply.status, headers, reply.body)
