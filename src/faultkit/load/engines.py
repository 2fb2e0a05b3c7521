"""Which engine sends to a target: to a URL, to an event stream, to a model, or to a tool of an MCP server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from faultkit.base.address import Endpoint
from faultkit.load.engine import Engine
from faultkit.load.event_stream import StreamEngine
from faultkit.load.llm_answers import LlmEngine
from faultkit.load.load import AnyTarget, Load, McpTarget
from faultkit.load.mcp_http import HttpMcpEngine
from faultkit.load.mcp_stdio import StdioMcpEngine
from faultkit.load.mcp_target import check_mcp_target, http_route
from faultkit.load.route import Route, route_of
from faultkit.proxy.event_loop import Loop
from faultkit.proxy.tls import tls_context

McpEngine: TypeAlias = HttpMcpEngine | StdioMcpEngine


def endpoint_of(target: AnyTarget, keep_alive: bool) -> Endpoint | None:
    """Return where the connections of a load go; None for a server over stdio. Raises InputError for a target
    to which nothing can be sent."""
    if not isinstance(target, McpTarget):
        return route_of(target, keep_alive).endpoint
    check_mcp_target(target)
    route = http_route(target, keep_alive=keep_alive)
    return None if route is None else route.endpoint


def engine_of(route: Route, loop: Loop, begin_at: float) -> Engine:
    """Return the engine for a route."""
    if route.llm is not None:
        return LlmEngine(route, loop, begin_at)
    return (Engine if route.stream is None else StreamEngine)(route, loop, begin_at)


def mcp_engine_of(target: McpTarget, load: Load, worker: int = 0, workers: int = 1) -> McpEngine:
    """Return the engine for one worker's part of an MCP load, on a loop of its own. Its sessions have to be
    opened before it runs."""
    sessions = len(range(worker, load.clients, workers))
    is_shared = load.model == "open"
    route = http_route(target, keep_alive=load.keep_alive)
    if route is None:
        return StdioMcpEngine(target, Loop(), sessions, is_shared=is_shared)
    return HttpMcpEngine(target, route, Loop(), sessions, is_shared=is_shared)


def prepare(
    target: AnyTarget, load: Load, worker: int, workers: int, stopped: Callable[[], bool]
) -> Route | McpEngine | None:
    """Return what `run_segment` needs for one worker's part of a load, with the sessions of MCP open; None if
    that was stopped. Raises TargetError if a session cannot be opened."""
    if not isinstance(target, McpTarget):
        route = route_of(target, load.keep_alive)
        if route.tls_host is not None:
            tls_context(route.verify)  # Loading certificates takes long; do it before the run begins.
        return route
    engine = mcp_engine_of(target, load, worker, workers)
    is_open = False
    try:
        is_open = engine.open(stopped)
    finally:
        if not is_open:
            engine.close()
            engine.loop.close()
    return engine if is_open else None
