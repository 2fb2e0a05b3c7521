"""A toolbox in virtual time: no call waits, and a hang of minutes takes microseconds.

Time is a number, `_now_ms`. Two things advance it: `sleep`, by which an agent waits, and the verdict of a
fault, whose frames say when the caller would have seen what (`observed_outcome.observe`). A call that a
fault lets through is made at the real server at once and takes no virtual time, however slow the server is.
The same seed therefore gives the same trace on every machine. `real_toolbox` is its counterpart with a wire
and a clock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from faultkit.agents.execute.observed_outcome import observe, outcome_of_reply
from faultkit.agents.recovery.trace import CallMark
from faultkit.agents.suite.agent import ToolInfo, ToolOutcome
from faultkit.agents.suite.budget import BudgetUse, RunBudget
from faultkit.faults.call.call import Call, Message, Transport, Verdict
from faultkit.mcp.injector import Injector
from faultkit.plan import Rule

METHOD = "tools/call"
USUAL_PATIENCE_MS = 30_000.0
"""Patience of a caller whose test sets no detection budget."""
_UNKNOWN_TOOL = -32602
PERMANENT_KINDS = ("hang", "wedged", "frozen", "fail_from")
_KEYS_OF_ONE_ATTEMPT = ("idempotency_key", "request_id", "idempotencyKey", "requestId")
"""Arguments that identify an attempt rather than its effect."""


class Server(Protocol):
    """A connected server of any kind."""

    @property
    def name(self) -> str: ...

    @property
    def transport(self) -> Transport: ...

    @property
    def tools(self) -> Sequence[ToolInfo]: ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        """Return the reply: a JSON-RPC message with a result or an error."""
        ...


@dataclass(frozen=True, slots=True)
class _Place:
    server: Server
    info: ToolInfo


class VirtualToolbox:
    """The toolbox of one run. `marks` are its calls."""

    def __init__(
        self,
        servers: Sequence[Server],
        injectors: Mapping[str, Injector],
        budget: RunBudget,
        patience_ms: float = USUAL_PATIENCE_MS,
    ) -> None:
        """Create a toolbox. `injectors` are keyed by the name of their server."""
        self._places = {
            info.name: _Place(server, info) for server in reversed(servers) for info in server.tools
        }
        self._injectors = injectors
        self._patience_ms = patience_ms
        self._now_ms = 0.0
        self._frozen: dict[str, Rule] = {}
        """Servers that stopped answering, and the rule that froze them."""
        self.spent = BudgetUse(budget)
        self.marks: list[CallMark] = []

    @property
    def tools(self) -> Sequence[ToolInfo]:
        return tuple(place.info for place in self._places.values())

    def now_ms(self) -> float:
        return self._now_ms

    async def sleep(self, ms: float) -> None:
        self._now_ms += max(0.0, ms)
        self.spent.check_time(self._now_ms)

    def spend(self, *, turns: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        self.spent.take(turns=turns, tokens=tokens, money=money)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        self.spent.take(calls=1)
        place = self._places.get(name)
        start_ms = self._now_ms
        if place is None:
            return self._refused(
                name, arguments, f"unknown tool `{name}`; there are: {', '.join(self._places)}"
            )
        return await self._call(place, arguments, start_ms)

    def refuse(self, name: str, arguments: Mapping[str, Any], problem: str) -> ToolOutcome:
        self.spent.take(calls=1)
        return self._refused(name, arguments, problem)

    def _refused(self, name: str, arguments: Mapping[str, Any], problem: str) -> ToolOutcome:
        outcome, mark = refusal_of(name, arguments, problem, self._now_ms)
        self.marks.append(mark)
        return outcome

    async def _call(self, place: _Place, arguments: Mapping[str, Any], start_ms: float) -> ToolOutcome:
        server, name = place.server, place.info.name
        call = Call(
            METHOD,
            name,
            {"name": name, "arguments": dict(arguments)},
            id=len(self.marks) + 1,
            server=server.name,
            transport=server.transport,
        )
        decided = self._decided(call, start_ms)
        verdict = Verdict() if decided is None else decided[1]
        reply = {**await server.call(name, arguments), "id": call.id} if verdict.ask else None
        if decided is None:
            assert reply is not None
            outcome, took_ms = outcome_of_reply(reply), 0.0
        else:
            seen = observe(call, verdict, reply, self._patience_ms)
            outcome, took_ms = seen.outcome, seen.took_ms
        self._now_ms = start_ms + took_ms
        self.marks.append(
            CallMark(
                name,
                start_ms,
                self._now_ms,
                outcome.outcome,
                arguments,
                server=server.name,
                fault="" if decided is None else decided[0].name,
                permanent=decided is not None and decided[0].fault.kind in PERMANENT_KINDS,
                invalid=outcome.error_code == _UNKNOWN_TOOL,
                retry_after_ms=outcome.retry_after_ms,
                effect=effect_of(place.info, arguments, reply),
                is_read=place.info.read_only,
                canaries=(verdict.marker,) if verdict.marker else (),
            )
        )
        self.spent.check_time(self._now_ms)
        return outcome

    def _decided(self, call: Call, now_ms: float) -> tuple[Rule, Verdict] | None:
        if call.server in self._frozen:
            return self._frozen[call.server], _NEVER
        injector = self._injectors.get(call.server)
        decided = None if injector is None else injector.decide(call, now_ms / 1000)
        if decided is not None and decided[1].freezes_session:
            self._frozen[call.server] = decided[0]
        return decided


_NEVER = Verdict(ask=False, freezes_session=True)


def refusal_of(
    name: str, arguments: Mapping[str, Any], problem: str, now_ms: float
) -> tuple[ToolOutcome, CallMark]:
    """Return the outcome and the mark of a call that is not sent."""
    outcome = ToolOutcome("protocol_error", problem, error_code=_UNKNOWN_TOOL)
    return outcome, CallMark(name, now_ms, now_ms, outcome.outcome, arguments, invalid=True)


def effect_of(info: ToolInfo, arguments: Mapping[str, Any], reply: Message | None) -> str:
    """Return a digest of what the server did, which is equal for equal effects; empty if it did nothing.

    It depends on the server's reply, not on what a fault let the caller see. Two calls with one digest are a
    duplicate effect: an order that was placed twice.
    """
    if info.read_only or reply is None or not outcome_of_reply(reply).ok:
        return ""
    meant = {key: value for key, value in arguments.items() if key not in _KEYS_OF_ONE_ATTEMPT}
    text = json.dumps([info.server, info.name, meant], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
