"""What is kept of what was said: without secrets, and in a form that every database takes. Pure.

A secret is known by its name, anywhere in the key: `password`, `X-Api-Key`, `refreshToken`. Texts are looked
into, since they may be JSON themselves, or quote some, as errors do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from faultkit.mcp.failures.identity import REDACTED, SECRET_KEYS, is_secret

MOST_DEPTH = 100
TOO_DEEP = "[too deep]"
_STEMS = tuple(key.partition("_")[0] for key in SECRET_KEYS)
"""What every spelling of the names begins with."""
_LONGEST_REMEMBERED = 64
NUL = "\u2400"
"""In place of NUL."""
INFINITE = "[infinite]"
"""In place of a number that JSON can say and no float can hold."""
_MOST_TRIES = 64
"""To read JSON that is quoted in a text: whoever sends brackets alone must not keep us busy."""
_BRACKET = re.compile(r"[{\[]")
_ESCAPE = re.compile(r"\\+u00([2-7][0-9a-fA-F])")
_NAMES = "|".join(key.replace("_", "[-_]?") for key in SECRET_KEYS)
_NAMED = re.compile(rf"""(?:{_NAMES})[^"'\\:{{}}\[\]]{{0,64}}\\*["']\s*:""", re.IGNORECASE)
"""How a secret is named in JSON, whatever has become of the rest of it."""


def redacted(value: Any, depth: int = 0) -> Any:
    """The same without secrets, and without what JSON in a database cannot hold."""
    if isinstance(value, str):
        return redacted_text(value, depth)
    if isinstance(value, float) and not math.isfinite(value):
        return INFINITE
    if isinstance(value, Mapping | list) and depth >= MOST_DEPTH:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {
            redacted_text(str(key), depth): REDACTED if hides(str(key)) else redacted(each, depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [redacted(each, depth + 1) for each in value]
    return value


def hides(name: str) -> bool:
    """Whether it names a secret. The same few names come with every call."""
    return _remembered(name) if len(name) <= _LONGEST_REMEMBERED else is_secret(name)


_remembered = lru_cache(maxsize=4096)(is_secret)


def redacted_text(text: str, depth: int = 0) -> str:
    """A text that is JSON, or that holds some, without its secrets. All other texts are as they were."""
    if not may_hide(text) or not _may_name(text):
        return plain(text)
    if depth >= MOST_DEPTH:
        return TOO_DEEP
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return plain(_redacted_around(text, depth))
    hidden = redacted(inner, depth + 1)
    # Told apart first: rewriting what holds no secret would change it for nothing.
    return json_text(hidden) if hidden != inner else plain(text)


def _may_name(text: str) -> bool:
    """Without one of these, nothing in it has a name."""
    return ":" in text or "\\u" in text


def _redacted_around(text: str, depth: int) -> str:
    """Of a text that is no JSON itself, but may quote some, whole or cut off. Where a secret is named in what
    cannot be read, it ends: nobody can tell where the secret would."""
    parts: list[str] = []
    done, tries = 0, 0
    place = _BRACKET.search(text)
    while place is not None and tries < _MOST_TRIES:
        start = place.start()
        try:
            inner, end = _decode(text, start)
        except (ValueError, RecursionError):
            tries += 1
            place = _BRACKET.search(text, start + 1)
            continue
        before = text[done:start]
        if (known := _up_to_secret(before)) is not None:
            return "".join([*parts, known])
        hidden = redacted(inner, depth + 1)
        parts += [before, json_text(hidden) if hidden != inner else text[start:end]]
        done = end
        place = _BRACKET.search(text, end)
    rest = text[done:]
    return "".join([*parts, _up_to_secret(rest) or rest])


def _up_to_secret(text: str) -> str | None:
    """None if none is named."""
    spelled = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    named = _NAMED.search(spelled)
    return None if named is None else f"{spelled[: named.end()]} {REDACTED}"


_decode = json.JSONDecoder().raw_decode


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
        text = text.replace("\0", NUL)
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
