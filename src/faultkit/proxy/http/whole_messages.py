"""The short way through an exchange, for a message that comes whole and passes as it is.

A message whose body, if it has one, comes with its head needs no pieces, no events and no outputs: all that
is to be known is when its bytes go on. What is not so simple is left to `from_client` and `from_upstream`,
which do the same for every message.
"""

from __future__ import annotations

from faultkit.faults.events import Data
from faultkit.faults.fault import FOREVER
from faultkit.proxy.http.exchange import HttpExchange
from faultkit.proxy.http.response_order import Output, Turn


class WholeMessages(HttpExchange):
    """An exchange that can also be asked about bytes which may be one whole message."""

    __slots__ = ()

    def whole_request(self, payload: bytes, at: float) -> float | None:
        """Take bytes of the client if they are one request. Return when they go to the upstream as they are.

        FOREVER: they do not, and `take_outputs` returns what is to be done instead. None: they were not
        taken, and are to be given to `from_client`."""
        if (
            self._mode != "inline"
            or self.judges_answers
            or self._raw_up
            or self._closed
            or self._ignores_client
            or self._pause is not None
        ):
            return None
        head = self._requests.whole(payload)
        if head is None:
            return None
        turn = Turn(head)
        turn.number = self._judged
        self._judged += 1
        verdict = self._judge(head)
        if verdict.status is not None:
            self._at(at)
            event, run = Data(at, payload), list[bytes]()
            self._current = turn
            self._decide(turn, verdict, event, run)
            self._dispatch(turn, None, payload, event, run)
            self._request_ended(event, run)
            self._flush_up(run, event)
            return FOREVER
        turn.complete = True
        self._turns.append(turn)
        self._responses.expect(head.method)
        due_at = at + verdict.delay_s
        if due_at < self._upstream_at:
            return self._upstream_at
        self._upstream_at = due_at
        return due_at

    def whole_response(self, payload: bytes, at: float) -> float | None:
        """Take bytes of the upstream if they are the one response that is awaited. Return when they go to the
        client as they are. None: they were not taken, and are to be given to `from_upstream`."""
        if self._raw_down or self._closed or self._hanging:
            return None
        if not self._awaits_only_response or not self._responses.take_whole(payload):
            return None
        self._turns.popleft()
        if at < self._client_at:
            return self._client_at
        self._client_at = at
        return at

    def take_outputs(self) -> list[Output]:
        """Return what is to be done after a request that does not pass as it is."""
        return self._out
