"""The body of a request as JSON, and its fields with their types. A field that is null counts as not given.

Keys are read as Go's encoding/json reads them: in upper or lower case, and of those for one field the last
one counts. Unknown keys are ignored, because clients send whole objects back, toxics and all. Also the
refusals of the API, with the texts of the original.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from faultkit.base.documents.checks import shown
from faultkit.base.documents.jsonc import refuse_constant

MOST_WHOLE = 2**63 - 1
"""The original keeps whole numbers in 64 bits."""


def parse_json(raw: bytes) -> object:
    """Return the document of a body, its keys in lower case. Raises Refusal if it is not JSON."""
    if not raw.strip():
        raise bad_body("expected JSON, got nothing")
    try:
        return json.loads(raw, parse_constant=refuse_constant, object_pairs_hook=_fields)
    except RecursionError:
        raise bad_body("expected JSON, got brackets nested too deep") from None
    except ValueError as error:
        raise bad_body(f"expected JSON, got something else ({error})") from None


def _fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return {key.lower(): value for key, value in pairs if value is not None}


def mapping(value: object, name: str = "body") -> Mapping[str, object]:
    """Return `value` as an object; an empty one for null."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _mistyped(name, "an object", value)
    return value


def text(body: Mapping[str, object], name: str, default: str = "") -> str:
    """Return a text field."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise _mistyped(name, "a text", value)
    # Go's strings are UTF-8, which has no half of a surrogate pair.
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in value)


def switch(body: Mapping[str, object], name: str, default: bool) -> bool:
    """Return a boolean field."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise _mistyped(name, "true or false", value)
    return value


def number(body: Mapping[str, object], name: str, default: float) -> float:
    """Return a number field."""
    value = body.get(name)
    if value is None:
        return default
    # A whole number too large for a float is a mistake.
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise _mistyped(name, "a number", value)
    return value


def whole_number(body: Mapping[str, object], name: str, default: int) -> int:
    """Return a field that is a whole number; 100.0 is one too."""
    value = number(body, name, default)
    if not math.isfinite(value) or value != int(value) or abs(value) > MOST_WHOLE:
        raise _mistyped(name, "a whole number", body[name])
    return int(value)


def _mistyped(name: str, expected: str, value: object) -> Refusal:
    return bad_body(f"{name}: expected {expected}, got {shown(value)}")


class Refusal(Exception):
    """An answer other than success. `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def document(self) -> dict[str, object]:
        """Return the body of the answer. Clients of version 2 read `error`, older ones read `title`."""
        return {"error": self.message, "title": self.message, "status": self.status}


def bad_body(problem: object) -> Refusal:
    """Refuse a body that cannot be read."""
    return Refusal(400, f"bad request body: {problem}")


def missing_field(name: str) -> Refusal:
    """Refuse a body without a required field."""
    return Refusal(400, f"missing required field: {name}")


def proxy_not_found() -> Refusal:
    """Refuse a request for a proxy that does not exist."""
    return Refusal(404, "proxy not found")


def proxy_exists() -> Refusal:
    """Refuse a second proxy of the same name."""
    return Refusal(409, "proxy already exists")


def toxic_not_found() -> Refusal:
    """Refuse a request for a toxic that does not exist."""
    return Refusal(404, "toxic not found")


def toxic_exists() -> Refusal:
    """Refuse a second toxic of the same name."""
    return Refusal(409, "toxic already exists")


def invalid_stream() -> Refusal:
    """Refuse a stream other than upstream and downstream."""
    return Refusal(400, "stream was invalid, can be either upstream or downstream")


def invalid_type() -> Refusal:
    """Refuse a toxic type that does not exist."""
    return Refusal(400, "invalid toxic type")
