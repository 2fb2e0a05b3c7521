"""Calls that the portal makes, new ones or replays, in the same server as those of MCP clients."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.audit.redaction import INFINITE, NUL, TOO_DEEP
from faultkit.audit.row import AuditEntry
from faultkit.audit.writer import AuditWriter
from faultkit.base.errors import InputError
from faultkit.base.secrets import REDACTED
from faultkit.base.times import now_us
from faultkit.faults.call_fault import Transport
from faultkit.mcp.failures.failure_service import FinishedCall
from faultkit.mcp.failures.failure_tool import Caller
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import encode, read
from faultkit.web.call_rows import entry_of
from faultkit.web.request_context import RequestContext, type_name
from faultkit.web.routing import HttpError, SiteReply, error_reply, json_reply

TRYIT = "portal-tryit"
REPLAY = "portal-replay"
_TOKEN = "portal"
_INFINITE = re.compile(rb'("(?:[^"\\]|\\.)*")|Infinity')
"""Matches a JSON text, or the word Infinity outside of texts."""
_CHANGED = {REDACTED: REDACTED, TOO_DEEP: TOO_DEEP, INFINITE: INFINITE, NUL: "a text with NUL"}
"""Marks in stored texts that replaced the original content, with their description."""


class PortalExchange(Exchange):
    """An exchange that is not on any wire: notes and reply are kept in memory."""

    transport: ClassVar[Transport] = "http"
    __slots__ = ("caller", "event_id", "notes", "replayed_from", "reply_raw", "seconds", "source")

    def __init__(
        self,
        method: str,
        params: Mapping[str, Any],
        context: RequestContext,
        source: str = "",
        replayed_from: str = "",
    ) -> None:
        raw = _encoded({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        super().__init__(Session("portal", "http", "legacy", lambda raw: None), read(raw))
        self.caller = _caller_of(context, self)
        self.source = source
        self.replayed_from = replayed_from
        self.notes: list[dict[str, Any]] = []
        self.reply_raw: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.event_id = ""
        """Id of its row in the log."""
        self.seconds = 0.0

    def write_note(self, raw: bytes) -> None:
        message = json.loads(raw)
        self.notes.append({"method": message["method"], "params": message.get("params", {})})

    def write_reply(self, raw: bytes) -> None:
        if not self.reply_raw.done():
            self.reply_raw.set_result(raw)

    def write_nothing(self) -> None:
        self.reply_raw.cancel()


@dataclass(slots=True)
class PortalCaller(Caller):
    """A caller that marks a call as one of the portal, for the log."""

    exchange: PortalExchange | None = None


def _caller_of(context: RequestContext, exchange: PortalExchange) -> PortalCaller:
    identity = context.identity
    return PortalCaller(
        subject=identity.subject,
        auth_type=identity.auth_type,
        email=identity.email,
        name=identity.name,
        key_name=identity.key_name,
        claims=identity.claims,
        peer=context.request.peer,
        exchange=exchange,
    )


def log_portal_call(exchange: PortalExchange, ended: FinishedCall, writer: AuditWriter) -> None:
    """Write the row of a call of the portal."""
    try:
        entry = portal_entry(exchange, entry_of(ended, now_us()))
    except Exception as error:
        writer.miss(error)
    else:
        exchange.event_id = entry.row.id
        writer.add(entry, wait=False)


def portal_entry(exchange: PortalExchange, entry: AuditEntry) -> AuditEntry:
    """Return the entry with its source, and without a session."""
    row = entry.row._replace(source=exchange.source, session_id="", request_id="", era="")
    said = entry.payload
    return AuditEntry(row, None if said is None else said._replace(replayed_from=exchange.replayed_from))


@dataclass(frozen=True, slots=True)
class PortalCallResult:
    """The outcome of a call of the portal."""

    event_id: str
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    """JSON-RPC error; None if there is a result."""
    duration_ms: float
    notifications: list[dict[str, Any]]

    @property
    def success(self) -> bool:
        return self.result is not None and not self.result.get("isError", False)

    @property
    def error_text(self) -> str:
        if self.error is not None:
            return str(self.error["message"])
        texts = [block["text"] for block in (self.result or {}).get("content", []) if "text" in block]
        return texts[0] if texts else "the tool failed"

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "success": self.success,
            "duration_ms": self.duration_ms,
            "notifications": self.notifications,
        }
        if self.result is not None:
            return found | {"result": self.result}
        assert self.error is not None
        return found | {name: self.error[name] for name in ("code", "data") if name in self.error}


def _encoded(message: dict[str, Any]) -> bytes:
    """Return a message as JSON. Python reads 1e999 as infinity, which it would write as `Infinity`."""
    raw = encode(message)
    return _INFINITE.sub(lambda match: match[1] or b"1e999", raw) if b"Infinity" in raw else raw


async def call_tool(
    context: RequestContext, params: Mapping[str, Any], source: str, replayed_from: str = ""
) -> PortalCallResult:
    """Call a tool and return the outcome. If the client disconnects, the call is cancelled."""
    exchange = PortalExchange("tools/call", params, context, source, replayed_from)
    said = await _reply_of(context, exchange)
    duration_ms = round(exchange.seconds * 1000, 3)
    return PortalCallResult(
        exchange.event_id, said.get("result"), said.get("error"), duration_ms, exchange.notes
    )


async def instructions_of(context: RequestContext) -> str:
    """Return the instructions of the server, with an `initialize` request as clients send it."""
    params = {"protocolVersion": "", "capabilities": {}, "clientInfo": {"name": "portal", "version": ""}}
    said = await _reply_of(context, PortalExchange("initialize", params, context))
    return str(said["result"].get("instructions", ""))


async def _reply_of(context: RequestContext, exchange: PortalExchange) -> dict[str, Any]:
    if exchange.request.kind != "request":
        raise InputError("arguments", "expected JSON, got too deep nesting")
    context.answer.on_disconnect(exchange.cancel)
    context.services.server.request(exchange)
    said = json.loads(await exchange.reply_raw)
    assert isinstance(said, dict)
    return said


async def try_it(context: RequestContext) -> SiteReply:
    """Call a tool with the arguments in the body, and answer with the outcome."""
    name, body = context.path_names["name"], context.body()
    if name not in context.services.tools:
        raise HttpError(404, f'expected a tool that is served, got "{name[:60]}"')
    unknown = [key for key in body if key != "arguments"]
    if unknown:
        raise InputError(unknown[0][:60], "expected nothing in the body but arguments")
    arguments = body.get("arguments", {})
    if not isinstance(arguments, dict):
        raise InputError("arguments", f"expected an object, got {type_name(arguments)}")
    params = {"name": name, "arguments": arguments, "_meta": {"progressToken": _TOKEN}}
    called = await call_tool(context, params, TRYIT)
    document = {"event_id": called.event_id, **called.document()}
    if called.error is None:
        return json_reply(document)
    return json_reply({"error": called.error_text, **document}, 502)


async def replay(context: RequestContext) -> SiteReply:
    """Repeat a call of the log, and answer with the outcome."""
    id = context.path_names["id"]
    context.body()
    entry = await context.in_thread(context.audit.store.get, id)
    if entry is None:
        raise HttpError(404, f'expected the id of a call, got "{id[:60]}"')
    params = _kept_params(entry)
    name = str(params.get("name", ""))
    if name not in context.services.tools:
        raise InputError("id", f'expected a call of a tool that is served, got one of "{name[:60]}"')
    wait_s = context.services.replays.take(context.identity.who, asyncio.get_running_loop().time())
    if wait_s:
        later = (("retry-after", str(math.ceil(wait_s))),)
        return error_reply(429, f"too many replays: the next one in {math.ceil(wait_s)} s", later)
    called = await call_tool(context, params, REPLAY, id)
    document = {"replay_event_id": called.event_id, "replayed_from": id, **called.document()}
    if called.success:
        return json_reply(document)
    return json_reply({"error": called.error_text, **document}, 502)


def _kept_params(entry: AuditEntry) -> dict[str, Any]:
    """Return the stored parameters of a call. Raises InputError unless they are complete and unchanged."""
    said = entry.payload
    if said is None or said.request_params is None:
        why = (
            "it was too long" if said is not None and said.request_truncated else "its request was not stored"
        )
        raise InputError("id", f"expected a call whose request is in the log, but {why}")
    params = json.loads(said.request_params)
    for name in ("arguments", "_meta"):
        changed = next(_changed(params.get(name), name), None)
        if changed is not None:
            raise InputError("id", f"expected a call whose parameters are stored unchanged, but {changed}")
    arguments = params.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise InputError("id", f"expected a call whose arguments are an object, got {type_name(arguments)}")
    assert isinstance(params, dict)
    return params


def _changed(value: Any, path: str) -> Iterator[str]:
    """Yield a description of each value that was replaced when it was stored, at any depth."""
    if isinstance(value, str):
        yield from (f"{path} is {what}" for mark, what in _CHANGED.items() if mark in value)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _changed(key, path)
            yield from _changed(each, f"{path}.{key}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _changed(each, f"{path}.{index}")
