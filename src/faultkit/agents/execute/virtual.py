"""Tools in virtual time: faults are judged and counted, nothing waits, and every call becomes a mark.

A call that a fault lets through is made at once at the real server, and takes no virtual time: only faults
and the agent's own waits do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from faultkit.agents.execute.budget import Budget, Spent
from faultkit.agents.execute.seen import answered, seen_by
from faultkit.agents.kinds.agent import ToolInfo, ToolOutcome
from faultkit.agents.recovery.trace import CallMark
from faultkit.faults.call.call import Call, Message, Transport, Verdict
from faultkit.mcp.injector import Injector
from faultkit.plan import Rule

METHOD = "tools/call"
USUAL_PATIENCE_MS = 30_000.0
"""Of a caller whose test names no detection budget."""
_UNKNOWN_TOOL = -32602
PERMANENT_KINDS = ("hang", "wedged", "frozen", "fail_from")
_KEYS_OF_ONE_ATTEMPT = ("idempotency_key", "request_id", "idempotencyKey", "requestId")
"""Arguments that name an attempt rather than what is to be done."""


class Server(Protocol):
    """A server that is there, whichever way it is reached."""

    @property
    def name(self) -> str: ...

    @property
    def transport(self) -> Transport: ...

    @property
    def tools(self) -> Sequence[ToolInfo]: ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        """The whole reply: a JSON-RPC message with a result or an error."""
        ...


@dataclass(frozen=True, slots=True)
class _Place:
    server: Server
    info: ToolInfo


class VirtualToolbox:
    """The toolbox of one run; `marks` is what was done with it."""

    def __init__(
        self,
        servers: Sequence[Server],
        injectors: Mapping[str, Injector],
        budget: Budget,
        patience_ms: float = USUAL_PATIENCE_MS,
    ) -> None:
        """`injectors`: by the name of the server."""
        self._places = {
            info.name: _Place(server, info) for server in reversed(servers) for info in server.tools
        }
        self._injectors = injectors
        self._patience_ms = patience_ms
        self._now_ms = 0.0
        self._frozen: dict[str, Rule] = {}
        """Servers that answer nothing any more, and what made them so."""
        self.spent = Spent(budget)
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
            outcome, took_ms = answered(reply), 0.0
        else:
            seen = seen_by(call, verdict, reply, self._patience_ms)
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
        if decided is not None and decided[1].freeze:
            self._frozen[call.server] = decided[0]
        return decided


_NEVER = Verdict(ask=False, freeze=True)


def refusal_of(
    name: str, arguments: Mapping[str, Any], problem: str, now_ms: float
) -> tuple[ToolOutcome, CallMark]:
    """Of a call that reaches nobody."""
    outcome = ToolOutcome("protocol_error", problem, error_code=_UNKNOWN_TOOL)
    return outcome, CallMark(name, now_ms, now_ms, outcome.outcome, arguments, invalid=True)


def effect_of(info: ToolInfo, arguments: Mapping[str, Any], reply: Message | None) -> str:
    """What the server did, whatever the caller was told: a name that is the same for the same thing done."""
    if info.read_only or reply is None or not answered(reply).ok:
        return ""
    meant = {key: value for key, value in arguments.items() if key not in _KEYS_OF_ONE_ATTEMPT}
    text = json.dumps([info.server, info.name, meant], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
