"""What an agent is to a suite: it gets a task and a box of tools, and has the last word.

An agent reads no clock and never sleeps: it asks its toolbox, which alone knows whether time is real. Budgets
are kept by the toolbox, too: what exceeds one raises `BudgetUsedUp` through the agent, which lets it pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from faultkit.agents.recovery.trace import Ending, Outcome


@dataclass(frozen=True, slots=True)
class ToolInfo:
    name: str
    server: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    read_only: bool = False
    """By its own annotations."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a caller got to know of one call."""

    outcome: Outcome
    text: str
    """The text blocks, or the message of the error: what a model is shown."""
    structured: Any = None
    error_code: int | None = None
    retry_after_ms: float | None = None
    reply: Mapping[str, Any] | None = field(default=None, compare=False)
    """The whole reply, if one came."""

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"


@dataclass(frozen=True, slots=True)
class Task:
    prompt: str
    system_prompt: str = ""
    seed: int | str = 0


@dataclass(frozen=True, slots=True)
class LastWord:
    text: str
    claims_success: bool | None = None
    """What it says of the task; None where only a reader of the text could tell."""
    done: bool | None = None
    """Whether it got what it was sent for, as far as answers say so: known of scripted agents only."""


class BudgetUsedUp(Exception):
    def __init__(self, ending: Ending) -> None:
        super().__init__(f"the budget of {ending} is used up")
        self.ending = ending


class Toolbox(Protocol):
    @property
    def tools(self) -> Sequence[ToolInfo]: ...

    def now_ms(self) -> float: ...

    async def sleep(self, ms: float) -> None: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Never hangs: a call without an answer is given up after the detection budget."""
        ...

    def refuse(self, name: str, arguments: Mapping[str, Any], problem: str) -> ToolOutcome:
        """A call that is none, since its arguments cannot be: it counts, and reaches nobody."""
        ...

    def spend(self, *, turns: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        """What thinking costs."""
        ...


class Agent(Protocol):
    async def run(self, task: Task, tools: Toolbox) -> LastWord: ...
