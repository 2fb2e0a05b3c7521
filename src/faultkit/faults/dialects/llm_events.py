"""The answer of a model as timed values: its head, its chunks, and its end.

An answer is one Head, any number of Chunks, and one End. Faults take these and return these, so a chain of
faults is a fault again. `at` is in seconds on a monotonic clock. A chunk is a unit of the wire (an event of a
stream, a line, an element of an array, or a whole body), keeps its bytes, and says in `parts` what is known
of it: a chunk that is not understood has no parts and passes by its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

PartKind: TypeAlias = Literal[
    "start",
    "model",
    "text",
    "text_copy",
    "call_id",
    "call_name",
    "arguments",
    "arguments_copy",
    "usage",
    "block_end",
    "finish",
    "error",
    "keep_alive",
    "end",
]
"""What a part is. A copy repeats what deltas have said before, as the last events of OpenAI Responses do.
`end` is the last thing that the provider says; the end of the body is `End`."""

Path: TypeAlias = tuple[str | int, ...]
"""Keys and positions that lead to a member of a JSON document."""


@dataclass(frozen=True, slots=True)
class Part:
    """One fact of a chunk, and where in its JSON document it stands."""

    kind: PartKind
    value: Any = None
    path: Path = ()
    """Empty if the part is not a member of the document."""
    channel: str = ""
    """Which choice, block or call it belongs to: deltas of one channel continue each other."""


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers of an answer."""

    at: float
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    is_stream: bool = False
    """True if the answer comes in pieces; False for a whole answer, which is one chunk."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One unit of the wire, with its bytes."""

    at: float
    raw: bytes
    payload: bytes = b""
    """Its JSON text; empty for comments, separators and whatever is not understood."""
    start: int = 0
    """Where in `raw` the payload begins."""
    end: int = 0
    name: str = ""
    """The name of a server-sent event, if it has one."""
    parts: tuple[Part, ...] = ()
    is_whole: bool = False

    def values(self, *kinds: PartKind) -> list[Any]:
        """Return the values of its parts of these kinds."""
        return [part.value for part in self.parts if part.kind in kinds]

    def has(self, *kinds: PartKind) -> bool:
        """Return whether it has a part of one of these kinds."""
        return any(part.kind in kinds for part in self.parts)


@dataclass(frozen=True, slots=True)
class End:
    """The end of an answer's body."""

    at: float
    how: Literal["end", "cut", "reset"] = "end"
    """`end` is an end in good order; `cut` closes the connection before it, `reset` by RST."""


LlmEvent: TypeAlias = Head | Chunk | End


def moved_to(event: LlmEvent, at: float) -> LlmEvent:
    """Return the same event at the time `at`, but never earlier than it was."""
    return event if at <= event.at else replace(event, at=at)
