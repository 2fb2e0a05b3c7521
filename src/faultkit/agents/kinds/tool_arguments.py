"""The arguments of a call as a model wrote them, which may be anything. Pure."""

from __future__ import annotations

import json
from typing import Any, NoReturn

_MOST_QUOTED = 120


def arguments_in(written: object) -> tuple[dict[str, Any], str]:
    """The arguments; or none, and what is wrong with what came. Nothing at all means none."""
    if written is None or (isinstance(written, str) and not written.strip()):
        return {}, ""
    value = written
    if isinstance(written, str):
        try:
            value = json.loads(written, parse_constant=_refused)
        except (ValueError, RecursionError) as error:
            return {}, f"invalid arguments: they are no JSON ({error}): {_short(written)}"
    if not isinstance(value, dict):
        return {}, f"invalid arguments: expected a JSON object, got {_short(json.dumps(value))}"
    return value, ""


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _short(text: str) -> str:
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"
