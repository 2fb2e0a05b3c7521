"""The answer of a model inside an HTTP answer: pieces of HTTP become events of the dialect, go through the
chain of LLM faults, and become pieces again. Pure.

A stream passes as it comes, event by event. A whole answer is held until its end, because its length may
change. What cannot be read passes untouched: content that is compressed or not JSON, an answer that is longer
than a reader holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from faultkit.faults.dialects.dialect import CONTENT_TYPES, AnswerReader, LlmRequest
from faultkit.faults.dialects.json_members import parse_json
from faultkit.faults.dialects.llm_events import Chunk, End, Head, LlmEvent
from faultkit.faults.fault import FOREVER
from faultkit.faults.http_fault import (
    AnswerFilter,
    AnswerHead,
    AnswerPiece,
    Broken,
    Content,
    Finished,
    Skipping,
)
from faultkit.faults.llm_fault import LlmChain

_READABLE = frozenset(("", "application/jsonl", *CONTENT_TYPES.values()))
MOST_HELD_BYTES = 16 << 20
"""Length of a whole answer that is held."""
_AHEAD_S = 1.0
"""Events that a fault makes without number are made so long before they are due."""


def unreadable(head: AnswerHead) -> str | None:
    """Return why an answer is not read as one of a model; None if it is."""
    fields = {name.lower(): value.strip() for name, value in head.fields}
    coding = fields.get("content-encoding", "")
    if coding.lower() not in ("", "identity"):
        return f"an answer with Content-Encoding: {coding}"
    kind, _, parameters = fields.get("content-type", "").partition(";")
    media = kind.strip().lower()
    if media not in _READABLE and not media.endswith("+json"):
        return f"an answer of type {media}"
    _, mark, charset = parameters.replace(" ", "").lower().partition("charset=")
    if mark and charset.strip('"') not in ("utf-8", "utf8", "us-ascii"):
        return f"an answer in {charset}"
    return None


class LlmAnswerFilter(AnswerFilter):
    """The chain of LLM faults at work on one answer."""

    __slots__ = (
        "_acts",
        "_body",
        "_came",
        "_chain",
        "_has_ended",
        "_has_foreign",
        "_head",
        "_is_over",
        "_pending",
        "_reader",
        "_request",
        "_size",
        "_source",
        "_untouched",
        "_wake_at",
        "_was_read",
    )

    def __init__(
        self,
        request: LlmRequest,
        chain: LlmChain,
        acts: Callable[[int], bool],
        untouched: Callable[[str], None],
    ) -> None:
        """`acts` returns whether a rule still acts, by the position of its filter in the chain. `untouched`
        is called once with the reason if the answer cannot be read."""
        self._request = request
        self._chain = chain
        self._acts = acts
        self._untouched = untouched
        self._came: AnswerHead | None = None
        self._reader: AnswerReader | None = None
        """None before the head, and where the answer passes untouched."""
        self._head: Head | None = None
        """The head of a whole answer, which is sent with its length."""
        self._body: list[bytes] = []
        self._size = 0
        self._source: Iterator[LlmEvent] = iter(())
        """Events that go into the chain."""
        self._pending: Iterator[LlmEvent] | None = None
        """Events that a fault makes without number."""
        self._has_ended = False
        """The last of the upstream's answer was fed."""
        self._is_over = False
        self._was_read = self._has_foreign = False
        """Whether the dialect knows something of a stream, and whether an event of it is no JSON."""
        self._wake_at = FOREVER

    @property
    def wake_at(self) -> float:
        return self._wake_at

    def feed(self, piece: AnswerPiece) -> Iterable[AnswerPiece]:
        if isinstance(piece, AnswerHead):
            return self._begin(piece)
        reader = self._reader
        if reader is None:
            return (piece,)
        if self._is_over:
            return ()
        if isinstance(piece, Content):
            chunks = reader.feed(piece.payload, piece.at)
            self._size += len(piece.payload)
            if reader.is_stream:
                self._look_at(chunks)
            else:
                if self._size <= MOST_HELD_BYTES:
                    return ()
                return self._give_up(piece.at, reader.end(piece.at), "an answer that is too long")
            return self._pass_on(piece, chunks) if chunks else ()
        self._has_ended = True
        rest = reader.end(piece.at)
        if isinstance(piece, Broken):
            return [*self._take(piece.at, self._through(rest)), *self._held_head(), piece]
        if reader.is_stream:
            self._look_at(rest)
            is_foreign = not self._was_read and self._size > 0
        else:
            is_foreign = any(chunk.payload and not chunk.parts for chunk in rest)
        if is_foreign and not self._has_foreign:
            self._untouched(f"an answer that is none of {self._request.dialect.title}")
        return self._take(piece.at, self._through([*rest, End(piece.at)]))

    def _look_at(self, chunks: Iterable[Chunk]) -> None:
        """Report, once, an event of a stream that is no JSON: no fault can change it."""
        for chunk in chunks:
            if chunk.parts:
                self._was_read = True
            elif chunk.payload and not self._has_foreign and parse_json(chunk.payload) is None:
                self._has_foreign = True
                self._untouched("an event that is no JSON")

    def skipping(self, at: float) -> Skipping | None:
        reader = self._reader
        if reader is None or self._head is not None or self._pending is not None or self._is_over:
            return None
        takes = self._chain.skipping(at)
        template = None if takes is None else reader.template()
        if takes is None or template is None:
            return None
        return Skipping(template.before, template.behind, takes)

    def cut_short(self, at: float) -> Iterable[AnswerPiece]:
        if self._reader is None or self._is_over or self._has_ended:
            return ()
        self._has_ended = True
        return [*self._take(at, self._through(self._reader.end(at))), *self._held_head()]

    def wake(self, at: float) -> Iterable[AnswerPiece]:
        pending, self._pending = self._pending, None
        return () if pending is None else self._take(at, pending)

    def let_go(self, at: float) -> Iterable[AnswerPiece]:
        if self._reader is None or self._is_over:
            return ()
        pending, wake_at, self._pending = self._pending, self._wake_at, None
        out = self._take(at, iter(self._chain.let_go(self._acts, at)))
        if pending is not None and self._chain.is_endless:
            self._pending, self._wake_at = pending, wake_at
        elif pending is not None and self._has_ended and not self._is_over:
            self._is_over = True
            out.append(Broken(at, "close"))
        return out

    def _begin(self, head: AnswerHead) -> Iterable[AnswerPiece]:
        problem = unreadable(head) if head.has_content else "an answer without content"
        if problem is not None:
            self._untouched(problem)
            return (head,)
        self._came = head
        self._chain.let_go(self._acts, head.at)
        kind = next((value for name, value in head.fields if name.lower() == "content-type"), "")
        reader = self._reader = AnswerReader(self._request, head.status, kind)
        return self._take(
            head.at, self._chain.feed(Head(head.at, head.status, head.fields, reader.is_stream))
        )

    def _pass_on(self, piece: Content, chunks: list[Chunk]) -> Iterable[AnswerPiece]:
        """Feed the chunks that end in a piece; return the piece itself if it passes as it is."""
        if self._pending is not None or self._head is not None:
            return self._take(piece.at, self._through(chunks))
        passed, out = self._chain.feed_chunks(chunks)
        if passed == len(chunks):
            raw = chunks[0].raw if len(chunks) == 1 else b"".join([chunk.raw for chunk in chunks])
            return (piece,) if raw == piece.payload else (Content(piece.at, raw),)
        return self._take(piece.at, chain(chunks[:passed], out, self._through(chunks[passed + 1 :])))

    def _through(self, events: Iterable[LlmEvent]) -> Iterator[LlmEvent]:
        self._source = iter(events)
        return (out for event in self._source for out in self._chain.feed(event))

    def _take(self, at: float, events: Iterator[LlmEvent]) -> list[AnswerPiece]:
        """Return the pieces of events that are due soon; the others are taken when they are."""
        if self._pending is not None:
            self._swallow()
            return []
        self._wake_at = FOREVER
        out: list[AnswerPiece] = []
        for event in events:
            if self._head is None and isinstance(event, Chunk):
                if event.raw:
                    _append(out, event.at, event.raw)
            else:
                out += self._pieces(event)
            if event.at > at + _AHEAD_S and self._chain.is_endless and not self._is_over:
                self._pending, self._wake_at = events, event.at
                self._swallow()
                break
        return out

    def _swallow(self) -> None:
        """Feed what has come of an endless answer: a fault may hold it, and nothing comes out."""
        for event in self._source:
            deque(self._chain.feed(event), maxlen=0)

    def _pieces(self, event: LlmEvent) -> Iterator[AnswerPiece]:
        came = self._came
        assert came is not None
        if isinstance(event, Head):
            self._head = event
            if event.is_stream:
                yield from self._held_head()
        elif isinstance(event, Chunk):
            if self._head is not None and event.has("keep_alive"):
                # A whole answer that only keeps its connection alive has no length.
                yield replace(_head_of(came, self._head), length=None)
                self._head = None
            if self._head is None:
                if event.raw:
                    yield Content(event.at, event.raw)
            else:
                self._body.append(event.raw)
        else:
            yield from self._ended(event)

    def _ended(self, end: End) -> Iterator[AnswerPiece]:
        self._is_over = True
        came = self._came
        assert came is not None
        if self._head is not None:
            body = b"".join(self._body)
            # A length that is never reached, where the answer is cut.
            length = len(body) if end.how == "end" else max(came.length or 0, len(body) + 1)
            head = _head_of(came, self._head)
            yield head if came.length is None else replace(head, length=length)
            if body:
                yield Content(max(head.at, end.at), body)
        yield (
            Finished(end.at)
            if end.how == "end"
            else Broken(end.at, "reset" if end.how == "reset" else "close")
        )

    def _held_head(self) -> Iterator[AnswerPiece]:
        """Return the head as it came, and what of the body is held behind it."""
        head, self._head = self._head, None
        if head is None or self._came is None:
            return
        made = _head_of(self._came, head)
        yield replace(made, length=None) if head.is_stream and made.length is not None else made
        body, self._body = b"".join(self._body), []
        if body:
            yield Content(made.at, body)

    def _give_up(self, at: float, chunks: Iterable[Chunk], why: str) -> Iterable[AnswerPiece]:
        """Let the rest of the answer pass untouched."""
        self._untouched(why)
        head, self._reader = self._came, None
        assert head is not None
        return [replace(head, at=max(head.at, at)), *(Content(at, chunk.raw) for chunk in chunks)]


def _append(out: list[AnswerPiece], at: float, raw: bytes) -> None:
    """Add content; what is due at the same time is sent at once, in one write."""
    last = out[-1] if out else None
    if isinstance(last, Content) and last.at == at:
        out[-1] = Content(at, last.payload + raw)
    else:
        out.append(Content(at, raw))


def _head_of(came: AnswerHead, head: Head) -> AnswerHead:
    """Return the head as it came, with what the events say of it."""
    if (came.at, came.status, came.fields) == (head.at, head.status, head.headers):
        return came
    return replace(came, at=head.at, status=head.status, fields=head.headers)
