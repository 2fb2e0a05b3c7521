"""Answers of a mock from its manifest. Pure but for the call counts that sequences depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.answer_source import ClientState, PendingAnswer
from faultkit.mcp.mock.call_messages import set_log_level, timed_messages
from faultkit.mcp.mock.completion import complete
from faultkit.mcp.mock.expressions import fill_names
from faultkit.mcp.mock.list_pages import page_of
from faultkit.mcp.mock.mock_model import (
    JsonRpcError,
    Manifest,
    MockOutcome,
    MockResult,
    MockTool,
    Question,
    ReplyMember,
    error_member,
    result_member,
)
from faultkit.mcp.mock.mock_state import ConditionalEntry, MockState
from faultkit.mcp.wire.era import (
    CAPABILITIES_KEY,
    MISSING_CAPABILITY,
    complete_result,
    meta_of,
    opening_of,
)
from faultkit.mcp.wire.message import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND


class Listed(ConditionalEntry, Protocol):
    """An entry of a list."""

    @property
    def listed(self) -> dict[str, Any]: ...


_SUBSCRIBING = ("resources/subscribe", "resources/unsubscribe")
_MOST_SUBSCRIPTIONS = 10_000


def _missing(noun: str, name: object, entry: ConditionalEntry | None) -> str:
    """Return why there is no such entry: it is not declared, or it is (`entry`) and not there now."""
    where = "declared in the mock" if entry is None else "there now, by its listed_when"
    return f"{noun} `{name}` is not {where}"


class ManifestAnswers:
    """An `AnswerSource` that answers from one manifest."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._tools = {tool.name: tool for tool in manifest.tools}
        self._resources = {each.listed["uri"]: each for each in manifest.resources}
        self._has_resources = bool(manifest.readable)
        self._prompts = {each.listed["name"]: each for each in manifest.prompts}
        self._has_logs = any(tool.has_logs for tool in manifest.tools)
        self._templates = {each.template.text: each for each in manifest.templates}
        self._outcome_counts: dict[tuple[str, int], int] = {}
        """Outcomes used so far, by tool and place of the response."""
        self.state = MockState(manifest)
        self._info = {"name": manifest.name, "version": manifest.version}
        self._encoded: dict[tuple[int, Era], ReplyMember] = {}
        """Encoded outcomes without `${…}` names, by identity."""

    def answer(
        self, method: str, params: Mapping[str, Any], era: Era, client: ClientState | None = None
    ) -> ReplyMember | PendingAnswer:
        client = ClientState() if client is None else client
        if method == "tools/call":
            return self._call(params, era, client)
        result = self._result(method, params, era, client)
        if isinstance(result, JsonRpcError):
            return error_member(result)
        return result_member(complete_result(result, method, era, self._info))

    def _result(
        self, method: str, params: Mapping[str, Any], era: Era, client: ClientState
    ) -> dict[str, Any] | JsonRpcError:
        if method == "initialize" and era == "legacy":
            return self._opening(era, params.get("protocolVersion"))
        if method == "server/discover" and era == "modern":
            return self._opening(era)
        if method == "ping" and era == "legacy":
            return {}
        if method == "tools/list":
            return self._list("tools", self._manifest.tools, params)
        if method == "resources/list" and self._has_resources:
            return self._list("resources", self._manifest.resources, params)
        if method == "resources/templates/list" and self._has_resources:
            return self._list("resourceTemplates", self._manifest.templates, params)
        if method == "resources/read" and self._has_resources:
            return self._read(params.get("uri"), era)
        if method in _SUBSCRIBING and self._manifest.has_updates and era == "legacy":
            return self._subscribe(method, params.get("uri"), client)
        if method == "prompts/list" and self._prompts:
            return self._list("prompts", self._manifest.prompts, params)
        if method == "prompts/get" and self._prompts:
            return self._prompt(params)
        if method == "completion/complete" and self._manifest.completes:
            return complete(params, self._prompts, self._templates)
        if method == "logging/setLevel" and self._has_logs and era == "legacy":
            return set_log_level(client, params)
        return JsonRpcError(METHOD_NOT_FOUND, f"method `{method}` is not there in the mock")

    def _opening(self, era: Era, version: object = None) -> dict[str, Any]:
        return opening_of(era, version, self._capabilities(), self._info, self._manifest.instructions)

    def _capabilities(self) -> dict[str, Any]:
        changing = self._manifest.changing_lists
        found: dict[str, Any] = {"tools": {"listChanged": "tools" in changing}}
        if self._has_resources:
            found["resources"] = {
                "listChanged": "resources" in changing,
                "subscribe": self._manifest.has_updates,
            }
        if self._prompts:
            found["prompts"] = {"listChanged": "prompts" in changing}
        if self._manifest.completes:
            found["completions"] = {}
        if self._has_logs:
            found["logging"] = {}
        return found

    def _list(
        self, name: str, entries: Sequence[Listed], params: Mapping[str, Any]
    ) -> dict[str, Any] | JsonRpcError:
        listed = [each.listed for each in self.state.listed(entries)]
        try:
            return page_of(name, listed, params, self._manifest.page_size)
        except ValueError as error:
            return JsonRpcError(INVALID_PARAMS, f"Invalid params: cursor: {error}")

    def _read(self, uri: object, era: Era) -> dict[str, Any] | JsonRpcError:
        contents = self._contents(uri) if isinstance(uri, str) else None
        return self._not_found(uri, era) if contents is None else {"contents": [contents]}

    def _not_found(self, uri: object, era: Era) -> JsonRpcError:
        # MCP 2026-07-28, Overview, Error Codes: -32602 replaces -32002.
        code = -32002 if era == "legacy" else INVALID_PARAMS
        declared = self._resources.get(uri) if isinstance(uri, str) else None
        return JsonRpcError(code, _missing("resource", uri, declared), {"uri": uri})

    def _contents(self, uri: str) -> dict[str, Any] | None:
        """Return the contents of a resource, or else of the first template that the URI fits."""
        resource = self._resources.get(uri)
        if resource is not None and self.state.is_listed(resource):
            return resource.read(self.state.calls)
        found = (each.read(uri, self.state.calls) for each in self.state.listed(self._manifest.templates))
        return next((each for each in found if each is not None), None)

    def has_resource(self, uri: str) -> bool:
        """Return whether a URI can be read."""
        return self._contents(uri) is not None

    def _subscribe(self, method: str, uri: object, client: ClientState) -> dict[str, Any] | JsonRpcError:
        if method == "resources/unsubscribe" and isinstance(uri, str) and uri in client.subscriptions:
            # Also if the resource is not there any more.
            del client.subscriptions[uri]
            return {}
        if not isinstance(uri, str) or not self.has_resource(uri):
            return self._not_found(uri, "legacy")
        if method == "resources/subscribe":
            if len(client.subscriptions) >= _MOST_SUBSCRIPTIONS:
                problem = f"a session has at most {_MOST_SUBSCRIPTIONS} subscriptions"
                return JsonRpcError(INTERNAL_ERROR, problem)
            client.subscriptions[uri] = None
        return {}

    def _prompt(self, params: Mapping[str, Any]) -> dict[str, Any] | JsonRpcError:
        name = params.get("name")
        prompt = self._prompts.get(name) if isinstance(name, str) else None
        if prompt is None or not self.state.is_listed(prompt):
            return JsonRpcError(INVALID_PARAMS, _missing("prompt", name, prompt))
        given = params.get("arguments")
        arguments = given if isinstance(given, dict) else {}
        for each in prompt.listed.get("arguments", []):
            if each.get("required") and each["name"] not in arguments:
                return JsonRpcError(INVALID_PARAMS, f"missing required argument `{each['name']}`")
        result: dict[str, Any] = fill_names(prompt.result, {"args": arguments})
        return result

    def _call(self, params: Mapping[str, Any], era: Era, client: ClientState) -> ReplyMember | PendingAnswer:
        name, arguments = params.get("name"), params.get("arguments")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None or not self.state.is_listed(tool):
            return error_member(JsonRpcError(INVALID_PARAMS, _missing("tool", name, tool)))
        if arguments is None:
            arguments = {}
        elif not isinstance(arguments, dict):
            return error_member(JsonRpcError(INVALID_PARAMS, "expected an object as arguments"))
        for each in tool.required:
            if each not in arguments:
                return error_member(JsonRpcError(INVALID_PARAMS, f"missing required argument `{each}`"))
        known: dict[str, Any] = {"args": arguments}
        if not tool.questions and not tool.messages:
            return self._call_result(tool, known, era)
        questions = tuple(each.filled({**known, "tool": tool.name}) for each in tool.questions)
        if era == "modern" and questions:
            asked = self._modern_questions(tool.name, questions, params)
            if isinstance(asked, bytes):
                return asked
            questions, known = (), {**asked, **known}
        try:
            messages = timed_messages(tool, params, era, client)
        except ValueError as error:
            return error_member(JsonRpcError(INVALID_PARAMS, f"Invalid params: {error}"))
        if not questions and not any(each.raw or each.after_s for each in messages):
            return self._call_result(tool, known, era)
        return PendingAnswer(
            messages, questions, lambda answers: self._call_result(tool, {**answers, **known}, era)
        )

    def _modern_questions(
        self, tool: str, questions: tuple[Question, ...], params: Mapping[str, Any]
    ) -> ReplyMember | dict[str, Any]:
        """Return the client's answers if it repeats the call with them, or else a result that asks for them
        (`input_required`; MCP 2026-07-28, Multi Round-Trip Requests)."""
        answers = params.get("inputResponses")
        if isinstance(answers, dict) and all(each.asks in answers for each in questions):
            return {each.asks: answers[each.asks] for each in questions}
        declared = meta_of(params).get(CAPABILITIES_KEY)
        able = declared if isinstance(declared, dict) else {}
        needed: dict[str, Any] = {each.asks: {} for each in questions if each.asks not in able}
        if needed:
            text = f"tool `{tool}` asks its client for {', '.join(needed)}"
            return error_member(JsonRpcError(MISSING_CAPABILITY, text, {"requiredCapabilities": needed}))
        asked = {each.asks: {"method": each.method, "params": each.params} for each in questions}
        result = {"resultType": "input_required", "inputRequests": asked}
        return result_member(complete_result(result, "tools/call", "modern", self._info))

    def _call_result(self, tool: MockTool, names: dict[str, Any], era: Era) -> ReplyMember:
        """Return the outcome of a call: the first response whose condition holds, and the next of its
        outcomes."""
        names["tool"] = tool.name
        names["call"] = self.state.count(tool.name)
        names["calls"] = self.state.calls
        for index, response in enumerate(tool.responses):
            if response.when is None or response.when(names):
                return self._encode(self._next(tool.name, index, response.outcomes), names, era)
        raise AssertionError("the last response has no condition")

    def _next(self, tool: str, index: int, outcomes: tuple[MockOutcome, ...]) -> MockOutcome:
        if len(outcomes) == 1:
            return outcomes[0]
        count = self._outcome_counts.get((tool, index), 0)
        self._outcome_counts[tool, index] = count + 1
        return outcomes[min(count, len(outcomes) - 1)]

    def _encode(self, outcome: MockOutcome, names: Mapping[str, Any], era: Era) -> ReplyMember:
        if isinstance(outcome, MockResult) and outcome.has_names:
            return result_member(complete_result(outcome.document(names), "tools/call", era, self._info))
        encoded = self._encoded.get((id(outcome), era))
        if encoded is None:
            if isinstance(outcome, JsonRpcError):
                encoded = error_member(outcome)
            else:
                encoded = result_member(complete_result(outcome.document({}), "tools/call", era, self._info))
            self._encoded[id(outcome), era] = encoded
        return encoded
