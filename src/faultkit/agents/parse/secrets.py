"""What the environment gave, kept out of errors: they name the variable in place of its value. Pure.

Whether a variable is a secret cannot be told from its name, so all of them are. Values of few characters are
hidden only where they were filled in: elsewhere they are parts of words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

_FEW = 4
"""Characters that are no secret."""
_CUT = "…"


@dataclass(slots=True)
class Secrets:
    _values: dict[str, str] = field(default_factory=dict)
    """By the names of their variables."""
    _places: dict[str, set[str]] = field(default_factory=dict)
    """The variables that were filled in, by the file and path of the text."""

    def keep(self, name: str, value: str, place: str) -> None:
        if value:
            self._values[name] = value
            self._places.setdefault(place, set()).add(name)

    def hidden(self, text: str, place: str = "") -> str:
        """The text without the values; at the place where one was filled in, without parts of it, too."""
        for name, value in sorted(self._values.items(), key=lambda pair: -len(pair[1])):
            for form in _forms(value):
                if len(form) >= _FEW:
                    text = text.replace(form, f"${{{name}}}")
                    text = _without_beginning(text, form, name)
        for name in sorted(self._places.get(place, ())):
            text = _without_parts(text, self._values[name], name)
        return text


def _forms(value: str) -> list[str]:
    """As it is, and as texts are quoted in errors."""
    quoted = (json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value))
    return sorted({value, *(form[1:-1] for form in quoted)}, key=len, reverse=True)


def _without_beginning(text: str, value: str, name: str) -> str:
    """Long texts are cut in errors: what is left of a value is its beginning."""
    pieces = text.split(_CUT)
    for index, piece in enumerate(pieces[:-1]):
        length = next((n for n in range(len(value), _FEW - 1, -1) if piece.endswith(value[:n])), 0)
        if length:
            pieces[index] = f"{piece[:-length]}${{{name}}}"
    return _CUT.join(pieces)


def _without_parts(text: str, value: str, name: str) -> str:
    """Without the longest stretches that the two share, down to a few characters."""
    least = min(_FEW, len(value))
    begin = 0
    shown = f"${{{name}}}"
    while begin < len(text):
        end = begin + least
        if end <= len(text) and text[begin:end] in value and not text.startswith(shown, begin):
            while end < len(text) and text[begin : end + 1] in value:
                end += 1
            text = f"{text[:begin]}{shown}{text[end:]}"
        begin += len(shown) if text.startswith(shown, begin) else 1
    return text
