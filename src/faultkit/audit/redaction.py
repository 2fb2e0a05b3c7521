"""Redaction of what is stored: removes secrets, and characters that a database does not accept. Pure.

A secret is recognised by a name within its key: `password`, `X-Api-Key`, `refreshToken`. Texts are searched
too, since they may be JSON or quote some, as error messages do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from faultkit.base.secrets import ORIGINAL_SECRET_KEYS, REDACTED, is_secret_key

MOST_DEPTH = 100
TOO_DEEP = "[too deep]"
_STEMS = tuple(key.partition("_")[0] for key in ORIGINAL_SECRET_KEYS)
"""Common beginning of all spellings of each name."""
_LONGEST_REMEMBERED = 64
NUL = "\u2400"
"""Replacement for NUL."""
INFINITE = "[infinite]"
"""Replacement for a JSON number that exceeds a float."""
_MOST_TRIES = 64
"""Limit of attempts to parse JSON inside a text: a text of brackets must not cost much time."""
_BRACKET = re.compile(r"[{\[]")
_ESCAPE = re.compile(r"\\+u00([2-7][0-9a-fA-F])")
_NAMES = "|".join(key.replace("_", "[-_]?") for key in ORIGINAL_SECRET_KEYS)
_NAMED = re.compile(rf"""(?:{_NAMES})[^"'\\:{{}}\[\]]{{0,64}}\\*["']\s*:""", re.IGNORECASE)
"""Key of a secret in JSON, even if the rest is cut off."""


def redacted(value: Any, depth: int = 0) -> Any:
    """Return a JSON value without secrets and without values that a database does not accept."""
    if isinstance(value, str):
        return redacted_text(value, depth)
    if isinstance(value, float) and not math.isfinite(value):
        return INFINITE
    if isinstance(value, Mapping | list) and depth >= MOST_DEPTH:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {
            redacted_text(str(key), depth): REDACTED
            if is_secret_name(str(key))
            else redacted(each, depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [redacted(each, depth + 1) for each in value]
    return value


def is_secret_name(name: str) -> bool:
    """Return whether a key names a secret. Cached, since calls repeat the same few names."""
    return _remembered(name) if len(name) <= _LONGEST_REMEMBERED else is_secret_key(name)


_remembered = lru_cache(maxsize=4096)(is_secret_key)


def redacted_text(text: str, depth: int = 0) -> str:
    """Return a text without the secrets of the JSON in it. Other texts are not changed."""
    if not may_hold_secret(text) or not _may_name(text):
        return storable_text(text)
    if depth >= MOST_DEPTH:
        return TOO_DEEP
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return storable_text(_redacted_around(text, depth))
    hidden = redacted(inner, depth + 1)
    # Compared first, so that a text without secrets keeps its formatting.
    return json_text(hidden) if hidden != inner else storable_text(text)


def _may_name(text: str) -> bool:
    """Return whether a text can contain a key: JSON keys are followed by a colon, which may be escaped."""
    return ":" in text or "\\u" in text


def _redacted_around(text: str, depth: int) -> str:
    """Return a text that quotes JSON, complete or cut off, without secrets. If a secret is named in a
    part that cannot be parsed, the rest is dropped: the end of the secret is unknown."""
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
    """Return the text up to the first named secret; None if there is none."""
    spelled = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    named = _NAMED.search(spelled)
    return None if named is None else f"{spelled[: named.end()]} {REDACTED}"


_decode = json.JSONDecoder().raw_decode


def redacted_json(text: str) -> str:
    """Return JSON without secrets. It is parsed only if it may contain one."""
    if not may_hold_secret(text):
        return text
    return json_text(redacted(json.loads(text)))


def may_hold_secret(text: str) -> bool:
    """Return False if JSON certainly contains no secret and nothing that a database refuses. It is cheap,
    since it is called for each call."""
    # An escape may spell a name, or stand for a character that databases refuse.
    if "\\u" in text:
        return True
    lower = text.lower()
    for stem in _STEMS:  # noqa: SIM110 - `any` would take three times as long
        if stem in lower:
            return True
    return False


def storable_text(text: str) -> str:
    """Return a text without NUL and lone surrogates, which PostgreSQL refuses."""
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
    """Return an encoder that is created once. `JSONEncoder.encode` creates one per value, which takes longer
    than encoding a small value."""
    usual = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return usual.encode
    quote = json.encoder.encode_basestring
    chunks = make(None, usual.default, quote, None, ":", ",", False, False, False)
    return lambda value: "".join(chunks(value, 0))


json_text = _encoder()
"""Returns compact JSON. Raises ValueError for infinity and NaN."""
