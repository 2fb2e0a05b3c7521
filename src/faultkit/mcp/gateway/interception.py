"""What the gateway does with messages besides forwarding them: judge calls, execute verdicts, record, learn
lists.

`Interception` is shared by both ways through the gateway: `GatewayService`, where each session has a server
of its own, and `HttpRelay`, HTTP on both sides. It does not forward anything itself: `execute` gets the
function that asks the server.

On the way of a message that no rule acts on, this module costs two calls: `judge` for the request, which
returns at once while the plan has no rules, and `on_server_message` for the reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeAlias

from faultkit.faults.call_fault import CallFault, Frame, Status, Verdict
from faultkit.mcp.gateway.recorder import Side, TrafficObserver
from faultkit.mcp.injector import Injector
from faultkit.mcp.interpreter import AskServer, FrameObserver, execute_verdict
from faultkit.mcp.targets import Target, targets_of
from faultkit.mcp.wire.exchange import Exchange, Session, call_of
from faultkit.mcp.wire.message import Id, Incoming, cancelled_id
from faultkit.plan import Plan, Rule


class Interception:
    """The rules, the recording and the known lists of one server behind a gateway."""

    def __init__(
        self,
        injector: Injector,
        server: str,
        observer: TrafficObserver | None,
        elapsed: Callable[[], float] | None,
        warn: Callable[[str], None],
    ) -> None:
        """`server`: its name for the rules of a plan. `elapsed`: the clock of schedules; None to start one
        now. `warn` gets targets of rules that the server does not have."""
        self._injector = injector
        self._server = server
        self._observer = observer
        self._elapsed = elapsed or stopwatch()
        self._listings = Listings(injector, warn)
        self._list_rules = rules_of_tool_lists(injector.plan)
        self.local_calls = LocalCalls()
        self.is_recording = observer is not None
        """True if messages are passed to an observer. Callers check it before `record`, because most
        gateways record nothing."""

    @property
    def has_rules(self) -> bool:
        return bool(self._injector.plan.rules)

    def changes_tool_list(self, plan: Plan) -> bool:
        """Return whether the list of tools is another one with a new plan than with the one before."""
        before, self._list_rules = self._list_rules, rules_of_tool_lists(plan)
        return before != self._list_rules

    def wants_reply_to(self, method: str) -> bool:
        """Return whether the reply to this method has to be parsed: for a recording, or to learn a list."""
        return self.is_recording or self._listings.wants(method)

    def judge(self, session: Session, request: Incoming) -> Verdict | None:
        """Return the verdict of the rules on a request, and record it; None if no rule acts on it."""
        if not self._injector.plan.rules:
            return None
        call = call_of(session, request, self._server)
        decided = self._injector.decide(call, self._elapsed())
        if decided is None:
            return None
        rule, verdict = decided
        if self._observer is not None:
            self._observer.injected(session.id, rule, call, verdict)
        return verdict

    def execute(self, verdict: Verdict, exchange: Exchange, ask: AskServer) -> Coroutine[Any, Any, None]:
        """Return the execution of a verdict, with its frames recorded."""
        observer, session, id = self._observer, exchange.session.id, exchange.request.id
        assert id is not None

        def observe(frame: Frame) -> None:
            if observer is not None:
                observer.sent(session, id, frame)

        return self.local_calls.execute(verdict, exchange, ask, observe)

    def record(self, session: Session, side: Side, incoming: Incoming) -> None:
        """Record a message, if there is anything in it to record."""
        if self._observer is not None and (incoming.raw or incoming.message):
            self._observer.message(session.id, side, incoming)

    def record_closed(self, session: Session, request: Incoming) -> None:
        """Record that the client closed the response to a request, which it no longer waits for."""
        if self._observer is not None and request.id is not None:
            self._observer.closed(session.id, request.id)

    def record_status(
        self, session: Session, request: Incoming, status: int, headers: Mapping[str, str]
    ) -> None:
        """Record that the upstream refused a request by a status, without a reply."""
        if self._observer is not None and request.id is not None and status >= _FIRST_ERROR_STATUS:
            wait = tuple((name, value) for name, value in headers.items() if name.lower() == "retry-after")
            self._observer.sent(session.id, request.id, Status(status, wait))

    def on_server_message(self, session: Session, incoming: Incoming) -> None:
        """Learn lists from a message of the server, and record it."""
        self._listings.learn(incoming)
        if self.is_recording:
            self.record(session, "server", incoming)


class LocalCalls:
    """Open calls that the server does not know, or must not learn the cancellation of.

    A call is local from the verdict on it until the verdict asks the server, and to its end if the verdict
    ignores cancellation. A client's `notifications/cancelled` for a local call must not be forwarded: a
    cancellation may only name a request that was sent before (MCP 2025-11-25, Cancellation, Behavior
    Requirements), and the server has never received this one."""

    def __init__(self) -> None:
        self._calls: set[tuple[str, Id]] = set()
        """Session and request id of each local call."""

    def is_cancellation(self, session: Session, incoming: Incoming) -> bool:
        """Return whether a message cancels a local call and must not be forwarded."""
        id = cancelled_id(incoming)
        return id is not None and (session.id, id) in self._calls

    def execute(
        self, verdict: Verdict, exchange: Exchange, ask: AskServer, observe: FrameObserver
    ) -> Coroutine[Any, Any, None]:
        """Return the execution of a verdict.

        The call is local from now on, before the coroutine starts, because the cancellation may be in the
        same read as the call."""
        id = exchange.request.id
        assert id is not None
        key = (exchange.session.id, id)
        self._calls.add(key)

        async def ask_server() -> Incoming | None:
            if not verdict.ignores_cancel:
                self._calls.discard(key)
            return await ask()

        async def run() -> None:
            try:
                await execute_verdict(verdict, exchange, ask_server, observe)
            finally:
                self._calls.discard(key)

        return run()


_TOOLS_LIST = "tools/list"
_FIRST_ERROR_STATUS = 400
_LIST_KEYS = {"tool": "name", "resource": "uri", "prompt": "name"}
"""Kinds of lists, and the key of an entry that a target is compared with."""
_MOST_NAMES = 10_000
"""Limit of names kept of one kind; beyond it, nothing is checked."""

_RuleTarget: TypeAlias = tuple[str, Target]
"""The name of a rule and one of its targets."""


class Listings:
    """What the server's lists show in passing: output schemas of tools, and rules whose target does not
    exist. All sessions of a gateway share them.

    Lists may change, and an unlisted tool may be called all the same, so a missing target is only warned of,
    once."""

    def __init__(self, injector: Injector, warn: Callable[[str], None]) -> None:
        self._injector = injector
        self._warn = warn
        self._plan = Plan()
        """The plan that the targets below were taken from."""
        self._unchecked: dict[str, list[_RuleTarget]] = {}
        """Targets of the plan, by kind, that have not been compared with a complete list."""
        self._checked: set[_RuleTarget] = set()
        self._names: dict[str, set[str]] = {noun: set() for noun in _LIST_KEYS}
        """Names on the pages so far, by kind."""

    def wants(self, method: str) -> bool:
        """Return whether the reply to this method has to be parsed."""
        return method == _TOOLS_LIST or any(method == f"{noun}s/list" for noun in self._unchecked_targets())

    def learn(self, reply: Incoming) -> None:
        """Learn from a reply; replies that list nothing are ignored."""
        if reply.kind != "response":
            return
        # Search the bytes first: a reply is parsed already, but walking a large result takes time.
        nouns = [noun for noun in self._unchecked_targets() if b'"%ss"' % noun.encode() in reply.raw]
        if not nouns and b'"outputSchema"' not in reply.raw:
            return
        result = reply.message.get("result")
        if not isinstance(result, dict):
            return
        if isinstance(result.get("tools"), list):
            self._injector.learn_tools(result["tools"])
        for noun in nouns:
            entries = result.get(f"{noun}s")
            if isinstance(entries, list):
                self._learn_page(noun, entries, is_last="nextCursor" not in result)

    def _unchecked_targets(self) -> dict[str, list[_RuleTarget]]:
        """Return the unchecked targets by kind, after taking those of a new plan."""
        plan = self._injector.plan
        if plan is not self._plan:
            self._plan = plan
            targets = [(rule.name, target) for rule in plan.rules for target in targets_of(rule)]
            self._checked.intersection_update(targets)
            self._unchecked = {}
            for each in targets:
                if each[1].noun in _LIST_KEYS and each not in self._checked:
                    self._unchecked.setdefault(each[1].noun, []).append(each)
        return self._unchecked

    def _learn_page(self, noun: str, entries: list[Any], *, is_last: bool) -> None:
        """Take one page of a list; only after the last page is it known what is missing."""
        names = self._names[noun]
        given = (entry.get(_LIST_KEYS[noun]) for entry in entries if isinstance(entry, dict))
        names.update(name for name in given if isinstance(name, str))
        if len(names) > _MOST_NAMES:
            names.clear()
            del self._unchecked[noun]
        elif is_last:
            targets = self._unchecked.pop(noun)
            self._checked.update(targets)
            for rule, target in targets:
                if not target.is_among(names):
                    self._warn(f'rule "{rule}": {target.missed(names)}')


def rules_of_tool_lists(plan: Plan) -> tuple[Rule, ...]:
    """Return the rules whose faults change what a list of tools contains."""
    return tuple(
        rule
        for rule in plan.rules
        if isinstance(rule.fault, CallFault) and rule.fault.fitting_methods() == (_TOOLS_LIST,)
    )


def stopwatch() -> Callable[[], float]:
    """Return a function that returns the seconds since this call."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    return lambda: loop.time() - began_s
