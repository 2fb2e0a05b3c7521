"""What a manifest says, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from faultkit.mcp.mock.condition import Condition
from faultkit.mcp.mock.results import Result

Asks: TypeAlias = Literal["sampling", "elicitation", "roots"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A JSON-RPC error."""

    code: int
    message: str
    data: Any = None


Outcome: TypeAlias = Result | Failure


@dataclass(frozen=True, slots=True)
class Response:
    when: Condition | None
    """None: always."""
    outcomes: tuple[Outcome, ...]
    """One after the other, call by call; the last one stays."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a tool asks its client before it answers."""

    asks: Asks
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    listed: dict[str, Any]
    """As `tools/list` shows it."""
    required: tuple[str, ...]
    responses: tuple[Response, ...]
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class Resource:
    listed: dict[str, Any]
    contents: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    listed: dict[str, Any]
    result: dict[str, Any]
    """Of `prompts/get`, with names to be filled in."""


@dataclass(frozen=True, slots=True)
class Manifest:
    name: str
    version: str
    tools: tuple[Tool, ...]
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    instructions: str | None = None

    @property
    def listed(self) -> tuple[Mapping[str, Any], ...]:
        """The tools as `tools/list` shows them."""
        return tuple(tool.listed for tool in self.tools)
