"""One client connection with HTTP/1.1: which bytes go where, and when.

Requests are judged one by one as their heads arrive. What no verdict touches passes byte for byte,
as it comes. Answers of our own are written in their turn among the upstream's responses.

    inline     nothing is rewritten; what is not HTTP/1.1 passes raw, without faults
    reverse    Host names the upstream; HTTP/2 passes raw; else what cannot be read is answered by 400
    forward    each request names its origin; CONNECT opens a tunnel

The exchange knows no sockets and no clock. It finds messages only through the framers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from faultkit.base.descriptors import NO_DESCRIPTOR
from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http.answer_rewrite import Answered, AnswerRewrite, JudgeAnswer
from faultkit.proxy.http.chunked_answer import ChunkedAnswer
from faultkit.proxy.http.framing import Blank, Body, End, Opaque, ResponseFramer
from faultkit.proxy.http.heads import ABSENT, HTTP_2, OTHER_CODING, RequestHead, ResponseHead
from faultkit.proxy.http.held_request import BodyJudge, HeldRequest
from faultkit.proxy.http.own_answer import ESTABLISHED, OwnAnswer
from faultkit.proxy.http.request_target import Origin, for_origin, names_port, origin_of, with_host
from faultkit.proxy.http.response_order import Hangup, Output, Turn

Mode: TypeAlias = Literal["inline", "reverse", "forward"]
Judge: TypeAlias = Callable[[RequestHead], HttpVerdict]
"""Returns what becomes of a request."""
JudgeUpgrade: TypeAlias = Callable[[RequestHead, ResponseHead], bool]
"""Returns whether what follows an answer 101 is for another layer."""


class HttpExchange(ChunkedAnswer):
    """An HTTP connection: feed it the events of both legs, and carry out what it returns, in order.

    After a `Hangup`, events of that leg are not to be fed any more.
    """

    __slots__ = (
        "_host",
        "_judge",
        "_judge_answer",
        "_judge_upgrade",
        "_judged",
        "_mode",
        "_own_port",
        "judges_answers",
        "upgraded_at",
    )

    def __init__(
        self,
        judge: Judge,
        mode: Mode = "inline",
        host: str | None = None,
        own_port: int | None = None,
        judge_answer: JudgeAnswer | None = None,
        judge_upgrade: JudgeUpgrade | None = None,
        bodies: BodyJudge | None = None,
    ) -> None:
        """`host` is the value of the Host field in reverse mode (see `host_field`). `own_port` is the port to
        which clients connect: with it, a Host that has another port was chosen by the client, and is kept."""
        if mode == "reverse" and not host:
            raise ValueError(f"host: expected host[:port] in reverse mode, got {host!r}")
        super().__init__(forward=mode == "forward", bodies=bodies)
        self._judge = judge
        self._judge_answer = judge_answer
        self.judges_answers = judge_answer is not None
        """Whether rules may act on answers of the upstream now: they are not asked otherwise."""
        self._judge_upgrade = judge_upgrade
        self.upgraded_at: int | None = None
        """How many of the outputs in which an answer 101 is come before what is for another layer."""
        self._judged = 0
        self._mode = mode
        self._host = host or ""
        self._own_port = own_port

    @property
    def unreadable(self) -> str | None:
        """Why the client's bytes could not be read as HTTP, whether they pass or were refused."""
        return self._requests.opaque_reason

    def from_client(self, event: Event) -> list[Output]:
        """Handle an event of the client's leg."""
        out = self._at(event.at)
        if self._closed:
            return out
        if isinstance(event, (Close, Reset)):
            self._client_gone(event)
        else:
            self._read_client(event)
        return out

    def from_upstream(self, event: Event) -> list[Output]:
        """Handle an event of the upstream's leg."""
        out = self._at(event.at)
        if self._closed or self._hanging or (self._forward and self._leg is None):
            return out
        if not isinstance(event, Data):
            event = self._judge_end(event)
            self._pass_partial_response(event.at)
            if isinstance(event, Eof) and self._responses.ends_by_close and self._turns:
                if (rewrite := self._turns[0].rewrite) is not None:
                    self._write(rewrite.finish(event.at))
            elif self._turns and (rewrite := self._turns[0].rewrite) is not None:
                self._write(rewrite.cut_short(event.at))
            if not self._closed and not self._hanging:
                self._upstream_ended(event)
        elif self._raw_down:
            self._to_client(event)
        else:
            self._read_responses(event)
        return out

    def dialled(self, at: float) -> list[Output]:
        """Continue: the leg asked for by `Dial` is connected."""
        out = self._at(at)
        if self._closed:
            return out
        turn, origin, wire = self._take_waiting()
        self._leg = origin
        self._responses = ResponseFramer()
        if turn.connects:
            self._to_client(Data(at, ESTABLISHED))
            self._current = None
            self._go_raw("CONNECT tunnel")
            return out
        assert turn.head is not None
        self._turns.append(turn)
        self._responses.expect(turn.head.method)
        self._to_upstream(Data(at, wire))
        self._resume()
        return out

    def dial_failed(self, at: float, reason: str) -> list[Output]:
        """Answer the request that waited for the leg: 504 if `reason` is a timeout, else 502."""
        out = self._at(at)
        if self._closed:
            return out
        turn, origin, _ = self._take_waiting()
        status, trouble = _trouble(reason)
        if turn.answer is None:
            self.unreached += 1
            text = f"cannot connect to {origin}: {reason}\n"
            turn.answer_with(OwnAnswer(status, text, trouble=trouble))
        turn.drop_request()
        turn.ready_at = max(turn.ready_at, at)
        self._turns.append(turn)
        if turn.connects:
            # What the client may have sent after CONNECT was meant for the tunnel.
            turn.closing = self._ignores_client = True
            turn.make_due(at)
            self._answer()
        else:
            self._resume()
            if turn.complete:
                turn.make_due(at)
                self._answer()
        return out

    # --- from the client ----------------------------------------------------------------------

    def _read_client(self, event: Data | Eof) -> None:
        if self._hanging and isinstance(event, Eof):
            self._shut(event.at)
        if self._closed or self._ignores_client:
            return
        if self._pause is not None:
            self._hold(event)
        elif isinstance(event, Eof):
            self._client_eof(event)
        elif self._raw_up and not self._swallows:
            if event.payload:
                self._to_upstream(event)
        else:
            self._read_requests(event)

    def _read_requests(self, event: Data) -> None:
        framer = self._requests
        run: list[bytes] = []
        head = None if self._forward else framer.whole(event.payload)
        if head is not None and head.length == ABSENT:
            self._begin(head, event, run)
            if not self._ignores_client:
                self._request_ended(event, run)
            self._flush_up(run, event)
            return
        framer.feed(event.payload)
        while (piece := framer.next_piece()) is not None:
            if isinstance(piece, RequestHead):
                self._begin(piece, event, run)
            elif isinstance(piece, End):
                self._request_ended(event, run)
            elif isinstance(piece, Body):
                turn = self._current
                assert turn is not None
                if turn.held is not None:
                    self._hold_body(turn, turn.held, piece.raw, event, run)
                elif turn.sent:
                    run.append(piece.raw)
                else:
                    turn.continues = False
            elif isinstance(piece, Opaque):
                self._client_unframed(piece.raw, event, run)
            elif isinstance(piece, Blank) and not self._forward:
                run.append(piece.raw)
            if self._pause is not None or self._ignores_client or self._closed:
                break
        self._flush_up(run, event)
        if self._pause is not None:
            # Even when empty: the end of a request without a body costs no bytes.
            self._hold(Data(event.at, framer.take_rest()))
        elif self._current is not None and not self._current.sent:
            self._answer()

    def _begin(self, head: RequestHead, event: Data, run: list[bytes]) -> None:
        """Judge a request by its head, and send it to the upstream unless a fault answers it."""
        wire: bytes = head.raw
        origin: Origin | None = None
        connect = head.method == "CONNECT"
        if self._mode != "inline":
            try:
                if self._forward:
                    origin = origin_of(head)
                    wire = b"" if connect else for_origin(head)
                elif self._own_port is None or names_port(head, self._own_port):
                    wire = with_host(head, self._host)
            except ValueError as problem:
                self._flush_up(run, event)
                self._refuse(str(problem), event.at)
                return
        turn = self._current = Turn(head)
        if not connect:
            turn.number = self._judged
            self._judged += 1
            self._decide(turn, self._judge(head), event, run)
        if self._bodies is not None and not connect and self._holds(turn, self._bodies, event):
            self._flush_up(run, event)
            turn.held, turn.origin = HeldRequest(head, wire), origin
            return
        self._dispatch(turn, origin, wire, event, run)

    def _decide(self, turn: Turn, verdict: HttpVerdict, event: Data, run: list[bytes]) -> None:
        """Delay or answer a request that has no place in the order yet."""
        if verdict.delay_s > 0:
            self._flush_up(run, event)
            self._upstream_at = max(self._upstream_at, event.at + verdict.delay_s)
        if verdict.status is not None:
            turn.answer_with(OwnAnswer(verdict.status, verdict.body or "", verdict.headers, verdict.fault))
            turn.ready_at = max(self._upstream_at, event.at)
            if not verdict.call_upstream:
                turn.drop_request()

    def _request_ended(self, event: Data, run: list[bytes]) -> None:
        turn, self._current = self._current, None
        assert turn is not None
        turn.complete = True
        if turn.held is not None:
            self._treat(turn, turn.held, event, run)
        if not turn.sent:
            self._flush_up(run, event)
            if turn.answer is not None and not turn.due:
                turn.make_due(event.at)
                self._answer()
            if self._raw_up and (rest := self._requests.take_rest()):
                run.append(rest)
        elif turn.head is not None and turn.head.may_switch and self._turns:
            # Not if its response has come already: then no turn is left, for this was the last one.
            self._pause = "switch"

    def _client_unframed(self, raw: bytes, event: Data, run: list[bytes]) -> None:
        turn = self._current
        if turn is not None and turn.held is not None:
            held, turn.held = turn.held, None
            self._dispatch(turn, turn.origin, held.raw(), event, run)
        reason = self._requests.opaque_reason or ""
        passes = self._mode == "inline" or (self._mode == "reverse" and reason == HTTP_2 and not self._turns)
        if not passes or self._swallows:
            self._flush_up(run, event)
            self._refuse(reason, event.at)
            return
        self.opaque_reason = self.opaque_reason or reason
        self._raw_up = True
        if self._current is not None:
            # The end of this request cannot be found any more.
            self._current.complete = True
            self._current = None
        run.append(raw)
        if not self._turns:
            self._pass_partial_response(event.at)
            self._raw_down = True

    def _refuse(self, problem: str, at: float) -> None:
        """Send 400 in its turn, then close: the client's bytes cannot be read any further (RFC 9112 §2.2)."""
        self._ignores_client = True
        turn, self._current = self._current, None
        if turn is None:
            turn = Turn(None)
            self._turns.append(turn)
        elif turn not in self._turns or turn.started:
            # Its response is with the client, in whole or in part: there is no room for another.
            self._shut(at)
            return
        turn.answer_with(turn.answer or OwnAnswer(400, f"bad request: {problem}\n"))
        turn.sent = False
        turn.closing = True
        turn.make_due(at)
        self._answer()

    def _client_eof(self, event: Eof) -> None:
        if self._raw_up and not self._swallows:
            self._to_upstream(event)
            return
        turn = self._current
        rest = self._requests.take_rest()
        if rest.strip(b"\r\n") and turn is None and self._mode != "inline":
            self._refuse("the head is cut short", event.at)
            return
        self._client_ended = True
        if turn is not None and turn.held is not None:
            turn.drop_request()
        if turn is not None and not turn.sent:
            # A request cut short gets no answer.
            self._current = None
            if turn in self._turns:
                self._turns.remove(turn)
        elif rest and not (self._forward and turn is None):
            self._to_upstream(Data(event.at, rest))
        if self._reachable and (not self._forward or (turn is not None and turn.sent)):
            # A forward proxy passes an end on only where it cuts a request.
            self._to_upstream(event if rest or turn is not None else Eof(event.at))
        self._answer()

    def _client_gone(self, event: Close | Reset) -> None:
        held = [held.payload for held in self._backlog if isinstance(held, Data)]
        rest = b"".join((self._requests.take_rest(), *held))
        if rest and not self._swallows and (self._mode == "inline" or self._raw_up):
            self._to_upstream(Data(event.at, rest))
        if self._reachable:
            self._to_upstream(event)
        else:
            # There is no upstream to pass the end to, so the connection ends here.
            if self._pause == "dial":
                self._out.append(Hangup())
            self._to_client(event)
        self._finish()

    # --- from the upstream --------------------------------------------------------------------

    def _read_responses(self, event: Data) -> None:
        framer, turns = self._responses, self._turns
        if self._awaits_only_response and framer.take_whole(event.payload):
            turns.popleft()
            self._to_client(event)
            return
        framer.feed(event.payload)
        run: list[bytes] = []
        while (piece := framer.next_piece()) is not None:
            if isinstance(piece, Body):
                turn = turns[0]
                if turn.rewrite is not None:
                    self._write(turn.rewrite.body(piece.raw, event.at))
                    if self._closed or self._hanging:
                        return
                elif turn.answer is None:
                    run.append(piece.raw)
            elif isinstance(piece, End):
                self._response_ended(turns[0], event, run)
                if self._closed or self._hanging or (self._forward and self._leg is None):
                    return
            elif isinstance(piece, ResponseHead):
                turn = turns[0]
                if self.judges_answers and self._judge_answer is not None and piece.status >= 200:
                    self._answered(self._judge_answer, turn, piece, event, run)
                    if self._closed or self._hanging:
                        return
                if turn.answer is None:
                    turn.started = True
                    if turn.rewrite is None:
                        run.append(piece.raw)
                    if self._forward and not piece.interim:
                        # Connection: close in either head ends the connection (RFC 9112 §9.6).
                        turn.closing = not (piece.keep_alive and turn.keeps_alive)
                elif piece.status == 100:
                    # The upstream wants the body, and the client may be waiting for this (RFC 9110 §10.1.1).
                    run.append(piece.raw)
                if framer.opaque_reason is not None:
                    self._switched(turn, piece, framer.opaque_reason, event, run)
                    return
            elif isinstance(piece, Opaque):
                self._upstream_unframed(piece.raw, event, run)
                return
            elif not self._forward and (not turns or turns[0].answer is None):
                run.append(piece.raw)
        self._flush_down(run, event)

    @property
    def _awaits_only_response(self) -> bool:
        """Whether one request waits for its response, which passes as it is, and nothing else follows from
        its end."""
        if self.judges_answers or self._forward or self._pause is not None or self._client_ended:
            return False
        turns = self._turns
        if len(turns) != 1:
            return False
        turn = turns[0]
        return turn.complete and turn.answer is None and not turn.closing and not turn.started

    def _answered(
        self, judge: JudgeAnswer, turn: Turn, head: ResponseHead, event: Data, run: list[bytes]
    ) -> None:
        """Let rules act on a final response that has begun, unless its end cannot be found."""
        request = turn.head
        if request is None or self._responses.opaque_reason is not None or head.length == OTHER_CODING:
            return
        dropped = turn.answer is not None
        filters, paces = judge(Answered(request, turn.number, head, dropped))
        if filters and not dropped:
            self._flush_down(run, event)
            turn.rewrite = AnswerRewrite(filters, head, paces=paces)
            self._write(turn.rewrite.begin(request, event.at))

    def _response_ended(self, turn: Turn, event: Data, run: list[bytes]) -> None:
        turns = self._turns
        if turn.rewrite is not None:
            self._write(turn.rewrite.finish(event.at))
            if self._closed or self._hanging:
                return
        if turn.answer is not None:
            self._flush_down(run, event)
            turn.make_due(event.at)
            self._answer()
            return
        turns.popleft()
        if turn.closing:
            self._flush_down(run, event)
            self._shut(event.at)
        elif turns:
            if turns[0].answer is not None:
                self._flush_down(run, event)
                self._answer()
        elif self._pause is not None or self._client_ended:
            self._flush_down(run, event)
            self._drained()

    def _switched(self, turn: Turn, answer: ResponseHead, reason: str, event: Data, run: list[bytes]) -> None:
        """Pass bytes without reading them: the upstream agreed to another protocol (101, or a tunnel)."""
        if turn.answer is not None:
            self._flush_down(run, event)
            self._drop_upstream()
            return
        judge = self._judge_upgrade
        if judge is not None and answer.status == 101 and turn.head is not None and judge(turn.head, answer):
            self._flush_down(run, event)
            self.upgraded_at = len(self._out)
        if rest := self._responses.take_rest():
            run.append(rest)
        self._flush_down(run, event)
        self._go_raw(reason)

    def _upstream_unframed(self, raw: bytes, event: Data, run: list[bytes]) -> None:
        """Handle bytes of the upstream that are no response, or one without a safe end."""
        front = self._turns[0] if self._turns else None
        if front.answer is not None if front is not None else self._forward:
            self._flush_down(run, event)
            self._drop_upstream()
            return
        run.append(raw)
        self._flush_down(run, event)
        reason = self._responses.opaque_reason or ""
        if not self._forward:
            self._go_raw(reason)
            return
        # It ends with the stream, and nothing can follow it on this connection.
        self.opaque_reason = self.opaque_reason or reason
        self._raw_down = self._ignores_client = True
        while self._turns and self._turns[-1] is not front:
            self._turns.pop()

    def _pass_partial_response(self, at: float) -> None:
        """Pass the kept part of a response head to the client, if it is for the client."""
        rest = self._responses.take_rest()
        if rest and (self._turns[0].answer is None if self._turns else not self._forward):
            self._to_client(Data(at, rest))


def _trouble(reason: str) -> tuple[int, str]:
    """Return the status for a failed dial, and its error type of RFC 9209 §2.3."""
    if reason.startswith(NO_DESCRIPTOR):
        return 502, "proxy_internal_error"
    lower = reason.lower()
    if "timed out" in lower or "timeout" in lower:
        return 504, "connection_timeout"
    if "refused" in lower:
        return 502, "connection_refused"
    return 502, "dns_error" if "resol" in lower or "name" in lower else "destination_unavailable"
