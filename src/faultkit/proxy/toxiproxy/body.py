"""The body of a request as JSON, and its fields with their types. A field that is null counts as not given.

Keys that nobody asks for are ignored: clients send whole objects back, toxics and all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from faultkit.base.documents.shape import shown
from faultkit.proxy.toxiproxy.refusals import Refusal, bad_body

MOST_WHOLE = 2**63 - 1
"""The original keeps whole numbers in 64 bits."""


def parse_json(raw: bytes) -> object:
    if not raw.strip():
        raise bad_body("expected JSON, got nothing")
    try:
        return json.loads(raw, parse_constant=_reject_constant)
    except RecursionError:
        raise bad_body("expected JSON, got brackets nested too deep") from None
    except ValueError as error:
        raise bad_body(f"expected JSON, got something else ({error})") from None


def _reject_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def mapping(value: object, name: str = "body") -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _mistyped(name, "an object", value)
    return value


def text(body: Mapping[str, object], name: str, default: str = "") -> str:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise _mistyped(name, "a text", value)
    return value


def switch(body: Mapping[str, object], name: str, default: bool) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise _mistyped(name, "true or false", value)
    return value


def number(body: Mapping[str, object], name: str, default: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    # A whole number too large for a float is none that anybody means.
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise _mistyped(name, "a number", value)
    return value


def whole(body: Mapping[str, object], name: str, default: int) -> int:
    """A whole number; 100.0 is one too."""
    value = number(body, name, default)
    if not math.isfinite(value) or value != int(value) or abs(value) > MOST_WHOLE:
        raise _mistyped(name, "a whole number", body[name])
    return int(value)


def _mistyped(name: str, expected: str, value: object) -> Refusal:
    return bad_body(f"{name}: expected {expected}, got {shown(value)}")
