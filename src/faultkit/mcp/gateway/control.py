"""The HTTP control API of a running gateway: read its state, and change its plan for a while.

    GET    /healthz                 is it there (the only one without a token)
    GET    /plan                    the plan that holds, in the form that PUT takes
    PUT    /plan?ttl=60             put another plan in its place
    POST   /rules?ttl=60            add one rule
    PATCH  /rules/{name}?ttl=60     keep a rule for so long from now on
    DELETE /rules/{name}            take a rule away
    GET    /status                  counters, and when changes expire
    GET    /events                  what is injected, as server-sent events

The words and rules are those of `fault run --control`: loopback only, a bearer token, no web pages, and every
change ends by itself after `ttl` seconds.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from faultkit.base.errors import InputError
from faultkit.base.http.listening import LOOPBACK, cannot_listen, shown_host
from faultkit.base.http.server import Answer, Headers, HttpServer, Limits, Request
from faultkit.faults.call.call import Call, Verdict
from faultkit.mcp.gateway.running import Running
from faultkit.plan import Rule, dump_plan, dump_rule, parse_plan, parse_rule
from faultkit.proxy.control.leases import NEVER, Leases
from faultkit.proxy.control.protocol import (
    KEEP_ALIVE_S,
    MOST_BODY_BYTES,
    Problem,
    check_caller,
    check_holds,
    document_of,
    expiry_of,
    ttl_of,
)

_MOST_UNREAD_BYTES = 4 << 20
_JSON: Headers = [("content-type", "application/json")]

Body: TypeAlias = dict[str, Any]


class Control:
    """The API at work, on the loop of the gateway."""

    def __init__(self, running: Running, token: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._running = running
        self._token = token.encode()
        self._clock = clock
        self._leases = Leases.of(running.injector.plan)
        self._server = HttpServer(self._handle, Limits(body_bytes=MOST_BODY_BYTES))
        self._hosts: set[str] = set()
        self._readers: set[Answer] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._beat: asyncio.TimerHandle | None = None
        running.on_injection = self._injected

    async def start(self, host: str, port: int) -> tuple[str, int]:
        if host not in LOOPBACK:
            raise InputError("control", f"expected a loopback address, got {host}:{port}")
        try:
            bound = await self._server.start(host, port)
        except OSError as error:
            raise cannot_listen(host, port, error) from None
        self._hosts = {f"{shown_host(name)}:{bound[1]}" for name in {*LOOPBACK, bound[0]}}
        return bound

    async def stop(self) -> None:
        for timer in (self._timer, self._beat):
            if timer is not None:
                timer.cancel()
        for reader in tuple(self._readers):
            reader.end()
        await self._server.stop()

    def tick(self) -> None:
        """Undo the changes whose time is over."""
        if self._clock() >= self._leases.next_expiry:
            self._change(lambda leases: leases)

    # --- changes ------------------------------------------------------------------------------

    def _change(self, make: Callable[[Leases], Leases]) -> Leases:
        """Put what `make` gives to work. If the gateway does not take it, nothing has changed."""
        before = self._leases.plan
        leases = make(self._leases.at(self._clock()))
        if leases.plan != before:
            self._running.set_plan(leases.plan)
            self._tell({"event": "rules", "active": [rule.name for rule in leases.plan.rules]})
        self._leases = leases
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if leases.next_expiry != NEVER:
            wait_s = max(0.0, leases.next_expiry - self._clock())
            self._timer = asyncio.get_running_loop().call_later(wait_s, self.tick)
        return leases

    def _until(self, ttl_s: float) -> float:
        return self._clock() + ttl_s if ttl_s else NEVER

    # --- requests -----------------------------------------------------------------------------

    def _handle(self, request: Request, answer: Answer) -> None:
        try:
            self._guard(request)
            if request.path == "/events" and request.method == "GET":
                self._events(answer)
                return
            status, body = self._answer(request)
        except Problem as problem:
            status, body = problem.status, {"error": problem.error}
        except InputError as error:
            status, body = 400, {"error": {"path": error.path, "problem": error.problem}}
        headers = [*_JSON, ("www-authenticate", "Bearer")] if status == 401 else _JSON
        answer.whole(status, headers, json.dumps(body, ensure_ascii=False).encode())

    def _guard(self, request: Request) -> None:
        headers = request.headers
        origin = headers.get("origin")
        check_caller(
            request.path,
            headers.get("host", ""),
            [] if origin is None else [origin],
            headers.get("authorization", ""),
            hosts=self._hosts,
            token=self._token,
        )

    def _answer(self, request: Request) -> tuple[int, Body]:
        path = request.path
        name = unquote(path.removeprefix("/rules/")) if path.startswith("/rules/") else ""
        handlers: dict[str, dict[str, Callable[[], tuple[int, Body]]]] = {
            "/healthz": {"GET": lambda: (200, {"ok": True})},
            "/plan": {"GET": self._get_plan, "PUT": lambda: self._put_plan(request)},
            "/rules": {"POST": lambda: self._post_rule(request)},
            "/rules/": {
                "PATCH": lambda: self._renew_rule(name, request),
                "DELETE": lambda: self._delete_rule(name),
            },
            "/status": {"GET": self._status},
            "/events": {},
        }
        methods = handlers.get("/rules/" if name else path)
        if methods is None:
            raise Problem(404, "Not Found", path)
        if request.method not in methods:
            raise Problem(405, "Method Not Allowed", path)
        return methods[request.method]()

    def _get_plan(self) -> tuple[int, Body]:
        return 200, dump_plan(self._change(lambda leases: leases).plan)

    def _put_plan(self, request: Request) -> tuple[int, Body]:
        ttl_s = _ttl(request)
        document = document_of(request.body)
        if isinstance(document, dict) and "seed" not in document:
            document = {**document, "seed": self._leases.plan.seed}
        plan = parse_plan(document)
        self._running.check(plan)
        self._change(lambda leases: leases.replaced(plan, self._until(ttl_s)))
        return 200, {"plan": dump_plan(plan), "digest": plan.digest, **expiry_of(ttl_s)}

    def _post_rule(self, request: Request) -> tuple[int, Body]:
        ttl_s = _ttl(request)
        document = document_of(request.body)
        added: list[Rule] = []

        def add(leases: Leases) -> Leases:
            names = {rule.name for rule in leases.plan.rules}
            rule = parse_rule(document, names)
            if rule.name in names:
                raise Problem(409, f'a rule named "{rule.name}" is there already', "name")
            self._running.check_rule(rule)
            added.append(rule)
            return leases.added(rule, self._until(ttl_s))

        plan = self._change(add).plan
        return 201, {"rule": dump_rule(added[0]), "digest": plan.digest, **expiry_of(ttl_s)}

    def _renew_rule(self, name: str, request: Request) -> tuple[int, Body]:
        ttl_s = _ttl(request)

        def renew(leases: Leases) -> Leases:
            check_holds(leases, name)
            return leases.renewed(name, self._until(ttl_s))

        return 200, {"renewed": name, "digest": self._change(renew).plan.digest, **expiry_of(ttl_s)}

    def _delete_rule(self, name: str) -> tuple[int, Body]:
        def remove(leases: Leases) -> Leases:
            check_holds(leases, name)
            return leases.removed(name)

        return 200, {"removed": name, "digest": self._change(remove).plan.digest}

    def _status(self) -> tuple[int, Body]:
        leases = self._change(lambda leases: leases)
        now = self._clock()
        expires = {
            name: None if until == NEVER else round(until - now, 3) for name, until in leases.until.items()
        }
        return 200, {
            "elapsed_s": round(self._running.elapsed_s, 3),
            "digest": leases.plan.digest,
            "expires_in_s": expires,
            "rules": [
                {"name": name, "covered": count.covered, "injected": count.injected}
                for name, count in self._running.injector.counts.items()
            ],
        }

    # --- events -------------------------------------------------------------------------------

    def _events(self, answer: Answer) -> None:
        answer.begin(200, [("content-type", "text/event-stream"), ("cache-control", "no-store")])
        # Whoever has read this line misses nothing from here on.
        answer.write(b": what happens from here on\n\n")
        self._readers.add(answer)
        answer.on_gone(lambda: self._readers.discard(answer))
        if self._beat is None:
            self._beat = asyncio.get_running_loop().call_later(KEEP_ALIVE_S, self._keep_alive)

    def _keep_alive(self) -> None:
        self._send(b": still here\n\n")
        again = asyncio.get_running_loop().call_later
        self._beat = again(KEEP_ALIVE_S, self._keep_alive) if self._readers else None

    def _injected(self, rule: Rule, call: Call, verdict: Verdict) -> None:
        if self._readers:
            self._tell(
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

    def _tell(self, happening: Body) -> None:
        timed = {"event": happening.pop("event"), "t": round(self._running.elapsed_s, 6), **happening}
        self._send(f"data: {json.dumps(timed, ensure_ascii=False)}\n\n".encode("utf-8", "replace"))

    def _send(self, data: bytes) -> None:
        for reader in tuple(self._readers):
            # A reader that is too slow misses something, but never stops us.
            if reader.unread_bytes <= _MOST_UNREAD_BYTES:
                reader.write(data)


def _ttl(request: Request) -> float:
    given = parse_qs(urlsplit(request.target).query).get("ttl")
    return ttl_of(None if given is None else given[-1])
