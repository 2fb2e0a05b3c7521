"""JSON as Go writes it: sorted keys, `<` escaped, and numbers in its own forms. Pure.

The texts of results hold JSON, and are compared byte by byte by those who recorded the original.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_ESCAPED = re.compile("[<>&\u2028\u2029]")
_quoted = json.JSONEncoder(ensure_ascii=False).encode
_EXPONENT = re.compile(r"e([+-])0+(\d)")


def go_json(value: Any) -> str:
    text = _written(value)
    # These stand nowhere in JSON but in its strings.
    return text.translate(_ESCAPES) if _ESCAPED.search(text) else text


def _written(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        pairs = [f"{_quoted(str(key))}:{_written(value[key])}" for key in sorted(value)]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float):
        return go_number(value)
    if isinstance(value, int):
        return str(value)
    return "[" + ",".join([_written(each) for each in value]) + "]"


def go_number(value: float) -> str:
    """The shortest digits that read back, without an exponent between 1e-6 and 1e21."""
    if not math.isfinite(value):
        raise ValueError("expected a finite number")
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    if 1e-6 <= abs(value) < 1e21:
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return _EXPONENT.sub(r"e\1\2", repr(value).replace(".0e", "e"))


def go_text(text: str) -> str:
    """As Go reads it, which knows no half surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
