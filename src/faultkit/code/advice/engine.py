"""Who made an answer: the offline rules, or a language model. A value only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Engine:
    name: str
    """`rules`, or the provider as users name it: `openai`, `ollama` …"""
    model: str | None
    """As the provider names it; None for the rules."""


RULES = Engine("rules", None)
