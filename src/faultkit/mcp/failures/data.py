"""Tools whose answers can be foretold: by a key, by a size, by a seed."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

from faultkit.base.rng import Rng, fnv1a_64
from faultkit.mcp.failures.go_json import go_text
from faultkit.mcp.failures.outcome import Outcome, Structured, ToolError
from faultkit.mcp.failures.tool import Argument, Caller, FailureTool

MOST_SIZE = 1 << 20
MOST_WORDS = 5000
USUAL_WORDS = 50
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_WORDS = (
    "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et "
    "dolore magna aliqua enim ad minim veniam quis nostrud exercitation ullamco laboris nisi aliquip ex ea "
    "commodo consequat duis aute irure in reprehenderit voluptate velit esse cillum fugiat nulla "
    "pariatur excepteur sint occaecat cupidatat non proident sunt culpa qui officia deserunt mollit anim "
    "id est laborum"
)
_LATIN = tuple(_WORDS.split())
"""In the order of the original, since seeds choose by place. Place 42 is a guess: the passage has `cillum eu`
there, the original has one of the two, and no recording shows which."""


def fixed_response(given: Mapping[str, Any], caller: Caller) -> Outcome:
    key = given["key"]
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return Structured({"key": key, "hash": digest, "body": f"fixed[{key}]: {digest}"})


def sized_response(given: Mapping[str, Any], caller: Caller) -> Outcome:
    size = given["size"]
    if size < 0:
        return ToolError(f"size must be >= 0, got {size}")
    if size > MOST_SIZE:
        return ToolError(f"size {size} exceeds max {MOST_SIZE}")
    return Structured({"size": size, "body": (_ALPHABET * (size // 26 + 1))[:size]})


def lorem(given: Mapping[str, Any], caller: Caller) -> Outcome:
    words = given["words"] or 0
    count = USUAL_WORDS if words <= 0 else min(words, MOST_WORDS)
    chosen = [_LATIN[place] for place in _places(given["seed"] or "", count)]
    return Structured({"words": count, "body": " ".join([chosen[0].capitalize(), *chosen[1:]]) + "."})


def _places(seed: str, count: int) -> list[int]:
    """As Go's IntN draws them: the upper half of a word, scaled, and drawn again where that is unfair."""
    if seed:
        known = go_text(seed)
        rng = Rng(seed, fnv1a_64(known), fnv1a_64(f"salt:{known}"))
    else:
        rng = Rng("", secrets.randbits(64), secrets.randbits(64))
    size = len(_LATIN)
    unfair = ((1 << 32) - size) % size
    places: list[int] = []
    while len(places) < count:
        scaled = (rng.uint64() >> 32) * size
        if scaled & 0xFFFFFFFF >= unfair:
            places.append(scaled >> 32)
    return places


DATA = (
    FailureTool(
        "fixed_response",
        "data",
        "A body that hangs on the key alone: the same key, the same body.",
        fixed_response,
        {"key": Argument("string", "chooses the body", required=True)},
        {"key": "string", "hash": "string", "body": "string"},
        read_only=True,
        idempotent=True,
    ),
    FailureTool(
        "sized_response",
        "data",
        "A body of exactly so many characters: the alphabet, over and over.",
        sized_response,
        {"size": Argument("integer", "characters of the body; from 0 to 1048576", required=True)},
        {"size": "integer", "body": "string"},
        read_only=True,
        idempotent=True,
    ),
    FailureTool(
        "lorem",
        "data",
        "So many words of lorem ipsum; with a seed, the same ones every time.",
        lorem,
        {
            "words": Argument("integer", "how many; 50 if left out or 0, at most 5000", required_in_go=True),
            "seed": Argument("string", "makes the words the same every time"),
        },
        {"words": "integer", "body": "string"},
        read_only=True,
    ),
)
