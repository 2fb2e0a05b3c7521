"""What a matcher is: a judge of one value, and a check of what is wanted of it, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from faultkit.base.documents.shape import shown
from faultkit.base.errors import InputError

Judge: TypeAlias = Callable[[Any, Any], str | None]
"""From what is wanted and what came to what is wrong with it; None if nothing is."""
Check: TypeAlias = Callable[[Any], None]
"""InputError, with a path below what is wanted, if no value could be judged by it."""


@dataclass(frozen=True, slots=True)
class Matcher:
    name: str
    summary: str
    judge: Judge
    check: Check
    schema: dict[str, Any] = field(default_factory=dict)
    """JSON Schema of what may be wanted."""


def a_text(wanted: Any) -> None:
    if not isinstance(wanted, str) or not wanted:
        raise InputError("", f"expected a text, got {shown(wanted)}")


def some_texts(wanted: Any) -> None:
    if not isinstance(wanted, list) or not wanted:
        raise InputError("", f"expected a list of texts, got {_or_empty(wanted)}")
    for index, each in enumerate(wanted):
        try:
            a_text(each)
        except InputError as error:
            raise error.within(f"[{index}]") from None


def anything(wanted: Any) -> None:
    """Whatever JSON has can be wanted."""


def yes_or_no(wanted: Any) -> None:
    if not isinstance(wanted, bool):
        raise InputError("", f"expected true or false, got {shown(wanted)}")


def _or_empty(value: Any) -> str:
    return "an empty list" if value == [] else shown(value)


TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
TEXTS: dict[str, Any] = {"type": "array", "minItems": 1, "items": TEXT}
