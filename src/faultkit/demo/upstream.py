"""The dependency of the demo service: it answers at once, so that every delay seen is somebody else's."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


async def echo(request: Request) -> Response:
    """What was asked for, as JSON."""
    return JSONResponse(
        {
            "message": "pong",
            "method": request.method,
            "path": request.url.path,
            "query": dict(request.query_params),
        }
    )


def build_upstream() -> Starlette:
    return Starlette(routes=[Route("/{path:path}", echo, methods=METHODS)])
