"""What a mock says to a request: pure but for the count of calls, which sequences go by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.faults.call.call import Era
from faultkit.mcp.mock.model import Failure, Manifest, Outcome, Tool
from faultkit.mcp.mock.results import Result
from faultkit.mcp.mock.template import filled
from faultkit.mcp.wire.era import LEGACY_VERSIONS, MODERN_VERSIONS, NEWEST_LEGACY, SERVER_INFO_KEY
from faultkit.mcp.wire.message import INVALID_PARAMS, METHOD_NOT_FOUND, encode

_CACHED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")


class Answers:
    """Of one manifest."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._tools = {tool.name: tool for tool in manifest.tools}
        self._resources = {each.listed["uri"]: each for each in manifest.resources}
        self._prompts = {each.listed["name"]: each for each in manifest.prompts}
        self._counts: dict[tuple[str, int], int] = {}
        self._calls: dict[str, int] = {}
        self._info = {"name": manifest.name, "version": manifest.version}
        self._ready: dict[tuple[int, Era], bytes] = {}

    def tool(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def answer(self, method: str, params: Mapping[str, Any], era: Era) -> bytes | Failure:
        """To anything but a call of a tool: the bytes of the result."""
        result = self._result(method, params, era)
        return result if isinstance(result, Failure) else encode(self._finished(result, method, era))

    def _result(self, method: str, params: Mapping[str, Any], era: Era) -> dict[str, Any] | Failure:
        if method == "initialize" and era == "legacy":
            return self._welcome(params)
        if method == "server/discover" and era == "modern":
            found = {"supportedVersions": list(MODERN_VERSIONS), "capabilities": self._capabilities()}
            return found | self._instructions()
        if method == "ping" and era == "legacy":
            return {}
        if method == "tools/list":
            return {"tools": [tool.listed for tool in self._manifest.tools]}
        if method == "resources/list" and self._resources:
            return {"resources": [each.listed for each in self._manifest.resources]}
        if method == "resources/templates/list" and self._resources:
            return {"resourceTemplates": []}
        if method == "resources/read" and self._resources:
            return self._read(params.get("uri"), era)
        if method == "prompts/list" and self._prompts:
            return {"prompts": [each.listed for each in self._manifest.prompts]}
        if method == "prompts/get" and self._prompts:
            return self._prompt(params)
        return Failure(METHOD_NOT_FOUND, f"method `{method}` is not there in the mock")

    def _welcome(self, params: Mapping[str, Any]) -> dict[str, Any]:
        version = params.get("protocolVersion")
        return {
            "protocolVersion": version if version in LEGACY_VERSIONS else NEWEST_LEGACY,
            "capabilities": self._capabilities(),
            "serverInfo": self._info,
        } | self._instructions()

    def _capabilities(self) -> dict[str, Any]:
        found: dict[str, Any] = {"tools": {"listChanged": False}}
        if self._resources:
            found["resources"] = {"listChanged": False, "subscribe": False}
        if self._prompts:
            found["prompts"] = {"listChanged": False}
        return found

    def _instructions(self) -> dict[str, Any]:
        said = self._manifest.instructions
        return {} if said is None else {"instructions": said}

    def _read(self, uri: object, era: Era) -> dict[str, Any] | Failure:
        resource = self._resources.get(uri) if isinstance(uri, str) else None
        if resource is None:
            code = -32002 if era == "legacy" else INVALID_PARAMS
            return Failure(code, f"resource `{uri}` is not declared in the mock", {"uri": uri})
        return {"contents": [resource.contents]}

    def _prompt(self, params: Mapping[str, Any]) -> dict[str, Any] | Failure:
        name = params.get("name")
        prompt = self._prompts.get(name) if isinstance(name, str) else None
        if prompt is None:
            return Failure(INVALID_PARAMS, f"prompt `{name}` is not declared in the mock")
        given = params.get("arguments")
        names = {"args": given if isinstance(given, dict) else {}}
        result: dict[str, Any] = filled(prompt.result, names)
        return result

    def refusal(self, tool: Tool, arguments: Mapping[str, Any]) -> Failure | None:
        """What is wrong with a call before anything is done for it."""
        for name in tool.required:
            if name not in arguments:
                return Failure(INVALID_PARAMS, f"missing required argument `{name}`")
        return None

    def called(self, tool: Tool, names: dict[str, Any], era: Era) -> bytes | Failure:
        """What a call gives: the first response whose condition holds, and of its answers the next one."""
        names["tool"] = tool.name
        names["call"] = self._calls[tool.name] = self._calls.get(tool.name, 0) + 1
        for index, response in enumerate(tool.responses):
            if response.when is None or response.when(names):
                outcome = self._next(tool.name, index, response.outcomes)
                return outcome if isinstance(outcome, Failure) else self._filled(outcome, names, era)
        raise AssertionError("the last response has no condition")

    def _next(self, tool: str, index: int, outcomes: tuple[Outcome, ...]) -> Outcome:
        if len(outcomes) == 1:
            return outcomes[0]
        count = self._counts.get((tool, index), 0)
        self._counts[tool, index] = count + 1
        return outcomes[min(count, len(outcomes) - 1)]

    def _filled(self, outcome: Result, names: Mapping[str, Any], era: Era) -> bytes:
        if outcome.has_names:
            return encode(self._finished(outcome.document(names), "tools/call", era))
        ready = self._ready.get((id(outcome), era))
        if ready is None:
            ready = encode(self._finished(outcome.document({}), "tools/call", era))
            self._ready[id(outcome), era] = ready
        return ready

    def _finished(self, result: dict[str, Any], method: str, era: Era) -> dict[str, Any]:
        """With what the modern era asks of each result."""
        if era == "legacy":
            return result
        more: dict[str, Any] = {"resultType": "complete"}
        if method in _CACHED:
            more |= {"ttlMs": 0, "cacheScope": "private"}
        meta = {SERVER_INFO_KEY: self._info, **result.get("_meta", {})}
        return {**more, **result, "_meta": meta}
