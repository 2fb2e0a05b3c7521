"""How a parameter's value is written into a path, a query or a header: `style` and `explode`. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

Encode = Callable[[str], str]

RESERVED = ":/?#[]@!$&'()*+,;="
_DELIMITERS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


def text_of(value: Any) -> str:
    """A single value as text, as JSON would write it, but without quotes."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "" if value is None else json.dumps(value)


def one_line(text: str) -> str:
    """Without line breaks, which would end a header or a comment, and without what cannot be seen."""
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())


def encoded(text: str) -> str:
    return quote(text, safe="")


def encoded_but_reserved(text: str) -> str:
    """What `allowReserved` asks for, without what would end the query or the pair."""
    return quote(text, safe="".join(mark for mark in RESERVED if mark not in "#&[]+"))


def as_is(text: str) -> str:
    return text


def in_path(name: str, value: Any, style: str, explode: bool) -> str:
    if style == "label":
        return "." + _simple(value, explode, encoded, "." if explode else ",")
    if style == "matrix":
        return _matrix(name, value, explode)
    return _simple(value, explode, encoded)


def in_header(value: Any, explode: bool) -> str:
    return _simple(value, explode, as_is)


def in_query(
    name: str, value: Any, style: str, explode: bool, encode: Encode = encoded
) -> list[tuple[str, str]]:
    """Pairs, already encoded."""
    key = encoded(name)
    if isinstance(value, dict) and style == "deepObject":
        return [(f"{key}%5B{encoded(each)}%5D", encode(text_of(value[each]))) for each in value]
    if isinstance(value, dict):
        if explode and style == "form":
            return [(encoded(each), encode(text_of(value[each]))) for each in value]
        flat = [piece for each in value for piece in (each, value[each])]
        return [(key, _DELIMITERS.get(style, ",").join(encode(text_of(piece)) for piece in flat))]
    if isinstance(value, list):
        pieces = [encode(text_of(each)) for each in value]
        if explode:
            return [(key, piece) for piece in pieces]
        return [(key, _DELIMITERS.get(style, ",").join(pieces))]
    return [(key, encode(text_of(value)))]


def _simple(value: Any, explode: bool, encode: Encode, delimiter: str = ",") -> str:
    if isinstance(value, dict):
        pairs = [(encode(each), encode(text_of(value[each]))) for each in value]
        return delimiter.join(("=" if explode else delimiter).join(pair) for pair in pairs)
    if isinstance(value, list):
        return delimiter.join(encode(text_of(each)) for each in value)
    return encode(text_of(value))


def _matrix(name: str, value: Any, explode: bool) -> str:
    key = encoded(name)
    if explode and isinstance(value, dict):
        return "".join(f";{encoded(each)}={encoded(text_of(value[each]))}" for each in value)
    if explode and isinstance(value, list):
        return "".join(f";{key}={encoded(text_of(each))}" for each in value)
    return f";{key}={_simple(value, False, encoded)}"
