"""The HTTP control API of a running data plane: read its state, and change its plan for a while.

    GET    /healthz                 is it there (the only one without a token)
    GET    /plan                    the plan that holds, in the form that PUT takes
    PUT    /plan?ttl=60             put another plan in its place
    POST   /rules?ttl=60            add one rule
    PATCH  /rules/{name}?ttl=60     keep a rule for so long from now on
    DELETE /rules/{name}            take a rule away
    GET    /status                  counters, and when changes expire
    GET    /events                  what happens, as server-sent events

It listens on loopback only, wants a bearer token, and turns web pages away (Host and Origin are checked),
since a page in a browser can reach loopback too. Every change ends by itself after `ttl` seconds.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError, RunError
from faultkit.plan import Plan, Rule, dump_plan, dump_rule, parse_plan, parse_rule
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
from faultkit.proxy.face import DataPlane
from faultkit.proxy.happenings import Happening
from faultkit.proxy.plain import plain_happening, plain_snapshot
from faultkit.proxy.proxy import listen

_MOST_WAITING_EVENTS = 10_000
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Control:
    """The API at work, in a thread of its own. Use it as a context manager."""

    def __init__(
        self,
        plane: DataPlane,
        listen_on: Endpoint,
        token: str,
        clock: Callable[[], float] = time.monotonic,
        began: float | None = None,
    ) -> None:
        if listen_on.host not in _LOOPBACK:
            raise InputError("control", f"expected a loopback address, got {listen_on}")
        self._plane = plane
        self._token = token.encode()
        self._clock = clock
        self._began = time.monotonic() if began is None else began
        self._leases = Leases.of(plane.plan)
        self._lock = threading.Lock()
        """Changes come from the API's thread, expiries from the thread that calls `tick`."""
        self._listeners: set[asyncio.Queue[Happening | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._socket = listen("control", listen_on)
        host, port = self._socket.getsockname()[:2]
        self.bound = Endpoint(host, port)
        config = uvicorn.Config(
            self._app(),
            http="h11",
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="fault-control", daemon=True)

    def __enter__(self) -> Control:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._to_listeners([None])
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    @property
    def is_watched(self) -> bool:
        """Whether anybody reads `/events`, so that the plane should tell everything."""
        return bool(self._listeners)

    def publish(self, happenings: list[Happening]) -> None:
        """Hand on what happened to those who read `/events`. Any thread."""
        if happenings and self._listeners:
            self._to_listeners(list(happenings))

    def tick(self) -> None:
        """Undo the changes whose time is over. Call it a few times a second."""
        if self._clock() >= self._leases.next_expiry:
            self._change(lambda leases: leases)

    # --- changes ------------------------------------------------------------------------------

    def _change(self, make: Callable[[Leases], Leases]) -> Leases:
        """Put what `make` gives to work. If the plane does not take it, nothing has changed."""
        with self._lock:
            before = self._leases.plan
            leases = make(self._leases.at(self._clock()))
            if leases.plan != before:
                self._plane.set_plan(leases.plan)
            self._leases = leases
            return leases

    def _check_rule(self, rule: Rule, path: str) -> None:
        """The plane would refuse it too, but it does not know where the rule was written."""
        try:
            self._plane.check_rule(rule)
        except InputError as error:
            raise error.within(path) from None

    def _until(self, ttl_s: float) -> float:
        return self._clock() + ttl_s if ttl_s else NEVER

    # --- handlers: the API's thread -----------------------------------------------------------

    async def _healthz(self, request: Request) -> Response:
        return JSONResponse({"ok": True})

    async def _get_plan(self, request: Request) -> Response:
        return JSONResponse(dump_plan(self._change(lambda leases: leases).plan))

    async def _put_plan(self, request: Request) -> Response:
        ttl_s = ttl_of(request.query_params.get("ttl"))
        document = document_of(await _body(request))
        if isinstance(document, dict) and "seed" not in document:
            document = {**document, "seed": self._leases.plan.seed}
        plan = parse_plan(document)
        for index, rule in enumerate(plan.rules):
            self._check_rule(rule, f"rules[{index}]")
        self._change(lambda leases: leases.replaced(plan, self._until(ttl_s)))
        return JSONResponse({"plan": dump_plan(plan), "digest": plan.digest, **expiry_of(ttl_s)})

    async def _post_rule(self, request: Request) -> Response:
        ttl_s = ttl_of(request.query_params.get("ttl"))
        document = document_of(await _body(request))
        added = ""

        def add(leases: Leases) -> Leases:
            nonlocal added
            names = {rule.name for rule in leases.plan.rules}
            rule = parse_rule(document, names)
            if rule.name in names:
                raise Problem(409, f'a rule named "{rule.name}" is there already', "name")
            self._plane.check_rule(rule)
            added = rule.name
            return leases.added(rule, self._until(ttl_s))

        plan = self._change(add).plan
        rule = next(rule for rule in plan.rules if rule.name == added)
        body = {"rule": dump_rule(rule), "digest": plan.digest, **expiry_of(ttl_s)}
        return JSONResponse(body, status_code=201)

    async def _renew_rule(self, request: Request) -> Response:
        name, ttl_s = request.path_params["name"], ttl_of(request.query_params.get("ttl"))

        def renew(leases: Leases) -> Leases:
            check_holds(leases, name)
            return leases.renewed(name, self._until(ttl_s))

        plan = self._change(renew).plan
        return JSONResponse({"renewed": name, "digest": plan.digest, **expiry_of(ttl_s)})

    async def _delete_rule(self, request: Request) -> Response:
        name = request.path_params["name"]

        def remove(leases: Leases) -> Leases:
            check_holds(leases, name)
            return leases.removed(name)

        plan: Plan = self._change(remove).plan
        return JSONResponse({"removed": name, "digest": plan.digest})

    async def _status(self, request: Request) -> Response:
        leases = self._change(lambda leases: leases)
        now = self._clock()
        expires = {
            name: None if until == NEVER else round(until - now, 3) for name, until in leases.until.items()
        }
        return JSONResponse(
            {
                "elapsed_s": round(time.monotonic() - self._began, 3),
                "digest": leases.plan.digest,
                "expires_in_s": expires,
                **plain_snapshot(self._plane.snapshot()),
            }
        )

    async def _events(self, request: Request) -> Response:
        headers = {"cache-control": "no-store"}
        return StreamingResponse(self._stream(), media_type="text/event-stream", headers=headers)

    async def _stream(self) -> AsyncIterator[str]:
        waiting: asyncio.Queue[Happening | None] = asyncio.Queue(_MOST_WAITING_EVENTS)
        self._listeners.add(waiting)
        self._plane.observed = True
        try:
            # Whoever has read this line misses nothing from here on.
            yield ": what happens from here on\n\n"
            while True:
                try:
                    happening = await asyncio.wait_for(waiting.get(), KEEP_ALIVE_S)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if happening is None:
                    return
                line = json.dumps(plain_happening(happening, self._began), ensure_ascii=False)
                yield f"data: {line}\n\n"
        finally:
            self._listeners.discard(waiting)

    # --- the server ---------------------------------------------------------------------------

    def _app(self) -> ASGIApp:
        routes = [
            Route("/healthz", self._healthz, methods=["GET"]),
            Route("/plan", self._get_plan, methods=["GET"]),
            Route("/plan", self._put_plan, methods=["PUT"]),
            Route("/rules", self._post_rule, methods=["POST"]),
            Route("/rules/{name:path}", self._renew_rule, methods=["PATCH"]),
            Route("/rules/{name:path}", self._delete_rule, methods=["DELETE"]),
            Route("/status", self._status, methods=["GET"]),
            Route("/events", self._events, methods=["GET"]),
        ]
        handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
            Problem: _show_problem,
            InputError: _show_input_error,
            RunError: _show_run_error,
            HTTPException: _show_http_exception,
        }
        return Guard(Starlette(routes=routes, exception_handlers=handlers), self.bound, self._token)

    def _serve(self) -> None:
        asyncio.run(self._serve_until_told())

    async def _serve_until_told(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self._socket])

    def _to_listeners(self, happenings: list[Any]) -> None:
        def hand_on() -> None:
            for waiting in tuple(self._listeners):
                for happening in happenings:
                    if waiting.full():
                        waiting.get_nowait()  # A reader that is too slow loses the oldest, never stops us.
                    waiting.put_nowait(happening)

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(hand_on)


class Guard:
    """Who may speak at all: the right Host, no foreign Origin, the token."""

    def __init__(self, app: ASGIApp, bound: Endpoint, token: bytes) -> None:
        self._app = app
        self._token = token
        names = {*_LOOPBACK, bound.host}
        self._hosts = {str(Endpoint(name, bound.port)) for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            self._check(Request(scope))
        except Problem as problem:
            await _answer(problem)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _check(self, request: Request) -> None:
        headers = request.headers
        check_caller(
            request.url.path,
            headers.get("host", ""),
            headers.getlist("origin"),
            headers.get("authorization", ""),
            hosts=self._hosts,
            token=self._token,
        )


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            raise Problem(413, f"expected at most {MOST_BODY_BYTES} bytes, got more", "body")
    return bytes(body)


def _answer(problem: Problem) -> Response:
    headers = {"www-authenticate": "Bearer"} if problem.status == 401 else None
    return JSONResponse({"error": problem.error}, problem.status, headers)


async def _show_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return _answer(error)


async def _show_input_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, InputError)
    return _answer(Problem(400, error.problem, error.path))


async def _show_run_error(request: Request, error: Exception) -> Response:
    return _answer(Problem(503, str(error)))


async def _show_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _answer(Problem(error.status_code, error.detail, request.url.path))
    response.headers.update(error.headers or {})
    return response
