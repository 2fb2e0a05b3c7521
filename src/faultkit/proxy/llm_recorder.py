"""Writes exchanges with models that go through a proxy to a file: what the provider was asked, and what it
answered before any fault acts on it. The format is `faults.dialects.recording`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from faultkit.base.errors import InputError
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.recording import HEADER, RecordedExchange, exchange_of, line_of
from faultkit.faults.http_fault import AnswerFilter, AnswerHead, AnswerPiece, Content, Finished
from faultkit.faults.llm_answer_filter import unreadable

_MOST_BYTES = 16 << 20
"""Length of an answer that is recorded."""


def begin_recording(path: str) -> None:
    """Check that the file can be written; create it if there is none. An earlier recording is replaced by the
    first exchange. Raises InputError for any other file."""
    file = Path(path)
    try:
        if file.exists() and not file.read_bytes()[:100].startswith(HEADER[:25].encode()):
            raise InputError("--record", f"expected a new file or a recording, got {path}")
        with file.open("a", encoding="utf-8") as opened:
            if opened.tell() == 0:
                opened.write(f"{HEADER}\n")
    except OSError as error:
        raise InputError("--record", f"cannot write {path}: {error.strerror or error}") from None


class LlmRecorder:
    """The recording of one proxy. Used in the loop's thread."""

    __slots__ = ("_path", "_report", "count")

    def __init__(self, path: str, report: Callable[[str], None]) -> None:
        """`report` is called with a trouble."""
        self._path = path
        self._report = report
        self.count = 0

    def filter_of(self, request: LlmRequest) -> RecordingFilter:
        """Return the filter that records the answer to a request."""
        return RecordingFilter(request, self._add, self._report)

    def _add(self, exchange: RecordedExchange) -> None:
        try:
            line = f"{line_of(exchange)}\n"
            with Path(self._path).open("a" if self.count else "w", encoding="utf-8") as file:
                file.write(line if self.count else f"{HEADER}\n{line}")
            self.count += 1
        except OSError as error:
            self._report(f"cannot write {self._path}: {error.strerror or error}")


class RecordingFilter(AnswerFilter):
    """Records one answer, and lets it pass."""

    __slots__ = ("_add", "_head", "_parts", "_report", "_request", "_size")
    reads_all = True

    def __init__(
        self,
        request: LlmRequest,
        add: Callable[[RecordedExchange], None],
        report: Callable[[str], None],
    ) -> None:
        self._request = request
        self._add = add
        self._report = report
        self._head: AnswerHead | None = None
        self._parts: list[tuple[float, bytes]] = []
        self._size = 0

    def feed(self, piece: AnswerPiece) -> Iterable[AnswerPiece]:
        if isinstance(piece, AnswerHead):
            if (why := unreadable(piece)) is None:
                self._head = piece
            else:
                self._report(f"{why} is not recorded")
        elif isinstance(piece, Content) and self._head is not None:
            self._size += len(piece.payload)
            self._parts.append((piece.at - self._head.at, piece.payload))
            if self._size > _MOST_BYTES:
                self._head, self._parts = None, []
                self._report("an answer that is too long is not recorded")
        elif isinstance(piece, Finished) and self._head is not None:
            kind = next((value for name, value in self._head.fields if name.lower() == "content-type"), "")
            exchange = exchange_of(self._request, self._head.status, kind, self._parts)
            if exchange is None:
                self._report("an answer that is not UTF-8 is not recorded")
            else:
                self._add(exchange)
        return (piece,)
