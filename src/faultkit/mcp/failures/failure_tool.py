"""Failure tools as values: schema, function, and the possible outcomes of a call. Pure."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

Group: TypeAlias = Literal["identity", "data", "failure", "streaming"]
GROUPS: tuple[Group, ...] = ("identity", "data", "failure", "streaming")
Type: TypeAlias = Literal["string", "integer", "number", "boolean", "object"]


@dataclass(frozen=True, slots=True)
class Structured:
    """A success with structured content, repeated as text."""

    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A success in blocks of text."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolError:
    """A result with `isError`."""

    text: str
    value: dict[str, Any] | None = None
    category: str = ""
    """Category given by the caller, or one that is more precise than a failed tool."""


@dataclass(frozen=True, slots=True)
class ProtocolError:
    """A JSON-RPC error in place of a result."""

    code: int
    message: str
    data: dict[str, Any] | None = None
    category: str = ""
    """Category, as for `ToolError`."""


ToolOutcome: TypeAlias = Structured | Blocks | ToolError | ProtocolError


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool."""

    type: Type
    description: str
    required: bool = False
    required_in_go: bool = False
    """True if the original requires it, though its documents name a default."""
    default: Any = None


@dataclass(slots=True)
class Caller:
    """The caller of a tool. Treat it as immutable: it is not frozen only because one is created per call, and
    creating a frozen dataclass takes longer."""

    subject: str = "anonymous"
    auth_type: str = "anonymous"
    email: str = ""
    name: str = ""
    key_name: str = ""
    """Name of the API key that was used."""
    claims: Mapping[str, Any] = field(default_factory=dict)
    headers: tuple[tuple[str, str], ...] = ()
    peer: str = ""
    """Address of the client; empty over stdio."""
    progress_token: str | int | None = None
    note: Callable[[str, dict[str, Any]], None] = lambda method, params: None
    """Sends a notification that belongs to the call."""


RunTool: TypeAlias = Callable[[Mapping[str, Any], Caller], ToolOutcome | Coroutine[Any, Any, ToolOutcome]]
"""Called with checked arguments, defaults included."""


@dataclass(frozen=True, slots=True)
class FailureTool:
    """A tool that fails, waits or answers in a way that can be checked."""

    name: str
    group: Group
    description: str
    run: RunTool
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    output: Mapping[str, Type] | None = None
    """Keys of the structured result, all required."""
    read_only: bool = False
    idempotent: bool = False

    def like_go(self) -> FailureTool:
        """Return the tool as the original Go server has it: with more required arguments."""
        arguments = {
            name: replace(each, required=each.required or each.required_in_go)
            for name, each in self.arguments.items()
        }
        return replace(self, arguments=arguments)

    def listed(self) -> dict[str, Any]:
        """Return the tool's entry of `tools/list`."""
        entry: dict[str, Any] = {"name": self.name, "description": self.description}
        entry["inputSchema"] = self.input_schema()
        if self.output is not None:
            entry["outputSchema"] = {
                "type": "object",
                "properties": {name: {"type": type_} for name, type_ in self.output.items()},
                "required": list(self.output),
                "additionalProperties": False,
            }
        hints = {"readOnlyHint": self.read_only, "idempotentHint": self.idempotent}
        annotations = {name: True for name, holds in hints.items() if holds}
        if annotations:
            entry["annotations"] = annotations
        return entry

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        schema: dict[str, Any] = {"type": "object"}
        if self.arguments:
            schema["properties"] = {
                name: {"type": each.type, "description": each.description}
                for name, each in self.arguments.items()
            }
        required = self.required()
        if required:
            schema["required"] = required
        return {**schema, "additionalProperties": False}

    def required(self) -> list[str]:
        """Return the names of the required arguments."""
        return [name for name, each in self.arguments.items() if each.required]
