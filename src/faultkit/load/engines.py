"""Which engine sends to a target: to a URL, to an event stream, or to a tool of an MCP server."""

from __future__ import annotations

from typing import TypeAlias

from faultkit.load.engine import Engine
from faultkit.load.event_stream import StreamEngine
from faultkit.load.load import Load, Target
from faultkit.load.mcp_http import HttpMcpEngine
from faultkit.load.mcp_stdio import StdioMcpEngine
from faultkit.load.mcp_target import McpTarget, check_mcp_target, http_route
from faultkit.load.route import Route, route_of
from faultkit.proxy.event_loop import Loop

AnyTarget: TypeAlias = Target | McpTarget
McpEngine: TypeAlias = HttpMcpEngine | StdioMcpEngine


def check_target(target: AnyTarget, keep_alive: bool) -> None:
    """Raise InputError for a target to which nothing can be sent."""
    if isinstance(target, McpTarget):
        check_mcp_target(target)
    else:
        route_of(target, keep_alive)


def engine_of(route: Route, loop: Loop, begin_at: float) -> Engine:
    """Return the engine for a route."""
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


def worker_count(target: AnyTarget, load: Load, workers: int) -> int:
    """Return how many of so many workers would have something to do."""
    by_clients = load.model != "open" or isinstance(target, McpTarget)
    return min(workers, load.clients if by_clients else load.most_in_flight)
