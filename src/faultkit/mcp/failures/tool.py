"""What a failure tool is: its schema, and what it does with arguments that fit it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from faultkit.mcp.failures.outcome import Outcome

Group: TypeAlias = Literal["identity", "data", "failure", "streaming"]
GROUPS: tuple[Group, ...] = ("identity", "data", "failure", "streaming")
Type: TypeAlias = Literal["string", "integer", "number", "boolean", "object"]


@dataclass(frozen=True, slots=True)
class Argument:
    type: Type
    description: str
    required: bool = False
    required_in_go: bool = False
    """The original has no default for it, though its documents name one."""
    default: Any = None


@dataclass(slots=True)
class Caller:
    """Who calls, and how what comes before the reply reaches them. Nobody changes it: it is not frozen only
    because one is made for each call, and to freeze it took longer than to make it."""

    subject: str = "anonymous"
    auth_type: str = "anonymous"
    email: str = ""
    name: str = ""
    key_name: str = ""
    """Of the API key that it came with."""
    claims: Mapping[str, Any] = field(default_factory=dict)
    headers: tuple[tuple[str, str], ...] = ()
    peer: str = ""
    """The address that the call came from; empty over pipes."""
    progress_token: str | int | None = None
    note: Callable[[str, dict[str, Any]], None] = lambda method, params: None
    """Sends a notification that belongs to the call."""


Run: TypeAlias = Callable[[Mapping[str, Any], Caller], Outcome | Awaitable[Outcome]]
"""Arguments have been checked and filled up with defaults."""


@dataclass(frozen=True, slots=True)
class FailureTool:
    name: str
    group: Group
    description: str
    run: Run
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    output: Mapping[str, Type] | None = None
    """Keys of the structured result, all of which are always there."""
    read_only: bool = False
    idempotent: bool = False

    def listed(self, *, like_go: bool = False) -> dict[str, Any]:
        """As `tools/list` shows it."""
        found: dict[str, Any] = {"name": self.name, "description": self.description}
        found["inputSchema"] = self.input_schema(like_go=like_go)
        if self.output is not None:
            found["outputSchema"] = {
                "type": "object",
                "properties": {name: {"type": type_} for name, type_ in self.output.items()},
                "required": list(self.output),
                "additionalProperties": False,
            }
        hints = {"readOnlyHint": self.read_only, "idempotentHint": self.idempotent}
        annotations = {name: True for name, holds in hints.items() if holds}
        if annotations:
            found["annotations"] = annotations
        return found

    def input_schema(self, *, like_go: bool = False) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object"}
        if self.arguments:
            schema["properties"] = {
                name: {"type": each.type, "description": each.description}
                for name, each in self.arguments.items()
            }
        required = self.required(like_go=like_go)
        if required:
            schema["required"] = required
        return {**schema, "additionalProperties": False}

    def required(self, *, like_go: bool = False) -> list[str]:
        return [
            name
            for name, each in self.arguments.items()
            if each.required or (like_go and each.required_in_go)
        ]
