"""When a request goes to the upstream: at once, when its origin is dialled, or when its whole body has come.

Rules that read the bodies of requests hold them (`held_request`). A request that is held has no place among
the turns until it is sent or answered. None of it looks at a byte.
"""

from __future__ import annotations

from faultkit.faults.events import Data
from faultkit.proxy.http.held_request import BodyJudge, HeldRequest
from faultkit.proxy.http.own_answer import CONTINUE
from faultkit.proxy.http.request_target import Origin
from faultkit.proxy.http.response_order import ResponseOrder, Turn


class RequestOrder(ResponseOrder):
    """The state of one client connection, with the requests that are held."""

    __slots__ = ("_bodies",)

    def __init__(self, forward: bool, bodies: BodyJudge | None) -> None:
        super().__init__(forward)
        self._bodies = bodies

    def _dispatch(
        self, turn: Turn, origin: Origin | None, wire: bytes, event: Data, run: list[bytes]
    ) -> None:
        """Give a request its place in the order, and send what has come of it."""
        assert turn.head is not None
        if origin is not None and turn.sent and (turn.connects or origin != self._leg):
            turn.ready_at = max(self._upstream_at, event.at)
            self._flush_up(run, event)
            self._waiting = (turn, origin, wire)
            self._pause = "drain"
            if not self._turns:
                self._dial()
            return
        self._turns.append(turn)
        if turn.sent:
            self._responses.expect(turn.head.method)
            run.append(wire)

    def _holds(self, turn: Turn, bodies: BodyJudge, event: Data) -> bool:
        """Return whether a request waits until its whole body has come, and ask the client for the body."""
        head = turn.head
        assert head is not None
        if turn.answer is not None or not turn.sent or head.may_switch or not bodies.wants(head):
            return False
        if head.minor == 1 and (head.header("expect") or "").lower() == "100-continue":
            if self._turns:
                return False  # A 100 would be taken for the answer to an earlier request.
            self._to_client(Data(event.at, CONTINUE))
        return True

    def _hold_body(self, turn: Turn, held: HeldRequest, raw: bytes, event: Data, run: list[bytes]) -> None:
        held.add(raw)
        if held.is_too_long and self._bodies is not None and turn.head is not None:
            self._bodies.too_long(turn.head)
            turn.held = None
            self._dispatch(turn, turn.origin, held.raw(), event, run)

    def _treat(self, turn: Turn, held: HeldRequest, event: Data, run: list[bytes]) -> None:
        """Send a request whose body has come, or answer it, as the rules decide."""
        assert self._bodies is not None
        assert turn.head is not None
        body = held.body()
        verdict = self._bodies.judge(turn.head, turn.number, body)
        turn.held = None
        if verdict.answer is not None:
            turn.answer_with(verdict.answer)
            turn.ready_at = max(self._upstream_at, verdict.answer_at)
            turn.drop_request()
        self._dispatch(turn, turn.origin, held.treated(verdict, body), event, run)
