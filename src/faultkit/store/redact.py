"""What is kept of what was said: without secrets, and in a form that every database takes. Pure.

A secret is known by its name, anywhere in the key: `password`, `X-Api-Key`, `refreshToken`. Texts that are
JSON themselves, as those of results are, are looked into.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from faultkit.mcp.failures.identity import REDACTED, SECRET_KEYS, is_secret

MOST_DEPTH = 100
TOO_DEEP = "[too deep]"
_STEMS = tuple(key.partition("_")[0] for key in SECRET_KEYS)
"""What every spelling of the names begins with."""
_LONGEST_REMEMBERED = 64


def redacted(value: Any, depth: int = 0) -> Any:
    """The same without secrets, and without what JSON in a database cannot hold."""
    if isinstance(value, str):
        return redacted_text(value, depth)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping | list) and depth >= MOST_DEPTH:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {
            plain(str(key)): REDACTED if _hides(str(key)) else redacted(each, depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [redacted(each, depth + 1) for each in value]
    return value


def _hides(name: str) -> bool:
    """The same few names come with every call."""
    return _remembered(name) if len(name) <= _LONGEST_REMEMBERED else is_secret(name)


_remembered = lru_cache(maxsize=4096)(is_secret)


def redacted_text(text: str, depth: int = 0) -> str:
    if text[:1] in ("{", "[") and may_hide(text):
        try:
            inner = json.loads(text)
        except (ValueError, RecursionError):
            return plain(text)
        hidden = redacted(inner, depth + 1)
        # Told apart first: rewriting what holds no secret would change it for nothing.
        return json_text(hidden) if hidden != inner else plain(text)
    return plain(text)


def redacted_json(text: str) -> str:
    """JSON without secrets. What has none for certain is not even parsed."""
    if not may_hide(text):
        return text
    return json_text(redacted(json.loads(text)))


def may_hide(text: str) -> bool:
    """False: there is no secret in this JSON, and nothing that a database refuses. Cheap: it is asked of each
    call."""
    # An escape may spell a name in another way, or be a character that databases refuse.
    if "\\u" in text:
        return True
    lower = text.lower()
    for stem in _STEMS:  # noqa: SIM110 - `any` would take three times as long
        if stem in lower:
            return True
    return False


def plain(text: str) -> str:
    """Without NUL and half surrogate pairs, which PostgreSQL refuses."""
    if text.isascii() and "\0" not in text:
        return text
    if "\0" in text:
        text = text.replace("\0", "\u2400")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def _encoder() -> Callable[[Any], str]:
    """One that is made once. JSONEncoder makes a new one for each value, which takes longer than to write a
    value that is as small as most are."""
    usual = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return usual.encode
    quote = json.encoder.encode_basestring
    chunks = make(None, usual.default, quote, None, ":", ",", False, False, False)
    return lambda value: "".join(chunks(value, 0))


json_text = _encoder()
"""Compact JSON. ValueError for a number that JSON cannot say."""
