"""Recordings of `fault gateway --record`: requests with the replies that the client got, and their replay.
Pure.

A recording has a line for each message and each injection. Requests are matched with their replies by session
and id. If a fault replaced the reply, the gateway's frame counts if it is a reply: a replay gives what the
recorded client got.

Requests are equal if method and parameters are, apart from `_meta`. Several replies to equal requests are
replayed in the recorded order, and the last one repeats. Notifications and requests of the server are not
replayed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from faultkit.base.errors import InputError
from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.answer_source import ClientState, PendingAnswer
from faultkit.mcp.mock.mock_model import JsonRpcError, ReplyMember, error_member, result_member
from faultkit.mcp.recorded_lines import read_lines
from faultkit.mcp.targets import METHODS, Inventory
from faultkit.mcp.wire.era import SERVER_INFO_KEY, complete_result, opening_of
from faultkit.mcp.wire.message import INVALID_PARAMS, METHOD_NOT_FOUND, Id, is_id, target_of

ReplyKind: TypeAlias = Literal["result", "error"]
DEFAULT_NAME = "faultkit-replay"
_COMPLETE_FRAMES = ("Send", "Drip")
"""Frames of a fault that reached the client complete."""


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """One request and its reply."""

    method: str
    params: Mapping[str, Any]
    member: ReplyKind
    value: Any


@dataclass(frozen=True, slots=True)
class Recording:
    """The requests of one recording with their replies."""

    name: str
    info: Mapping[str, Any]
    """The server's `serverInfo`."""
    listed: tuple[Mapping[str, Any], ...]
    """Listed tools, and tools that were only called."""
    replies: tuple[RecordedReply, ...]
    """Replies in the order of the requests."""
    warnings: tuple[str, ...] = ()
    """Problems of the file, for the user."""

    @property
    def inventory(self) -> Inventory:
        """The names that rules can be aimed at: those listed, and those requested with success."""
        return Inventory(
            self.name,
            tuple(str(tool["name"]) for tool in self.listed),
            tuple(dict.fromkeys(_names(self.replies, "resources", "uri", "resources/read"))),
            tuple(dict.fromkeys(_names(self.replies, "prompts", "name", "prompts/get"))),
            tuple(dict.fromkeys((*METHODS, *(reply.method for reply in self.replies)))),
        )


def _names(replies: Iterable[RecordedReply], kind: str, key: str, method: str) -> Iterator[str]:
    """Yield the names that a list showed, and those that `method` was answered for."""
    for reply in replies:
        if reply.member != "result":
            continue
        listed = reply.value.get(kind) if reply.method == f"{kind}/list" else None
        entries = listed if isinstance(listed, list) else []
        if reply.method == method:
            entries = [reply.params]
        for entry in entries:
            if isinstance(entry, dict) and isinstance(entry.get(key), str):
                yield entry[key]


@dataclass(slots=True, eq=False)
class _RecordedRequest:
    """A request of the client and the replies to it."""

    method: str
    params: Mapping[str, Any]
    injected: bool = False
    """True if a fault acted on it."""
    by_server: Mapping[str, Any] | None = None
    by_gateway: Mapping[str, Any] | None = None


@dataclass(slots=True)
class _Pairing:
    """The requests read so far, and those without a reply."""

    requests: list[_RecordedRequest] = field(default_factory=list)
    open: dict[tuple[str, Id], list[_RecordedRequest]] = field(default_factory=dict)
    """Open requests by session and id; several, because modern HTTP clients share a session and may share
    ids."""


def read_recording(text: str, source: str = "recording") -> Recording:
    """Parse a recording. Raises InputError with the line of a mistake."""
    pairing = _Pairing()
    lines, warnings = read_lines(text, source)
    for line in lines:
        _read_entry(line, pairing)
    replies = [reply for request in pairing.requests if (reply := _reply(request)) is not None]
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


def _read_entry(entry: Mapping[str, Any], pairing: _Pairing) -> None:
    session = str(entry.get("session", ""))
    if "inject" in entry:
        for request in pairing.open.get((session, entry.get("id", "")), [])[-1:]:
            request.injected = True
        return
    if entry.get("frame", "Send") not in _COMPLETE_FRAMES:
        return
    message = entry.get("message", [])
    for each in message if isinstance(message, list) else [message]:
        if isinstance(each, dict):
            _read_message(each, session, entry["from"], pairing)


def _read_message(message: Mapping[str, Any], session: str, side: str, pairing: _Pairing) -> None:
    id: Any = message.get("id")
    method, params = message.get("method"), message.get("params", {})
    if side == "client" and isinstance(method, str) and isinstance(params, dict):
        if is_id(id):
            request = _RecordedRequest(method, params)
            pairing.requests.append(request)
            pairing.open.setdefault((session, id), []).append(request)
        elif method == "notifications/cancelled" and is_id(params.get("requestId")):
            pairing.open.pop((session, params["requestId"]), None)
    elif side != "client" and method is None and is_id(id):
        _assign_reply(message, pairing.open.get((session, id), []), side)


def _assign_reply(message: Mapping[str, Any], waiting: list[_RecordedRequest], side: str) -> None:
    """Assign a reply to one of several open requests with the same id: the server's to the first, preferring
    one without an injection; the gateway's to the latest with one."""
    if side == "server":
        free = [request for request in waiting if request.by_server is None]
        for request in sorted(free, key=lambda each: each.injected)[:1]:
            request.by_server = message
            if not request.injected:
                waiting.remove(request)
        return
    for request in [request for request in waiting if request.injected][-1:]:
        request.by_gateway = message
        waiting.remove(request)


def _reply(request: _RecordedRequest) -> RecordedReply | None:
    """Return the reply to a request; None if there was none."""
    for message in (request.by_gateway, request.by_server):
        members: tuple[ReplyKind, ...] = ("result", "error")
        for member in members:
            if message is not None and isinstance(message.get(member), dict):
                return RecordedReply(request.method, request.params, member, message[member])
    return None


def results_of(replies: Iterable[RecordedReply], method: str) -> list[Mapping[str, Any]]:
    """Return the results of all successful requests with this method."""
    return [reply.value for reply in replies if reply.method == method and reply.member == "result"]


def _info(replies: list[RecordedReply]) -> Mapping[str, Any]:
    for result in results_of(replies, "initialize"):
        if isinstance(result.get("serverInfo"), dict):
            return dict(result["serverInfo"])
    for reply in replies:
        meta = reply.value.get("_meta")
        if isinstance(meta, dict) and isinstance(meta.get(SERVER_INFO_KEY), dict):
            return dict(meta[SERVER_INFO_KEY])
    return {"name": DEFAULT_NAME, "version": "1.0.0"}


def _tools(replies: list[RecordedReply]) -> Iterable[Mapping[str, Any]]:
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


RequestKey: TypeAlias = tuple[str, str]
_OPENING = ("initialize", "server/discover")
_KINDS = ("tools", "resources", "prompts")


class Replay:
    """An `AnswerSource` that replays one recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._replies: dict[RequestKey, list[RecordedReply]] = {}
        self._used: dict[RequestKey, int] = {}
        self._request_counts: dict[tuple[str, str], int] = {}
        """Number of different requests by method and name."""
        for reply in recording.replies:
            replies = self._replies.setdefault(key_of(reply.method, reply.params), [])
            replies.append(reply)
            if len(replies) == 1:
                about = (reply.method, target_of(reply.method, dict(reply.params)))
                self._request_counts[about] = self._request_counts.get(about, 0) + 1
        self._tools = {tool["name"] for tool in recording.listed}
        self._methods = {reply.method for reply in recording.replies}

    def answer(
        self, method: str, params: Mapping[str, Any], era: Era, client: ClientState | None = None
    ) -> ReplyMember | PendingAnswer:
        if method in _OPENING:
            return self._opening(method, params, era)
        key = key_of(method, params)
        replies = self._replies.get(key)
        if replies is None:
            return self._unrecorded(method, params, era)
        used = self._used[key] = self._used.get(key, 0) + 1
        reply = replies[min(used, len(replies)) - 1]
        if reply.member == "error":
            return error_member(reply.value)
        return self._result(reply.value, reply.method, era)

    def _result(self, result: Mapping[str, Any], method: str, era: Era) -> ReplyMember:
        return result_member(complete_result(dict(result), method, era, self._recording.info))

    def _opening(self, method: str, params: Mapping[str, Any], era: Era) -> ReplyMember:
        """Answer `initialize` or `server/discover` whatever the client is; the recorded reply for its version
        is preferred."""
        if (method == "initialize") != (era == "legacy"):
            return error_member(JsonRpcError(METHOD_NOT_FOUND, f"method `{method}` is of the other era"))
        recorded = [reply for reply in self._recording.replies if reply.method == method]
        version = params.get("protocolVersion")
        same = [reply for reply in recorded if reply.params.get("protocolVersion") == version]
        for reply in (*same, *recorded):
            if reply.member == "result":
                return self._result(reply.value, method, era)
        return self._result(self._welcome(version, era), method, era)

    def _welcome(self, version: object, era: Era) -> dict[str, Any]:
        """Build the opening of the era that was not recorded out of the other one."""
        known = [each for method in _OPENING for each in results_of(self._recording.replies, method)]
        recorded_opening = known[0] if known else {}
        capabilities = recorded_opening.get("capabilities") or self._capabilities()
        return opening_of(
            era, version, capabilities, self._recording.info, recorded_opening.get("instructions")
        )

    def _capabilities(self) -> dict[str, Any]:
        seen = {method.partition("/")[0] for method in self._methods}
        return {kind: {} for kind in _KINDS if kind in seen or kind == "tools"}

    def _unrecorded(self, method: str, params: Mapping[str, Any], era: Era) -> ReplyMember:
        if method == "ping" and era == "legacy":
            return self._result({}, method, era)
        if method == "tools/list" and method not in self._methods:
            return self._result({"tools": list(self._recording.listed)}, method, era)
        return error_member(self._failure(method, params))

    def _failure(self, method: str, params: Mapping[str, Any]) -> JsonRpcError:
        name = target_of(method, dict(params))
        if method == "tools/call" and name not in self._tools:
            return JsonRpcError(INVALID_PARAMS, f"tool `{name}` is not in the recording")
        if method not in self._methods:
            return JsonRpcError(METHOD_NOT_FOUND, f"method `{method}` is not in the recording")
        about = f"{method} of `{name}`" if name else method
        others = self._request_counts.get((method, name), 0)
        if not others:
            return JsonRpcError(INVALID_PARAMS, f"the recording has no reply to {about}")
        return JsonRpcError(
            INVALID_PARAMS,
            f"the recording has no reply to {about} with these parameters, but to {others} with others",
        )


def key_of(method: str, params: Mapping[str, Any]) -> RequestKey:
    """Return a value that is equal for equal requests."""
    compared = {name: value for name, value in params.items() if name != "_meta"}
    if not compared.get("arguments", True):
        # Missing arguments and an empty object are equal.
        del compared["arguments"]
    return method, json.dumps(_with_integers(compared), sort_keys=True, ensure_ascii=False)


def _with_integers(value: Any) -> Any:
    """Return the value with integral floats as integers: 1 and 1.0 are equal in JSON."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _with_integers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_integers(each) for each in value]
    return value
