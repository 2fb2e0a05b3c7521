"""One answer of the upstream on its way through the filters of answer faults, in HTTP/2.

What comes of the answer becomes the pieces of `faults.http_fault`, the filters turn them into others, and
`answer_pump` sends these. A block of fields that no filter has changed is sent as it came; a changed one
claims the length that the filters say. Where a filter paces the answer, what has come waits unread in
`backlog`, so that the upstream gets no window for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.faults.http_fault import (
    AnswerFilter,
    AnswerHead,
    AnswerPiece,
    Content,
    Finished,
    feed_through,
)
from faultkit.proxy.http2.items import Chunk, Head, Item
from faultkit.proxy.http2.leg import Fields

_LENGTH = b"content-length"
_WITHOUT_CONTENT = (204, 304)
_ENOUGH = 2
"""Items that may wait for their time before more of a paced answer is read."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """What rules do to an answer."""

    filters: Mapping[Any, AnswerFilter]
    """By rule, in the order of the plan."""
    pacing: frozenset[Any] = frozenset()
    """Those of the rules that send content later than it comes."""


class AnswerPath:
    """An answer that filters act on: `take` what comes, and `feed` it to them in order."""

    __slots__ = (
        "_came",
        "_fields",
        "_filters",
        "_method",
        "_pacing",
        "backlog",
        "is_complete",
        "is_over",
        "trailers",
    )

    def __init__(self, given: Filtered, method: str) -> None:
        self._filters = dict(given.filters)
        self._pacing = set(given.pacing)
        self._method = method
        self._fields: Fields = []
        self._came: AnswerHead | None = None
        """The head as the filters got it."""
        self.backlog: deque[Item] = deque()
        """What has come, and has not been fed."""
        self.trailers: Fields | None = None
        self.is_complete = False
        """All of the answer has come."""
        self.is_over = False
        """All of it that the client gets has been queued."""

    @property
    def credit(self) -> int:
        """Bytes of the upstream's window that the backlog holds."""
        return sum(item.credit for item in self.backlog if isinstance(item, Chunk))

    def take(self, item: Item, ends: bool) -> None:
        """Keep what has come until it is fed. `ends`: it is, or comes with, the last of the answer."""
        self.backlog.append(item)
        self.is_complete = self.is_complete or ends

    def may_feed(self, waiting: int) -> bool:
        """Return whether more can be fed, while so many items wait to be sent."""
        return bool(self.backlog) and (not self._pacing or waiting < _ENOUGH)

    def feed(self, item: Item) -> list[AnswerPiece]:
        """Feed what has come to the filters, and return what is to be sent."""
        filters = self._filters.values()
        if isinstance(item, Chunk):
            return feed_through(filters, Content(item.at, item.payload)) if item.payload else []
        if not isinstance(item, Head):
            return feed_through(filters, Finished(item.at))
        if self._came is not None:
            self.trailers = item.fields
            return feed_through(filters, Finished(item.at))
        self._fields = item.fields
        self._came = head = _head_of(item, self._method)
        pieces = feed_through(filters, head)
        return pieces + feed_through(filters, Finished(item.at)) if item.ends else pieces

    def let_go(self, acting: Collection[Hashable], at: float) -> tuple[list[AnswerPiece], bool]:
        """Return what the filters of rules that act no more hold back, and whether one of them paced."""
        out: list[AnswerPiece] = []
        chain = list(self._filters.values())
        for place, (rule, filter) in enumerate(self._filters.items()):
            if rule not in acting:
                for piece in filter.let_go(at):
                    out += feed_through(chain[place + 1 :], piece)
        gone = {rule for rule in self._pacing if rule not in acting}
        self._pacing -= gone
        return out, bool(gone)

    def fields_of(self, head: AnswerHead) -> Fields:
        """Return the fields to send for a head."""
        came = self._came
        assert came is not None
        if (head.status, head.fields, head.length) == (came.status, came.fields, came.length):
            return self._fields
        fields = [(b":status", str(head.status).encode())]
        fields += ((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in head.fields)
        if head.length is not None:
            fields.append((_LENGTH, str(head.length).encode()))
        return fields


def status_of(fields: Fields) -> int:
    """Return the status of an answer; 0 if it is no number."""
    value = dict(fields).get(b":status", b"")
    return int(value) if value.isdigit() else 0


def _head_of(item: Head, method: str) -> AnswerHead:
    status = status_of(item.fields)
    claimed = dict(item.fields).get(_LENGTH)
    length = int(claimed) if claimed is not None and claimed.isdigit() else None
    bodiless = item.ends or method == "HEAD" or status in _WITHOUT_CONTENT or length == 0
    fields = tuple(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in item.fields
        if not name.startswith(b":") and name != _LENGTH
    )
    return AnswerHead(item.at, status, fields, length, not bodiless)
