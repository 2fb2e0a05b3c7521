"""Everything on the port of `fault serve` except the tools: routes requests, checks access, sends replies.

No failure here affects the tools: a request that cannot be answered gets an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from faultkit.audit.access.access import Access
from faultkit.audit.access.identity import ANONYMOUS, Identity, Refusal, Scope
from faultkit.audit.access.rate_limits import Rate, RateLimiter
from faultkit.base.errors import InputError, RunError
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.tasks import TaskSet
from faultkit.base.times import now_us
from faultkit.mcp.failures.failure_run import ServeJob, run_failure_server
from faultkit.mcp.failures.failure_service import (
    CallerGate,
    CallLog,
    FailureService,
    FinishedCall,
    ServeSettings,
)
from faultkit.mcp.failures.failure_tool import Caller
from faultkit.mcp.failures.tool_catalogue import tools_of
from faultkit.mcp.wire.exchange import Exchange
from faultkit.web import audit_api, portal_calls, server_api
from faultkit.web.call_rows import call_logger
from faultkit.web.caller_gates import Authenticator, BackPressureGate
from faultkit.web.live_stream import LiveStream
from faultkit.web.metrics import Metrics
from faultkit.web.request_context import AuditLog, RequestContext, SiteServices
from faultkit.web.routing import SAFETY, HttpError, Route, RouteMatch, SiteReply, error_reply, find_route

Handler: TypeAlias = Callable[[RequestContext], Awaitable[SiteReply | int]]
"""Answers a request. A handler that sent the response itself returns its status."""
_Route: TypeAlias = Route[Handler]

_THREADS = 4
_REPLAYS = Rate(5, 60)
_PORTAL = "/api/v1/portal"
_AUDIT = f"{_PORTAL}/audit"
_ADMIN = "/api/v1/admin"

ROUTES: tuple[_Route, ...] = (
    Route("GET", "/healthz", None, server_api.health),
    Route("GET", "/readyz", None, server_api.ready),
    Route("GET", "/metrics", "read", server_api.metrics),
    Route("GET", "/", None, server_api.to_portal),
    Route("GET", "/mcp", None, server_api.to_portal),
    Route("GET", "/portal*", None, server_api.portal),
    Route("GET", "/.well-known/oauth-protected-resource*", None, server_api.protected_resource),
    Route("GET", "/.well-known/oauth-authorization-server*", None, server_api.authorization_server),
    Route("GET", f"{_PORTAL}/me", "read", server_api.me),
    Route("GET", f"{_PORTAL}/server", "read", server_api.server),
    Route("GET", f"{_PORTAL}/instructions", "read", server_api.instructions),
    Route("GET", f"{_PORTAL}/tools", "read", server_api.tools),
    Route("GET", f"{_PORTAL}/tools/{{name}}", "read", server_api.one_tool),
    Route("GET", f"{_PORTAL}/wellknown", "read", server_api.well_known),
    Route("GET", f"{_PORTAL}/dashboard", "read", audit_api.dashboard),
    Route("GET", f"{_AUDIT}/meta", "read", audit_api.meta),
    Route("GET", f"{_AUDIT}/events", "read", audit_api.events),
    Route("GET", f"{_AUDIT}/events/{{id}}", "read", audit_api.event),
    Route("GET", f"{_AUDIT}/export", "read", audit_api.export, streamed=True),
    Route("GET", f"{_AUDIT}/stream", "read", audit_api.stream, streamed=True),
    Route("GET", f"{_AUDIT}/timeseries", "read", audit_api.timeseries),
    Route("GET", f"{_AUDIT}/breakdown", "read", audit_api.breakdown),
    Route("POST", f"{_AUDIT}/events/{{id}}/replay", "call", portal_calls.replay),
    Route("POST", f"{_ADMIN}/tryit/{{name}}", "call", portal_calls.try_it),
    Route("GET", f"{_ADMIN}/keys", "admin", server_api.list_keys),
    Route("POST", f"{_ADMIN}/keys", "admin", server_api.create_key),
    Route("DELETE", f"{_ADMIN}/keys/{{name}}", "admin", server_api.revoke_key),
)
_ELSEWHERE = "(none)"
"""Route label of requests for unknown paths, in the metrics."""


class Site:
    """The `SideService` of one server of tools. It belongs to one event loop."""

    def __init__(
        self,
        settings: ServeSettings,
        audit: AuditLog | None = None,
        access: Access | None = None,
        *,
        say: Callable[[str], None] = lambda line: None,
        replays: Rate = _REPLAYS,
    ) -> None:
        self._settings = settings
        self._audit = audit
        self._access = access or Access()
        self._say = say
        self._replays = RateLimiter(replays)
        self._tools = tools_of(settings.groups)
        self._metrics = Metrics(self._tools)
        self._threads = ThreadPoolExecutor(_THREADS, "web-database")
        self._services: SiteServices | None = None
        self._handlers = TaskSet[None]()
        self._idle: asyncio.Future[None] | None = None
        self._closed = False

    # Hooks into the server of the tools, to count its calls and to make calls of the portal.

    def identify(self, gate: CallerGate) -> Callable[[Exchange], Caller]:
        """Return the function that identifies callers. It is called once at the start of each call."""

        def identify(exchange: Exchange) -> Caller:
            self._metrics.running += 1
            return (
                exchange.caller
                if isinstance(exchange, portal_calls.PortalExchange)
                else gate.identify(exchange)
            )

        return identify

    def log(self, log: CallLog) -> CallLog:
        """Return the log for finished calls. It is called once at the end of each call."""

        def note(ended: FinishedCall) -> None:
            self._metrics.running -= 1
            self._metrics.called(ended)
            caller = ended.caller
            if not isinstance(caller, portal_calls.PortalCaller):
                log(ended)
            elif caller.exchange is not None:
                caller.exchange.seconds = ended.seconds
                if self._audit is not None:
                    portal_calls.log_portal_call(caller.exchange, ended, self._audit.writer)
            if self._idle is not None and not self._metrics.running and not self._idle.done():
                self._idle.set_result(None)

        return note

    # SideService.

    def begin(self, server: FailureService, sessions: Callable[[], int]) -> None:
        """Receive the running service; `sessions` returns the number of client sessions."""
        audit = self._audit
        self._services = SiteServices(
            self._settings,
            server,
            self._tools,
            audit,
            self._access,
            self._metrics,
            None if audit is None else LiveStream(audit.store, self._metrics, self._threads),
            self._replays,
            self._threads,
            now_us(),
            sessions,
        )

    def handle(self, request: HttpRequest, answer: ResponseWriter) -> None:
        """Answer a request in a task of its own."""
        if self._closed:
            _send(request, answer, error_reply(503, "the server is stopping"))
            return
        self._handlers.start(self._answer(request, answer))

    def drain(self) -> None:
        """Report as not ready from now on."""
        if self._services is not None:
            self._services.draining = True

    async def idle(self) -> None:
        """Wait until no call is running."""
        if self._metrics.running:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle

    async def close(self) -> None:
        """End live streams and running handlers."""
        self._closed = True
        if self._services is not None and self._services.live is not None:
            await self._services.live.close()
        await self._handlers.cancel()
        # A query that hangs in an unavailable database ends with the process.
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, request: HttpRequest, answer: ResponseWriter) -> None:
        found = find_route(ROUTES, request.method, request.path)
        if isinstance(found, tuple):
            where = _ELSEWHERE
            reply: SiteReply | int = _not_found(request, found)
        else:
            where = found.route.path
            reply = await self._reply(found, request, answer)
        self._metrics.requests[where, reply if isinstance(reply, int) else reply.status] += 1
        if not isinstance(reply, int):
            _send(request, answer, reply)

    async def _reply(
        self, found: RouteMatch[Handler], request: HttpRequest, answer: ResponseWriter
    ) -> SiteReply | int:
        assert self._services is not None, "requests arrive only after begin()"
        scope = found.route.scope
        try:
            by = ANONYMOUS if scope is None else await self._authorize(request, scope)
            if scope is not None and found.route.streamed:
                self._access.watch(request, scope, answer)
            return await found.route.handler(RequestContext(request, answer, found.names, by, self._services))
        except HttpError as refused:
            return refused.reply
        except InputError as error:
            return error_reply(400, str(error))
        except RunError as error:
            return error_reply(503, f"the database is unavailable: {error}")
        except Exception as error:
            self._say(f"web: {request.method} {request.path[:100]!r}: {type(error).__name__}: {error}")
            if answer.began:
                answer.abort()
                return 200
            return error_reply(500, "internal error: see the output of the server")

    async def _authorize(self, request: HttpRequest, scope: Scope) -> Identity:
        decision = self._access.check(request, scope)
        if not isinstance(decision, Identity | Refusal):
            decision = await decision
        if isinstance(decision, Refusal):
            raise HttpError(decision.status, decision.message, **dict(decision.headers))
        if decision.auth_type == "anonymous" and not _is_same_origin(request):
            self._access.foreign(request)
            raise HttpError(403, "expected an X-Requested-With header, or an Origin that is this server")
        return decision


def _is_same_origin(request: HttpRequest) -> bool:
    """Return whether a request cannot have been forged by a page of another site (CSRF).

    Such a page can make a browser send a simple request, but cannot add a header or change the Origin."""
    if request.method in ("GET", "HEAD") or "x-requested-with" in request.headers:
        return True
    origin = request.headers.get("origin", "")
    return origin.partition("://")[2] == request.headers.get("host")


def _not_found(request: HttpRequest, allowed: tuple[str, ...]) -> SiteReply:
    if allowed:
        listed = ", ".join(allowed)
        return error_reply(405, f"expected {listed}, got {request.method}", (("allow", listed),))
    return error_reply(404, f'there is nothing at "{request.path[:100]}"')


def _send(request: HttpRequest, answer: ResponseWriter, reply: SiteReply) -> None:
    content_type = [("content-type", reply.type)] if reply.type else []
    headers = [*content_type, *SAFETY, *reply.headers]
    if request.method == "HEAD":
        answer.respond_without_body(reply.status, [*headers, ("content-length", str(len(reply.body)))])
    elif reply.status == 204:
        answer.respond_without_body(204, headers)
    else:
        answer.respond(reply.status, headers, reply.body)


async def serve_site(
    job: ServeJob,
    access: Access,
    audit: AuditLog | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> str:
    """Serve the tools and the site until a stop signal, and return which one.

    `access` decides about requests; the hosts and origins of its settings must be in the job as well."""
    site = Site(job.settings, audit, access, say=say)
    authenticator = Authenticator(access)
    await access.start()
    try:
        if audit is None:
            return await run_failure_server(job, say, door=authenticator, beside=site)
        gate = BackPressureGate(authenticator, audit.writer)
        try:
            return await run_failure_server(job, say, call_logger(audit.writer, wait=False), gate, site)
        finally:
            await gate.close()
    finally:
        await access.close()
