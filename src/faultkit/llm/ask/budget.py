"""How much time and how many tokens may be spent, and how much is left. It reads a clock that it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from faultkit.base.errors import RunError
from faultkit.llm.usage import Usage

_LEAST_ANSWER_TOKENS = 256


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one question with all its tries, or for many that share one `Spending`."""

    time_s: float = 180.0
    tokens: int = 100_000
    """Of prompts and answers together."""
    call_s: float = 90.0
    """For one call."""
    answer_tokens: int = 16_384
    """For one answer; a reasoning model thinks within it, too."""
    tries: int = 4
    """For one call that fails for reasons that pass."""

    def __post_init__(self) -> None:
        for name in ("time_s", "tokens", "call_s", "answer_tokens", "tries"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(f"{name}: expected a number above 0, got {value:g}")


class Spending:
    """A budget at work. Its time runs from the moment at which it is made."""

    __slots__ = ("_now", "_start", "budget", "used")

    def __init__(self, budget: Budget, now: Callable[[], float]) -> None:
        self.budget = budget
        self.used = Usage()
        self._now = now
        self._start = now()

    @property
    def left_s(self) -> float:
        return self._start + self.budget.time_s - self._now()

    @property
    def left_tokens(self) -> int:
        return self.budget.tokens - self.used.tokens

    def call_s(self) -> float:
        """How long the next call may take."""
        left_s = self.left_s
        if left_s <= 0:
            raise RunError(
                f"the time budget for the language model ({self.budget.time_s:g} s) is spent: "
                "ask for less, or allow more"
            )
        return min(self.budget.call_s, left_s)

    def affords(self, prompt_tokens: int) -> bool:
        return prompt_tokens + _LEAST_ANSWER_TOKENS <= self.left_tokens

    def answer_tokens(self, prompt_tokens: int) -> int:
        """How long the answer to a prompt of this length may be."""
        if not self.affords(prompt_tokens):
            raise RunError(
                f"the prompt needs about {prompt_tokens} tokens, and {max(self.left_tokens, 0)} of "
                f"{self.budget.tokens} are left for the language model: ask about less code, or allow more"
            )
        return min(self.budget.answer_tokens, self.left_tokens - prompt_tokens)

    def spend(self, usage: Usage) -> None:
        self.used += usage
