"""A conversation with a model, whichever provider has it: what it was told, what it said, what it called.

Values only. Names of tools are those that a model is offered: providers take fewer signs than MCP does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

from faultkit.agents.kinds.agent import ToolInfo
from faultkit.base.errors import RunError
from faultkit.llm.failure import Kind
from faultkit.llm.usage import Usage

End: TypeAlias = Literal["done", "cut", "refused"]
Reason: TypeAlias = Kind | Literal["cut"]

_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_MOST_NAME = 64


@dataclass(frozen=True, slots=True)
class OfferedTool:
    name: str
    info: ToolInfo


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model wants to have called."""

    id: str
    """The provider's, who wants it back with the result."""
    name: str
    arguments: Mapping[str, Any]
    problem: str = ""
    """Why there are no arguments: what came is no JSON, or no object."""


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of a model."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()  # noqa: RUF009 (a frozen value)
    end: End = "done"
    raw: Any = None
    """As the provider has to get it back: with signatures and thoughts that mean nothing to anybody else."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    call: ToolCall
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Round:
    """A turn that called tools, and what came of it."""

    said: Said
    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that a model knows when it takes its next turn."""

    model: str
    prompt: str
    system_prompt: str = ""
    tools: tuple[OfferedTool, ...] = ()
    max_tokens: int = 1024
    """Of one turn."""
    rounds: tuple[Round, ...] = ()

    def after(self, said: Said, results: Sequence[ToolResult]) -> Conversation:
        return replace(self, rounds=(*self.rounds, Round(said, tuple(results))))


class ModelFailed(RunError):
    """There is no turn, or none that is of use. `reason` says in one word why."""

    def __init__(self, text: str, reason: Reason, tries: int = 1) -> None:
        super().__init__(text)
        self.reason: Reason = reason
        self.tries = tries


class Voice(Protocol):
    """Who takes a model's turns: a provider, a recording of one, or a stub."""

    async def say(self, conversation: Conversation) -> Said:
        """ModelFailed if it cannot."""
        ...

    async def close(self, *, is_whole: bool) -> None:
        """`is_whole`: the conversation came to an end, by a last word or by a budget."""
        ...


def offered(tools: Sequence[ToolInfo]) -> tuple[OfferedTool, ...]:
    """Each tool under a name that every provider takes and no other tool has."""
    taken: set[str] = set()
    found = []
    for info in tools:
        plain = _UNFIT.sub("_", info.name)[:_MOST_NAME] or "tool"
        name, number = plain, 2
        while name in taken:
            name = f"{plain[: _MOST_NAME - 4]}_{number}"
            number += 1
        taken.add(name)
        found.append(OfferedTool(name, info))
    return tuple(found)
