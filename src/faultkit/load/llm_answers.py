"""Answers of models under load: requests to LLM APIs, whose answers are read token by token.

A request to a model is a request like any other, so load models, deadlines and samples are those of `engine`.
The dialect follows from the path and the body. Beyond requests, these are measured:

    first token   from the intended start to the first text or call of the answer; of an answer that comes
                  whole, to its end
    gaps          between two events with content of a streamed answer
    token times   of one token, an answer's mean: from the first event with content to the last, or, for an
                  answer that comes whole, from its start. Its inverse is tokens per second
    early end     the answer had begun, and ended without saying why, with an error, or with the connection
    refusal       the provider answered with a status from 400 to 599

A token is a word or a mark (`faults.dialects.turn`), which needs no vocabulary of the model.
"""

from __future__ import annotations

import json
from math import nan

from faultkit.faults.dialects.dialect import AnswerReader, LlmRequest
from faultkit.faults.dialects.llm_events import Chunk
from faultkit.faults.llm_fault import is_delta, tokens_of
from faultkit.load.connection import Connection
from faultkit.load.engine import Engine
from faultkit.load.item_figures import FigureRecorder
from faultkit.load.response import Failure, ResponseReader
from faultkit.load.route import Route
from faultkit.proxy.event_loop import Loop

LINGER_S = 0.25
"""How long the end of a body is waited for behind the last word of a provider, to keep the connection."""
_CUTS = (Failure.CLOSED, Failure.RESET)


class LlmEngine(Engine):
    """Sends requests to models."""

    def __init__(self, route: Route, loop: Loop, begin_at: float) -> None:
        super().__init__(route, loop, begin_at)
        assert route.llm is not None
        self._request = route.llm
        self._figures: FigureRecorder = FigureRecorder("llm", begin_at)

    def new_reader(self) -> ResponseReader:
        return TokenReader(self._request, self.loop, self._figures, self)

    def answered(self, connection: Connection, now: float) -> None:
        reader = _reader_of(connection)
        if reader.status >= 500 and reader.trouble is Failure.SHORTAGE:
            super().answered(connection, now)
            return
        reader.end_body()
        failure = reader.failure()
        status = 0 if reader.status >= 500 and reader.trouble else reader.status
        ended = reader.over_at if reader.is_over else now
        self.errors += failure is not Failure.NONE
        self._record(connection, ended, failure, is_early=reader.has_begun and failure is not Failure.NONE)
        self._recorder.add(connection, ended, status, failure)
        self._end(connection, now)

    def failed(self, connection: Connection, now: float, failure: Failure) -> None:
        if failure is not Failure.SHORTAGE:
            self._record(connection, now, failure, is_early=failure in _CUTS)
        super().failed(connection, now, failure)

    def linger(self, reader: TokenReader, answer: int) -> None:
        """End a request whose provider has said its last word and does not end the body."""
        if reader.answer != answer or not reader.is_over:
            return
        for connection in self.pending:
            if connection.answer is reader:
                connection.close()
                self.answered(connection, self._clock())
                return

    def _record(self, connection: Connection, now: float, failure: Failure, *, is_early: bool) -> None:
        reader, intended = _reader_of(connection), connection.intended
        has_begun = bool(connection.received) and reader.has_begun
        slot = self._figures.slot_at(intended)
        slot.failures[failure] += 1
        slot.begun += has_begun
        slot.early_ends += is_early and has_begun
        slot.refusals += bool(connection.received) and reader.status >= 400 and not reader.trouble
        if has_begun and reader.events:
            self._figures.add_time("first_event", intended, reader.first_token - intended)
        else:
            self._figures.add_time("no_event", intended, now - intended)
        if has_begun and (token_s := reader.token_time(connection.started)) is not None:
            self._figures.add_time("token_time", intended, token_s)


class TokenReader(ResponseReader):
    """Reads the answers of models on one connection."""

    __slots__ = (
        "_chunks",
        "_content_type",
        "_engine",
        "_failure",
        "_figures",
        "_first_tokens",
        "_is_finished",
        "_last_token",
        "_loop",
        "_now",
        "_request",
        "answer",
        "events",
        "first_token",
        "has_begun",
        "is_over",
        "over_at",
        "tokens",
    )

    def __init__(self, request: LlmRequest, loop: Loop, figures: FigureRecorder, engine: LlmEngine) -> None:
        super().__init__()
        self._request, self._loop, self._figures, self._engine = request, loop, figures, engine
        self._now = nan
        self.answer = 0
        """The number of the answer on this connection."""
        self._reset()

    def _reset(self) -> None:
        self._chunks: AnswerReader | None = None
        self._content_type = ""
        self._failure = Failure.NONE
        self._is_finished = False
        self._first_tokens = 0
        self._last_token = nan
        self.answer += 1
        self.first_token = nan
        """The instant at which the first token came."""
        self.events = 0
        """Events with content."""
        self.tokens = 0
        self.has_begun = False
        """True once the head of a success has come."""
        self.is_over = False
        """True once the provider has said its last word."""
        self.over_at = nan

    def feed(self, data: bytes) -> bool:
        self._now = self._loop.clock()
        was_over = self.is_over
        if super().feed(data):
            return True
        if self.is_over and not was_over:
            engine, answer = self._engine, self.answer
            self._loop.call_at(self._now + LINGER_S, lambda at: engine.linger(self, answer), None)
        return False

    def end_body(self) -> None:
        """Take what is left of a body that has ended."""
        if self._chunks is not None:
            chunks, self._chunks = self._chunks, None
            for chunk in chunks.end(self._now):
                self._take(chunk)

    def failure(self) -> Failure:
        """Return what is wrong with an answer that has ended in good order."""
        if self.status >= 500:
            return self.trouble or Failure.STATUS
        if self.status >= 400:
            return Failure.CLIENT_STATUS
        if self._failure is not Failure.NONE:
            return self._failure
        return Failure.NONE if self._is_finished or self.is_over else Failure.EARLY_END

    def token_time(self, started: float) -> float | None:
        """Return the mean time of a token in seconds; None if there is none to measure."""
        if self.events > 1 and self.tokens > self._first_tokens:
            return (self._last_token - self.first_token) / (self.tokens - self._first_tokens)
        if self.events == 1 and self.tokens and not self._request.is_streamed:
            return (self._last_token - started) / self.tokens
        return None

    def _begin(self) -> None:
        super()._begin()
        self.status = 0
        self._reset()

    def _take(self, chunk: Chunk) -> None:
        if chunk.payload and not chunk.parts and not _is_json(chunk.payload):
            self._failure = self._failure or Failure.MALFORMED_EVENT
        for part in chunk.parts:
            if part.kind == "finish" and part.value:
                self._is_finished = True
            elif part.kind == "error" and part.value:
                self._failure = self._failure or Failure.MODEL_ERROR
            elif part.kind == "end" and not self.is_over:
                self.is_over = True
                self.over_at = self._now
        if is_delta(chunk):
            self._take_tokens(tokens_of(chunk))

    def _take_tokens(self, tokens: int) -> None:
        if self.events:
            self._figures.add_time("gaps", self._now, self._now - self._last_token)
        else:
            self.first_token = self._now
            self._first_tokens = tokens
        self._last_token = self._now
        self.events += 1
        self.tokens += tokens
        self._figures.figures.events += 1
        self._figures.figures.tokens += tokens

    # --- called by the parser -----------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-type":
            self._content_type = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
            self.has_begun = status < 300
            self._chunks = AnswerReader(self._request, status, self._content_type) if self.has_begun else None

    def on_body(self, body: bytes) -> None:
        if self._chunks is not None:
            for chunk in self._chunks.feed(body, self._now):
                self._take(chunk)


def _is_json(payload: bytes) -> bool:
    try:
        json.loads(payload)
    except (ValueError, RecursionError):
        return False
    return True


def _reader_of(connection: Connection) -> TokenReader:
    assert isinstance(connection.answer, TokenReader)
    return connection.answer
