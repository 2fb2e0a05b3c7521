"""A JSON report without the fields that it declares as times."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


def without_times(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without its declared time fields: equal for two runs with the same seed."""
    left: dict[str, Any] = json.loads(json.dumps(document))
    for path in document["declared_time_fields"]:
        _drop(left, re.findall(r"\[\]|[^.\[\]]+", path))
    return left


def _drop(part: Any, names: list[str]) -> None:
    first, *rest = names
    if part is None:
        return
    if first == "[]":
        for each in part:
            _drop(each, rest)
    elif rest:
        _drop(part.get(first), rest)
    else:
        part.pop(first, None)
