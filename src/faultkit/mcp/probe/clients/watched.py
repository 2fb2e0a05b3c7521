"""The mock with somebody beside it who writes down what its client asks and takes back."""

from __future__ import annotations

from collections.abc import Callable

from faultkit.faults.call.call import Call, Era, Verdict
from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.model import Manifest
from faultkit.mcp.mock.service import Mock
from faultkit.mcp.probe.clients.journal import CALL, Entry, call_of
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import CANCELLED, METHOD_NOT_FOUND, Incoming, cancelled_id, error_of
from faultkit.plan import Plan, Rule

Tell = Callable[[Entry], None]


class Watched:
    def __init__(self, manifest: Manifest, plan: Plan, era: Era | None, tell: Tell) -> None:
        """`era`: the only one that is spoken; None for both."""
        self._mock = Mock(manifest, Injector(plan, manifest.name, self._injected))
        self._era = era
        self._tell = tell
        self._exchanges: list[Exchange] = []

    async def stop(self) -> None:
        await self._mock.stop()

    @property
    def calls_open(self) -> int:
        """Calls that have no answer, and that nobody has called off."""
        return sum(not each.ended and not each.cancelled for each in self._exchanges)

    # Of Service.

    def opened(self, session: Session) -> None:
        if session.era == "legacy":
            self._tell(Entry("opened", session.id))
        self._mock.opened(session)

    def closed(self, session: Session) -> None:
        if session.era == "legacy":
            self._tell(Entry("closed", session.id))
        self._mock.closed(session)

    def request(self, exchange: Exchange) -> None:
        session, request = exchange.session, exchange.request
        call = call_of(request.params) if request.method == CALL else ""
        self._tell(Entry("request", session.id, session.era, request.method, request.id, call))
        if call:
            self._exchanges.append(exchange)
        if self._era is not None and session.era != self._era:
            exchange.reply(error_of(request.id, METHOD_NOT_FOUND, f"{request.method} is not served here"))
            return
        if session.transport == "http" and session.era == "modern":
            # There, closing the answer is what cancels.
            entry = Entry("cancelled", session.id, session.era, request.method, request.id)
            exchange.on_cancel(lambda: self._tell(entry))
        self._mock.request(exchange)

    def notification(self, session: Session, incoming: Incoming) -> None:
        if incoming.method == CANCELLED:
            id = cancelled_id(incoming)
            self._tell(Entry("cancelled", session.id, session.era, CANCELLED, id))
        self._mock.notification(session, incoming)

    def response(self, session: Session, incoming: Incoming) -> None:
        self._mock.response(session, incoming)

    def _injected(self, rule: Rule, call: Call, verdict: Verdict) -> None:
        asked = call_of(call.params) if call.method == CALL else ""
        self._tell(Entry("injected", "", call.era, call.method, call.id, asked))
