"""Messages of a worker as lines of text, for any transport that carries text. Pure.

    line  = CRC-32 of the JSON in hexadecimal, a space, and one line of JSON
    JSON  = {"token", "digest", "number", "kind": "fold" | "end" | "failed", …}

Lines are numbered from 0. A reader accepts them in their order, each once, whole, and of one part only. From
the first line that is not like that, nothing more of the worker counts: requests or tests are missing then,
but no figure is wrong. What a fold holds depends on the kind of the plan.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Generic, Literal, TypeVar
from zlib import crc32
from zlib import error as ZlibError

from faultkit.base.errors import RunError
from faultkit.load.fold import SegmentEnd
from faultkit.load.split import Part

M = TypeVar("M")


class WorkerLost(RunError):
    """A worker has ended, is silent, or sends what cannot be used."""


def _checksum(written: str) -> str:
    return f"{crc32(written.encode('utf-8', 'surrogateescape')):08x}"


class _PartLines(ABC, Generic[M]):
    """The lines of one worker so far, on either side."""

    counted: ClassVar[str]
    """What the last line gives the sum of, and its key there."""

    def __init__(self, part: Part[Any]) -> None:
        self._part = part
        self._number = 0
        self._total = 0

    @abstractmethod
    def _count(self, message: M) -> int:
        """Return how many things a fold has, of which the last line gives the sum."""


class PartWriter(_PartLines[M]):
    """Writes the messages of one worker."""

    @abstractmethod
    def _document(self, message: M) -> dict[str, Any]:
        """Return a fold as plain data."""

    def fold(self, fold: M) -> str:
        """Return the line of a fold."""
        self._total += self._count(fold)
        return self._line("fold", self._document(fold))

    def end(self, end: SegmentEnd) -> str:
        """Return the last line: how the part ended, and how many things all folds have."""
        return self._line("end", {**asdict(end), self.counted: self._total})

    def failed(self, error: Exception, *, lost: bool) -> str:
        """Return the last line of a worker that could not finish. `lost`: not by a defect of its own."""
        notes = list(getattr(error, "__notes__", ()))
        return self._line("failed", {"text": str(error), "notes": notes, "lost": lost})

    def _line(self, kind: Literal["fold", "end", "failed"], rest: Mapping[str, Any]) -> str:
        head = {"token": self._part.token, "digest": self._part.digest, "number": self._number}
        self._number += 1
        written = json.dumps({**head, "kind": kind, **rest}, separators=(",", ":"))
        return f"{_checksum(written)} {written}"


class PartReader(_PartLines[M]):
    """Reads the messages of one worker, and checks that they are all of them."""

    @abstractmethod
    def _message(self, document: Mapping[str, Any]) -> M:
        """Return the fold of plain data. Raises WorkerLost for one that cannot be of this worker."""

    def read(self, line: str) -> M | SegmentEnd:
        """Return the message of a line. Raises WorkerLost for one that cannot be used, and for the worker's
        own; RunError for a defect of the worker."""
        check, _, written = line.rstrip("\n").partition(" ")
        try:
            whole = check == _checksum(written)
            message = json.loads(written) if whole else {}
        except ValueError:
            whole = False
        place = self._number + 1
        if not whole:
            raise WorkerLost(f"its report {place} came damaged")
        try:
            return self._next(message)
        except (KeyError, ValueError, TypeError, AttributeError, ZlibError) as error:
            why = f"{type(error).__name__}: {error}"
            raise WorkerLost(f"its report {place} cannot be read ({why})") from None

    def _next(self, message: Mapping[str, Any]) -> M | SegmentEnd:
        if (message["token"], message["digest"]) != (self._part.token, self._part.digest):
            raise WorkerLost("it sent a report of another segment")
        number = message["number"]
        if number < self._number:
            raise WorkerLost(f"its report {number + 1} came twice")
        if number > self._number:
            raise WorkerLost(f"its report {self._number + 1} did not come")
        self._number += 1
        if message["kind"] == "fold":
            fold = self._message(message)
            self._total += self._count(fold)
            return fold
        if message["kind"] == "end":
            told = message[self.counted]
            if told != self._total:
                raise WorkerLost(f"it reports {told} {self.counted}, and {self._total} came")
            return SegmentEnd(float(message["total_s"]), bool(message["cut_short"]))
        if message["kind"] == "failed":
            failed = WorkerLost(message["text"]) if message["lost"] else RunError(message["text"])
            for note in message["notes"]:
                failed.add_note(note)
            raise failed
        raise ValueError(f'kind: expected fold, end or failed, got "{message["kind"]}"')
