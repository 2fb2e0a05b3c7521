"""How the upstream's answers reach the client: through the filters of answer faults, then the effects of
HTTP/2 faults, then the lane of their stream."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import replace
from typing import TypeAlias

from h2 import events as h2_events

from faultkit.faults.http_fault import AnswerHead, AnswerPiece, Broken, Content, Finished
from faultkit.proxy.http2 import stream_effects
from faultkit.proxy.http2.answer_path import AnswerPath, Filtered, status_of
from faultkit.proxy.http2.items import Abort, Chunk, End, HangUp, Head
from faultkit.proxy.http2.stream import RequestFields, Stream
from faultkit.proxy.http2.stream_pump import CANCEL, INTERNAL_ERROR, NO_ERROR, StreamPump

JudgeAnswer: TypeAlias = Callable[[RequestFields, int, int, bool], Filtered | None]
"""Returns what rules do to an answer, by its request, the number of the request on the connection, its
status, and whether the client gets another answer in its place."""


class AnswerPump(StreamPump):
    """The upstream's half of an exchange."""

    __slots__ = ("_judge_answer",)

    def __init__(self, judge_answer: JudgeAnswer | None) -> None:
        super().__init__()
        self._judge_answer = judge_answer

    # --- what comes ---------------------------------------------------------------------------

    def _on_interim(self, event: h2_events.InformationalResponseReceived) -> None:
        stream = self._by_upstream.get(event.stream_id)
        if stream is not None and not stream.deaf:
            stream.down.items.append(Head(self._now, list(event.headers), ends=False))
            self._pump(stream)

    def _on_response(self, event: h2_events.ResponseReceived) -> None:
        stream, ends = self._by_upstream.get(event.stream_id), event.stream_ended is not None
        if stream is None:
            return
        fields = list(event.headers)
        if self._judge_answer is not None and stream.request.method != "CONNECT":
            found = self._judge_answer(stream.request, stream.number, status_of(fields), stream.deaf)
            if found is not None and not stream.deaf:
                stream.path = AnswerPath(found, stream.request.method)
        if stream.deaf:
            self._dropped(stream, ends)
        elif stream.path is not None:
            stream.path.take(Head(self._now, fields, ends), ends)
        elif stream_effects.head_passes(stream, fields, ends, self._now):
            self._cancel(stream, CANCEL)
        self._pump(stream)

    def _on_download(self, event: h2_events.DataReceived) -> None:
        stream, ends = self._by_upstream.get(event.stream_id), event.stream_ended is not None
        size = event.flow_controlled_length
        self._upstream.received(size)
        if stream is None:
            self._upstream.passed(event.stream_id, size)
            return
        if stream.deaf:
            self._upstream.passed(event.stream_id, size)
            self._dropped(stream, ends)
        elif stream.path is not None:
            if size:
                stream.path.take(Chunk(self._now, event.data, size), ends)
            if ends:
                stream.path.take(End(self._now), ends)
        elif size and stream_effects.body_passes(stream, event.data, size, self._now):
            self._cancel(stream, CANCEL)
        elif ends:
            stream.down.items.append(End(self._now))
        self._pump(stream)

    def _on_trailers(self, event: h2_events.TrailersReceived) -> None:
        stream = self._by_upstream.get(event.stream_id)
        if stream is None:
            return
        fields = list(event.headers)
        if stream.deaf:
            self._dropped(stream, ends=True)
        elif stream.path is not None:
            stream.path.take(Head(self._now, fields, ends=True), ends=True)
        else:
            stream_effects.trailers_pass(stream, fields, self._now)
        self._pump(stream)

    def _dropped(self, stream: Stream, ends: bool) -> None:
        """Answer a request by ourselves, once the upstream has answered it."""
        if ends and stream.answer is not None:
            stream_effects.queue_answer(stream, self._now)

    def _on_upstream_reset(self, event: h2_events.StreamReset) -> None:
        stream = self._by_upstream.get(event.stream_id)
        if stream is None:
            return
        self._drop_request(stream)
        if stream.deaf:
            self._dropped(stream, ends=True)
        elif event.error_code == NO_ERROR and stream.has_more:
            # The answer is complete, and goes first.
            waiting = stream.down.items if stream.path is None else stream.path.backlog
            waiting.append(Abort(self._now, NO_ERROR))
        else:
            self._client.reset(stream.client_id, event.error_code)
            self._drop_answer(stream)
        self._pump(stream)

    # --- through the filters ------------------------------------------------------------------

    def _pump_down(self, stream: Stream, most_chunks: float) -> float:
        path, lane = stream.path, stream.down
        left = super()._pump_down(stream, most_chunks)
        while path is not None and path.may_feed(len(lane.items)):
            self._feed(stream, path)
            if not path.may_feed(len(lane.items)):
                left = super()._pump_down(stream, left)
        return left

    def _feed(self, stream: Stream, path: AnswerPath) -> None:
        """Feed the next part of an answer to its filters, and queue what leaves them."""
        item = path.backlog.popleft()
        if isinstance(item, Abort):
            stream.down.items.append(item)
            return
        before = len(stream.down.items)
        self._queue(stream, path, path.feed(item))
        if isinstance(item, Chunk):
            self._share_credit(stream, before, item.credit)

    def _share_credit(self, stream: Stream, before: int, credit: int) -> None:
        """Let the new items hold the window of what was fed. The upstream gets the rest back at once: what
        filters keep to themselves is limited by their own rules, and they may need more to let go."""
        items = stream.down.items
        for place in range(before, len(items)):
            item = items[place]
            if isinstance(item, Chunk) and len(item.payload) <= credit:
                items[place] = replace(item, credit=len(item.payload))
                credit -= len(item.payload)
        self._upstream.passed(stream.upstream_id or 0, credit)

    def _queue(self, stream: Stream, path: AnswerPath, pieces: list[AnswerPiece]) -> None:
        for place, piece in enumerate(pieces):
            if path.is_over:
                return
            last = pieces[place + 1] if len(pieces) == place + 2 else None
            match piece:
                case AnswerHead(at):
                    ends = isinstance(last, Finished) and last.at <= at and path.trailers is None
                    if stream_effects.head_passes(stream, path.fields_of(piece), ends, at):
                        self._break_off(stream, path)
                    elif ends:
                        self._finish(stream, path)
                case Content(at, payload):
                    if payload and stream_effects.body_passes(stream, payload, 0, at):
                        self._break_off(stream, path)
                case Finished(at):
                    if path.trailers is None:
                        stream.down.items.append(End(at))
                    else:
                        stream_effects.trailers_pass(stream, path.trailers, at)
                    self._finish(stream, path)
                case Broken(at, how):
                    if how == "close":
                        stream.down.items.append(HangUp(at))
                    elif how == "reset":
                        stream.down.items.append(Abort(at, INTERNAL_ERROR))
                    self._break_off(stream, path)

    def _finish(self, stream: Stream, path: AnswerPath) -> None:
        """Take no more of an answer that ends for the client, be it complete or not."""
        path.is_over = True
        if not path.is_complete:
            self._break_off(stream, path)

    def _break_off(self, stream: Stream, path: AnswerPath) -> None:
        """Cancel an answer: what is queued is all that the client gets of it."""
        path.is_over = stream.deaf = True
        self._upstream.passed(stream.upstream_id or 0, path.credit)
        path.backlog.clear()
        self._cancel(stream, CANCEL)

    def _let_go(self, stream: Stream, acting: Collection[Hashable]) -> None:
        """Queue what the filters of rules hold back that act no more, and bring what they delay forward."""
        path = stream.path
        if path is None:
            return
        pieces, paced = path.let_go(acting, self._now)
        if paced:
            stream.down.bring_all_forward(self._now)
        self._queue(stream, path, pieces)
