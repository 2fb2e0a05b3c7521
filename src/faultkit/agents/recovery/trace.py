"""The trace of one run: its calls and its final reply, from which all metrics are computed. Pure.

Times are milliseconds since the run began, on the clock of the run: real, scaled or virtual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

CallOutcome: TypeAlias = Literal["ok", "tool_error", "protocol_error", "timeout", "cancelled", "lost"]
"""How a call ended for its caller. lost: the connection closed before the reply."""

RunEnding: TypeAlias = Literal["reply", "turns", "calls", "tokens", "time", "money", "error"]
"""What ended a run: the agent's final reply, an exceeded budget, or an error."""


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One call of a tool, as its caller and the gateway observed it."""

    tool: str
    start_ms: float
    end_ms: float | None
    """When the caller knew the outcome; None if never."""
    outcome: CallOutcome
    arguments: Mapping[str, Any] = field(default_factory=dict)
    server: str = ""
    goal: str = ""
    """Purpose of the call; empty: the tool's name."""
    fault: str = ""
    """Name of the injected fault that the call met; empty for none."""
    permanent: bool = False
    """The fault acts to the end of the run, as far as its rule shows: a repeated call cannot succeed."""
    invalid: bool = False
    """The tool is unknown, or an argument is missing, unknown or of the wrong type."""
    denied: bool = False
    """A policy refused the call."""
    retry_after_ms: float | None = None
    """Wait that the reply asks for."""
    effect: str = ""
    """Digest of what the server did, even if the call failed for its caller; empty for nothing."""
    is_read: bool = False
    """The tool is read-only."""
    canaries: tuple[str, ...] = ()
    """Texts that a fault planted in the reply, by which its spread can be seen."""
    misleading: bool = False
    """A fault replaced values in the reply, which looked sound to the caller."""
    is_traceable: bool = True
    """An agent that is misled repeats one of `canaries`, if there are any. False if it need not."""
    is_model: bool = False
    """A request to the agent's model, whose name is in `tool`."""

    @property
    def aim(self) -> str:
        """What the call is for: calls with the same aim can replace each other."""
        return self.goal or self.tool

    @property
    def failed(self) -> bool:
        """True unless the call succeeded."""
        return self.outcome != "ok"

    @property
    def is_sound(self) -> bool:
        """True if the call succeeded with what its server answered: no fault replaced values in it."""
        return not self.failed and not self.misleading


@dataclass(frozen=True, slots=True)
class FinalReply:
    """The answer with which an agent ended its run."""

    text: str
    at_ms: float
    claims_success: bool | None = None
    """None if only the text could show it."""


@dataclass(frozen=True, slots=True)
class Trace:
    """All calls of a run, and how it ended."""

    calls: tuple[TracedCall, ...]
    """In the order of their start."""
    reply: FinalReply | None
    ending: RunEnding = "reply"
    succeeded: bool | None = None
    """Whether the task was really done; None if that is unknown."""
    overruns: tuple[RunEnding, ...] = ()
    """Budgets that were exceeded."""
    met_elsewhere: tuple[str, ...] = ()
    """Faults that acted on other requests than calls of tools, such as a list of tools."""

    @property
    def tool_calls(self) -> tuple[TracedCall, ...]:
        """The calls of tools, without the requests to the model."""
        return tuple(call for call in self.calls if not call.is_model)

    @property
    def model_requests(self) -> tuple[TracedCall, ...]:
        """The requests to the model, if faults can act on them."""
        return tuple(call for call in self.calls if call.is_model)

    @property
    def faulted(self) -> tuple[TracedCall, ...]:
        """The calls that met an injected fault."""
        return tuple(call for call in self.calls if call.fault)

    @property
    def met_faults(self) -> frozenset[str]:
        """Names of the injected faults that acted in the run."""
        return frozenset((*(call.fault for call in self.faulted), *self.met_elsewhere))

    def after(self, call: TracedCall) -> tuple[TracedCall, ...]:
        """Return the calls that started after a call."""
        return self.calls[self.calls.index(call) + 1 :]

    def alike_after(self, call: TracedCall) -> tuple[TracedCall, ...]:
        """Return the later calls of tools for a call of a tool, and requests to the model for one of those:
        neither stands in for the other."""
        return tuple(each for each in self.after(call) if each.is_model == call.is_model)

    def noticed_ms(self, call: TracedCall) -> float | None:
        """Return when the caller knew that a call failed; None for a call that did not, or if never.

        An agent that gives its final reply waits no longer. The gateway learns that a little later than the
        agent itself: by a cancellation or a closed connection.
        """
        if not call.failed or call.end_ms is None:
            return None
        if self.reply is None or not call.start_ms <= self.reply.at_ms:
            return call.end_ms
        return min(call.end_ms, self.reply.at_ms)

    def calls_by_tool(self) -> dict[tuple[str, str], list[TracedCall]]:
        """Return the calls of each server and tool, in the order of their start."""
        found: dict[tuple[str, str], list[TracedCall]] = {}
        for call in self.calls:
            found.setdefault((call.server, call.tool), []).append(call)
        return found

    @property
    def replied(self) -> bool:
        """True if the final reply has a text."""
        return self.reply is not None and bool(self.reply.text.strip())
