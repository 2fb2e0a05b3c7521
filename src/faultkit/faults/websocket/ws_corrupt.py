"""WebSocket corrupt: the content of a message is wrong, while its frames are not.

Text stays text: letters and digits are replaced by others of their kind, so the receiver gets valid UTF-8 of
the same length and has to notice by itself. In binary messages bits are flipped.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.fault import setting
from faultkit.faults.websocket_fault import ChangeMessage, MessageEffect, WebSocketFault

_KINDS = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
_REPLACEABLE = frozenset("".join(_KINDS))


@dataclass(frozen=True)
class WsCorrupt(WebSocketFault):
    kind: ClassVar[str] = "ws_corrupt"
    summary: ClassVar[str] = "The content of WebSocket messages is wrong; text stays valid UTF-8."

    changes: int = setting(
        1, "How many characters (text) or bytes (binary) of a message are changed.", minimum=1, maximum=10_000
    )

    def effect(self, rng: Rng) -> MessageEffect:
        return ChangeMessage(partial(changed_content, self.changes, rng))


def changed_content(changes: int, rng: Rng, content: bytes, is_text: bool) -> tuple[bytes, int]:
    """Return other content, and how many places of it differ: fewer than asked for if there are no more.

    Text that is no UTF-8 is returned as it is: its receiver refuses it anyway."""
    if not is_text:
        flipped = bytearray(content)
        places = _drawn(changes, range(len(content)), rng)
        for place in places:
            flipped[place] ^= 1 << rng.below(8)
        return bytes(flipped), len(places)
    try:
        characters = list(content.decode())
    except UnicodeDecodeError:
        return content, 0
    candidates = [place for place, each in enumerate(characters) if each in _REPLACEABLE]
    places = _drawn(changes, candidates or range(len(characters)), rng)
    for place in places:
        characters[place] = _another(characters[place], rng)
    return "".join(characters).encode(), len(places)


def _drawn(count: int, places: list[int] | range, rng: Rng) -> list[int]:
    """Draw so many different places, or all if there are fewer."""
    left = list(places)
    drawn: list[int] = []
    while left and len(drawn) < count:
        at = rng.below(len(left))
        left[at], left[-1] = left[-1], left[at]
        drawn.append(left.pop())
    return drawn


def _another(character: str, rng: Rng) -> str:
    """Return another character of the same kind; of those that are no ASCII letter or digit, `?` or `!`."""
    for kind in _KINDS:
        if character in kind:
            return kind[(kind.index(character) + 1 + rng.below(len(kind) - 1)) % len(kind)]
    return "!" if character == "?" else "?"
