"""A toolbox in virtual time: no call waits, and a hang of minutes takes microseconds.

Time is a number, `_now_ms`. Two things advance it: `sleep`, by which an agent waits, and the verdict of a
fault, from whose frames `observed_outcome.observe` computes when the caller would have received what. A call
that a fault lets through is made at the server at once and takes no virtual time, however slow the server is.
The same seed therefore gives the same trace on every machine. `real_toolbox` is the counterpart with a
transport and a clock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from faultkit.agents.execute.agent_model import AgentModel
from faultkit.agents.execute.observed_outcome import observe, outcome_of_reply
from faultkit.agents.recovery.planted import PlantedValues, asks_for_input, planted_by
from faultkit.agents.recovery.trace import TracedCall
from faultkit.agents.suite.agent_interface import BudgetUse, ModelOutcome, RunBudget, ToolInfo, ToolOutcome
from faultkit.faults.call_fault import Call, Message, Transport, Verdict
from faultkit.llm.conversation import Conversation
from faultkit.mcp.injector import Injector
from faultkit.plan import Rule

METHOD = "tools/call"
USUAL_PATIENCE_MS = 30_000.0
"""Patience of a caller whose test sets no detection budget."""
_UNKNOWN_TOOL = -32602
"""JSON-RPC's `Invalid params`, by which MCP servers report an unknown tool."""
PERMANENT_KINDS = ("hang", "wedged", "frozen", "fail_from")
"""Faults after which a repeated call cannot succeed, if their rule acts to the end of the run."""
KEYS_OF_ONE_ATTEMPT = ("idempotency_key", "request_id", "idempotencyKey", "requestId")
"""Arguments that identify an attempt rather than its effect."""


class ConnectedServer(Protocol):
    """A server that is connected or mocked, as a toolbox calls it."""

    @property
    def name(self) -> str: ...

    @property
    def transport(self) -> Transport: ...

    @property
    def tools(self) -> Sequence[ToolInfo]: ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        """Return the reply: a JSON-RPC message with a result or an error."""
        ...


class VirtualToolbox:
    """The toolbox of one run in virtual time. `calls` are its calls so far."""

    def __init__(
        self,
        servers: Sequence[ConnectedServer],
        injectors: Mapping[str, Injector],
        budget: RunBudget,
        patience_ms: float = USUAL_PATIENCE_MS,
        model: AgentModel | None = None,
    ) -> None:
        """Create a toolbox. `injectors` are keyed by the name of their server. Without a `model`, the agent
        has none, or one on which no faults act."""
        # If two servers have a tool of the same name, that of the first server is called.
        self._tools = {info.name: (server, info) for server in reversed(servers) for info in server.tools}
        self._injectors = injectors
        self._patience_ms = patience_ms
        self._model = model
        self.met_elsewhere: list[str] = []
        """Faults that acted beside the one that the trace names."""
        self._now_ms = 0.0
        self._frozen: dict[str, Rule] = {}
        """Servers that stopped answering, and the rule that froze them."""
        self.budget_use = BudgetUse(budget)
        self.calls: list[TracedCall] = []

    @property
    def tools(self) -> Sequence[ToolInfo]:
        return tuple(info for _, info in self._tools.values())

    def now_ms(self) -> float:
        return self._now_ms

    async def sleep(self, ms: float) -> None:
        self._now_ms += max(0.0, ms)
        self.budget_use.check_time(self._now_ms)

    def spend(self, *, turns: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        self.budget_use.spend(turns=turns, tokens=tokens, money=money)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        if name not in self._tools:
            return self.refuse(name, arguments, f"unknown tool `{name}`; there are: {', '.join(self._tools)}")
        self.budget_use.spend(calls=1)
        return await self._call(*self._tools[name], arguments)

    def refuse(self, name: str, arguments: Mapping[str, Any], problem: str) -> ToolOutcome:
        self.budget_use.spend(calls=1)
        outcome, call = refusal_of(name, arguments, problem, self._now_ms)
        self.calls.append(call)
        return outcome

    @property
    def has_model(self) -> bool:
        return self._model is not None

    async def ask(self, conversation: Conversation) -> ModelOutcome:
        assert self._model is not None
        asked = await self._model.ask(conversation, self._now_ms, self._patience_ms)
        self.calls.append(asked.call)
        self.met_elsewhere += asked.others
        self._now_ms = asked.call.end_ms or self._now_ms
        self.budget_use.check_time(self._now_ms)
        return asked.outcome

    async def _call(
        self, server: ConnectedServer, info: ToolInfo, arguments: Mapping[str, Any]
    ) -> ToolOutcome:
        name, start_ms = info.name, self._now_ms
        call = Call(
            METHOD,
            name,
            {"name": name, "arguments": dict(arguments)},
            id=len(self.calls) + 1,
            server=server.name,
            transport=server.transport,
        )
        decision = self._decide(call)
        verdict = Verdict() if decision is None else decision[1]
        reply = {**await server.call(name, arguments), "id": call.id} if verdict.ask else None
        planted = PlantedValues()
        if decision is None:
            assert reply is not None
            outcome, took_ms = outcome_of_reply(reply), 0.0
        else:
            observed = observe(call, verdict, reply, self._patience_ms)
            outcome, took_ms = observed.outcome, observed.took_ms
            if outcome.ok:
                planted = planted_by(verdict, reply, outcome.reply)
            if observed.is_unchanged:
                # A fault that had nothing to change was not met.
                decision = None
        self._now_ms = start_ms + took_ms
        self.calls.append(
            TracedCall(
                name,
                start_ms,
                self._now_ms,
                outcome.outcome,
                arguments,
                server=server.name,
                fault="" if decision is None else decision[0].name,
                permanent=decision is not None
                and is_permanent(decision[0].fault.kind, decision[0].lasts, verdict),
                invalid=outcome.error_code == _UNKNOWN_TOOL,
                retry_after_ms=outcome.retry_after_ms,
                effect=effect_of(info, arguments, reply),
                is_read=info.read_only,
                canaries=(verdict.marker,) if verdict.marker else planted.texts,
                misleading=planted.is_misleading,
                is_traceable=planted.is_traceable,
            )
        )
        self.budget_use.check_time(self._now_ms)
        return outcome

    def _decide(self, call: Call) -> tuple[Rule, Verdict] | None:
        """Return the rule that acts on a call, and its verdict; None if no rule does."""
        if call.server in self._frozen:
            return self._frozen[call.server], _NO_ANSWER
        injector = self._injectors.get(call.server)
        decision = None if injector is None else injector.decide(call, self._now_ms / 1000)
        if decision is not None and decision[1].freezes_session:
            self._frozen[call.server] = decision[0]
        return decision


_NO_ANSWER = Verdict(ask=False, freezes_session=True)


def is_permanent(kind: str, lasts: bool, verdict: Verdict) -> bool:
    """Return whether a fault makes repeated calls fail too. `lasts`: as `Rule.lasts`.

    A frozen session stays frozen, whatever the trigger and the schedule of the rule."""
    return verdict.freezes_session or (lasts and kind in PERMANENT_KINDS)


def refusal_of(
    name: str, arguments: Mapping[str, Any], problem: str, now_ms: float
) -> tuple[ToolOutcome, TracedCall]:
    """Return the outcome of a call that is not sent, and the call for the trace."""
    outcome = ToolOutcome("protocol_error", problem, error_code=_UNKNOWN_TOOL)
    return outcome, TracedCall(name, now_ms, now_ms, outcome.outcome, arguments, invalid=True)


def effect_of(info: ToolInfo, arguments: Mapping[str, Any], reply: Message | None) -> str:
    """Return a digest of what the server did, equal for equal effects; empty if it did nothing.

    It depends on the server's reply, not on what a fault let the caller receive. Two calls with one digest
    are a duplicate effect: an order that was placed twice.
    """
    if info.read_only or reply is None or asks_for_input(reply) or not outcome_of_reply(reply).ok:
        return ""
    return intended_effect(info, arguments)


def intended_effect(info: ToolInfo, arguments: Mapping[str, Any]) -> str:
    """Return a digest of what a call is to do, whether or not it is done."""
    identifying = {key: value for key, value in arguments.items() if key not in KEYS_OF_ONE_ATTEMPT}
    text = json.dumps([info.server, info.name, identifying], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
