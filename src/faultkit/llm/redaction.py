"""Takes secrets out of code before it leaves the machine, and puts them back into returned code. Pure.

Detection errs on the side of redaction: a word that is taken out by mistake is put back, so it costs little.
A placeholder never spans lines, so that a text keeps its lines and a diff its shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from faultkit.base.secrets import CODE_HARMLESS_ENDINGS, CODE_SECRET

_KINDS = ("KEY", "TOKEN", "PASSWORD", "LOGIN")
_SHORTEST_REPEATED = 8

_PREFIXES: tuple[tuple[str, str, str], ...] = (
    ("KEY", "sk", r"[-_][A-Za-z0-9_\-]{16,}"),
    ("KEY", "pk", r"[-_][A-Za-z0-9_\-]{16,}"),
    ("KEY", "rk", r"[-_][A-Za-z0-9_\-]{16,}"),
    ("KEY", "AKIA", r"[0-9A-Z]{16,}"),
    ("KEY", "ASIA", r"[0-9A-Z]{16,}"),
    ("KEY", "AIza", r"[A-Za-z0-9_\-]{30,}"),
    ("KEY", "AGE-SECRET-KEY-1", r"[A-Z0-9]{20,}"),
    ("KEY", "SG.", r"[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    ("TOKEN", "gh", r"[pousr]_[A-Za-z0-9]{20,}"),
    ("TOKEN", "github_pat_", r"[A-Za-z0-9_]{20,}"),
    ("TOKEN", "glpat-", r"[A-Za-z0-9_\-]{16,}"),
    ("TOKEN", "xox", r"[a-z]-[A-Za-z0-9\-]{10,}"),
    ("TOKEN", "xapp-", r"[A-Za-z0-9\-]{10,}"),
    ("TOKEN", "hf_", r"[A-Za-z0-9]{20,}"),
    ("TOKEN", "npm_", r"[A-Za-z0-9]{20,}"),
    ("TOKEN", "dop_v1_", r"[A-Za-z0-9]{20,}"),
    ("TOKEN", "shp", r"(?:at|ss)_[A-Za-z0-9]{20,}"),
    ("TOKEN", "pypi-", r"[A-Za-z0-9_\-]{20,}"),
    ("TOKEN", "ya29.", r"[A-Za-z0-9_\-]{20,}"),
    # A JSON web token: two parts of base64 that begin with `{"`, and a signature.
    ("TOKEN", "eyJ", r"[A-Za-z0-9_\-]{8,}+\.eyJ[A-Za-z0-9_\-]{8,}+(?:\.[A-Za-z0-9_\-]*)?"),
)
"""Kinds of keys that have a fixed prefix: the kind, the prefix, a pattern of the rest."""

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    # A search for a fixed prefix is fast, so the lookbehind for a word character comes after it.
    *(
        (kind, re.compile(rf"(?P<secret>{re.escape(start)}(?<!\w{re.escape(start)}){rest})"))
        for kind, start, rest in _PREFIXES
    ),
    ("TOKEN", re.compile(r"hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/]{20,})")),
    # A private key, complete or truncated.
    (
        "KEY",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,20}PRIVATE KEY(?: BLOCK)?-----"
            r"(?P<secret>(?s:.{0,20000}?)(?=-----END)|[A-Za-z0-9+/=\s\\\"',:\-]*)"
        ),
    ),
    # A user and a password in a URL, unless they are filled in later.
    ("LOGIN", re.compile(r"://(?P<secret>[^\s/?#@\"'`<>{}$%]++)@")),
    ("LOGIN", re.compile(r"://[^\s/?#@\"'`:<>]{0,100}+:(?P<secret>[^\s/?#@\"'`<>{}$]{3,}+)@")),
    ("TOKEN", re.compile(r"[Bb](?:earer|asic|EARER|ASIC) +(?P<secret>[A-Za-z0-9+/._~=\-]{16,})")),
)

_NAMED_SECRET = re.compile(
    # The end of a name that suggests a secret, unless it names a place or a kind (`token_url`).
    rf"(?i:{CODE_SECRET}[\w\-]{{0,40}}+{''.join(f'(?<!{word})' for word in CODE_HARMLESS_ENDINGS)})"
    # In a file of variables, a connection string or a query.
    r"(?:=(?P<raw>[^\s&;\"'`{}$<>()\[\],]{4,}+)"
    # Assigned, compared or given as a default. A type may stand between: `password: str = "…"`.
    r"|[\"'`]?\s?\]?\s{0,4}+(?::\s{0,4}[\w.\[\] |?]{1,40}?\s{0,4}=|:=|=>|[!=]?==?|:|(?<=[\"'`]),)\s{0,4}+"
    r"(?:[rbuRBU]{1,2}(?=[\"']))?"
    r"(?:\"(?P<double>(?:[^\"\\\n]|\\.){3,}+)\"|'(?P<single>(?:[^'\\\n]|\\.){3,}+)'|`(?P<back>[^`\n$]{3,}+)`))"
)
_INSIDE_TEXT = re.compile(r"[?&;\"'][\w.\-]*\Z")
_LINE_OF_ITS_OWN = re.compile(r"(?:^|\n)[ \t]*(?:export )?[\w.\-]*\Z")
_LONGEST_NAME = 80


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
        self._pattern = re.compile(rf"{marker}_[0-9]+_(?:{'|'.join(_KINDS)})")

    def hide(self, text: str) -> str:
        """Return the text with placeholders for secrets."""
        spans = _merge_spans([*self._known_secrets(text), *_find_secrets(text)])
        secrets = {text[start:end] for start, end, _ in spans}
        repeated = [
            (*place, "KEY") for secret in secrets if _is_distinct(secret) for place in _places(text, secret)
        ]
        parts: list[str] = []
        at = 0
        for start, end, kind in _merge_spans([*spans, *repeated]):
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

    def _known_secrets(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the spans of secrets that earlier texts had."""
        for secret in self._names:
            if _is_distinct(secret):
                yield from ((*place, "KEY") for place in _places(text, secret))

    def _placeholder(self, secret: str, kind: str) -> str:
        if self._pattern.fullmatch(secret):
            return secret
        if secret not in self._names:
            name = f"{self._marker}_{len(self._names) + 1}_{kind}"
            self._names[secret] = name
            self._secrets[name] = secret
        return self._names[secret]


def _find_secrets(text: str) -> Iterator[tuple[int, int, str]]:
    for kind, pattern in _SHAPES:
        for found in pattern.finditer(text):
            yield from ((start, end, kind) for start, end in _lines(text, *found.span("secret")))
    for found in _NAMED_SECRET.finditer(text):
        group = found.lastgroup or ""
        if group != "raw" or _is_raw_secret(text, found):
            yield from ((start, end, "PASSWORD") for start, end in _lines(text, *found.span(group)))


def _is_raw_secret(text: str, found: re.Match[str]) -> bool:
    """Return whether the value of an unquoted `name=value` is a secret: in `f(token=token)` it is a name."""
    before = text[max(0, found.start() - _LONGEST_NAME) : found.start()]
    if _INSIDE_TEXT.search(before):
        return True
    value, end = found["raw"], found.end()
    ends_line = end == len(text) or text[end] in "\r\n"
    return bool(ends_line and _LINE_OF_ITS_OWN.search(before) and re.search(r"\d", value) and len(value) >= 8)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a span line by line, without surrounding space."""
    for piece in re.finditer(r"(?:\\n|\\r|[\r\n])|(?P<line>(?:(?!\\n|\\r)[^\r\n])+)", text[start:end]):
        line = piece["line"]
        if line and line.strip():
            first = start + piece.start() + len(line) - len(line.lstrip())
            yield first, first + len(line.strip())


def _merge_spans(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return spans in order, with overlapping ones merged."""
    joined: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][1]:
            first, last, earlier = joined[-1]
            joined[-1] = (first, max(last, end), earlier)
        else:
            joined.append((start, end, kind))
    return joined


def _is_distinct(secret: str) -> bool:
    """Return whether a secret is redacted wherever it occurs. A plain word may be a word elsewhere."""
    return len(secret) >= _SHORTEST_REPEATED and re.fullmatch(r"[A-Za-z_]+", secret) is None


def _places(text: str, secret: str) -> Iterator[tuple[int, int]]:
    at = text.find(secret)
    while at >= 0:
        yield at, at + len(secret)
        at = text.find(secret, at + len(secret))
