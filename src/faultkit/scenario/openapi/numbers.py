"""A number within the bounds of a schema: a small one that people would write. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

_GUESSES = (1, 0)


def number_for(schema: Mapping[str, Any], *, whole: bool) -> int | float:
    """1 if it is allowed, then 0, then whatever is next to a bound. Bounds that leave no number: 1."""
    low, low_open = _tightest(schema, "minimum", "exclusiveMinimum", max)
    high, high_open = _tightest(schema, "maximum", "exclusiveMaximum", min)
    step = _exact(schema.get("multipleOf"))
    step = None if step is None or step <= 0 else step
    if whole:
        # A whole number that is a multiple of p/q is a multiple of p.
        step = Fraction(1) if step is None else Fraction(step.numerator)

    def allowed(value: Fraction) -> bool:
        above = low is None or (value > low if low_open else value >= low)
        below = high is None or (value < high if high_open else value <= high)
        return above and below and (step is None or value % step == 0)

    candidates = [Fraction(guess) for guess in _GUESSES]
    if step is not None:
        for bound, round_, away in ((low, math.ceil, 1), (high, math.floor, -1)):
            if bound is not None:
                nearest = round_(bound / step)
                candidates += [nearest * step, (nearest + away) * step]
        candidates.append(step)
    else:
        if low is not None and high is not None:
            candidates.append((low + high) / 2)
        candidates += [low] if low is not None else []
        candidates += [low + 1] if low is not None else []
        candidates += [high] if high is not None else []
        candidates += [high - 1] if high is not None else []
    chosen = next((value for value in candidates if allowed(value)), Fraction(1))
    return int(chosen) if chosen.denominator == 1 else float(chosen)


def _tightest(
    schema: Mapping[str, Any], bound: str, open_bound: str, tighter: Any
) -> tuple[Fraction | None, bool]:
    """The bound and whether it is itself left out. Where they are the same, leaving out is the tighter."""
    closed, opened = _exact(schema.get(bound)), _exact(schema.get(open_bound))
    if opened is None:
        return closed, False
    if closed is None or tighter(closed, opened) == opened:
        return opened, True
    return closed, False


def _exact(value: object) -> Fraction | None:
    """By the digits as written: 0.1 is a tenth, not the nearest binary fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)
