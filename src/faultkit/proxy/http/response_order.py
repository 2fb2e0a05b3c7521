"""The order of responses on one client connection: which request is answered next, when legs end, what is
held back.

Responses leave in the order of their requests (RFC 9112 §9.3.2). `Turn` is one request and its place in that
order, `Output` what an exchange asks of the link, and `ResponseOrder` the queue of turns with the times of
both directions. None of it looks at a byte: reading is done by `exchange`, which builds on this.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.faults.events import Close, Data, Eof, Event, Reset, brought_forward, moved
from faultkit.faults.fault import FOREVER
from faultkit.faults.http_fault import AnswerFilter, Broken
from faultkit.proxy.http.answer_rewrite import AnswerRewrite
from faultkit.proxy.http.framing import RequestFramer, ResponseFramer
from faultkit.proxy.http.heads import RequestHead
from faultkit.proxy.http.held_request import HeldRequest
from faultkit.proxy.http.own_answer import CONTINUE, OwnAnswer, answer_bytes
from faultkit.proxy.http.request_target import Origin


class Turn:
    """One request, from its head until its response has been sent to the client."""

    # Most turns change none of these: defaults on the class make the common turn cheap.
    answer: OwnAnswer | None = None
    """What the client gets instead of the upstream's response."""
    sent = True
    """The request goes to the upstream; otherwise it is read and dropped."""
    complete = False
    """The request has been read to its end."""
    started = False
    """A part of the upstream's response has been sent to the client."""
    due = False
    """`answer` may be written as soon as all earlier responses are finished."""
    ready_at = 0.0
    """Time before which `answer` is not written."""
    closing = False
    """The client's connection ends after the response."""
    number = 0
    """Requests of this connection before it."""
    rewrite: AnswerRewrite | None = None
    """The filters through which the upstream's answer goes, if rules act on it."""
    held: HeldRequest | None = None
    """What has come of the request, while rules wait for its whole body. It has no place in the order yet."""
    origin: Origin | None = None
    """Where a held request goes, in forward mode."""
    continues = False
    """The client waits for 100 (Continue) before it sends the body, which is then dropped (RFC 9110
    §10.1.1)."""

    def __init__(self, head: RequestHead | None) -> None:
        self.head = head
        """None if the bytes were no request at all."""

    @property
    def connects(self) -> bool:
        """Whether the request asks for a tunnel."""
        return self.head is not None and self.head.method == "CONNECT"

    @property
    def keeps_alive(self) -> bool:
        """Whether the client will use the connection again."""
        return self.head is not None and self.head.keep_alive

    def answer_with(self, answer: OwnAnswer) -> None:
        """Send `answer` to the client, once it is due."""
        self.answer = answer
        # An interim status never ends an exchange: nothing could follow it on this connection.
        self.closing = answer.status < 200 or not self.keeps_alive

    def drop_request(self) -> None:
        """Send nothing, or nothing more, of the request to the upstream."""
        head = self.head
        self.sent = False
        if not self.complete and head is not None and head.minor == 1:
            self.continues = (head.header("expect") or "").lower() == "100-continue"

    def make_due(self, at: float) -> None:
        """Let the answer be written from `at` on."""
        self.due = True
        self.ready_at = max(self.ready_at, at)


# --- outputs --------------------------------------------------------------------------------
#
# An event inside an output may lie in the future: the link holds it until it is due. In each direction the
# times never decrease.


@dataclass(frozen=True, slots=True)
class ToClient:
    """Deliver this to the client."""

    event: Event


@dataclass(frozen=True, slots=True)
class ToUpstream:
    """Deliver this to the upstream leg."""

    event: Event


@dataclass(frozen=True, slots=True)
class Dial:
    """Open an upstream leg, then call `dialled` or `dial_failed`. Nothing goes upstream before that."""

    host: str
    port: int
    tls: bool = False
    tunnel: bool = False
    """The client asked for it by CONNECT: from `dialled` on the bytes are not read as HTTP."""


@dataclass(frozen=True, slots=True)
class Hangup:
    """Close the upstream leg, or cancel its dial. Nothing more is expected from it."""


Output: TypeAlias = ToClient | ToUpstream | Dial | Hangup


# --- the order -------------------------------------------------------------------------------

Pause: TypeAlias = Literal["switch", "drain", "dial"]
"""Why nothing is read from the client: `switch`, the response decides whether HTTP continues; `drain`,
responses of another origin are outstanding; `dial`, a leg is being dialled."""

MAX_HELD_BYTES = 1 << 20


class ResponseOrder:
    """State of one client connection, and everything about it that does not depend on bytes."""

    __slots__ = (
        "_backlog",
        "_chunked",
        "_client_at",
        "_client_ended",
        "_closed",
        "_current",
        "_forward",
        "_hanging",
        "_held_bytes",
        "_ignores_client",
        "_leg",
        "_lingering",
        "_now",
        "_out",
        "_pause",
        "_raw_down",
        "_raw_up",
        "_requests",
        "_responses",
        "_turns",
        "_upstream_at",
        "_upstream_end",
        "_waiting",
        "opaque_reason",
        "unreached",
    )

    def __init__(self, forward: bool) -> None:
        self.opaque_reason: str | None = None
        """Why bytes pass without being read, if they do; no request is judged from then on."""
        self.unreached = 0
        """Number of own answers about an upstream that could not be reached."""
        self._forward = forward
        self._requests = RequestFramer()
        self._responses = ResponseFramer()
        self._out: list[Output] = []
        self._turns: deque[Turn] = deque()
        """Requests whose responses are not finished, oldest first."""
        self._current: Turn | None = None
        """The request that is being read."""
        self._now = 0.0
        """Time of the event that is being handled."""
        self._client_at = 0.0
        """Time before which nothing goes to the client; likewise for the upstream."""
        self._upstream_at = 0.0
        self._raw_up = False
        self._raw_down = False
        self._ignores_client = False
        """True if what the client still sends is dropped."""
        self._chunked: AnswerRewrite | None = None
        """The answer that comes in chunks and goes through filters, if nothing has come since but its whole
        chunks."""
        self._hanging = False
        """True if a fault keeps the client waiting for ever; it has no upstream any more."""
        self._lingering: AnswerRewrite | None = None
        """The answer that a fault goes on with while the client hangs."""
        self._closed = False
        self._client_ended = False
        self._upstream_end: Eof | Close | Reset | None = None
        """The end of the upstream, kept until own answers that come before it have been sent to the
        client."""
        self._pause: Pause | None = None
        self._backlog: list[Data | Eof] = []
        self._held_bytes = 0
        self._leg: Origin | None = None
        """The origin at the other end of the upstream leg, in forward mode."""
        self._waiting: tuple[Turn, Origin, bytes] | None = None
        """The request that waits for a leg, its origin, and its head for the wire."""

    @property
    def wants_input(self) -> bool:
        """False while so much is held for the upstream that the client should not be read."""
        return self._held_bytes <= MAX_HELD_BYTES

    @property
    def transparent(self) -> bool:
        """Whether every further byte passes both ways unchanged: nothing is left to do here."""
        return self._raw_up and self._raw_down and self._pause is None and not self._swallows

    @property
    def _swallows(self) -> bool:
        """Whether the request that is being read is dropped."""
        return self._current is not None and not self._current.sent

    @property
    def _reachable(self) -> bool:
        """Whether there is an upstream leg that takes bytes."""
        if self._forward:
            return self._leg is not None
        return self._upstream_end is None or isinstance(self._upstream_end, Eof)

    def _read_client(self, event: Data | Eof) -> None:
        raise NotImplementedError

    def bring_forward(self, by_s: float, now: float) -> None:
        """Take `by_s` off what is still to come: a fault that delayed requests by it acts no more."""
        waiting = () if self._waiting is None else (self._waiting[0],)
        for turn in (*self._turns, *waiting):
            turn.ready_at = brought_forward(turn.ready_at, by_s, now)
        self._upstream_at = brought_forward(self._upstream_at, by_s, now)
        self._client_at = brought_forward(self._client_at, by_s, now)

    @property
    def paces(self) -> bool:
        """Whether the answer at hand goes to the client more slowly than it comes."""
        return bool(self._turns) and (rewrite := self._turns[0].rewrite) is not None and rewrite.paces

    def let_go(self, gone: Collection[AnswerFilter], at: float) -> list[Output]:
        """Send what these filters hold back: their rules act no more. A client that waits for ever because
        of a fault is disconnected."""
        out = self._at(at)
        if self._hanging and not self._closed:
            if self._lingering is not None:
                self._write(self._lingering.let_go(gone, at))
            if self.wake_at == FOREVER and not self._closed:
                self._shut(at)
        for turn in tuple(self._turns):
            if turn.rewrite is not None and not self._closed:
                self._write(turn.rewrite.let_go(gone, at))
        return out

    @property
    def wake_at(self) -> float:
        """When a fault has more to send, whatever comes from the upstream."""
        rewrite = self._first_rewrite
        return FOREVER if rewrite is None or self._closed else rewrite.wake_at

    def wake(self, at: float) -> list[Output]:
        """Send what is due at `wake_at`."""
        out = self._at(at)
        rewrite = self._first_rewrite
        if rewrite is not None and not self._closed:
            self._write(rewrite.wake(at))
        return out

    @property
    def _first_rewrite(self) -> AnswerRewrite | None:
        return self._turns[0].rewrite if self._turns else self._lingering

    # --- rewritten answers --------------------------------------------------------------------

    def _write(self, pieces: Iterable[Data | Broken]) -> None:
        """Write the bytes of a rewritten answer to the client, or break it off."""
        for piece in pieces:
            if isinstance(piece, Data):
                self._to_client(piece)
            elif piece.how == "hang":
                self._hang()
            else:
                self._shut(piece.at, by_reset=piece.how == "reset")

    def _hang(self) -> None:
        """Let the client wait for what a fault sends, or for ever; the upstream is not needed any more."""
        self._lingering = self._turns[0].rewrite if self._turns else None
        self._turns.clear()
        self._hanging = self._ignores_client = True
        if self._reachable:
            self._out.append(Hangup())
        self._leg = None
        self._upstream_end = Close(self._now)

    # --- own answers --------------------------------------------------------------------------

    def _answer(self) -> None:
        """Write the own answers that are next in order and due."""
        turns = self._turns
        while turns:
            turn = turns[0]
            if turn.answer is None:
                if self._upstream_end is not None:
                    self._pass_upstream_end(self._upstream_end)
                return
            if not turn.due:
                if turn.continues:
                    turn.continues = False
                    self._to_client(Data(turn.ready_at, CONTINUE))
                return
            turns.popleft()
            closing = turn.closing or (self._upstream_end is not None and not turns)
            self._to_client(Data(turn.ready_at, answer_bytes(turn.answer, turn.head, closing)))
            if turn.closing:
                self._shut(turn.ready_at)
                return
        self._drained()

    def _drained(self) -> None:
        """Continue after the last outstanding response."""
        if self._upstream_end is not None:
            self._pass_upstream_end(self._upstream_end)
        elif self._pause == "switch":
            self._resume()
        elif self._pause == "drain":
            self._dial()
        elif self._forward and self._client_ended:
            self._shut(self._now)

    # --- ends ---------------------------------------------------------------------------------

    def _judge_end(self, event: Eof | Close | Reset) -> Eof | Close | Reset:
        """Return the upstream's end, as a clean one where no answer is missing (RFC 9112 §9.8)."""
        return Eof(event.at) if isinstance(event, Eof) and not (self._turns or self._raw_down) else event

    def _upstream_ended(self, event: Eof | Close | Reset, hung_up: bool = False) -> None:
        for turn in tuple(self._turns):
            if turn.answer is not None and turn.sent:
                # There is no response to wait for; what is left of the request has nowhere to go.
                turn.drop_request()
                if turn.complete:
                    turn.make_due(event.at)
                elif self._client_ended:
                    self._turns.remove(turn)  # A request cut short gets no answer, and will not be whole.
        if self._forward and not self._raw_down:
            if self._current is not None and self._current.held is None:
                self._current.sent = False
            if not hung_up:
                self._out.append(Hangup())
            self._leg = None
            if any(turn.answer is None for turn in self._turns):
                self._upstream_end = event
        else:
            self._upstream_end = event
        self._answer()

    def _drop_upstream(self) -> None:
        """Close the upstream leg; the client may go on."""
        self._out.append(Hangup())
        self._upstream_ended(Close(self._now), hung_up=True)

    def _pass_upstream_end(self, event: Eof | Close | Reset) -> None:
        self._upstream_end = None
        if self._forward and not self.transparent:
            self._to_client(event if isinstance(event, Reset) else Close(event.at))
            if self._leg is not None:
                self._out.append(Hangup())
            self._finish()
            return
        self._to_client(event)
        if isinstance(event, Eof):
            # No answer can follow, so there is nothing to judge; the upstream may still be reading.
            self._go_raw(None)
        else:
            self._finish()

    def _shut(self, at: float, *, by_reset: bool = False) -> None:
        """Close the client's connection, or break it off by RST."""
        self._to_client(Reset(at) if by_reset else Close(at))
        if self._reachable:
            self._out.append(Hangup())
        self._finish()

    def _finish(self) -> None:
        self._closed = True
        self._turns.clear()
        self._backlog.clear()
        self._held_bytes = 0
        self._waiting = self._pause = None

    def _go_raw(self, reason: str | None) -> None:
        """Pass all further bytes both ways, once a request that is being dropped has ended."""
        self.opaque_reason = self.opaque_reason or reason
        self._raw_up = self._raw_down = True
        self._turns.clear()
        if self._current is not None and self._current.held is not None:
            self._to_upstream(Data(self._now, self._current.held.raw()))
            self._current.held = None
        if not self._swallows and (rest := self._requests.take_rest()):
            self._to_upstream(Data(self._now, rest))
        if self._pause is not None:
            self._resume()

    # --- pauses -------------------------------------------------------------------------------

    def _hold(self, event: Data | Eof) -> None:
        self._backlog.append(event)
        if isinstance(event, Data):
            self._held_bytes += len(event.payload)

    def _resume(self) -> None:
        """Read what the client has sent during the pause."""
        self._pause = None
        backlog, self._backlog = self._backlog, []
        self._held_bytes = 0
        for event in backlog:
            self._read_client(event)

    def _dial(self) -> None:
        assert self._waiting is not None
        turn, origin, _ = self._waiting
        if self._leg is not None:
            self._leg = None
            self._out.append(Hangup())
        self._pause = "dial"
        self._out.append(Dial(origin.host, origin.port, origin.tls, turn.connects))

    def _take_waiting(self) -> tuple[Turn, Origin, bytes]:
        waiting = self._waiting
        if waiting is None or self._pause != "dial":
            raise RuntimeError("no leg was asked for")
        self._waiting = None
        return waiting

    # --- outputs: times never decrease in a direction, and nothing goes out before now --------

    def _at(self, now: float) -> list[Output]:
        """Begin to handle an event; its outputs are collected in the returned list."""
        self._now = now
        self._chunked = None
        if now > self._client_at:
            self._client_at = now
        if now > self._upstream_at:
            self._upstream_at = now
        out: list[Output] = []
        self._out = out
        return out

    def _to_upstream(self, event: Event) -> None:
        if event.at < self._upstream_at:
            event = moved(event, self._upstream_at)
        else:
            self._upstream_at = event.at
        self._out.append(ToUpstream(event))

    def _to_client(self, event: Event) -> None:
        if event.at < self._client_at:
            event = moved(event, self._client_at)
        else:
            self._client_at = event.at
        self._out.append(ToClient(event))

    def _flush_up(self, run: list[bytes], event: Data) -> None:
        """Send what has passed of `event`: as the very same event, where all of it has."""
        if run:
            payload = run[0] if len(run) == 1 else b"".join(run)
            run.clear()
            self._to_upstream(event if payload is event.payload else Data(event.at, payload))

    def _flush_down(self, run: list[bytes], event: Data) -> None:
        if run:
            payload = run[0] if len(run) == 1 else b"".join(run)
            run.clear()
            self._to_client(event if payload is event.payload else Data(event.at, payload))
