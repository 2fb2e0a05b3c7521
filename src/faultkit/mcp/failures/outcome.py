"""What a call of a failure tool comes to. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Structured:
    """A success: the value, and the same as text."""

    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A success in blocks of text."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolError:
    """A result with `isError`: the call was made, and what it was about failed."""

    text: str
    value: dict[str, Any] | None = None
    category: str = ""
    """The caller's own, or one that says more than that the tool failed."""


@dataclass(frozen=True, slots=True)
class ProtocolError:
    """A JSON-RPC error: there is no result."""

    code: int
    message: str
    data: dict[str, Any] | None = None
    category: str = ""
    """As above: more than that there is no result."""


Outcome: TypeAlias = Structured | Blocks | ToolError | ProtocolError
