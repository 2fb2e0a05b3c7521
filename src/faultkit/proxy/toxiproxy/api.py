"""The routes of the API. Each reads its body, calls the registry in a worker thread, and answers JSON."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from faultkit import __version__
from faultkit.proxy.toxiproxy.body import parse_json
from faultkit.proxy.toxiproxy.guard import Guard
from faultkit.proxy.toxiproxy.metrics import CONTENT_TYPE, render
from faultkit.proxy.toxiproxy.refusals import Refusal
from faultkit.proxy.toxiproxy.registry import Registry

API_VERSION = f"2.12.0+faultkit.{__version__}"
"""The version of the original whose API this is; some clients compare it."""

_MOST_BYTES = 4 << 20

Work = Callable[[dict[str, str], Callable[[], object]], object]
"""From the names in the path, and the body if it asks for it, to the document of the answer."""
Endpoint = Callable[[Request], Awaitable[Response]]


def build_app(registry: Registry, *, local_only: bool = True) -> Starlette:
    def route(path: str, method: str, work: Work, status: int = 200) -> Route:
        return Route(path, _endpoint(work, status), methods=[method])

    def both(path: str, work: Work) -> list[Route]:
        """Updates come by POST from older clients and by PATCH from newer ones."""
        return [route(path, "POST", work), route(path, "PATCH", work)]

    a_proxy, a_toxic = "/proxies/{proxy}", "/proxies/{proxy}/toxics/{toxic}"
    toxics = "/proxies/{proxy}/toxics"
    routes = [
        route("/proxies", "GET", lambda at, body: registry.proxies()),
        route("/proxies", "POST", lambda at, body: registry.add_proxy(body()), 201),
        route("/populate", "POST", lambda at, body: {"proxies": registry.populate(body())}, 201),
        route("/reset", "POST", lambda at, body: registry.reset(), 204),
        route(a_proxy, "GET", lambda at, body: registry.proxy(at["proxy"])),
        *both(a_proxy, lambda at, body: registry.update_proxy(at["proxy"], body())),
        route(a_proxy, "DELETE", lambda at, body: registry.delete_proxy(at["proxy"]), 204),
        route(toxics, "GET", lambda at, body: registry.toxics(at["proxy"])),
        route(toxics, "POST", lambda at, body: registry.add_toxic(at["proxy"], body())),
        route(a_toxic, "GET", lambda at, body: registry.toxic(at["proxy"], at["toxic"])),
        *both(a_toxic, lambda at, body: registry.update_toxic(at["proxy"], at["toxic"], body())),
        route(a_toxic, "DELETE", lambda at, body: registry.delete_toxic(at["proxy"], at["toxic"]), 204),
        route("/version", "GET", lambda at, body: {"version": API_VERSION}),
        Route("/metrics", _metrics(registry), methods=["GET"]),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, local_only=local_only)],
        exception_handlers={HTTPException: _no_such_route},
    )


def _endpoint(work: Work, status: int) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            raw = await _body(request)
            document = await run_in_threadpool(work, request.path_params, lambda: parse_json(raw))
        except Refusal as refusal:
            return _json(refusal.document(), refusal.status)
        return Response(status_code=204) if status == 204 else _json(document, status)

    return answer


def _metrics(registry: Registry) -> Endpoint:
    async def answer(request: Request) -> Response:
        traffic = await run_in_threadpool(registry.traffic)
        return Response(render(traffic), headers={"content-type": CONTENT_TYPE})

    return answer


async def _body(request: Request) -> bytes:
    """All of it is read even where it is too long: a client that is cut off while it sends sees no answer."""
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size <= _MOST_BYTES:
            pieces.append(piece)
    if size > _MOST_BYTES:
        raise Refusal(413, f"body: expected at most {_MOST_BYTES} bytes, got {size}")
    return b"".join(pieces)


def _no_such_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json(Refusal(error.status_code, error.detail).document(), error.status_code)


def _json(document: object, status: int) -> Response:
    # Escaped: a name may hold characters that have no UTF-8.
    return Response(json.dumps(document), status, media_type="application/json")
