"""One answer of the upstream on its way through the filters of answer faults, in HTTP/1.1.

The bytes of the framer become the pieces of `faults.http_fault` (content without chunk sizes), the filters
turn them into other pieces, and these become bytes again. An answer keeps its framing: a declared length,
chunks, or the end of the stream. A head that no filter has changed is sent as it came. Chunks are written
anew, one for each piece, with the trailers of the upstream.

It knows no order of responses, and no connection: `Broken` is left to the exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from faultkit.faults.dialects.event_template import texts_between
from faultkit.faults.events import Data
from faultkit.faults.fault import FOREVER
from faultkit.faults.http_fault import (
    AnswerFilter,
    AnswerHead,
    AnswerPiece,
    Broken,
    Content,
    Finished,
    Skipping,
    feed_through,
)
from faultkit.proxy.http.framing import Chunks, chunk_contents
from faultkit.proxy.http.heads import CHUNKED, RequestHead, ResponseHead

_FRAMING = frozenset(("content-length", "transfer-encoding"))
_OF_THE_CONNECTION = frozenset(("connection", "keep-alive", "proxy-connection", "upgrade"))


@dataclass(frozen=True, slots=True)
class Answered:
    """A final response of the upstream has begun."""

    request: RequestHead
    number: int
    """Requests of this connection before it."""
    response: ResponseHead
    dropped: bool
    """The client gets another answer in its place."""


JudgeAnswer: TypeAlias = Callable[[Answered], tuple[Sequence[AnswerFilter], bool]]
"""Returns the filters for an answer, none for most, and whether one of them paces it."""


TextsOfChunks: TypeAlias = Callable[[bytes, bytes, bytes], list[str] | None]
"""`texts_of_chunks`, or the same in compiled code."""


def texts_of_chunks(data: bytes, before: bytes, behind: bytes) -> list[str] | None:
    """Return the texts of bytes that are nothing but whole chunks, each of whole events that have `before`
    before their text and `behind` behind it; None for any other bytes."""
    found: list[str] = []
    for content in chunk_contents(data) or ():
        texts = texts_between(content, before, behind)
        if texts is None:
            return None
        found += texts
    return found or None


def answer_head(head: ResponseHead, method: str, at: float) -> AnswerHead:
    """Return the head of an answer without its framing."""
    status = head.status
    claimed = head.header("content-length")
    length = head.length if head.length >= 0 else None
    if length is None and claimed is not None and claimed.isdigit():
        length = int(claimed)
    bodiless = method == "HEAD" or status in (204, 304) or length == 0
    dropped = _FRAMING | _OF_THE_CONNECTION
    fields = tuple(field for field in head.headers if field[0].lower() not in dropped)
    return AnswerHead(at, status, fields, length, not bodiless)


class AnswerRewrite:
    """An answer that filters act on. Feed it in order: `begin`, `body` for each part, `finish`."""

    __slots__ = (
        "_chunks",
        "_decoder",
        "_ended",
        "_filters",
        "_may_chunk",
        "_over",
        "_raw",
        "_seen",
        "_skips",
        "_until_close",
        "paces",
    )

    def __init__(self, filters: Sequence[AnswerFilter], head: ResponseHead, *, paces: bool = False) -> None:
        self._filters = tuple(filters)
        self._skips: Skipping | None = None
        """What need not be fed, if nothing has been fed since that was asked for."""
        self._raw = head
        self._decoder = Chunks(collects=True) if head.length == CHUNKED else None
        self._may_chunk = False
        """Whether a body goes in chunks whose length was known and is not any more: the client, which knows
        them, can then see where it is cut."""
        self._chunks = False
        """Whether content is written in chunks."""
        self._until_close = False
        """Whether the client finds the end of the answer only where the connection ends."""
        self._seen: AnswerHead | None = None
        """The head as the filters got it."""
        self._ended = False
        """Whether the upstream's answer has come to its end."""
        self._over = False
        self.paces = paces
        """Whether pieces may be due much later than they come."""

    def begin(self, request: RequestHead, at: float) -> list[Data | Broken]:
        """Return what to send now that the head has come."""
        self._may_chunk = request.minor == self._raw.minor == 1
        self._seen = answer_head(self._raw, request.method, at)
        return self._feed(self._seen)

    def body(self, raw: bytes, at: float) -> list[Data | Broken]:
        """Return what to send for a part of the body, with its chunk sizes as they came."""
        if self._decoder is not None:
            self._decoder.walk(raw, 0)
            raw = self._decoder.take_content()
        return self._feed(Content(at, raw)) if raw else []

    @property
    def is_between_chunks(self) -> bool:
        """Whether the answer comes and goes in chunks, and the size of one comes next."""
        return self._chunks and not self._over and self._decoder is not None and self._decoder.is_between

    def take_chunks(
        self, data: bytes, at: float, texts_of: TextsOfChunks
    ) -> bytes | list[Data | Broken] | None:
        """Take whole chunks of the body, where `is_between_chunks`. Return the same bytes if they pass as
        they are, otherwise what to send; None if `data` was not taken: `body` is the way for it."""
        skips = self._skips
        if skips is None and len(self._filters) == 1:
            skips = self._skips = self._filters[0].skipping(at)
        if skips is not None:
            texts = texts_of(data, skips.before, skips.behind)
            if texts is not None and all(texts) and skips.takes(texts):
                return data
        contents = chunk_contents(data)
        if not contents:
            return None
        self._skips = None
        piece = Content(at, b"".join(contents))
        pieces = feed_through(self._filters, piece)
        return data if len(pieces) == 1 and pieces[0] is piece else self._sent(pieces)

    def finish(self, at: float) -> list[Data | Broken]:
        """Return what to send at the end of the answer."""
        self._ended = True
        return [*self._feed(Finished(at)), *self._hanging(at)]

    def cut_short(self, at: float) -> list[Data | Broken]:
        """Return what filters hold back until an end that does not come: the upstream is gone."""
        return [*self._given(lambda filter: filter.cut_short(at)), *self._hanging(at)]

    @property
    def wake_at(self) -> float:
        """When filters have more to send, whatever comes from the upstream."""
        return min(filter.wake_at for filter in self._filters)

    def wake(self, at: float) -> list[Data | Broken]:
        """Return what to send now that `wake_at` is reached."""
        return self._given(lambda filter: filter.wake(at) if filter.wake_at <= at else ())

    def let_go(self, gone: Iterable[AnswerFilter], at: float) -> list[Data | Broken]:
        """Return what these filters still hold back, because their rules act no more."""
        return self._given(lambda filter: filter.let_go(at) if filter in gone else ())

    def _given(self, give: Callable[[AnswerFilter], Iterable[AnswerPiece]]) -> list[Data | Broken]:
        """Return the bytes of what each filter gives of itself, through those behind it."""
        self._skips = None
        out: list[Data | Broken] = []
        for place, filter in enumerate(self._filters):
            for piece in give(filter):
                for given in feed_through(self._filters[place + 1 :], piece):
                    out += self._bytes_of(given)
        return out

    def _feed(self, piece: AnswerPiece) -> list[Data | Broken]:
        self._skips = None
        return self._sent(feed_through(self._filters, piece))

    def _sent(self, pieces: Iterable[AnswerPiece]) -> list[Data | Broken]:
        return [given for passed in pieces for given in self._bytes_of(passed)]

    def _hanging(self, at: float) -> Iterator[Broken]:
        """Yield that the upstream is not needed any more, where a fault goes on by itself."""
        if not self._over and self.wake_at < FOREVER:
            yield Broken(at, "hang")

    def _bytes_of(self, piece: AnswerPiece) -> Iterator[Data | Broken]:
        if self._over:
            return
        match piece:
            case AnswerHead():
                yield from self._head_bytes(piece)
            case Content(at, payload):
                if payload:
                    yield Data(at, b"%x\r\n%b\r\n" % (len(payload), payload) if self._chunks else payload)
            case Finished(at):
                self._over = True
                if self._until_close:
                    yield Broken(at, "close")
                elif self._chunks:
                    trailers = b"" if self._decoder is None else self._decoder.trailers
                    yield Data(at, b"0\r\n" + trailers + b"\r\n")
                    if not self._ended and not any(filter.reads_all for filter in self._filters):
                        # The rest, of unknown length, would have to come before the next answer.
                        yield Broken(at, "close")
            case Broken():
                self._over = True
                yield piece

    def _head_bytes(self, piece: AnswerHead) -> Iterator[Data]:
        seen, raw = self._seen, self._raw
        assert seen is not None
        changed = (piece.status, piece.fields, piece.length) != (seen.status, seen.fields, seen.length)
        is_open = piece.has_content and piece.length is None
        self._chunks = is_open and (raw.length == CHUNKED or (self._may_chunk and raw.length >= 0))
        self._until_close = is_open and not self._chunks
        wire = _written(raw, piece, in_chunks=self._chunks) if changed else raw.raw
        if not piece.over_s:
            yield Data(piece.at, wire)
            return
        lines = wire.removesuffix(b"\r\n").splitlines(keepends=True)
        lines[-1] += b"\r\n"
        steps = max(1, len(lines) - 1)
        for step, line in enumerate(lines):
            yield Data(piece.at - piece.over_s * (steps - step) / steps, line)


def _written(raw: ResponseHead, head: AnswerHead, *, in_chunks: bool) -> bytes:
    """Return a changed head: the new fields, then those of the connection, then the framing."""
    lines = [raw.raw.partition(b"\r\n")[0].decode("latin-1")]
    lines += (f"{name}: {value}" for name, value in head.fields)
    lines += (f"{name}: {value}" for name, value in raw.headers if name.lower() in _OF_THE_CONNECTION)
    if head.length is not None:
        lines.append(f"Content-Length: {head.length}")
    elif in_chunks or raw.length == CHUNKED:
        lines.append("Transfer-Encoding: chunked")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
