"""What a run may use, and what it has used: turns, calls, tokens, time, money. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from faultkit.agents.kinds.agent import BudgetUsedUp
from faultkit.agents.recovery.trace import Ending


@dataclass(frozen=True, slots=True)
class Budget:
    """None: as much as it likes."""

    turns: int | None = 10
    calls: int | None = None
    tokens: int | None = None
    time_ms: float | None = None
    money: float | None = None


@dataclass(slots=True)
class Spent:
    budget: Budget
    turns: int = 0
    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    overruns: list[Ending] = field(default_factory=list)

    def take(self, *, turns: int = 0, calls: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        """BudgetUsedUp if that is more than there is."""
        self.turns += turns
        self.calls += calls
        self.tokens += tokens
        self.money += money
        self._check("turns", self.turns, self.budget.turns)
        self._check("calls", self.calls, self.budget.calls)
        self._check("tokens", self.tokens, self.budget.tokens)
        self._check("money", self.money, self.budget.money)

    def check_time(self, now_ms: float) -> None:
        self._check("time", now_ms, self.budget.time_ms)

    def _check(self, what: Ending, used: float, most: float | None) -> None:
        if most is not None and used > most:
            if what not in self.overruns:
                self.overruns.append(what)
            raise BudgetUsedUp(what)
