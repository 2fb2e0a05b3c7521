"""A parsed manifest as values, and the encoding of its results and errors. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from faultkit.mcp.mock.expressions import Condition, fill_names, fill_text, has_names
from faultkit.mcp.mock.uri_template import UriTemplate
from faultkit.mcp.targets import METHODS, Inventory
from faultkit.mcp.wire.message import Id, encode

ListKind: TypeAlias = Literal["tools", "resources", "prompts"]
QuestionKind: TypeAlias = Literal["sampling", "elicitation", "roots"]


@dataclass(frozen=True, slots=True)
class JsonRpcError:
    """A JSON-RPC error."""

    code: int
    message: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class MockResult:
    """The result of a call as written in the manifest."""

    value: Any
    """A text, a mapping, a list, or a complete result with `content`."""
    has_names: bool
    """True if it holds `${…}` names."""

    def document(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """Return the `result` member of the reply."""
        return _as_result(fill_names(self.value, names) if self.has_names else self.value)


def mock_result(value: Any) -> MockResult:
    """Return a result as written in a manifest."""
    return MockResult(value, has_names(value))


def _as_result(value: Any) -> dict[str, Any]:
    if isinstance(value, dict) and ("content" in value or "structuredContent" in value):
        result = dict(value)
        content = result.get("content", [])
        result["content"] = content if _is_content(content) else [_text_block(content)]
        return result
    if isinstance(value, dict):
        return {"content": [_text_block(value)], "structuredContent": dict(value)}
    if value and _is_content(value):
        return {"content": value}
    return {"content": [_text_block(value)]}


def _is_content(value: Any) -> bool:
    """Return whether a value is a list of content blocks."""
    return isinstance(value, list) and all(isinstance(each, dict) and "type" in each for each in value)


def _text_block(value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return {"type": "text", "text": text}


MockOutcome: TypeAlias = MockResult | JsonRpcError


@dataclass(frozen=True, slots=True)
class ConditionalResponse:
    """The outcomes of calls for which a condition holds."""

    when: Condition | None
    """Condition; None for always."""
    outcomes: tuple[MockOutcome, ...]
    """Outcomes of successive calls; the last one repeats."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request that a tool sends to the client before it answers."""

    asks: QuestionKind
    method: str
    params: dict[str, Any]
    """Parameters with `${…}` names."""

    def filled(self, names: Mapping[str, Any]) -> Question:
        """Return the question with its names replaced."""
        return replace(self, params=fill_names(self.params, names)) if has_names(self.params) else self


PROGRESS: Literal["notifications/progress"] = "notifications/progress"
LOG_MESSAGE: Literal["notifications/message"] = "notifications/message"
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages, by growing severity (RFC 5424 §6.2.1)."""


@dataclass(frozen=True, slots=True)
class CallMessage:
    """A notification that a tool sends while a call is open."""

    method: Literal["notifications/progress", "notifications/message"]
    params: dict[str, Any]
    """Parameters with `${…}` names, without the progress token."""
    after_s: float
    """Time since the message before it, or since the call."""


@dataclass(frozen=True, slots=True)
class MockTool:
    """A tool of a manifest."""

    name: str
    listed: dict[str, Any]
    """Entry of `tools/list`."""
    required: tuple[str, ...]
    """Names of the arguments that a call must have."""
    responses: tuple[ConditionalResponse, ...]
    questions: tuple[Question, ...] = ()
    messages: tuple[CallMessage, ...] = ()
    listed_when: Condition | None = None
    """Condition under which it is listed and can be called; None for always. So for other entries."""

    @property
    def has_logs(self) -> bool:
        """True if it sends log messages."""
        return any(each.method == LOG_MESSAGE for each in self.messages)


@dataclass(frozen=True, slots=True)
class MockResource:
    """A resource of a manifest."""

    listed: dict[str, Any]
    """Entry of `resources/list`."""
    contents: dict[str, Any]
    """Entry of `contents` in the result of `resources/read`, with `${…}` names if it counts calls."""
    listed_when: Condition | None = None
    counts: frozenset[str] = frozenset()
    """Tools whose calls are counted in the text, so that they change it."""

    def covers(self, uri: str) -> bool:
        """Return whether it is the resource with this URI."""
        return bool(self.listed["uri"] == uri)

    def read(self, calls: Mapping[str, int]) -> dict[str, Any]:
        """Return the contents after these numbers of calls."""
        if not self.counts:
            return self.contents
        return {**self.contents, "text": fill_text(self.contents["text"], {"calls": calls})}


@dataclass(frozen=True, slots=True)
class MockTemplate:
    """A template of resources of a manifest."""

    listed: dict[str, Any]
    """Entry of `resources/templates/list`."""
    template: UriTemplate
    contents: dict[str, Any]
    """Entry of `contents` in the result of `resources/read`, with `${…}` names and without the URI."""
    completions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Values that complete a variable, by its name."""
    listed_when: Condition | None = None
    counts: frozenset[str] = frozenset()
    """Tools whose calls are counted in the text, so that they change it."""

    def covers(self, uri: str) -> bool:
        """Return whether a URI is one of the template."""
        return self.template.values(uri) is not None

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.template.names

    def read(self, uri: str, calls: Mapping[str, int]) -> dict[str, Any] | None:
        """Return the contents of a URI after these numbers of calls; None if it is not one of the
        template."""
        values = self.template.values(uri)
        if values is None:
            return None
        filled = {**self.contents, "uri": uri}
        if "text" in filled:
            filled["text"] = fill_text(filled["text"], {"args": values, "calls": calls})
        return filled


@dataclass(frozen=True, slots=True)
class MockPrompt:
    """A prompt of a manifest."""

    listed: dict[str, Any]
    """Entry of `prompts/list`."""
    result: dict[str, Any]
    """Result of `prompts/get`, with `${…}` names."""
    completions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Values that complete an argument, by its name."""
    listed_when: Condition | None = None

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Names of the arguments."""
        return tuple(each["name"] for each in self.listed.get("arguments", ()))


@dataclass(frozen=True, slots=True)
class Manifest:
    """A parsed manifest: the server that a mock plays."""

    name: str
    version: str
    tools: tuple[MockTool, ...]
    resources: tuple[MockResource, ...] = ()
    prompts: tuple[MockPrompt, ...] = ()
    instructions: str | None = None
    page_size: int | None = None
    """Entries in a page of a list; None for one page."""
    templates: tuple[MockTemplate, ...] = ()

    @property
    def listed(self) -> tuple[Mapping[str, Any], ...]:
        """Entries of `tools/list`, of tools that are not listed yet too."""
        return tuple(tool.listed for tool in self.tools)

    @property
    def readable(self) -> tuple[MockResource | MockTemplate, ...]:
        """Resources and templates."""
        return (*self.resources, *self.templates)

    @property
    def completes(self) -> bool:
        """True if there are values that complete an argument."""
        owners: tuple[MockPrompt | MockTemplate, ...] = (*self.prompts, *self.templates)
        return any(each.completions for each in owners)

    @property
    def lists(self) -> dict[ListKind, tuple[MockTool | MockResource | MockTemplate | MockPrompt, ...]]:
        """Entries of the lists whose changes are announced."""
        return {
            "tools": self.tools,
            "resources": self.readable,
            "prompts": self.prompts,
        }

    @property
    def changing_lists(self) -> frozenset[ListKind]:
        """Lists with entries that are listed under a condition."""
        return frozenset(
            kind
            for kind, entries in self.lists.items()
            if any(each.listed_when is not None for each in entries)
        )

    @property
    def has_updates(self) -> bool:
        """True if calls change the contents of a resource."""
        return any(each.counts for each in self.readable)

    @property
    def inventory(self) -> Inventory:
        """The names that rules can be aimed at."""
        return Inventory(
            self.name,
            tuple(tool.name for tool in self.tools),
            tuple(each.listed["uri"] for each in self.resources),
            tuple(each.listed["name"] for each in self.prompts),
            METHODS,
            tuple(each.template.prefix for each in self.templates),
        )


ReplyMember: TypeAlias = bytes
"""`"result":{…}` or `"error":{…}`: a reply without its id, encoded once for many calls."""


def reply_of(id: Id | None, member: ReplyMember) -> bytes:
    """Return the bytes of a reply."""
    own = b"%d" % id if type(id) is int else encode(id)
    return b'{"jsonrpc":"2.0","id":' + own + b"," + member + b"}"


def result_member(result: object) -> ReplyMember:
    """Return the `result` member of a reply."""
    return b'"result":' + encode(result)


def error_member(error: JsonRpcError | Mapping[str, Any]) -> ReplyMember:
    """Encode an error: one of the mock's, or one as recorded."""
    if isinstance(error, JsonRpcError):
        data = {} if error.data is None else {"data": error.data}
        error = {"code": error.code, "message": error.message, **data}
    return b'"error":' + encode(error)
