"""What an agent did in one run, as marks that the metrics are made of. Values only.

Times are milliseconds since the run began, on whichever clock the run had: real, scaled or virtual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Outcome: TypeAlias = Literal["ok", "tool_error", "protocol_error", "timeout", "cancelled", "lost"]
"""How a call ended for its caller. lost: the connection went, and with it the answer."""

Ending: TypeAlias = Literal["reply", "turns", "calls", "tokens", "time", "money", "error"]
"""What ended a run: the agent's own last word, a budget that was used up, or an error."""


@dataclass(frozen=True, slots=True)
class CallMark:
    """One call of a tool."""

    tool: str
    start_ms: float
    end_ms: float | None
    """When the caller knew how it ended; None if never."""
    outcome: Outcome
    arguments: Mapping[str, Any] = field(default_factory=dict)
    server: str = ""
    goal: str = ""
    """What the call is for; calls of one tool have the same one unless somebody says otherwise."""
    fault: str = ""
    """The injected fault that touched it."""
    permanent: bool = False
    """The fault will not go away in this run, and the answer says so."""
    invalid: bool = False
    """An unknown tool; an argument that is missing, unknown or of the wrong type."""
    denied: bool = False
    retry_after_ms: float | None = None
    """How long the answer asked the caller to wait."""
    effect: str = ""
    """What it did in the world, by the ledger of the server, whatever the caller was told."""
    is_read: bool = False
    """It changes nothing."""
    canaries: tuple[str, ...] = ()
    """Marks that were planted into its answer."""

    @property
    def aim(self) -> str:
        return self.goal or self.tool

    @property
    def failed(self) -> bool:
        return self.outcome != "ok"


@dataclass(frozen=True, slots=True)
class Reply:
    """The agent's last word."""

    text: str
    at_ms: float
    claims_success: bool | None = None
    """None: it cannot be told from the text."""


@dataclass(frozen=True, slots=True)
class Trace:
    calls: tuple[CallMark, ...]
    """In the order in which they began."""
    reply: Reply | None
    ending: Ending = "reply"
    succeeded: bool | None = None
    """Whether the task was done in truth; None if there is no way to know."""
    overruns: tuple[Ending, ...] = ()
    """Budgets that were exceeded."""

    @property
    def faulted(self) -> tuple[CallMark, ...]:
        return tuple(call for call in self.calls if call.fault)

    @property
    def replied(self) -> bool:
        return self.reply is not None and bool(self.reply.text.strip())
