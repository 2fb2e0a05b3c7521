"""A recording as the source of a mock: the same requests get the same replies. Pure but for their order.

Requests are the same if method and parameters are, whatever their `_meta` says. Several replies to the same
request come in the recorded order, and the last one stays. Notifications, and what the server
asked its client, are not played back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from faultkit.faults.call.call import Era
from faultkit.mcp.mock.answers import Asking
from faultkit.mcp.mock.model import Failure
from faultkit.mcp.mock.recording import Recording, Reply, results_of
from faultkit.mcp.mock.reply import Member, error_member, result_member
from faultkit.mcp.wire.era import finished, opening_of
from faultkit.mcp.wire.message import INVALID_PARAMS, METHOD_NOT_FOUND, target_of

Key: TypeAlias = tuple[str, str]
_OPENING = ("initialize", "server/discover")
_KINDS = ("tools", "resources", "prompts")


class Replay:
    """Of one recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._replies: dict[Key, list[Reply]] = {}
        self._used: dict[Key, int] = {}
        self._asked: dict[tuple[str, str], int] = {}
        """How many different requests there are of a method and a name."""
        for reply in recording.replies:
            replies = self._replies.setdefault(key_of(reply.method, reply.params), [])
            replies.append(reply)
            if len(replies) == 1:
                about = (reply.method, target_of(reply.method, dict(reply.params)))
                self._asked[about] = self._asked.get(about, 0) + 1
        self._tools = {tool["name"] for tool in recording.listed}
        self._methods = {reply.method for reply in recording.replies}

    def answer(self, method: str, params: Mapping[str, Any], era: Era) -> Member | Asking:
        if method in _OPENING:
            return self._opening(method, params, era)
        key = key_of(method, params)
        replies = self._replies.get(key)
        if replies is None:
            return self._unrecorded(method, params, era)
        used = self._used[key] = self._used.get(key, 0) + 1
        return self._member(replies[min(used, len(replies)) - 1], era)

    def _member(self, reply: Reply, era: Era) -> Member:
        if reply.member == "error":
            return error_member(reply.value)
        return self._result(reply.value, reply.method, era)

    def _result(self, result: Mapping[str, Any], method: str, era: Era) -> Member:
        return result_member(finished(dict(result), method, era, self._recording.info))

    def _opening(self, method: str, params: Mapping[str, Any], era: Era) -> Member:
        """Whoever asks, and whatever it can do, is welcome; the version decides."""
        if (method == "initialize") != (era == "legacy"):
            return error_member(Failure(METHOD_NOT_FOUND, f"method `{method}` is of the other era"))
        recorded = [reply for reply in self._recording.replies if reply.method == method]
        version = params.get("protocolVersion")
        same = [reply for reply in recorded if reply.params.get("protocolVersion") == version]
        for reply in (*same, *recorded):
            if reply.member == "result":
                return self._result(reply.value, method, era)
        return self._result(self._welcome(version, era), method, era)

    def _welcome(self, version: object, era: Era) -> dict[str, Any]:
        """For the era that the recording does not have, out of what it says in the other one."""
        known = [each for method in _OPENING for each in results_of(self._recording.replies, method)]
        said = known[0] if known else {}
        capabilities = said.get("capabilities") or self._capabilities()
        return opening_of(era, version, capabilities, self._recording.info, said.get("instructions"))

    def _capabilities(self) -> dict[str, Any]:
        seen = {method.partition("/")[0] for method in self._methods}
        return {kind: {} for kind in _KINDS if kind in seen or kind == "tools"}

    def _unrecorded(self, method: str, params: Mapping[str, Any], era: Era) -> Member:
        if method == "ping" and era == "legacy":
            return self._result({}, method, era)
        if method == "tools/list" and method not in self._methods:
            return self._result({"tools": list(self._recording.listed)}, method, era)
        return error_member(self._failure(method, params))

    def _failure(self, method: str, params: Mapping[str, Any]) -> Failure:
        name = target_of(method, dict(params))
        if method == "tools/call" and name not in self._tools:
            return Failure(METHOD_NOT_FOUND, f"tool `{name}` is not in the recording")
        if method not in self._methods:
            return Failure(METHOD_NOT_FOUND, f"method `{method}` is not in the recording")
        about = f"{method} of `{name}`" if name else method
        others = self._asked.get((method, name), 0)
        if not others:
            return Failure(INVALID_PARAMS, f"the recording has no reply to {about}")
        return Failure(
            INVALID_PARAMS,
            f"the recording has no reply to {about} with these parameters, but to {others} with others",
        )


def key_of(method: str, params: Mapping[str, Any]) -> Key:
    asked = {name: value for name, value in params.items() if name != "_meta"}
    if not asked.get("arguments", True):
        # None given, and an empty object given, are the same to a tool.
        del asked["arguments"]
    return method, json.dumps(_even(asked), sort_keys=True, ensure_ascii=False)


def _even(value: Any) -> Any:
    """With numbers as all clients write them: 1 and 1.0 are one to JSON."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _even(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_even(each) for each in value]
    return value
