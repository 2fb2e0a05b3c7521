"""The demo service as an ASGI app: six endpoints, most of which call an upstream."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from faultkit.demo.upstream_calls import UpstreamAnswer, UpstreamCaller

MOST_BYTES = 1024 * 1024
EVENTS = 10
EVENT_GAP_S = 0.05
HELLO = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Demo</title></head>
<body><h1>Hello</h1><p>Try /ping, /ping/myself, /multi, /events, or POST /uppercase.</p></body></html>
"""


class DemoService:
    """The endpoints of the demo."""

    def __init__(self, upstream: str, myself: str, timeout_s: float, retries: int = 0) -> None:
        """`upstream`: URL of the dependency. `myself`: URL of the service's own page."""
        self._upstream = upstream
        self._myself = myself
        self._timeout_s = timeout_s
        self._retries = retries

    def app(self) -> Starlette:
        """Return the ASGI app."""
        return Starlette(
            routes=[
                Route("/", self.hello),
                Route("/ping", self.ping),
                Route("/ping/myself", self.ping_myself),
                Route("/uppercase", self.uppercase, methods=["POST"]),
                Route("/multi", self.multi),
                Route("/events", self.events),
            ],
            exception_handlers={HTTPException: _as_json},
            lifespan=self._lifespan,
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._caller = UpstreamCaller(self._timeout_s, self._retries)
        try:
            yield
        finally:
            self._caller.close()

    async def hello(self, request: Request) -> Response:
        return HTMLResponse(HELLO)

    async def ping(self, request: Request) -> Response:
        return _response_of(await self._caller.get(self._upstream))

    async def ping_myself(self, request: Request) -> Response:
        answer = await self._caller.get(self._myself)
        if answer.status is not None and answer.status != 200:
            return _failed(500, f"{self._myself} answered {answer.status}", answer)
        return _response_of(answer)

    async def uppercase(self, request: Request) -> Response:
        content = _content(await _body(request))
        return JSONResponse({"content": content.upper()})

    async def multi(self, request: Request) -> Response:
        """Call the upstream twice at the same time, which takes as long as the slower call."""
        began = time.perf_counter()
        answers = await asyncio.gather(*(self._caller.get(self._upstream) for _ in range(2)))
        for answer in answers:
            if not _is_good(answer):
                return _response_of(answer)
        parts = [{"content": answer.content, "duration": answer.duration} for answer in answers]
        return JSONResponse({"content": parts, "duration": f"{(time.perf_counter() - began) * 1000:.3f}"})

    async def events(self, request: Request) -> Response:
        """Send a stream of server-sent events at a steady pace."""
        return StreamingResponse(_events(), media_type="text/event-stream")


async def _events() -> AsyncIterator[str]:
    for number in range(1, EVENTS + 1):
        if number > 1:
            await asyncio.sleep(EVENT_GAP_S)
        yield f"data: {number}\n\n"


def _is_good(answer: UpstreamAnswer) -> bool:
    return answer.status is not None and answer.status < 400


def _response_of(answer: UpstreamAnswer) -> Response:
    if _is_good(answer):
        return JSONResponse({"content": answer.content, "duration": answer.duration})
    if answer.status is not None:
        return _failed(502, f"the upstream answered {answer.status}", answer)
    return _failed(504 if answer.timed_out else 502, answer.content, answer)


def _failed(status: int, problem: str, answer: UpstreamAnswer) -> Response:
    return JSONResponse({"error": problem, "duration": answer.duration}, status)


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"expected at most {MOST_BYTES} bytes")
    return bytes(body)


def _content(body: bytes) -> str:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, 'expected JSON such as {"content": "text"}') from None
    content = document.get("content") if isinstance(document, dict) else None
    if not isinstance(content, str):
        raise HTTPException(400, 'expected JSON such as {"content": "text"}')
    return content


async def _as_json(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


def with_request_log(app: ASGIApp, report: Callable[[str], None]) -> ASGIApp:
    """Return the app with a log: `report` receives `METHOD path status duration` of each answered request."""

    async def logged(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        began = time.perf_counter()
        status: int | None = None

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await app(scope, receive, send_and_note)
        except ClientDisconnect:
            return  # The client has closed its connection.
        if status is not None:
            report(_line(scope, status, time.perf_counter() - began))

    return logged


def _line(scope: Scope, status: int, seconds: float) -> str:
    # The path comes decoded from a client: control characters must not reach the terminal.
    path = "".join(mark if mark.isprintable() else "?" for mark in str(scope["path"]))
    return f"{scope['method']} {path} {status} {seconds * 1000:.3f}ms"
