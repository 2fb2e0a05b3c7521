"""What a dialect is: tables of where things stand in its documents, and writers of its answers.

A dialect knows its requests, its answers, streamed and whole, and its refusals. It does not know HTTP beyond
path, status, content type and headers, and no fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

from faultkit.faults.dialects.event_template import EventTemplate, LikeEvents
from faultkit.faults.dialects.frames import READERS, SILENCE, Frame, FrameReader, Framing, framed, sse_frame
from faultkit.faults.dialects.json_members import (
    Pattern,
    find_members,
    parse_json,
    pattern_of,
    with_members,
    write_json,
)
from faultkit.faults.dialects.llm_events import Chunk, Part, PartKind, Path
from faultkit.faults.dialects.turn import FinishReason, Turn

RefusalKind: TypeAlias = Literal[
    "rate_limit",
    "overloaded",
    "quota_exhausted",
    "context_length",
    "auth",
    "content_filter",
    "server_error",
    "invalid_request",
    "not_found",
]
CONTENT_TYPES: dict[Framing, str] = {
    "sse": "text/event-stream",
    "lines": "application/x-ndjson",
    "array": "application/json",
    "whole": "application/json",
}
_SPEAKING = {"content-type", "content-length", "content-encoding", "transfer-encoding"}


@dataclass(frozen=True, slots=True)
class Row:
    """One place of a document, and what stands there."""

    kind: PartKind
    place: Pattern
    unless: str = ""
    """A member beside it that, if it is true, makes the place something else."""


def rows(*pairs: tuple[PartKind, str] | tuple[PartKind, str, str]) -> tuple[Row, ...]:
    """Return rows from a kind and a pattern each, such as `("text", "choices.*.delta.content")`."""
    return tuple(Row(pair[0], pattern_of(pair[1]), *pair[2:]) for pair in pairs)


@dataclass(frozen=True, slots=True)
class LlmRequest:
    """A request to a model."""

    dialect: Dialect
    path: str
    body: Mapping[str, Any]
    model: str = ""
    tools: tuple[str, ...] = ()
    """Names of the tools that the model may call."""
    framing: Framing = "whole"
    """How the answer comes if nothing goes wrong."""

    @property
    def is_streamed(self) -> bool:
        """True if the answer comes in parts."""
        return self.framing != "whole"

    @property
    def uses_tools(self) -> bool:
        """True if it offers tools, or brings the results of some."""
        return bool(self.tools) or self.dialect.has_tool_results(self.body)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is an error: its status, its headers beyond the content type, and its document."""

    status: int
    document: Any
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def body(self) -> bytes:
        """Its document as bytes."""
        return write_json(self.document)


def retry_after(seconds: float | None) -> tuple[tuple[str, str], ...]:
    """Return the header, in whole seconds (RFC 9110 §10.2.3): rounded up, so that no client is too early."""
    return () if seconds is None else (("retry-after", str(math.ceil(seconds))),)


class Dialect:
    """One way to speak with models. Each subclass has one instance, in `dialect_table`."""

    name: ClassVar[str]
    title: ClassVar[str]
    type_member: ClassVar[str] = ""
    """The member that names the type of a streamed document, if there is one."""
    stream_rows: ClassVar[Mapping[str, tuple[Row, ...]]]
    """Rows of streamed documents by their type; those of "" are for every type."""
    whole_rows: ClassVar[tuple[Row, ...]]
    prompt_places: ClassVar[tuple[Pattern, ...]]
    """Where a request has texts for the model."""
    user_places: ClassVar[tuple[Pattern, ...]]
    """Where a request has texts of the user, beside their role."""
    index_members: ClassVar[tuple[str, ...]] = ()
    """Members of a streamed document that say to which channel it belongs."""
    finishes: ClassVar[Mapping[FinishReason, str]]
    done: ClassVar[bytes] = b""
    """A payload that is no JSON and ends the stream."""
    keep_alive_frame: ClassVar[bytes | None] = None
    """What the provider sends to keep a stream alive, if that is more than its framing has."""

    # --- requests -----------------------------------------------------------------------------

    def request_of(self, path: str, query: str, body: Mapping[str, Any]) -> LlmRequest | None:
        """Return the request if it is one of this dialect."""
        raise NotImplementedError

    def has_tool_results(self, body: Mapping[str, Any]) -> bool:
        """Return whether a request brings results of tools."""
        raise NotImplementedError

    def with_instruction(self, body: Mapping[str, Any], text: str) -> dict[str, Any]:
        """Return the request with one more instruction for the model."""
        raise NotImplementedError

    def prompts(self, body: Mapping[str, Any]) -> dict[Path, str]:
        """Return the texts for the model, by path."""
        return {
            path: value
            for place in self.prompt_places
            for path, value, _ in find_members(body, place)
            if isinstance(value, str)
        }

    def user_text(self, body: Mapping[str, Any]) -> str:
        """Return the last text of the user; empty if there is none."""
        last = ""
        for place in self.user_places:
            for _, value, parents in find_members(body, place):
                roles = [each.get("role") for each in parents if isinstance(each, dict) and "role" in each]
                if isinstance(value, str) and (not roles or roles[-1] == "user"):
                    last = value
        return last

    # --- answers ------------------------------------------------------------------------------

    def chunk(self, at: float, frame: Frame, *, is_whole: bool = False) -> Chunk:
        """Return a frame as a chunk, with its parts."""
        parts = self._parts(frame, is_whole=is_whole)
        return Chunk(at, frame.raw, frame.payload, frame.start, frame.end, frame.name, parts, is_whole)

    def _parts(self, frame: Frame, *, is_whole: bool) -> tuple[Part, ...]:
        payload = frame.payload
        if not payload:
            is_silence = not is_whole and (frame.raw.startswith(b":") or not frame.raw.strip())
            return (Part("keep_alive"),) if is_silence else ()
        if payload == self.done:
            return (Part("end"),)
        document = parse_json(payload)
        if not isinstance(document, dict):
            return ()
        return tuple(self.parts_of(document, is_whole=is_whole))

    def parts_of(self, document: Mapping[str, Any], *, is_whole: bool) -> Iterable[Part]:
        """Yield what is known of a document."""
        own = tuple(str(document[member]) for member in self.index_members if member in document)
        found: list[tuple[int, Part]] = []
        _collect(self._tree(document, is_whole=is_whole), document, None, (), own, found)
        # In the order of the rows, as the tables have them.
        found.sort(key=_row_number)
        return [part for _, part in found]

    def _tree(self, document: Mapping[str, Any], *, is_whole: bool) -> _Node:
        """Return the rows for a document, as a tree of the keys that lead to them."""
        name = "whole" if is_whole else ""
        if not is_whole and self.type_member:
            given = document.get(self.type_member)
            name = given if isinstance(given, str) and given in self.stream_rows else ""
        key = (self.name, is_whole, name)
        tree = _TREES.get(key)
        if tree is None:
            table = self.whole_rows if is_whole else self.stream_rows.get("", ())
            if name and not is_whole:
                table += self.stream_rows[name]
            tree = _TREES[key] = _tree_of(table)
        return tree

    def with_changes(self, chunk: Chunk, changes: Mapping[Path, Any]) -> Chunk:
        """Return the chunk with other members in its document; all other bytes of it stay."""
        if not changes:
            return chunk
        return self.with_payload(chunk, write_json(with_members(parse_json(chunk.payload), changes)))

    def with_finish(self, chunk: Chunk, reason: FinishReason) -> Chunk:
        """Return the chunk with another reason of the end, where it has one."""
        own = self.finishes[reason]
        return self.with_changes(chunk, {part.path: own for part in chunk.parts if part.kind == "finish"})

    def with_payload(self, chunk: Chunk, payload: bytes) -> Chunk:
        """Return the chunk with another payload, which may be no JSON."""
        raw = chunk.raw[: chunk.start] + payload + chunk.raw[chunk.end :]
        frame = Frame(raw, payload, chunk.start, chunk.start + len(payload), chunk.name)
        return self.chunk(chunk.at, frame, is_whole=chunk.is_whole)

    def reread(self, chunk: Chunk, raw: bytes) -> Chunk:
        """Return the chunk of a server-sent event with other bytes."""
        return self.chunk(chunk.at, sse_frame(raw))

    def new_chunk(self, at: float, framing: Framing, document: Any, name: str = "") -> Chunk:
        """Return a chunk with a document of our own."""
        payload = write_json(document)
        raw = framed(framing, payload, name)
        start = raw.find(payload)
        return self.chunk(at, Frame(raw, payload, start, start + len(payload), name))

    def keep_alive(self, at: float, framing: Framing) -> Chunk:
        """Return a chunk that says nothing and keeps the connection busy."""
        raw = SILENCE[framing]
        if framing == "sse" and self.keep_alive_frame is not None:
            raw = self.keep_alive_frame
        return Chunk(at, raw, parts=(Part("keep_alive"),))

    # --- writing answers ----------------------------------------------------------------------

    def stream_of(self, turn: Turn, request: LlmRequest) -> list[bytes]:
        """Return the units of a streamed answer."""
        raise NotImplementedError

    def whole_of(self, turn: Turn, request: LlmRequest) -> Any:
        """Return the document of a whole answer."""
        raise NotImplementedError

    def refusal(
        self, kind: RefusalKind, message: str, model: str = "", retry_after_s: float | None = None
    ) -> Refusal:
        """Return an error as this provider answers it."""
        raise NotImplementedError

    def limit_headers(self, what: str, most: int, left: int, wait_s: float) -> Iterable[tuple[str, str]]:
        """Return the headers that say how much of a limit is left; by default the provider has none.

        what: `requests` or `tokens`"""
        return ()

    def error_chunk(self, at: float, framing: Framing, kind: RefusalKind, message: str, model: str) -> Chunk:
        """Return an error in the middle of a stream."""
        raise NotImplementedError


class _Node:
    """A place of documents: the rows that stand there, and the places below it by key."""

    __slots__ = ("below", "each", "rows")

    def __init__(self) -> None:
        self.rows: list[tuple[int, Row]] = []
        self.below: dict[str, _Node] = {}
        self.each: _Node | None = None
        """The place of every element of a list."""


_TREES: dict[tuple[str, bool, str], _Node] = {}


def _tree_of(table: tuple[Row, ...]) -> _Node:
    root = _Node()
    for number, row in enumerate(table):
        node = root
        for key in row.place if row.place != ("",) else ():
            if key == "*":
                node.each = node = node.each or _Node()
            else:
                node = node.below.setdefault(key, _Node())
        node.rows.append((number, row))
    return root


def _collect(
    node: _Node, value: Any, beside: Any, path: Path, channel: tuple[str, ...], found: list[tuple[int, Part]]
) -> None:
    """Add the parts that stand at a place and below it. Members that are null are no parts.

    channel: where lists were entered: the `index` that an element has, or its position"""
    for number, row in node.rows:
        if not path:
            found.append((number, Part(row.kind)))
        else:
            _add(number, row, value, beside, path, channel, found)
    if isinstance(value, dict):
        for key, below in node.below.items():
            member = value.get(key)
            if member is None:
                continue
            if below.below or below.each is not None:
                _collect(below, member, value, (*path, key), channel, found)
                continue
            for number, row in below.rows:  # Most places have nothing below them.
                _add(number, row, member, value, (*path, key), channel, found)
    elif node.each is not None and isinstance(value, list):
        for position, element in enumerate(value):
            if element is not None:
                index = element.get("index", position) if isinstance(element, dict) else position
                _collect(node.each, element, value, (*path, position), (*channel, str(index)), found)


def _add(
    number: int,
    row: Row,
    value: Any,
    beside: Any,
    path: Path,
    channel: tuple[str, ...],
    found: list[tuple[int, Part]],
) -> None:
    if row.unless and isinstance(beside, dict) and beside.get(row.unless):
        return
    if value or row.kind != "end":
        found.append((number, Part(row.kind, value, path, ".".join(channel))))


def _row_number(found: tuple[int, Part]) -> int:
    return found[0]


class AnswerReader:
    """Turns the bytes of one answer into chunks."""

    def __init__(self, request: LlmRequest, status: int = 200, content_type: str = "") -> None:
        self._dialect = request.dialect
        self.framing: Framing = framing_of(request, status, content_type)
        self._frames: FrameReader = READERS[self.framing]()
        self._likes: LikeEvents | None = None
        if self.framing in ("sse", "lines"):
            self._likes = LikeEvents(partial(_parsed, self._dialect, self.framing))
        self._is_between = False
        """True if an event begins with the next byte, and one has come before."""

    @property
    def is_stream(self) -> bool:
        """True if the answer comes in several chunks."""
        return self.framing != "whole"

    def feed(self, data: bytes, at: float) -> list[Chunk]:
        """Return the chunks that end in these bytes."""
        likes = self._likes
        if likes is not None and self._is_between:
            found = likes.read(data, at)
            if found is not None:
                return found
        chunks = _chunks(self._dialect, self._frames.feed(data), at, self.framing)
        if likes is not None:
            self._is_between = self._frames.is_between
            if chunks:
                likes.remember(chunks[-1])
        return chunks

    def template(self) -> EventTemplate | None:
        """Return what the next events may be like, if one begins with the next byte, until any is fed."""
        return self._likes.template() if self._is_between and self._likes is not None else None

    def end(self, at: float) -> list[Chunk]:
        """Return what is left at the end of the body."""
        return _chunks(self._dialect, self._frames.end(), at, self.framing)


def _chunks(dialect: Dialect, frames: list[Frame], at: float, framing: Framing) -> list[Chunk]:
    is_whole = framing == "whole"
    return [dialect.chunk(at, frame, is_whole=is_whole) for frame in frames]


def _parsed(dialect: Dialect, framing: Framing, raw: bytes) -> list[Chunk]:
    """Return the chunks of bytes with which a frame begins."""
    return _chunks(dialect, READERS[framing]().feed(raw), 0.0, framing)


def framing_of(request: LlmRequest, status: int, content_type: str) -> Framing:
    """Return how the body of an answer is split, by what the provider says of it."""
    media = content_type.partition(";")[0].strip().lower()
    if media == CONTENT_TYPES["sse"]:
        return "sse"
    if status >= 400:
        return "whole"
    if media in (CONTENT_TYPES["lines"], "application/jsonl"):
        return "lines"
    return request.framing if request.framing in ("lines", "array") else "whole"


def with_body(request: LlmRequest, body: Mapping[str, Any]) -> LlmRequest:
    """Return the request with another document."""
    return replace(request, body=body)


def headers_for(framing: Framing, more: Iterable[tuple[str, str]] = ()) -> tuple[tuple[str, str], ...]:
    """Return the headers of an answer of our own."""
    kind = CONTENT_TYPES[framing] + ("; charset=utf-8" if framing == "sse" else "")
    return (("content-type", kind), *((name, value) for name, value in more if name.lower() not in _SPEAKING))
