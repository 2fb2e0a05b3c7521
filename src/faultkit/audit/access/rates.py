"""How often somebody may call. Pure: it is told the time.

A bucket holds as many tokens as the rate names, and fills evenly. All that is kept of one is when it will be
full again: who has called so little that theirs is full costs nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

RATE_FORM = 'a rate such as "100/s", "600/m" or "5000/h"'
_MOST_BUCKETS = 10_000
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_RATE = re.compile(r"([1-9]\d{0,8})/([smh])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rate:
    calls: int
    """At once, too, by somebody who has not called for a while."""
    per_s: int

    @property
    def each_s(self) -> float:
        return self.per_s / self.calls


def parse_rate(text: str) -> Rate:
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'expected {RATE_FORM}, got "{text[:60]}"')
    return Rate(int(match[1]), _SECONDS[match[2]])


class Buckets:
    def __init__(self, rate: Rate, most: int = _MOST_BUCKETS) -> None:
        self._each_s = rate.each_s
        self._fills_s = float(rate.per_s)
        self._most = most
        self._full_at_s: dict[str, float] = {}

    def take(self, who: str, now_s: float) -> float:
        """0.0, or in how many seconds there is a token again."""
        full_at_s = max(self._full_at_s.get(who, 0.0), now_s) + self._each_s
        missing_s = full_at_s - now_s - self._fills_s
        # A hair's breadth, since the sum of many small steps is not quite what it should be.
        if missing_s > 1e-6 * self._each_s:
            return missing_s
        self._full_at_s[who] = full_at_s
        if len(self._full_at_s) > self._most:
            self._forget(now_s)
        return 0.0

    def _forget(self, now_s: float) -> None:
        """Those that are full, and if that is not enough those nearest to it: half, so that it is rare."""
        emptiest = sorted(self._full_at_s.items(), key=lambda each: -each[1])[: self._most // 2]
        self._full_at_s = {who: full_at_s for who, full_at_s in emptiest if full_at_s > now_s}
