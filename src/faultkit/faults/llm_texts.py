"""What faults do to the text of an answer: replace across deltas, insert, stop. Pure.

The last events of some dialects repeat the whole text. A filter that changes deltas changes these copies to
what the deltas have said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from faultkit.base.patterns import LinearPattern
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.json_members import REMOVED
from faultkit.faults.dialects.llm_events import Chunk, End, LlmEvent, Part, Path, moved_to
from faultkit.faults.dialects.turn import FinishReason, count_tokens, first_tokens
from faultkit.faults.llm_fault import (
    LlmCircumstances,
    LlmFilter,
    PositionedFault,
    PositionedFilter,
    is_delta,
)


def replaced(text: str, pattern: LinearPattern, template: str) -> str:
    """Return a text with every match replaced."""
    pieces, start = [], 0
    while (found := pattern.next_in(text, start, template)) is not None:
        pieces += [text[start : found[0]], found[2]]
        start = found[1]
    return "".join((*pieces, text[start:]))


@dataclass
class _Piece:
    """A delta whose text is not yet decided to its end."""

    chunk: Chunk
    path: Path
    rest: str
    """Its text that is not decided yet."""
    done: str = ""
    """What it says instead of the decided part."""


@dataclass
class _Channel:
    """The deltas of one channel that are held, because a match may need them."""

    before: str = ""
    """The character before them, so that a pattern sees where it is not the beginning."""
    pieces: list[_Piece] = field(default_factory=list)
    said: str = ""
    """What was passed on."""


class ReplacingFilter(LlmFilter):
    """Replaces what matches a pattern, also where a match is spread over several deltas.

    Deltas are held while a match may begin in their last `longest` characters; a longer match may be missed
    if it is spread over deltas. Deltas without a match pass byte for byte."""

    def __init__(
        self,
        request: LlmRequest,
        given: LlmCircumstances,
        pattern: LinearPattern,
        template: str,
        longest: int,
    ) -> None:
        self._dialect = request.dialect
        self._given = given
        self._pattern = pattern
        self._template = template
        self._longest = longest
        self._channels: dict[str, _Channel] = {}

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if chunk.has("keep_alive"):
            return (chunk,)
        texts = [part for part in chunk.parts if part.kind == "text" and isinstance(part.value, str)]
        if len(texts) == 1 and not chunk.is_whole:
            is_last = chunk.has("finish", "end")
            others = self._flush(chunk.at, texts) if is_last else []
            channel = self._channels.setdefault(texts[0].channel, _Channel())
            channel.pieces.append(_Piece(chunk, texts[0].path, texts[0].value))
            self._decide(channel, is_last=is_last)
            return [*others, *self._released(channel, chunk.at)]
        return [*self._flush(chunk.at, texts), self._changed(chunk, texts)]

    def end(self, end: End) -> Iterable[LlmEvent]:
        return [*self._flush(end.at), end]

    def _flush(self, at: float, more: Iterable[Part] = ()) -> list[LlmEvent]:
        """Return all that is held. A match may go on in the text of the next chunk, `more`."""
        following = {part.channel for part in more}
        out: list[LlmEvent] = []
        for name, channel in self._channels.items():
            if name not in following:
                self._decide(channel, is_last=True)
            out += self._released(channel, at)
        return out

    def _changed(self, chunk: Chunk, texts: list[Part]) -> Chunk:
        """Return a chunk with other texts, which are the last of their channels, and with other copies."""
        changes: dict[Path, Any] = {}
        for part in texts:
            channel = self._channels.setdefault(part.channel, _Channel())
            last = _Piece(chunk, part.path, part.value)
            held, channel.pieces = channel.pieces, [*channel.pieces, last]
            self._decide(channel, is_last=True)
            channel.pieces.clear()
            # Deltas that were still held come in this chunk.
            changes[part.path] = "".join(piece.done for piece in (*held, last))
            channel.said += changes[part.path]
        for part in chunk.parts:
            if part.kind == "text_copy":
                known = self._channels.get(part.channel)
                changes[part.path] = (
                    known.said if known else replaced(part.value, self._pattern, self._template)
                )
        values = {part.path: part.value for part in chunk.parts}
        return self._dialect.with_changes(
            chunk, {path: text for path, text in changes.items() if text != values[path]}
        )

    def _released(self, channel: _Channel, at: float) -> list[LlmEvent]:
        out: list[LlmEvent] = []
        while channel.pieces and not channel.pieces[0].rest:
            piece = channel.pieces.pop(0)
            channel.said += piece.done
            chunk = piece.chunk
            if piece.done != _at(chunk, piece.path):
                chunk = self._dialect.with_changes(chunk, {piece.path: piece.done})
            out.append(moved_to(chunk, at))
        return out

    def _decide(self, channel: _Channel, *, is_last: bool) -> None:
        """Decide about as much of the held text as can be decided."""
        text = channel.before + "".join(piece.rest for piece in channel.pieces)
        start = len(channel.before)
        safe = len(text) if is_last else max(start, len(text) - self._longest + 1)
        place = start
        while (found := self._pattern.next_in(text, start, self._template)) is not None:
            begin, end, new = found
            if begin >= safe:
                break
            if not is_last and end == len(text) and end - begin < self._longest:
                safe = begin  # The match may go on in the next delta.
                break
            _advance(channel, begin - place, keep=True)
            _insert(channel, new)
            _advance(channel, end - begin, keep=False)
            self._given.note("replaced", None)
            place = start = end
        if safe > place:
            _advance(channel, safe - place, keep=True)
            place = safe
        channel.before = text[place - 1 : place] if place else ""


def _advance(channel: _Channel, count: int, *, keep: bool) -> None:
    """Decide about the next characters: they stay, or go."""
    for piece in channel.pieces:
        taken = piece.rest[:count]
        piece.rest = piece.rest[count:]
        piece.done += taken if keep else ""
        count -= len(taken)
        if not count:
            return


def _insert(channel: _Channel, text: str) -> None:
    """Put a text at the place of the next character."""
    next(piece for piece in channel.pieces if piece.rest).done += text


def _at(chunk: Chunk, path: Path) -> Any:
    return next((part.value for part in chunk.parts if part.path == path), None)


class CopyingFilter(PositionedFilter):
    """Changes copies of the text to what the deltas that it passed on have said."""

    def __init__(self, fault: PositionedFault, request: LlmRequest, given: LlmCircumstances) -> None:
        super().__init__(fault, request, given)
        self._said: dict[str, str] = {}

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        out = list(super().chunk(chunk))
        for each in out:
            if isinstance(each, Chunk):
                for part in each.parts:
                    if part.kind == "text":
                        self._said[part.channel] = self._said.get(part.channel, "") + str(part.value)
        return [self._with_copies(each) if isinstance(each, Chunk) else each for each in out]

    def _with_copies(self, chunk: Chunk) -> Chunk:
        said = self._said
        copies = [part for part in chunk.parts if part.kind == "text_copy" and part.channel in said]
        changes: dict[Path, Any] = {
            part.path: said[part.channel] for part in copies if part.value != said[part.channel]
        }
        return self.dialect.with_changes(chunk, changes)


class InsertingFilter(CopyingFilter):
    """Puts a text before the first delta behind the position."""

    def __init__(
        self, fault: PositionedFault, request: LlmRequest, given: LlmCircumstances, text: str
    ) -> None:
        super().__init__(fault, request, given)
        self._text = text
        self._effect = fault.kind

    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        changed = self._inserted(chunk, 0)
        self.is_acting = changed is not chunk
        return (changed,)

    def whole(self, chunk: Chunk) -> Iterable[LlmEvent]:
        return (self._inserted(chunk, self.after_tokens),)

    def _inserted(self, chunk: Chunk, tokens: int) -> Chunk:
        part = next((part for part in chunk.parts if part.kind == "text" and part.value), None)
        if part is None:
            return chunk
        self.given.note(self._effect, None)
        begun = first_tokens(part.value, tokens)
        text = begun + self._text + part.value[len(begun) :]
        return self.dialect.with_changes(chunk, {part.path: text})


class StoppingFilter(PositionedFilter):
    """Lets no more content pass behind the position, and gives a reason of its own for the end."""

    def __init__(
        self, fault: PositionedFault, request: LlmRequest, given: LlmCircumstances, reason: FinishReason
    ) -> None:
        super().__init__(fault, request, given)
        self._reason: FinishReason = reason
        self._effect = fault.kind
        self._said: dict[str, str] = {}
        self._dropped: set[str] = set()

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        before = self.is_acting
        out = super().chunk(chunk)
        if not before and not self.is_acting:
            for part in chunk.parts:
                if part.kind == "text":
                    self._said[part.channel] = self._said.get(part.channel, "") + str(part.value)
        return out

    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        self.given.note(self._effect, None)
        return self.later(chunk)

    def later(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if chunk.has("finish"):
            return (self._stopped(chunk),)
        calls = {part.channel for part in chunk.parts if part.kind == "call_name"}
        if calls:
            self._dropped |= calls
            return ()
        ends = {part.channel for part in chunk.parts if part.kind == "block_end"}
        if is_delta(chunk) or ends & self._dropped or chunk.has("arguments_copy"):
            return ()
        return (self._stopped(chunk),)

    def whole(self, chunk: Chunk) -> Iterable[LlmEvent]:
        total = sum(count_tokens(str(part.value)) for part in chunk.parts if part.kind == "text")
        if total <= self.after_tokens and not chunk.has("call_name"):
            return (chunk,)
        self.given.note(self._effect, None)
        left, changes = self.after_tokens, dict[Path, Any]()
        for part in chunk.parts:
            if part.kind == "text" and isinstance(part.value, str):
                changes[part.path] = first_tokens(part.value, left)
                left = max(0, left - count_tokens(part.value))
            elif part.kind == "call_name":
                changes[call_path(part.path)] = REMOVED
        return (self.dialect.with_finish(self.dialect.with_changes(chunk, changes), self._reason),)

    def _stopped(self, chunk: Chunk) -> Chunk:
        changes: dict[Path, Any] = {}
        for part in chunk.parts:
            if part.kind == "text":
                changes[part.path] = ""
            elif part.kind == "text_copy":
                changes[part.path] = self._said.get(part.channel, "")
            elif part.kind == "call_name":
                changes[call_path(part.path)] = REMOVED
        return self.dialect.with_finish(self.dialect.with_changes(chunk, changes), self._reason)


def call_path(path: Path) -> Path:
    """Return where a call stands, given the path of its name: the last element of a list around it."""
    last = max(index for index, step in enumerate(path) if isinstance(step, int))
    return path[: last + 1]


def check_replacement(pattern: str, template: str) -> None:
    """Raise ValueError("field: …") for a pattern that RE2 refuses, or a template with a group it lacks."""
    try:
        compiled = LinearPattern(pattern)
    except ValueError as error:
        raise ValueError(f"pattern: expected a regular expression, got {pattern!r}: {error}") from None
    try:
        compiled.check_template(template)
    except ValueError as error:
        raise ValueError(f"replacement: expected groups of the pattern, got {template!r}: {error}") from None
