"""What the gateway does with messages besides forwarding them: judge calls, execute verdicts, record.

`Interception` is shared by both ways through the gateway: `GatewayService`, where a session has a server of
its own, and `HttpRelay`, HTTP on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from faultkit.faults.call.call import Frame, Verdict
from faultkit.mcp.gateway.listings import Listings
from faultkit.mcp.gateway.recorder import Side, TrafficObserver
from faultkit.mcp.injector import Injector
from faultkit.mcp.interpreter import AskServer, FrameObserver, execute_verdict
from faultkit.mcp.wire.exchange import Exchange, Session, call_of
from faultkit.mcp.wire.message import Id, Incoming, cancelled_id


class LocalCalls:
    """Open calls that the server does not know, or must not learn the cancellation of.

    A call is local until its verdict asks the server, and for good if it ignores cancellation. The client's
    `notifications/cancelled` for it would name a request that the server has never received."""

    def __init__(self) -> None:
        self._calls: set[tuple[str, Id]] = set()

    def is_cancellation(self, session: Session, incoming: Incoming) -> bool:
        """Return whether a message cancels a local call and must not be forwarded."""
        id = cancelled_id(incoming)
        return id is not None and (session.id, id) in self._calls

    def execute(
        self, verdict: Verdict, exchange: Exchange, ask: AskServer, observe: FrameObserver
    ) -> Coroutine[Any, Any, None]:
        """Return the execution of a verdict. The call is local from now on, before the coroutine starts."""
        id = exchange.request.id
        assert id is not None
        key = (exchange.session.id, id)
        self._calls.add(key)
        return self._execute(verdict, exchange, ask, observe, key)

    async def _execute(
        self,
        verdict: Verdict,
        exchange: Exchange,
        ask: AskServer,
        observe: FrameObserver,
        key: tuple[str, Id],
    ) -> None:
        async def ask_server() -> Incoming | None:
            if not verdict.ignores_cancel:
                self._calls.discard(key)
            return await ask()

        try:
            await execute_verdict(verdict, exchange, ask_server, observe)
        finally:
            self._calls.discard(key)


class Interception:
    """The rules, the recording and the known lists of one server behind a gateway."""

    def __init__(
        self,
        injector: Injector,
        server: str,
        observer: TrafficObserver | None,
        elapsed: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        """`elapsed`: the clock of schedules. `warn` gets targets of rules that the server does not have."""
        self._injector = injector
        self._server = server
        self._observer = observer
        self._elapsed = elapsed
        self._listings = Listings(injector, warn)
        self._local = LocalCalls()
        self.is_cancellation = self._local.is_cancellation

    @property
    def has_rules(self) -> bool:
        return bool(self._injector.plan.rules)

    def reads_reply_to(self, method: str) -> bool:
        """Return whether the reply to this method has to be parsed: for a recording, or to learn a list."""
        return self._observer is not None or self._listings.wants(method)

    @property
    def is_recording(self) -> bool:
        return self._observer is not None

    def judge(self, session: Session, request: Incoming) -> Verdict | None:
        """Return the verdict of the rules on a request, and record it; None if no rule acts on it."""
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

        return self._local.execute(verdict, exchange, ask, observe)

    def record(self, session: Session, side: Side, incoming: Incoming) -> None:
        """Record a message, if there is a recording and anything in the message to record."""
        if self._observer is not None and (incoming.raw or incoming.message):
            self._observer.message(session.id, side, incoming)

    def on_server_message(self, session: Session, incoming: Incoming) -> None:
        """Learn lists from a message of the server, and record it."""
        self._listings.learn(incoming)
        self.record(session, "server", incoming)
