"""Takes secrets out of code before it leaves the machine, and puts them back into returned code. Pure.

Detection errs on the side of redaction: a word that is taken out by mistake is put back, so it costs little.
A placeholder never spans lines, so that a text keeps its lines and a diff its shape.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from faultkit.base.code_secrets import find_code_secrets
from faultkit.base.secrets import SECRET_KINDS, SecretSpan, merge_spans

_SHORTEST_REPEATED = 8
_QUOTED = re.compile(r"""(["'`])((?:(?!\1)[^\\\n]){20,400})\1""")
_TOKEN = re.compile(r"(?<![A-Za-z0-9+_=-])[A-Za-z0-9+_-]{20,200}={0,2}(?![A-Za-z0-9+_=-])")
_HEXADECIMAL = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")
_LEAST_ENTROPY = 3.5
"""Bits for each character. Twenty characters chosen by chance from 62 have about four."""
_LEAST_TURNS = 0.4
"""Changes between small letters, capitals and digits for each character: names made of words have fewer."""


class Redaction:
    """The secrets taken out of some texts. A secret has the same placeholder in each of them."""

    __slots__ = ("_marker", "_names", "_pattern", "_secrets")

    def __init__(self, avoid: str = "") -> None:
        """Create a redaction whose placeholders do not occur in the text `avoid`."""
        marker = "REDACTED"
        while marker in avoid:
            marker += "X"
        self._marker = marker
        self._names: dict[str, str] = {}
        self._secrets: dict[str, str] = {}
        self._pattern = re.compile(rf"{marker}_[0-9]+_(?:{'|'.join(SECRET_KINDS)})")

    def hide(self, text: str) -> str:
        """Return the text with placeholders for secrets."""
        spans = merge_spans([*self._known_secrets(text), *_find_secrets(text)])
        secrets = {text[start:end] for start, end, _ in spans}
        repeated = [(*place, "KEY") for place in _places(text, secrets)]
        parts: list[str] = []
        at = 0
        for start, end, kind in merge_spans([*spans, *repeated]):
            parts += (text[at:start], self._placeholder(text[start:end], kind))
            at = end
        return "".join(parts) + text[at:]

    def restore(self, text: str) -> str:
        """Return the text with secrets for placeholders."""
        return self._pattern.sub(lambda found: self._secrets.get(found[0], found[0]), text)

    def restore_fields(self, value: Any, fields: tuple[str, ...]) -> Any:
        """Return a JSON value with the secrets restored in the texts of these fields, at any depth."""
        if isinstance(value, list):
            return [self.restore_fields(item, fields) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            name: self.restore(item)
            if name in fields and isinstance(item, str)
            else self.restore_fields(item, fields)
            for name, item in value.items()
        }

    def invented(self, text: str) -> list[str]:
        """Return placeholders in `text` that stand for no secret: a model invented them."""
        return sorted({name for name in self._pattern.findall(text) if name not in self._secrets})

    def __len__(self) -> int:
        return len(self._secrets)

    def _known_secrets(self, text: str) -> Iterator[SecretSpan]:
        """Yield the spans of secrets that earlier texts had."""
        yield from ((*place, "KEY") for place in _places(text, self._names))

    def _placeholder(self, secret: str, kind: str) -> str:
        if self._pattern.fullmatch(secret):
            return secret
        if secret not in self._names:
            name = f"{self._marker}_{len(self._names) + 1}_{kind}"
            self._names[secret] = name
            self._secrets[name] = secret
        return self._names[secret]


def _find_secrets(text: str) -> Iterator[SecretSpan]:
    for start, end, kind in find_code_secrets(text):
        yield from ((*line, kind) for line in _lines(text, start, end))
    for quoted in _QUOTED.finditer(text):
        for token in _TOKEN.finditer(quoted[2]):
            if _is_random(token[0]):
                yield quoted.start(2) + token.start(), quoted.start(2) + token.end(), "KEY"


def _is_random(token: str) -> bool:
    """Return whether a text looks as if it was chosen by chance: a key under a name that does not tell it."""
    bare = token.rstrip("=")
    if _HEXADECIMAL.fullmatch(bare):
        return True
    kinds = ["d" if each.isdigit() else "u" if each.isupper() else "l" for each in bare if each.isalnum()]
    if len({*kinds}) < 3:
        return False
    turns = sum(one != two for one, two in pairwise(kinds)) / len(bare)
    counts = Counter(bare).values()
    entropy = -sum(each / len(bare) * math.log2(each / len(bare)) for each in counts)
    return entropy >= _LEAST_ENTROPY and turns >= _LEAST_TURNS


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a span line by line, without surrounding space."""
    for piece in re.finditer(r"(?:\\n|\\r|[\r\n])|(?P<line>(?:(?!\\n|\\r)[^\r\n])+)", text[start:end]):
        line = piece["line"]
        if line and line.strip():
            first = start + piece.start() + len(line) - len(line.lstrip())
            yield first, first + len(line.strip())


def _is_distinct(secret: str) -> bool:
    """Return whether a secret is redacted wherever it occurs. A plain word may be a word elsewhere."""
    return len(secret) >= _SHORTEST_REPEATED and re.fullmatch(r"[A-Za-z_]+", secret) is None


def _places(text: str, secrets: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield where distinct secrets occur. The time grows with the text, not with the number of secrets."""
    distinct = {secret for secret in secrets if _is_distinct(secret)}
    lengths = dict[str, set[int]]()
    for secret in distinct:
        lengths.setdefault(secret[:_SHORTEST_REPEATED], set()).add(len(secret))
    for at in range(len(text) if distinct else 0):
        for length in lengths.get(text[at : at + _SHORTEST_REPEATED], ()):
            if text[at : at + length] in distinct:
                yield at, at + length
