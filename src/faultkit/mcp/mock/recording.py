"""Recordings of `fault gateway --record`: what was asked, and what the client got for it. Pure.

A recording has a line for each message and each injection. Here requests meet their replies again, by session
and id. Where a fault stood in, what the gateway said counts, as far as that is a reply: whoever is served
from the recording gets what the recorded client got.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from faultkit.base.documents.shape import shown
from faultkit.base.errors import InputError
from faultkit.mcp.wire.era import SERVER_INFO_KEY
from faultkit.mcp.wire.message import Id, is_id

Member: TypeAlias = Literal["result", "error"]
DEFAULT_NAME = "faultkit-replay"
_SIDES = ("client", "server", "gateway")
_WHOLE = ("Send", "Drip")
"""Frames of a fault that got to the client whole."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One request, and what it was answered with."""

    method: str
    params: Mapping[str, Any]
    member: Member
    value: Any


@dataclass(frozen=True, slots=True)
class Recording:
    name: str
    info: Mapping[str, Any]
    """Of the server, as it introduced itself."""
    listed: tuple[Mapping[str, Any], ...]
    """The tools as the lists showed them, and those that were only called."""
    replies: tuple[Reply, ...]
    """In the order of the requests."""
    warnings: tuple[str, ...] = ()
    """What whoever serves it should know."""


@dataclass(slots=True, eq=False)
class _Asked:
    method: str
    params: Mapping[str, Any]
    injected: bool = False
    by_server: Mapping[str, Any] | None = None
    by_gateway: Mapping[str, Any] | None = None


@dataclass(slots=True)
class _Pairing:
    """Requests of the lines so far, and those of them that still wait."""

    asked: list[_Asked] = field(default_factory=list)
    waiting: dict[tuple[str, Id], list[_Asked]] = field(default_factory=dict)
    """By session and id. Several, where clients of modern HTTP, who share a session, use the same id."""


def read_recording(text: str, source: str = "recording") -> Recording:
    """InputError with the line of what is no recording."""
    pairing = _Pairing()
    warnings: list[str] = []
    # Not splitlines: a text may hold other ends of lines than these.
    *lines, last = text.split("\n")
    if last.strip() and not _is_whole(last):
        # Whoever wrote it was killed, or had no more room. All that is before it is as good as ever.
        warnings.append(f"{source}: line {len(lines) + 1}, the last one, is cut off, and left out")
    else:
        lines.append(last)
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                _take(_entry(line), pairing)
            except InputError as error:
                raise InputError(f"{source}: line {number}", error.problem) from None
    replies = [reply for asked in pairing.asked if (reply := _reply(asked)) is not None]
    if not replies:
        raise InputError(source, "expected requests and their replies, got none")
    info = _info(replies)
    name = info.get("name")
    return Recording(
        name if isinstance(name, str) and name else DEFAULT_NAME,
        info,
        tuple(_tools(replies)),
        tuple(replies),
        tuple(warnings),
    )


def _is_whole(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        where = f"character {error.pos + 1} of {len(line)}"
        raise InputError("", f"expected a whole JSON object: {error.msg}: {where}") from None
    except (ValueError, RecursionError):
        raise InputError("", f"expected a JSON object that can be read, got {shown(line)}") from None
    if not isinstance(entry, dict):
        raise InputError("", f"expected a JSON object, got {shown(entry)}")
    if "inject" not in entry and entry.get("from") not in _SIDES:
        raise InputError("", f"expected from: {', '.join(_SIDES)}, got {shown(entry.get('from'))}")
    if not isinstance(entry.get("message", {}), dict | list):
        raise InputError("", f"expected an object as message, got {shown(entry['message'])}")
    return entry


def _take(entry: Mapping[str, Any], pairing: _Pairing) -> None:
    session = str(entry.get("session", ""))
    if "inject" in entry:
        for asked in pairing.waiting.get((session, entry.get("id", "")), [])[-1:]:
            asked.injected = True
        return
    if entry.get("frame", "Send") not in _WHOLE:
        return
    message = entry.get("message", [])
    for each in message if isinstance(message, list) else [message]:
        if isinstance(each, dict):
            _take_message(each, session, entry["from"], pairing)


def _take_message(message: Mapping[str, Any], session: str, side: str, pairing: _Pairing) -> None:
    id: Any = message.get("id")
    method, params = message.get("method"), message.get("params", {})
    if side == "client" and isinstance(method, str) and isinstance(params, dict):
        if is_id(id):
            asked = _Asked(method, params)
            pairing.asked.append(asked)
            pairing.waiting.setdefault((session, id), []).append(asked)
        elif method == "notifications/cancelled" and is_id(params.get("requestId")):
            pairing.waiting.pop((session, params["requestId"]), None)
    elif side != "client" and method is None and is_id(id):
        _answer(message, pairing.waiting.get((session, id), []), side)


def _answer(message: Mapping[str, Any], waiting: list[_Asked], side: str) -> None:
    """Of several that wait, the server's reply is for the first, and for one that is to hang only if it is
    alone; what the gateway says is about the latest call that it acted on."""
    if side == "server":
        free = [asked for asked in waiting if asked.by_server is None]
        for asked in sorted(free, key=lambda each: each.injected)[:1]:
            asked.by_server = message
            if not asked.injected:
                waiting.remove(asked)
        return
    for asked in [asked for asked in waiting if asked.injected][-1:]:
        asked.by_gateway = message
        waiting.remove(asked)


def _reply(asked: _Asked) -> Reply | None:
    """None if nobody answered, or not with a reply."""
    for message in (asked.by_gateway, asked.by_server):
        members: tuple[Member, ...] = ("result", "error")
        for member in members:
            if message is not None and isinstance(message.get(member), dict):
                return Reply(asked.method, asked.params, member, message[member])
    return None


def results_of(replies: Iterable[Reply], method: str) -> list[Mapping[str, Any]]:
    return [reply.value for reply in replies if reply.method == method and reply.member == "result"]


def _info(replies: list[Reply]) -> Mapping[str, Any]:
    for result in results_of(replies, "initialize"):
        if isinstance(result.get("serverInfo"), dict):
            return dict(result["serverInfo"])
    for reply in replies:
        meta = reply.value.get("_meta")
        if isinstance(meta, dict) and isinstance(meta.get(SERVER_INFO_KEY), dict):
            return dict(meta[SERVER_INFO_KEY])
    return {"name": DEFAULT_NAME, "version": "1.0.0"}


def _tools(replies: list[Reply]) -> Iterable[Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for result in results_of(replies, "tools/list"):
        tools = result.get("tools")
        for tool in tools if isinstance(tools, list) else []:
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                found.setdefault(tool["name"], tool)
    for reply in replies:
        name = reply.params.get("name")
        if reply.method == "tools/call" and reply.member == "result" and isinstance(name, str):
            found.setdefault(name, {"name": name, "inputSchema": {"type": "object"}})
    return found.values()
