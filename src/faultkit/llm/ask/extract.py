"""JSON out of what a language model wrote: bare, in a code fence, or with words around it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_MOST_CHARS = 1_000_000
_MOST_STARTS = 200
_FENCE = re.compile(r"`{3,}|~{3,}")
_THOUGHT_ENDS = ("</think>", "</thinking>", "</reasoning>")
_START = re.compile(r"[{\[]")


def json_values(text: str) -> Iterator[Any]:
    """Every JSON object or array in `text` that stands for itself, the likeliest first.

    The whole text, if it is JSON; else what stands in code fences; else whatever begins with a bracket.
    What a reasoning model thinks aloud is left out.
    """
    text = text[:_MOST_CHARS].strip().lstrip("\ufeff")
    whole = _parsed(text)
    if whole is not None:
        yield whole
        return
    for end in _THOUGHT_ENDS:
        text = text.rpartition(end)[2]
    fenced = [value for block in _fenced(text) if (value := _parsed(block)) is not None]
    yield from fenced or _loose(text)


def _fenced(text: str) -> Iterator[str]:
    """What stands in each code fence that is closed."""
    fence, lines = "", list[str]()
    for line in text.split("\n"):
        bare = line.strip()
        if fence and bare.startswith(fence) and not bare.strip(fence[0]):
            yield "\n".join(lines)
            fence = ""
        elif fence:
            lines.append(line)
        elif opening := _FENCE.match(bare):
            fence, lines = opening[0], []


def _loose(text: str) -> Iterator[Any]:
    decoder = _decoder()
    at = 0
    for _ in range(_MOST_STARTS):
        start = _START.search(text, at)
        if start is None:
            return
        try:
            value, at = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            at = start.start() + 1
            continue
        if _is_sound(value):
            yield value


def _parsed(text: str) -> Any | None:
    try:
        value = _decoder().decode(text.strip())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) and _is_sound(value) else None


def _decoder() -> json.JSONDecoder:
    # A raw line break inside a text is a slip that many models make, and its meaning is plain.
    return json.JSONDecoder(parse_constant=_refuse, strict=False)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _is_sound(value: Any) -> bool:
    """Half a surrogate pair is valid JSON, and no text that anybody can write to a file."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True
