"""Arguments that are numbers: bounds in the schema, and the reading of numbers that come as text."""

from __future__ import annotations

import math
from typing import Any

from faultkit.agent_tools.arguments import argument, shown
from faultkit.agent_tools.tool import REQUIRED, Argument


def number(
    name: str,
    description: str,
    *,
    default: Any = REQUIRED,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    example: str = "",
) -> Argument:
    """A finite one. `minimum` and `maximum` are allowed themselves, `above` is not."""
    schema = {"type": "number", **_bounds(minimum, maximum, above)}
    wanted = f"a number{_range(minimum, maximum, above)}"

    def read(value: Any) -> float:
        found = _number(value)
        if found is None or not _is_within(found, minimum, maximum, above):
            raise ValueError(f"expected {wanted}, got {shown(value)}")
        return float(found)

    return argument(name, schema, description, read, default, example)


def whole(
    name: str,
    description: str,
    *,
    default: Any = REQUIRED,
    minimum: int | None = None,
    maximum: int | None = None,
    example: str = "",
) -> Argument:
    schema = {"type": "integer", **_bounds(minimum, maximum, None)}
    wanted = f"a whole number{_range(minimum, maximum, None)}"

    def read(value: Any) -> int:
        found = _number(value)
        if found is None or found != int(found) or not _is_within(found, minimum, maximum, None):
            raise ValueError(f"expected {wanted}, got {shown(value)}")
        return int(found)

    return argument(name, schema, description, read, default, example)


def _number(value: Any) -> float | int | None:
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def _is_within(found: float, minimum: float | None, maximum: float | None, above: float | None) -> bool:
    return (
        (minimum is None or found >= minimum)
        and (maximum is None or found <= maximum)
        and (above is None or found > above)
    )


def _bounds(minimum: float | None, maximum: float | None, above: float | None) -> dict[str, float]:
    bounds = {"minimum": minimum, "maximum": maximum, "exclusiveMinimum": above}
    return {name: value for name, value in bounds.items() if value is not None}


def _range(minimum: float | None, maximum: float | None, above: float | None) -> str:
    if above is not None:
        return f" above {above:g}" + (f" and at most {maximum:g}" if maximum is not None else "")
    if minimum is not None and maximum is not None:
        return f" from {minimum:g} to {maximum:g}"
    if minimum is not None:
        return f" of at least {minimum:g}"
    return f" of at most {maximum:g}" if maximum is not None else ""
