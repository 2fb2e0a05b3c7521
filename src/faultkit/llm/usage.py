"""Tokens that were used, and a guess at how many a text has. Pure."""

from __future__ import annotations

from dataclasses import dataclass

_BYTES_A_TOKEN = 3
"""Code has more tokens a byte than prose; a guess that is too high errs on the safe side."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used, as the provider counts; estimated where it does not say."""

    prompt_tokens: int = 0
    answer_tokens: int = 0
    calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.answer_tokens + other.answer_tokens,
            self.calls + other.calls,
        )

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens


def tokens_in(text: str) -> int:
    """A rough count, rather too high than too low."""
    return len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN + 1
