"""What is sent to a provider and what comes back, whatever API it speaks. Pure values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from faultkit.llm.providers import Format
from faultkit.llm.usage import Usage

End: TypeAlias = Literal["done", "cut", "refused"]


@dataclass(frozen=True, slots=True)
class Turn:
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    system: str
    turns: tuple[Turn, ...]
    schema: dict[str, Any]
    """Of an object."""
    format: Format
    answer_tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    end: End
    model: str
    """As the provider calls it; empty if it does not say."""
    usage: Usage


@dataclass(frozen=True, slots=True)
class Vectors:
    vectors: list[list[float]]
    usage: Usage


class Client(Protocol):
    """One provider's API. Every method makes one call, and raises `Failure` if it fails."""

    def chat(self, question: Question, timeout_s: float) -> Reply: ...

    def embed(self, texts: list[str], dim: int | None, timeout_s: float) -> Vectors:
        """`dim` asks for shorter vectors than the model's own."""

    def close(self) -> None: ...
