"""What faults do to tool calls of an answer: their arguments, names and ids. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.json_members import parse_json
from faultkit.faults.dialects.llm_events import Chunk, End, LlmEvent, Part, PartKind, Path, moved_to
from faultkit.faults.llm_fault import LlmCircumstances, LlmFilter, text_of

ChangeText = Callable[[str, Any], str]
"""Maps the arguments of a call, as text and as parsed (None if they are no JSON), to another text."""


@dataclass
class _Call:
    """One call whose arguments are held until they are complete."""

    text: str = ""
    held: list[tuple[Chunk, Part]] = field(default_factory=list)


class ArgumentsFilter(LlmFilter):
    """Holds the arguments of each call until they are complete, and passes others on in the same pieces."""

    def __init__(self, request: LlmRequest, given: LlmCircumstances, effect: str, change: ChangeText) -> None:
        self._dialect = request.dialect
        self._given = given
        self._effect = effect
        self._change = change
        self._open: dict[str, _Call] = {}
        self._changed: dict[str, str] = {}
        """The new arguments of calls that are complete, by channel."""

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        parts = [part for part in chunk.parts if part.kind == "arguments"]
        # A piece of text continues the arguments of its channel; an object is complete.
        pieces = [part for part in parts if isinstance(part.value, str)]
        if pieces and not chunk.is_whole:
            out = [each for part in pieces for each in self._release(chunk.at, besides=part.channel)]
            for part in pieces:
                call = self._open.setdefault(part.channel, _Call())
                call.text += part.value
                call.held.append((chunk, part))
            return out
        if chunk.has("keep_alive"):
            return (chunk,)
        released = self._release(chunk.at)
        changes: dict[Path, Any] = {}
        for part in chunk.parts:
            if part.kind == "arguments":
                changes[part.path] = _like(part, self._changed_text(part.channel, text_of(part)))
            elif part.kind == "arguments_copy" and part.value:
                text = self._changed.get(part.channel)
                changes[part.path] = self._changed_text(part.channel, part.value) if text is None else text
        return [*released, self._dialect.with_changes(chunk, changes)]

    def end(self, end: End) -> Iterable[LlmEvent]:
        return [*self._release(end.at), end]

    def _changed_text(self, channel: str, text: str) -> str:
        changed = self._change(text, parse_json(text.encode("utf-8", "replace")))
        if changed != text:
            self._given.note(self._effect, None)
        self._changed[channel] = changed
        return changed

    def _release(self, at: float, besides: str | None = None) -> list[LlmEvent]:
        """Return the held chunks of calls that are complete, with the new text in pieces of the old sizes."""
        out: list[LlmEvent] = []
        for channel in [channel for channel in self._open if channel != besides]:
            call = self._open.pop(channel)
            rest = self._changed_text(channel, call.text)
            for index, (chunk, part) in enumerate(call.held):
                size = len(part.value) if index < len(call.held) - 1 else len(rest)
                piece, rest = rest[:size], rest[size:]
                has_more = any(each.kind in ("call_id", "call_name") for each in chunk.parts)
                if piece or not part.value or has_more:
                    changed = self._dialect.with_changes(chunk, {part.path: piece})
                    out.append(moved_to(changed, at))
        return out


def _like(part: Part, text: str) -> Any:
    """Return arguments in the form of a part: text, or an object if the text is one."""
    if isinstance(part.value, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


class MemberFilter(LlmFilter):
    """Changes members of one kind, wherever they stand."""

    def __init__(
        self,
        request: LlmRequest,
        given: LlmCircumstances,
        effect: str,
        kind: PartKind,
        change: Callable[[Any], Any],
    ) -> None:
        self._dialect = request.dialect
        self._given = given
        self._effect = effect
        self._kind = kind
        self._change = change
        self._is_noted = False

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        changes = {
            part.path: changed
            for part in chunk.parts
            if part.kind == self._kind and (changed := self._change(part.value)) != part.value
        }
        if changes and not self._is_noted:
            self._is_noted = True
            self._given.note(self._effect, None)
        return (self._dialect.with_changes(chunk, changes),)
