"""What an answer says, whatever the dialect: for writers of answers. And what a token is here.

A token is a word or a mark, with the blanks before it. Providers count otherwise, each in its own way; this
count needs no vocabulary and is the same for every model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]
FINISH_REASONS: tuple[FinishReason, ...] = ("stop", "length", "tool_calls", "content_filter")

_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])")


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text."""
    # Most deltas are one word.
    return 1 if text.lstrip().isalnum() else len(_TOKEN.findall(text))


def token_pieces(text: str) -> list[str]:
    """Return the tokens of a text, which joined are the text; blanks at its end belong to the last one."""
    pieces = _TOKEN.findall(text)
    rest = text[sum(map(len, pieces)) :]
    if not rest:
        return pieces
    return [*pieces[:-1], pieces[-1] + rest] if pieces else [rest]


def first_tokens(text: str, count: int) -> str:
    """Return the beginning of a text with so many tokens."""
    return "".join(token_pieces(text)[:count])


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""

    @property
    def arguments_text(self) -> str:
        """Its arguments as JSON."""
        return json.dumps(self.arguments, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a model."""

    model: str
    id: str
    """Unique among the answers; dialects put their own prefix before it."""
    pieces: tuple[str, ...] = ()
    """Its text, in the pieces in which it is streamed."""
    calls: tuple[ToolCall, ...] = ()
    finish: FinishReason = "stop"
    input_tokens: int = 0
    created_s: int = 0
    """When it was made, in seconds since 1970."""
    created_at: str = "1970-01-01T00:00:00Z"
    """The same as dialects write it that have no number."""

    @property
    def text(self) -> str:
        """Its whole text."""
        return "".join(self.pieces)

    @property
    def output_tokens(self) -> int:
        """Tokens of its text and of its calls."""
        return count_tokens(self.text) + sum(count_tokens(call.arguments_text) for call in self.calls)
