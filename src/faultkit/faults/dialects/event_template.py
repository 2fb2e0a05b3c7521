"""Events that differ from an earlier one in nothing but their text, read without parsing their JSON. Pure.

A stream repeats one document with another delta in it. What stands before and behind the text of one event is
kept; an event with the same bytes there, and with a text that needs no escapes, has the same parts but for
this text. Everything else is left to the codec.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from faultkit.faults.dialects.llm_events import Chunk, Part

_PROBE = "a probe of the place"
_MOST_TRIALS = 16
"""Templates that are made of one answer: some streams never repeat a document."""
_MOST_PLACES = 4
"""Places of an event with the same text that are looked at."""


@dataclass(frozen=True, slots=True)
class EventTemplate:
    """One event, with a gap where its text stands."""

    before: bytes
    behind: bytes
    """From the quotation mark behind the text to the end of the event."""
    chunk: Chunk
    place: int
    """Which of the parts is the text."""

    def chunks(self, data: bytes, texts: list[str], at: float) -> list[Chunk]:
        """Return the chunks of events that have these texts."""
        if len(texts) == 1:
            return [self._chunk(at, data, texts[0])]
        begin = 0
        found: list[Chunk] = []
        for text in texts:
            end = begin + len(self.before) + len(text.encode()) + len(self.behind)
            found.append(self._chunk(at, data[begin:end], text))
            begin = end
        return found

    def _chunk(self, at: float, raw: bytes, text: str) -> Chunk:
        like, place = self.chunk, self.place
        old = like.parts[place]
        part = Part(old.kind, text, old.path, old.channel)
        parts = (part,) if len(like.parts) == 1 else (*like.parts[:place], part, *like.parts[place + 1 :])
        end = len(raw) - (len(like.raw) - like.end)
        return Chunk(at, raw, raw[like.start : end], like.start, end, like.name, parts)


def texts_between(data: bytes, before: bytes, behind: bytes) -> list[str] | None:
    """Return the texts of whole events that have these bytes before and behind their text; None if one of
    them is other, or its text is not as it would stand in JSON. `behind` begins with the quotation mark."""
    start, end = len(before), len(data) - len(behind)
    if not data.startswith(before) or end < start or not data.endswith(behind):
        return None
    middle = data[start:end]
    try:
        if b'"' not in middle:  # One event, as nearly all reads bring.
            text = middle.decode()
            return [text] if _is_plain(text) else None
        found = [each.decode() for each in middle.split(behind + before)]
    except UnicodeDecodeError:
        return None
    return found if all('"' not in each and _is_plain(each) for each in found) else None


def _is_plain(text: str) -> bool:
    """Return whether a text without quotation marks stands in JSON as it is."""
    # What is not printable has to be escaped, or is rare.
    return "\\" not in text and text.isprintable()


def template_of(chunk: Chunk, read: Callable[[bytes], Sequence[Chunk]]) -> EventTemplate | None:
    """Return the template of an event with exactly one text. `read` returns the chunks of other bytes.

    The same characters may stand elsewhere in the event: the right place is the one where another text makes
    the codec find that text, and all else as it was."""
    raw, parts = chunk.raw, chunk.parts
    texts = [place for place, part in enumerate(parts) if part.kind in ("text", "arguments")]
    if len(texts) != 1 or not raw.endswith(b"\n") or raw[chunk.start : chunk.end] != chunk.payload:
        return None
    place = texts[0]
    old = parts[place].value
    if not isinstance(old, str) or not old.isprintable() or "\\" in old or '"' in old:
        return None
    probed = (*parts[:place], replace(parts[place], value=_PROBE), *parts[place + 1 :])
    text = old.encode()
    start = chunk.start
    for _ in range(_MOST_PLACES):
        start = raw.find(b'"%b"' % text, start) + 1
        if not start:
            return None
        before, behind = raw[:start], raw[start + len(text) :]
        found = read(before + _PROBE.encode() + behind)
        if len(found) == 1 and found[0].parts == probed:
            return EventTemplate(before, behind, chunk, place)
    return None


class LikeEvents:
    """Reads the events of one stream that are like an earlier one. Every event that is parsed is to be given
    to `remember`."""

    __slots__ = ("_last", "_parse", "_template", "_trials")

    def __init__(self, parse: Callable[[bytes], Sequence[Chunk]]) -> None:
        """`parse` returns the chunks of any bytes."""
        self._parse = parse
        self._template: EventTemplate | None = None
        self._last: Chunk | None = None
        """What the next template is made of. It is made when another event has come, so that this one is not
        late."""
        self._trials = _MOST_TRIALS

    def remember(self, chunk: Chunk) -> None:
        """Keep the last event that was parsed."""
        self._last = chunk
        if self._trials and self._template is not None and not chunk.raw.startswith(self._template.before):
            self._template = None

    def read(self, data: bytes, at: float) -> list[Chunk] | None:
        """Return the chunks of whole events that are all alike; None if one is not."""
        template = self.template()
        texts = None if template is None else texts_between(data, template.before, template.behind)
        if template is None or texts is None:
            return None
        return template.chunks(data, texts, at)

    def template(self) -> EventTemplate | None:
        """Return what the next events may be like, until another event is parsed."""
        last = self._last
        if self._template is None and last is not None and self._trials:
            self._last = None
            self._trials -= 1
            self._template = template_of(last, self._parse)
        return self._template
