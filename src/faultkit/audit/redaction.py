"""Redaction of what is stored: removes secrets, and characters that a database does not accept. Pure.

A secret is recognised by its key (`password`, `X-Api-Key`, `refreshToken`) or by its shape, as
`base/secrets.py` says. Texts are searched too, since they may be JSON or quote some, as error messages do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from faultkit.base.secret_names import is_secret_argument, is_secret_name, secret_keys
from faultkit.base.secrets import REDACTED, hide_secrets, may_hold_secret, may_hold_secret_utf8

MOST_DEPTH = 100
TOO_DEEP = "[too deep]"
NUL = "\u2400"
"""Replacement for NUL."""
INFINITE = "[infinite]"
"""Replacement for a JSON number that exceeds a float."""
_MOST_TRIES = 64
"""Limit of attempts to parse JSON inside a text: a text of brackets must not cost much time."""
_BRACKET = re.compile(r"[{\[]")
_ESCAPE = re.compile(r"\\+u00([2-7][0-9a-fA-F])")
_KEY = re.compile(r"""(?<![^"'\\:{}\[\]])(?P<name>[^"'\\:{}\[\]]{2,200}+)\\*["']\s*:""")
"""A key in JSON, even if the rest is cut off."""


def redacted(value: Any, depth: int = 0) -> Any:
    """Return a JSON value without secrets and without values that a database does not accept."""
    if isinstance(value, str):
        return redacted_text(value, depth)
    if isinstance(value, float) and not math.isfinite(value):
        return INFINITE
    if isinstance(value, Mapping | list) and depth >= MOST_DEPTH:
        return TOO_DEEP
    if isinstance(value, Mapping):
        texts = {str(key): each for key, each in value.items()}
        secret = secret_keys(texts)
        return {
            redacted_text(key, depth): REDACTED if key in secret else redacted(each, depth + 1)
            for key, each in texts.items()
        }
    if isinstance(value, list):
        return [
            REDACTED if is_secret_argument(value, index) else redacted(each, depth + 1)
            for index, each in enumerate(value)
        ]
    return value


def redacted_text(text: str, depth: int = 0) -> str:
    """Return a text without secrets, also in JSON that it is or quotes. Other texts are not changed."""
    if not needs_redaction(text):
        return storable_text(text)
    if not _may_name(text):
        return storable_text(hide_secrets(text))
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
    """Return whether JSON may be in a text with a key, which a colon follows, or a list with a flag."""
    return ":" in text or "--" in text or "\\u" in text


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
        parts += [hide_secrets(before), json_text(hidden) if hidden != inner else text[start:end]]
        done = end
        place = _BRACKET.search(text, end)
    rest = text[done:]
    return "".join([*parts, _up_to_secret(rest) or hide_secrets(rest)])


def _up_to_secret(text: str) -> str | None:
    """Return the text up to the first named secret; None if there is none."""
    spelled = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    for key in _KEY.finditer(spelled):
        if is_secret_name(key["name"]):
            return f"{hide_secrets(spelled[: key.start()])}{key[0]} {REDACTED}"
    return None


_decode = json.JSONDecoder().raw_decode


def redacted_json(text: str) -> str:
    """Return JSON without secrets. It is parsed only if it may contain one."""
    if not needs_redaction(text):
        return text
    return json_text(redacted(json.loads(text)))


def needs_redaction(text: str) -> bool:
    """Return False if JSON certainly contains no secret and nothing that a database refuses."""
    # An escape may spell a name, or stand for a character that databases refuse.
    return "\\u" in text or may_hold_secret(text)


def needs_redaction_utf8(text: bytes) -> bool:
    """Return False if encoded JSON certainly contains no secret and nothing that a database refuses."""
    return b"\\u" in text or may_hold_secret_utf8(text)


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
