"""JSON-RPC 2.0 messages: parsed with their bytes kept, and encoded. Pure.

Parsing never raises: a message that cannot be read has the kind `invalid` and the error for its sender.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeGuard

from faultkit.base.documents.jsonc import NoJsonConstant, refuse_constant

Kind: TypeAlias = Literal["request", "notification", "response", "batch", "invalid"]
Id: TypeAlias = str | int

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_NO_PARAMS: dict[str, Any] = {}


@dataclass(slots=True)
class Incoming:
    """One received message."""

    raw: bytes
    """The bytes as received, without framing."""
    kind: Kind
    id: Id | None = None
    method: str = ""
    """Method of a request or notification; empty for others."""
    params: dict[str, Any] = field(default_factory=dict)
    message: dict[str, Any] = field(default_factory=dict)
    """The parsed object; empty if the bytes are no JSON object."""
    items: tuple[Incoming, ...] = ()
    """Messages of a batch."""
    problem: tuple[int, str] | None = None
    """Error code and text for the sender of an invalid message."""


def read(raw: bytes) -> Incoming:
    """Parse one line, event or body."""
    try:
        value = value_of(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return Incoming(raw, "invalid", problem=(PARSE_ERROR, f"Parse error: {_reason(error)}"))
    if type(value) is dict:
        return _message_of(raw, value)
    if type(value) is list and value:
        items = tuple(_message_of(b"", item) for item in value)
        return Incoming(raw, "batch", items=items)
    return Incoming(raw, "invalid", problem=(INVALID_REQUEST, "Invalid request: expected a JSON object"))


def value_of(text: str) -> Any:
    """Return the value of JSON. Raises ValueError and RecursionError."""
    if text[:1] == "{":
        # Fast path: nearly every message is an object without whitespace around it.
        value, end = _DECODER.raw_decode(text)
        if end == len(text):
            return value
    return _DECODER.decode(text)


def _message_of(raw: bytes, value: Any) -> Incoming:
    if type(value) is not dict or value.get("jsonrpc") != "2.0":
        return _invalid(raw, value, 'expected an object with "jsonrpc": "2.0"')
    method, params = value.get("method"), value.get("params", _NO_PARAMS)
    if method is None:
        if "result" not in value and "error" not in value:
            return _invalid(raw, value, 'expected a "method", a "result" or an "error"')
        own = value.get("id")
        return Incoming(raw, "response", own if is_id(own) else None, message=value)
    if type(method) is not str:
        return _invalid(raw, value, "expected a text as method")
    if type(params) is not dict:
        return _invalid(raw, value, "expected an object as params")
    if "id" not in value:
        return Incoming(raw, "notification", None, method, params, value)
    if not is_id(value["id"]):
        return _invalid(raw, value, "expected a text or a whole number as id")
    return Incoming(raw, "request", value["id"], method, params, value)


def _invalid(raw: bytes, value: Any, expected: str) -> Incoming:
    own = value.get("id") if type(value) is dict else None
    return Incoming(
        raw,
        "invalid",
        own if is_id(own) else None,
        message=value if type(value) is dict else {},
        problem=(INVALID_REQUEST, f"Invalid request: {expected}"),
    )


def is_id(value: object) -> TypeGuard[Id]:
    """Return whether a value may be a request id: a string or an integer, not null (MCP 2025-11-25, Overview,
    Requests)."""
    # Not isinstance: True is an int in Python, but not a valid id.
    return type(value) is str or type(value) is int


def encode(value: object) -> bytes:
    """Return compact JSON. A lone surrogate, which a peer may have escaped, stays escaped."""
    text = _ENCODER.encode(value)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def bytes_of(message: dict[str, Any] | bytes) -> bytes:
    """Return the bytes of a fault's frame: an encoded message, or raw bytes unchanged."""
    return message if isinstance(message, bytes) else encode(message)


def result_of(id: Id | None, result: object) -> bytes:
    """Encode a response with a result."""
    return encode({"jsonrpc": "2.0", "id": id, "result": result})


def error_message(id: Id | None, code: int, message: str, data: object = None) -> dict[str, Any]:
    """Return a response with an error as a document."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def error_of(id: Id | None, code: int, message: str, data: object = None) -> bytes:
    """Encode a response with an error."""
    return encode(error_message(id, code, message, data))


def notification_of(method: str, params: object) -> bytes:
    """Encode a notification."""
    return encode({"jsonrpc": "2.0", "method": method, "params": params})


CANCELLED = "notifications/cancelled"


def cancelled_id(incoming: Incoming) -> Id | None:
    """Return the id of the request that a notification cancels; None if it is no cancellation."""
    id = incoming.params.get("requestId") if incoming.method == CANCELLED else None
    return id if is_id(id) else None


def target_of(method: str, params: dict[str, Any]) -> str:
    """Return the tool or prompt name, or the resource URI, that a request is about; empty if there is
    none."""
    key = NAMED_BY.get(method)
    value = params.get(key) if key is not None else None
    return value if type(value) is str else ""


NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "resources/subscribe": "uri",
    "resources/unsubscribe": "uri",
}
"""Methods with a target, and the parameter that names it."""


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    if isinstance(error, NoJsonConstant):
        return str(error)
    # The only error left: Python's limit for the digits of an integer.
    return "a number has too many digits"


_DECODER = json.JSONDecoder(parse_constant=refuse_constant)
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False)
