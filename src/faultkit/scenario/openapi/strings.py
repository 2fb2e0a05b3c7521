"""A text for a schema: by its format, its pattern, its length. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from faultkit.scenario.openapi.patterns import LONGEST, text_matching

PLAIN = "string"

FORMATS: dict[str, str] = {
    "date": "2024-01-15",
    "date-time": "2024-01-15T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "email": "user@example.com",
    "idn-email": "user@example.com",
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "iri": "https://example.com/",
    "uri-reference": "/example",
    "iri-reference": "/example",
    "uri-template": "/example/{id}",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "ZXhhbXBsZXM=",
    "binary": "binary",
    "password": "password",
    "regex": "^a$",
    "json-pointer": "/example",
    "relative-json-pointer": "0/example",
    "int64": "1",
    "decimal": "1.5",
}
_LONGER: dict[str, tuple[str, str]] = {
    "email": ("", "u"),
    "idn-email": ("", "u"),
    "uri": ("a", ""),
    "url": ("a", ""),
    "iri": ("a", ""),
    "uri-reference": ("a", ""),
    "iri-reference": ("a", ""),
    "binary": ("a", ""),
    "password": ("a", ""),
    "json-pointer": ("a", ""),
}
"""What to put behind or before the example of a format to make it longer."""


def string_for(schema: Mapping[str, Any]) -> str:
    shortest, longest = _length(schema.get("minLength")) or 0, _length(schema.get("maxLength"))
    shortest = min(shortest, LONGEST)
    pattern, format_ = schema.get("pattern"), schema.get("format")
    base = FORMATS.get(format_) if isinstance(format_, str) else None
    if base is None and "contentEncoding" in schema:
        base = FORMATS["byte"]
    if isinstance(pattern, str):
        # What the format gives is nicer to read, and may match as it is.
        for text in (base, text_matching(pattern, shortest, longest)):
            if text is not None and _is_within(text, shortest, longest) and _matches(text, pattern):
                return text
    if base is not None:
        return _long_enough(base, str(format_), shortest)
    text = PLAIN.ljust(shortest, "a")
    return text if longest is None else text[:longest]


def _long_enough(base: str, format_: str, shortest: int) -> str:
    missing = shortest - len(base)
    if missing <= 0:
        return base
    if format_ == "byte":
        return "ZXhh" * (-(-missing // 4)) + base
    behind, before = _LONGER.get(format_, ("", ""))
    return before * missing + base + behind * missing


def _is_within(text: str, shortest: int, longest: int | None) -> bool:
    return shortest <= len(text) and (longest is None or len(text) <= longest)


def _matches(text: str, pattern: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True  # A dialect that we cannot check.


def _length(value: object) -> int | None:
    return (
        int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
    )
