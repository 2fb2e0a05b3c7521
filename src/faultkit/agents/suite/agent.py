"""The interface between agents and the runner: an agent gets a task and a toolbox, and returns an answer.

An agent reads no clock and never sleeps by itself: it asks its toolbox, which alone knows whether time is
real. The toolbox also counts the budget: a call that exceeds it raises `BudgetUsedUp`, which an agent must
not catch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from faultkit.agents.recovery.trace import Ending, Outcome


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool as its server lists it."""

    name: str
    server: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    read_only: bool = False
    """`readOnlyHint` of the tool's annotations."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of one call, as its caller sees it."""

    outcome: Outcome
    text: str
    """Text blocks of the result, or the error message: what a model is shown."""
    structured: Any = None
    error_code: int | None = None
    retry_after_ms: float | None = None
    reply: Mapping[str, Any] | None = field(default=None, compare=False)
    """The JSON-RPC message; None if no reply arrived."""

    @property
    def ok(self) -> bool:
        """True if the call succeeded."""
        return self.outcome == "ok"


@dataclass(frozen=True, slots=True)
class Task:
    """What an agent is asked to do."""

    prompt: str
    system_prompt: str = ""
    seed: int | str = 0


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """The answer with which an agent ends its run."""

    text: str
    claims_success: bool | None = None
    """Whether the agent claims to have done its task; None if only the text could show it."""
    done: bool | None = None
    """Whether the calls succeeded that the task needs; None unless the agent is scripted."""


class BudgetUsedUp(Exception):
    """A run exceeded one of its budgets. `ending` names which."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(f"the budget of {ending} is used up")
        self.ending = ending


class Toolbox(Protocol):
    """The tools, the clock and the budget of one run."""

    @property
    def tools(self) -> Sequence[ToolInfo]: ...

    def now_ms(self) -> float:
        """Return the milliseconds since the run began."""
        ...

    async def sleep(self, ms: float) -> None:
        """Wait, in the time of the run."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Call a tool. A call without a reply is given up after the detection budget, so it never hangs."""
        ...

    def refuse(self, name: str, arguments: Mapping[str, Any], problem: str) -> ToolOutcome:
        """Count a call whose arguments are invalid, without sending it to a server."""
        ...

    def spend(self, *, turns: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        """Count what the agent itself used. Raises BudgetUsedUp."""
        ...


class Agent(Protocol):
    """Anything that a suite can run against its tools."""

    async def run(self, task: Task, tools: Toolbox) -> AgentAnswer: ...
