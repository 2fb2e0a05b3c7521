"""The interface between agents and the runner: an agent gets a task and a toolbox, and returns an answer.

An agent reads no clock and never sleeps by itself: it uses its toolbox, which alone knows whether time is
real or virtual. The toolbox also counts the budget: a call that exceeds it raises `BudgetExceeded`, which an
agent must not catch. Pure values and protocols: toolboxes are in `execute`, agents in `kinds`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from faultkit.agents.recovery.trace import CallOutcome, RunEnding
from faultkit.llm.conversation import Completion, Conversation
from faultkit.llm.failure import ProviderFailure


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool as its server lists it."""

    name: str
    server: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    read_only: bool = False
    """`readOnlyHint` of the tool's annotations."""
    repeatable: bool | None = None
    """Whether a repeated call has no further effect, by the tool's annotations; None if they do not say."""


def tool_info(listed: Mapping[str, Any], server: str) -> ToolInfo:
    """Return the value of an entry of `tools/list`; members of the wrong type are left out."""
    annotations = listed.get("annotations")
    schema = listed.get("inputSchema")
    return ToolInfo(
        name=str(listed.get("name", "")),
        server=server,
        description=str(listed.get("description") or ""),
        input_schema=schema if isinstance(schema, Mapping) else {},
        read_only=isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True,
        repeatable=_repeatable(annotations if isinstance(annotations, Mapping) else {}),
    )


def _repeatable(hints: Mapping[str, Any]) -> bool | None:
    """Return what the annotations say about a repeated call.

    MCP assumes of a tool without annotations that it writes (MCP 2025-11-25, ToolAnnotations). That is a
    caution for clients, and no statement of the server."""
    if hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True:
        return True
    says_it_writes = any(isinstance(hints.get(name), bool) for name in _HINTS_OF_WRITES)
    return False if says_it_writes else None


_HINTS_OF_WRITES = ("readOnlyHint", "idempotentHint", "destructiveHint")
"""Hints that a server gives for a tool that writes; a read-only one, or one that may be repeated, is told
apart before."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of one call, as its caller sees it."""

    outcome: CallOutcome
    text: str
    """Text blocks of the result, or the error message, as a model gets them."""
    structured: Any = None
    """`structuredContent` of the result."""
    error_code: int | None = None
    retry_after_ms: float | None = None
    """Wait that the reply asks for."""
    reply: Mapping[str, Any] | None = field(default=None, compare=False)
    """The JSON-RPC message; None if no reply arrived."""

    @property
    def ok(self) -> bool:
        """True if the call succeeded."""
        return self.outcome == "ok"


@dataclass(frozen=True, slots=True)
class ModelOutcome:
    """The outcome of one request to a model, as its caller sees it."""

    outcome: CallOutcome
    text: str = ""
    """Why it failed."""
    completion: Completion | None = None
    """The answer; None if the request failed."""
    failure: ProviderFailure | None = field(default=None, compare=False)

    @property
    def ok(self) -> bool:
        """True if there is an answer."""
        return self.completion is not None

    @property
    def retry_after_ms(self) -> float | None:
        """Wait that the provider asks for."""
        wait_s = None if self.failure is None else self.failure.after_s
        return None if wait_s is None else wait_s * 1000


@dataclass(frozen=True, slots=True)
class AgentTask:
    """The prompts of an agent, and the seed of its random numbers."""

    prompt: str
    system_prompt: str = ""
    seed: int | str = 0


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call that a script makes."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """The answer with which an agent ends its run."""

    text: str
    claims_success: bool | None = None
    """Whether the agent claims to have done its task; None if only the text could show it."""
    done: bool | None = None
    """Whether the calls succeeded that the task needs; None unless the agent is scripted."""
    undone: tuple[PlannedCall, ...] = ()
    """The calls of those steps of a script that failed or were not reached, one for each step."""


class BudgetExceeded(Exception):
    """Raised when a run exceeds one of its limits; `ending` names the limit."""

    def __init__(self, ending: RunEnding) -> None:
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
        """Wait on the clock of the run."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Call a tool. Returns a timeout once the detection budget has passed, so it never hangs."""
        ...

    def refuse(self, name: str, arguments: Mapping[str, Any], problem: str) -> ToolOutcome:
        """Count a call whose arguments are invalid, without sending it to a server."""
        ...

    def spend(self, *, turns: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        """Count turns, tokens and money that the agent used. Raises BudgetExceeded."""
        ...

    @property
    def has_model(self) -> bool:
        """True if requests to the model go through `ask`, where faults act on them."""
        ...

    async def ask(self, conversation: Conversation) -> ModelOutcome:
        """Ask the model. Returns a timeout once the detection budget has passed, so it never hangs."""
        ...


class Agent(Protocol):
    """An agent that a suite can run against its tools."""

    async def run(self, task: AgentTask, tools: Toolbox) -> AgentAnswer:
        """Do the task and return the final answer. Raises BudgetExceeded."""
        ...


# The budget of a run


@dataclass(frozen=True, slots=True)
class RunBudget:
    """Limits of one run. None stands for no limit."""

    turns: int | None = 10
    calls: int | None = None
    tokens: int | None = None
    time_ms: float | None = None
    """Milliseconds on the clock of the run."""
    money: float | None = None
    """US dollars."""


@dataclass(slots=True)
class BudgetUse:
    """The amounts that a run has used so far, checked against its budget."""

    budget: RunBudget
    turns: int = 0
    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    overruns: list[RunEnding] = field(default_factory=list)
    """Limits that were exceeded, in the order in which that happened."""

    def spend(self, *, turns: int = 0, calls: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        """Add an amount. Raises BudgetExceeded if a limit is exceeded."""
        self.turns += turns
        self.calls += calls
        self.tokens += tokens
        self.money += money
        self._check("turns", self.turns, self.budget.turns)
        self._check("calls", self.calls, self.budget.calls)
        self._check("tokens", self.tokens, self.budget.tokens)
        self._check("money", self.money, self.budget.money)

    def check_time(self, now_ms: float) -> None:
        """Raise BudgetExceeded if the time limit has passed."""
        self._check("time", now_ms, self.budget.time_ms)

    def _check(self, name: RunEnding, used: float, limit: float | None) -> None:
        if limit is not None and used > limit:
            if name not in self.overruns:
                self.overruns.append(name)
            raise BudgetExceeded(name)


@dataclass(slots=True)
class Purse:
    """Money for several runs, and what they have spent. One with a `within` takes from that too."""

    limit: float | None = None
    """US dollars; None for no limit."""
    within: Purse | None = None
    spent: float = 0.0

    @property
    def left(self) -> float | None:
        """What may still be spent; None for no limit."""
        own = None if self.limit is None else max(0.0, self.limit - self.spent)
        outer = None if self.within is None else self.within.left
        return own if outer is None else outer if own is None else min(own, outer)

    def spend(self, money: float) -> None:
        """Add what a run has cost."""
        self.spent += money
        if self.within is not None:
            self.within.spend(money)
