"""Functions that run once for every client that connects: by their names, or by what they are given."""

from __future__ import annotations

import re

from faultkit.code.facts import Scope
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_OPENS = NamePattern(
    r"^_*(on_?open|on_?connect(ed|ion)?|onConnectedAsync|handle_?(connection|client|socket|session|conn|ws|websocket|upgrade)"
    r"|serve_?(conn\w*|client|socket|ws|websocket|session)|(after)?ConnectionEstablished|accept_?(client|conn\w*)"
    r"|onWebSocket(Connect|Open)|channelActive|handlerAdded)$",
    re.IGNORECASE,
)
_OF_CLIENT = NamePattern(
    r"(^|[./:*&])(WebSocket\w*|DefaultWebSocket\w*|TcpStream|UnixStream|TcpClient|WsStream|SseEmitter"
    r"|ResponseBodyEmitter|net\.Conn|Conn|Socket|Session|StreamReader|ServerWebSocket|NetSocket|SseEventSink"
    r"|HttpContext|HttpResponse)(<.*>)?$"
)
"""Types of parameters that there is one of for every client."""
_OF_ANSWER = NamePattern(r"(^|[./])(ServerResponse|Response|FastifyReply|WsConnection|Connection)$")
"""Types of what a client is answered by; a `Connection` may be one to a database, too."""
CLIENT_NAMES = frozenset(("websocket", "ws", "conn", "connection", "sock", "socket"))


def opens_connection(scope: Scope) -> bool:
    """Return whether a function is called for every client that connects, by its name."""
    return _OPENS.match(scope.short_name) is not None


def is_client(type_: str) -> bool:
    """Return whether there is an object of a type for every client."""
    return _OF_CLIENT.search(type_) is not None


def is_of_connection(scope: Scope) -> bool:
    """Return whether a function runs once for every client: by its name, or by what it is given."""
    return opens_connection(scope) or any(
        is_client(one.type) or _OF_ANSWER.search(one.type) is not None for one in scope.parameters
    )
