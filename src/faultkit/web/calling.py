"""Calls of tools that the portal makes: tried out, or made again, in the same server as all others."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.audit.calls import entry_of
from faultkit.audit.redact import INFINITE, NUL, TOO_DEEP
from faultkit.audit.row import Entry
from faultkit.audit.writer import Writer
from faultkit.base.errors import InputError
from faultkit.base.times import now_us
from faultkit.faults.call.call import Transport
from faultkit.mcp.failures.identity import REDACTED
from faultkit.mcp.failures.service import Ended
from faultkit.mcp.failures.tool import Caller
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import encode, read
from faultkit.web.ask import Ask, type_name
from faultkit.web.reply import Refused, Reply, error_reply, json_reply

TRYIT = "portal-tryit"
REPLAY = "portal-replay"
_TOKEN = "portal"
_INFINITE = re.compile(rb'("(?:[^"\\]|\\.)*")|Infinity')
"""A text, or what stands outside of all of them."""
_CHANGED = {REDACTED: REDACTED, TOO_DEEP: TOO_DEEP, INFINITE: INFINITE, NUL: "a text with NUL"}
"""What a kept text holds that does not stand for itself, and how that is told."""


class PortalExchange(Exchange):
    """A call without a wire."""

    transport: ClassVar[Transport] = "http"
    __slots__ = ("caller", "event_id", "notes", "replayed_from", "reply_raw", "seconds", "source")

    def __init__(
        self,
        method: str,
        params: Mapping[str, Any],
        ask: Ask,
        source: str = "",
        replayed_from: str = "",
    ) -> None:
        raw = _written({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        super().__init__(Session("portal", "http", "legacy", lambda raw: None), read(raw))
        self.caller = _caller_of(ask, self)
        self.source = source
        self.replayed_from = replayed_from
        self.notes: list[dict[str, Any]] = []
        self.reply_raw: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.event_id = ""
        """Of its row in the log."""
        self.seconds = 0.0

    def write_note(self, raw: bytes) -> None:
        said = json.loads(raw)
        self.notes.append({"method": said["method"], "params": said.get("params", {})})

    def write_reply(self, raw: bytes) -> None:
        if not self.reply_raw.done():
            self.reply_raw.set_result(raw)

    def write_nothing(self) -> None:
        self.reply_raw.cancel()


@dataclass(slots=True)
class PortalCaller(Caller):
    """Whoever is told of a call knows by this that the portal made it."""

    exchange: PortalExchange | None = None


def _caller_of(ask: Ask, exchange: PortalExchange) -> PortalCaller:
    by = ask.by
    return PortalCaller(
        subject=by.subject,
        auth_type=by.auth_type,
        email=by.email,
        name=by.name,
        key_name=by.key_name,
        claims=by.claims,
        peer=ask.request.peer,
        exchange=exchange,
    )


def log_of(exchange: PortalExchange, ended: Ended, writer: Writer) -> None:
    """Its row says where it came from."""
    try:
        entry = portal_entry(exchange, entry_of(ended, now_us()))
    except Exception as error:
        writer.miss(error)
    else:
        exchange.event_id = entry.row.id
        writer.add(entry, wait=False)


def portal_entry(exchange: PortalExchange, entry: Entry) -> Entry:
    row = entry.row._replace(source=exchange.source, session_id="", request_id="", era="")
    said = entry.payload
    return Entry(row, None if said is None else said._replace(replayed_from=exchange.replayed_from))


@dataclass(frozen=True, slots=True)
class Called:
    event_id: str
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    """Of JSON-RPC, if there is no result."""
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


def _written(message: dict[str, Any]) -> bytes:
    """As clients write it: they can say 1e999, which Python reads, and then writes in a word of its own."""
    raw = encode(message)
    return _INFINITE.sub(lambda match: match[1] or b"1e999", raw) if b"Infinity" in raw else raw


async def call_tool(ask: Ask, params: Mapping[str, Any], source: str, replayed_from: str = "") -> Called:
    """Leaving before it has ended calls it off."""
    exchange = PortalExchange("tools/call", params, ask, source, replayed_from)
    said = await _answered(ask, exchange)
    duration_ms = round(exchange.seconds * 1000, 3)
    return Called(exchange.event_id, said.get("result"), said.get("error"), duration_ms, exchange.notes)


async def instructions_of(ask: Ask) -> str:
    """What clients are told at the beginning: asked for as they do it."""
    params = {"protocolVersion": "", "capabilities": {}, "clientInfo": {"name": "portal", "version": ""}}
    said = await _answered(ask, PortalExchange("initialize", params, ask))
    return str(said["result"].get("instructions", ""))


async def _answered(ask: Ask, exchange: PortalExchange) -> dict[str, Any]:
    if exchange.request.kind != "request":
        raise InputError("arguments", "expected what JSON can hold, got a nest that is too deep")
    ask.answer.on_gone(exchange.cancel)
    ask.parts.server.request(exchange)
    said = json.loads(await exchange.reply_raw)
    assert isinstance(said, dict)
    return said


async def try_it(ask: Ask) -> Reply:
    name, body = ask.names["name"], ask.body()
    if name not in ask.parts.tools:
        raise Refused(404, f'expected a tool that is served, got "{name[:60]}"')
    strange = [key for key in body if key != "arguments"]
    if strange:
        raise InputError(strange[0][:60], "expected nothing in the body but arguments")
    arguments = body.get("arguments", {})
    if not isinstance(arguments, dict):
        raise InputError("arguments", f"expected an object, got {type_name(arguments)}")
    params = {"name": name, "arguments": arguments, "_meta": {"progressToken": _TOKEN}}
    called = await call_tool(ask, params, TRYIT)
    document = {"event_id": called.event_id, **called.document()}
    if called.error is None:
        return json_reply(document)
    return json_reply({"error": called.error_text, **document}, 502)


async def replay(ask: Ask) -> Reply:
    id = ask.names["id"]
    ask.body()
    entry = await ask.database(ask.audit.store.get, id)
    if entry is None:
        raise Refused(404, f'expected the id of a call, got "{id[:60]}"')
    params = _kept_params(entry)
    name = str(params.get("name", ""))
    if name not in ask.parts.tools:
        raise InputError("id", f'expected a call of a tool that is served, got one of "{name[:60]}"')
    wait_s = ask.parts.replays.take(ask.by.who, asyncio.get_running_loop().time())
    if wait_s:
        later = (("retry-after", str(math.ceil(wait_s))),)
        return error_reply(429, f"too many replays: the next one in {math.ceil(wait_s)} s", later)
    called = await call_tool(ask, params, REPLAY, id)
    document = {"replay_event_id": called.event_id, "replayed_from": id, **called.document()}
    if called.success:
        return json_reply(document)
    return json_reply({"error": called.error_text, **document}, 502)


def _kept_params(entry: Entry) -> dict[str, Any]:
    """All that was said, so that the call is the same again."""
    said = entry.payload
    if said is None or said.request_params is None:
        why = "it was too long" if said is not None and said.request_truncated else "nothing was kept of it"
        raise InputError("id", f"expected a call whose request is in the log, but {why}")
    params = json.loads(said.request_params)
    for name in ("arguments", "_meta"):
        changed = next(_changed(params.get(name), name), None)
        if changed is not None:
            raise InputError("id", f"expected a call that is in the log as it was, but {changed}")
    arguments = params.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise InputError("id", f"expected a call whose arguments are an object, got {type_name(arguments)}")
    assert isinstance(params, dict)
    return params


def _changed(value: Any, path: str) -> Iterator[str]:
    """Where something is not what it was, at any depth; also in texts that are JSON themselves."""
    if isinstance(value, str):
        yield from (f"{path} is {told}" for mark, told in _CHANGED.items() if mark in value)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _changed(key, path)
            yield from _changed(each, f"{path}.{key}")
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _changed(each, f"{path}.{place}")
