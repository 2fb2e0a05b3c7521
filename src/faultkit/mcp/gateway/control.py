"""The control API of a running gateway over HTTP: an adapter of `proxy/control/control_core.py` on the
project's own HTTP server, on the gateway's event loop.

Paths and rules are those of `fault run --control`: loopback only, a bearer token, no web pages, and every
change expires after `ttl` seconds.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from faultkit.base.http.http_server import Headers, HttpRequest, HttpServer, RequestLimits, ResponseWriter
from faultkit.base.network import cannot_listen
from faultkit.faults.call.call import Call, Verdict
from faultkit.mcp.gateway.gateway_state import GatewayState
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
    event_line,
    headers_of,
    own_hosts,
)
from faultkit.proxy.control.leases import NEVER

_MOST_UNREAD_BYTES = 4 << 20
_JSON: Headers = [("content-type", "application/json")]

Body: TypeAlias = dict[str, Any]


class Control:
    """The API at work, on the loop of the gateway."""

    def __init__(
        self, running: GatewayState, token: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._running = running
        self._token = token.encode()
        self._clock = clock
        self._core = ControlCore(self, running.injector.plan, clock)
        self._server = HttpServer(self._handle, RequestLimits(body_bytes=MOST_BODY_BYTES))
        self._hosts: frozenset[str] = frozenset()
        self._readers: set[ResponseWriter] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._beat: asyncio.TimerHandle | None = None
        running.on_injection = self._injected

    async def start(self, host: str, port: int) -> tuple[str, int]:
        check_loopback(host, port)
        try:
            bound = await self._server.start(host, port)
        except OSError as error:
            raise cannot_listen(host, port, error) from None
        self._hosts = own_hosts(*bound)
        return bound

    async def stop(self) -> None:
        for timer in (self._timer, self._beat):
            if timer is not None:
                timer.cancel()
        for reader in tuple(self._readers):
            reader.end()
        await self._server.stop()

    # --- what the core asks of the gateway ----------------------------------------------------

    def check_plan(self, plan: Plan) -> None:
        self._running.check(plan)

    def check_rule(self, rule: Rule) -> None:
        self._running.check_rule(rule)

    def set_plan(self, plan: Plan) -> None:
        self._running.set_plan(plan)
        self._publish({"event": "rules", "active": [rule.name for rule in plan.rules]})

    def elapsed_s(self) -> float:
        return self._running.elapsed_s

    def counters(self) -> Body:
        return {
            "rules": [
                {"name": name, "covered": count.covered, "injected": count.injected}
                for name, count in self._running.injector.counts.items()
            ]
        }

    # --- expiry -------------------------------------------------------------------------------

    def tick(self) -> None:
        """Undo the changes that have expired, and wait for the next to expire."""
        self._core.expire()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._core.next_expiry != NEVER:
            wait_s = max(0.0, self._core.next_expiry - self._clock())
            self._timer = asyncio.get_running_loop().call_later(wait_s, self.tick)

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
            )
        except Problem as problem:
            _send_document(answer, problem.status, problem.document)
            return
        if path == "/events" and request.method == "GET":
            self._events(answer)
            return
        query = {key: values[-1] for key, values in parse_qs(urlsplit(request.target).query).items()}
        decoded = unquote(path) if path.startswith("/rules/") else path
        status, document = self._core.handle(request.method, decoded, query, request.body)
        self.tick()
        _send_document(answer, status, document)

    # --- events -------------------------------------------------------------------------------

    def _events(self, answer: ResponseWriter) -> None:
        answer.begin(200, [("content-type", "text/event-stream"), ("cache-control", "no-store")])
        answer.write(EVENTS_BEGIN.encode())
        self._readers.add(answer)
        answer.on_disconnect(lambda: self._readers.discard(answer))
        if self._beat is None:
            self._beat = asyncio.get_running_loop().call_later(KEEP_ALIVE_S, self._keep_alive)

    def _keep_alive(self) -> None:
        self._send(EVENTS_KEEP_ALIVE.encode())
        again = asyncio.get_running_loop().call_later
        self._beat = again(KEEP_ALIVE_S, self._keep_alive) if self._readers else None

    def _injected(self, rule: Rule, call: Call, verdict: Verdict) -> None:
        if self._readers:
            self._publish(
                {
                    "event": "injected",
                    "rule": rule.name,
                    "fault": rule.fault.kind,
                    "n": call.ordinal,
                    "effect": verdict.effect,
                    "value": verdict.amount,
                    "method": call.method,
                    "name": call.name,
                    "id": call.id,
                }
            )

    def _publish(self, event: Body) -> None:
        timed = {"event": event.pop("event"), "t": round(self._running.elapsed_s, 6), **event}
        self._send(event_line(timed).encode("utf-8", "replace"))

    def _send(self, data: bytes) -> None:
        for reader in tuple(self._readers):
            # A slow reader loses events; it never blocks the gateway.
            if reader.unread_bytes <= _MOST_UNREAD_BYTES:
                reader.write(data)


def _send_document(answer: ResponseWriter, status: int, document: Body) -> None:
    answer.respond(status, [*_JSON, *headers_of(status)], json.dumps(document, ensure_ascii=False).encode())
