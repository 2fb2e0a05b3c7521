"""What an MCP load calls: a tool of a server over stdio or streamable HTTP, in either era; its messages, and
what a reply means. Pure.

A call fails at one of three levels. Transport: there was no reply. Protocol: the reply is a JSON-RPC error,
or no JSON-RPC at all. Tool: the tool was called, and its result says `isError`.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from faultkit import __version__
from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.load.engine_base import Requester
from faultkit.load.load import McpTarget
from faultkit.load.response import Failure
from faultkit.load.route import Route, route_of
from faultkit.mcp.wire.era import CAPABILITIES_KEY, NEWEST, NEWEST_LEGACY, VERSION_KEY
from faultkit.mcp.wire.message import (
    METHOD_NOT_FOUND,
    Incoming,
    encode,
    error_of,
    notification_of,
    result_of,
)

MOST_RESTARTS = 10
"""How often in a row a session is opened again without a call that was answered in between."""
INITIALIZED = notification_of("notifications/initialized", {})
_CLIENT = {"name": "faultkit-load", "version": __version__}


def check_mcp_target(target: McpTarget) -> None:
    """Raise InputError for a target that cannot be called."""
    if (target.http is None) == (not target.command):
        both = "both" if target.command else "neither"
        raise InputError("mcp", f"expected either a command or a URL, got {both}")
    for word in target.command:
        if "\0" in word:
            raise InputError("command", f"expected words without NUL, got {shown(word)}")
    if not target.tool:
        raise InputError("tool", "expected the name of a tool, got nothing")
    if not target.timeout_s > 0:
        raise InputError("timeout_s", f"expected more than 0 seconds, got {target.timeout_s}")
    try:
        is_object = isinstance(json.loads(target.arguments), dict)
    except ValueError:
        is_object = False
    if not is_object:
        raise InputError("arguments", "expected a JSON object, got something else")
    http_route(target, keep_alive=True)


def http_route(
    target: McpTarget, *, keep_alive: bool, headers: Sequence[tuple[str, str]] = (), method: str = "POST"
) -> Route | None:
    """Return the route of requests with these headers and without a body; None over stdio."""
    if target.http is None:
        return None
    theirs = {name.lower() for name, _ in target.http.headers}
    ours = (("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"), *headers)
    merged = (*(pair for pair in ours if pair[0].lower() not in theirs), *target.http.headers)
    return route_of(
        replace(target.http, method=method, headers=merged, body=b"", timeout_s=target.timeout_s), keep_alive
    )


class CallWriter:
    """Encodes the messages of a client. Only the id of calls differs, so the rest is encoded once."""

    def __init__(self, target: McpTarget) -> None:
        self._meta: dict[str, Any] = {}
        if target.era == "modern":
            self._meta = {"_meta": {VERSION_KEY: NEWEST, CAPABILITIES_KEY: {}}}
        params = {"name": target.tool, "arguments": json.loads(target.arguments), **self._meta}
        whole = encode({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": params})
        self._head, self._tail = whole.split(b'"id":0', 1)
        self._head += b'"id":'

    def call(self, id: int) -> bytes:
        """Return a call of the tool."""
        return b"%s%d%s" % (self._head, id, self._tail)

    def initialize(self, id: int) -> bytes:
        """Return the request that opens a session of the legacy era."""
        params = {"protocolVersion": NEWEST_LEGACY, "capabilities": {}, "clientInfo": _CLIENT}
        return encode({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params})

    def opening(self, id: int) -> bytes:
        """Return the request that begins a session; in the modern era, which has none, the one that shows
        that the server is there, and which arguments it wants repeated in headers."""
        return self.initialize(id) if not self._meta else self.list_tools(id)

    def list_tools(self, id: int, cursor: object = None) -> bytes:
        """Return a request for a page of the tools."""
        params = {**self._meta, **({} if cursor is None else {"cursor": cursor})}
        return encode({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params})


def outcome_of(reply: Incoming) -> Failure:
    """Return what the reply to a call of a tool means."""
    if "error" in reply.message:
        return Failure.RPC_ERROR
    result = reply.message.get("result")
    if not isinstance(result, dict) or result.get("resultType", "complete") != "complete":
        return Failure.INVALID_REPLY
    return Failure.TOOL_ERROR if result.get("isError") is True else Failure.NONE


def refusal_in(reply: Incoming) -> str:
    """Return the message of an error, short enough for a line."""
    error = reply.message.get("error")
    return str(error.get("message") if isinstance(error, dict) else error)[:200]


def is_reply_to(incoming: Incoming, id: int) -> bool:
    """Return whether this message is the reply to a request."""
    return incoming.kind == "response" and incoming.id == id and type(incoming.id) is int


def answer_to(request: Incoming) -> bytes:
    """Return the answer to a request of the server: a ping is answered, all else is refused."""
    if request.method == "ping":
        return result_of(request.id, {})
    return error_of(request.id, METHOD_NOT_FOUND, f"{request.method} is not served here")


S = TypeVar("S")


class SessionChoice(Generic[S]):
    """Deals sessions out. Each client of a closed load has its own. Calls of an open load share them: one
    without a call under way is taken first, else they take turns."""

    def __init__(self, sessions: Sequence[S], *, is_shared: bool) -> None:
        self._sessions = sessions
        self._is_shared = is_shared
        self._own: dict[Requester, S] = {}
        self._calls: Counter[S] = Counter()
        """Calls under way in each session."""
        self._free: deque[S] = deque(sessions)
        """Sessions without one."""
        self._turn = 0

    def take(self, requester: Requester) -> S:
        """Return the session for the next call of a requester."""
        if not self._is_shared:
            if requester not in self._own:
                self._own[requester] = self._sessions[len(self._own) % len(self._sessions)]
            return self._own[requester]
        if self._free:
            session = self._free.popleft()
        else:
            self._turn += 1
            session = self._sessions[self._turn % len(self._sessions)]
        self._calls[session] += 1
        return session

    def release(self, session: S) -> None:
        """Note that a call of a session is over."""
        if self._is_shared:
            self._calls[session] -= 1
            if not self._calls[session]:
                self._free.append(session)
