"""The control API of a running gateway: the state that it reads and changes, and its HTTP server.

`GatewayControl` adapts `proxy/control/control_core.py` to the project's own HTTP server on the gateway's
event loop. Paths and rules are those of `fault run --control`: loopback or mutual TLS, a bearer token, no web
pages, and every change expires after `ttl` seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from faultkit.base.certificates import MutualTls
from faultkit.base.errors import InputError
from faultkit.base.http.http_exchange import Headers, HttpRequest, ResponseWriter
from faultkit.base.http.http_server import HttpServer, RequestLimits
from faultkit.base.network import cannot_listen
from faultkit.faults.call_fault import ERAS, Call, Transport, Verdict
from faultkit.mcp.gateway.interception import stopwatch
from faultkit.mcp.injector import Injector, OnInjection, check_plan
from faultkit.mcp.run_log import injection_fields
from faultkit.mcp.targets import Inventory
from faultkit.plan import Plan, Rule
from faultkit.proxy.control.control_core import (
    EVENTS_BEGIN,
    EVENTS_KEEP_ALIVE,
    KEEP_ALIVE_S,
    MOST_BODY_BYTES,
    ControlCore,
    Problem,
    check_caller,
    check_loopback,
    document_bytes,
    event_line,
    headers_of,
    own_hosts,
)
from faultkit.proxy.control.leases import NEVER


class GatewayState:
    """The injector of a running gateway and its clock."""

    def __init__(self, plan: Plan, server: str, front: Transport) -> None:
        self._elapsed = stopwatch()
        self._server = server
        self._front: Transport = front
        self.on_injection: list[OnInjection] = []
        """Called with each injection."""
        self.on_plan: list[Callable[[Plan], None]] = []
        """Called with each new plan, once it is in force."""
        self.injector = Injector(plan, server, self._injected)

    def _injected(self, rule: Rule, call: Call, verdict: Verdict) -> None:
        for listener in self.on_injection:
            listener(rule, call, verdict)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the gateway started: the clock of schedules."""
        return self._elapsed()

    def check(self, plan: Plan) -> None:
        """Raise InputError if a fault of the plan cannot act here."""
        check_plan(plan, self._front, ERAS, Inventory(self._server))

    def check_rule(self, rule: Rule) -> None:
        """Raise InputError if the fault of a rule cannot act here; the path begins at the rule."""
        try:
            self.check(Plan((rule,)))
        except InputError as error:
            raise error.at(error.path.removeprefix("rules[0]").lstrip(".")) from None

    def set_plan(self, plan: Plan, begin_in_s: float = 0.0) -> None:
        """Replace the plan. Raises InputError, without a change, if a fault cannot act here."""
        self.check(plan)
        self.injector.set_plan(plan, self.elapsed_s + begin_in_s)
        for listener in self.on_plan:
            listener(plan)


_MOST_UNREAD_BYTES = 4 << 20
"""A reader of events with more unread bytes than this gets no further events until it has read some."""
_JSON: Headers = [("content-type", "application/json")]

Body: TypeAlias = dict[str, Any]


class GatewayControl:
    """The HTTP server of the API, on the event loop of the gateway."""

    def __init__(self, state: GatewayState, token: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._state = state
        self._token = token
        self._clock = clock
        self._core = ControlCore(self, state.injector.plan, clock)
        self._server = HttpServer(self._handle, RequestLimits(body_bytes=MOST_BODY_BYTES))
        self._hosts: frozenset[str] = frozenset()
        self._scheme = "http"
        self._event_readers: set[ResponseWriter] = set()
        self._expiry_timer: asyncio.TimerHandle | None = None
        self._keep_alive_timer: asyncio.TimerHandle | None = None
        state.on_injection.append(self._injected)

    async def start(self, host: str, port: int, tls: MutualTls | None = None) -> tuple[str, int]:
        """Listen and return the bound address. Raises InputError or TargetError if that is impossible.

        tls: None for clear text, on loopback only"""
        if tls is None:
            check_loopback(host, port)
        else:
            self._scheme = "https"
        try:
            bound = await self._server.start(host, port, None if tls is None else tls.context)
        except OSError as error:
            raise cannot_listen(host, port, error) from None
        self._hosts = own_hosts(*bound, () if tls is None else tls.names)
        return bound

    async def stop(self) -> None:
        """End the streams of events and stop listening."""
        for timer in (self._expiry_timer, self._keep_alive_timer):
            if timer is not None:
                timer.cancel()
        for reader in tuple(self._event_readers):
            reader.end()
        await self._server.stop()

    # --- methods that the core calls ----------------------------------------------------------

    def check_plan(self, plan: Plan) -> None:
        self._state.check(plan)

    def check_rule(self, rule: Rule) -> None:
        self._state.check_rule(rule)

    def set_plan(self, plan: Plan, begin_in_s: float = 0.0) -> None:
        self._state.set_plan(plan, begin_in_s)
        self._publish({"event": "rules", "active": [rule.name for rule in plan.rules]})

    def check_alive(self) -> None:
        """Do nothing: the gateway and this API end together."""

    def elapsed_s(self) -> float:
        return self._state.elapsed_s

    def counters(self) -> Body:
        return {
            "rules": [
                {"name": name, "covered": count.covered, "injected": count.injected}
                for name, count in self._state.injector.counts.items()
            ]
        }

    # --- expiry -------------------------------------------------------------------------------

    def tick(self) -> None:
        """Undo the changes that have expired, and wait for the next to expire."""
        self._core.expire()
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
            self._expiry_timer = None
        if self._core.next_expiry != NEVER:
            wait_s = max(0.0, self._core.next_expiry - self._clock())
            self._expiry_timer = asyncio.get_running_loop().call_later(wait_s, self.tick)

    # --- requests -----------------------------------------------------------------------------

    def _handle(self, request: HttpRequest, answer: ResponseWriter) -> None:
        path, headers = request.path, request.headers
        origin = headers.get("origin")
        try:
            check_caller(
                path,
                headers.get("host", ""),
                [] if origin is None else [origin],
                headers.get("authorization", ""),
                hosts=self._hosts,
                token=self._token,
                scheme=self._scheme,
            )
        except Problem as problem:
            _send_document(answer, problem.status, problem.document)
            return
        if path == "/events" and request.method == "GET":
            self._begin_events(answer)
            return
        query = {key: values[-1] for key, values in parse_qs(urlsplit(request.target).query).items()}
        decoded = unquote(path) if path.startswith("/rules/") else path
        status, document = self._core.handle(request.method, decoded, query, request.body)
        self.tick()
        _send_document(answer, status, document)

    # --- events -------------------------------------------------------------------------------

    def _begin_events(self, answer: ResponseWriter) -> None:
        answer.begin(200, [("content-type", "text/event-stream"), ("cache-control", "no-store")])
        answer.write(EVENTS_BEGIN.encode())
        self._event_readers.add(answer)
        answer.on_disconnect(lambda: self._event_readers.discard(answer))
        if self._keep_alive_timer is None:
            self._keep_alive_timer = asyncio.get_running_loop().call_later(KEEP_ALIVE_S, self._keep_alive)

    def _keep_alive(self) -> None:
        self._send(EVENTS_KEEP_ALIVE.encode())
        call_later = asyncio.get_running_loop().call_later
        self._keep_alive_timer = call_later(KEEP_ALIVE_S, self._keep_alive) if self._event_readers else None

    def _injected(self, rule: Rule, call: Call, verdict: Verdict) -> None:
        if self._event_readers:
            self._publish({"event": "injected", **injection_fields(rule, call, verdict)})

    def _publish(self, event: Body) -> None:
        timed = {"event": event.pop("event"), "t": round(self._state.elapsed_s, 6), **event}
        self._send(event_line(timed).encode())

    def _send(self, data: bytes) -> None:
        for reader in tuple(self._event_readers):
            # A slow reader loses events; it never blocks the gateway.
            if reader.unread_bytes <= _MOST_UNREAD_BYTES:
                reader.write(data)


def _send_document(answer: ResponseWriter, status: int, document: Body) -> None:
    answer.respond(status, [*_JSON, *headers_of(status)], document_bytes(document))
