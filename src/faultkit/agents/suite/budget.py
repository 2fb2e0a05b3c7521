"""The budget of a run and what the run has used of it: turns, calls, tokens, time, money. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from faultkit.agents.recovery.trace import Ending
from faultkit.agents.suite.agent import BudgetUsedUp


@dataclass(frozen=True, slots=True)
class RunBudget:
    """Limits of one run. None is no limit."""

    turns: int | None = 10
    calls: int | None = None
    tokens: int | None = None
    time_ms: float | None = None
    money: float | None = None


@dataclass(slots=True)
class BudgetUse:
    """What a run has used so far, checked against its budget."""

    budget: RunBudget
    turns: int = 0
    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    overruns: list[Ending] = field(default_factory=list)

    def take(self, *, turns: int = 0, calls: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        """Add to what was used. Raises BudgetUsedUp if a limit is exceeded."""
        self.turns += turns
        self.calls += calls
        self.tokens += tokens
        self.money += money
        self._check("turns", self.turns, self.budget.turns)
        self._check("calls", self.calls, self.budget.calls)
        self._check("tokens", self.tokens, self.budget.tokens)
        self._check("money", self.money, self.budget.money)

    def check_time(self, now_ms: float) -> None:
        """Raise BudgetUsedUp if the time limit has passed."""
        self._check("time", now_ms, self.budget.time_ms)

    def _check(self, what: Ending, used: float, most: float | None) -> None:
        if most is not None and used > most:
            if what not in self.overruns:
                self.overruns.append(what)
            raise BudgetUsedUp(what)
