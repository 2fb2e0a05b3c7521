"""The head of a request or response: its raw bytes, and what they say to those who ask.

Header fields are parsed when first read: most heads pass through without anyone looking at them.
Whether a head is fit to frame a message is decided in `parsing`, not here.
"""

from __future__ import annotations

import re

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"

REQUEST_LINE = re.compile(rb"(" + TOKEN + rb"{1,32}) ([^\x00-\x20\x7f]+) HTTP/1\.([01])\r\n")
STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: [^\r\n]*)?\r\n")


class _Head:
    """What requests and responses share. Not to be changed after it is made."""

    __slots__ = ("_headers", "length", "minor", "raw")

    def __init__(self, raw: bytes, minor: int, length: int) -> None:
        self.raw = raw
        self.minor = minor
        self.length = length
        """Of the body it announces: bytes, or one of the marks in `body`."""
        self._headers: tuple[tuple[str, str], ...] | None = None

    @property
    def version(self) -> str:
        return f"HTTP/1.{self.minor}"

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Names as they were written, values without the space around them."""
        if self._headers is None:
            self._headers = _parse_fields(self.raw)
        return self._headers

    def header(self, name: str) -> str | None:
        """The value of a field whatever its case; several of one name are joined by commas."""
        name = name.lower()
        values = [value for key, value in self.headers if key.lower() == name]
        return ", ".join(values) if values else None

    @property
    def keep_alive(self) -> bool:
        """Whether the sender means to use the connection again."""
        tokens = {token.strip() for token in (self.header("connection") or "").lower().split(",")}
        return "close" not in tokens and (self.minor == 1 or "keep-alive" in tokens)


class RequestHead(_Head):
    """A request line with its header fields. `raw` ends with the empty line."""

    __slots__ = ("_target", "may_switch", "method")

    def __init__(
        self, raw: bytes, method: str, target: bytes, minor: int, length: int = -1, may_switch: bool = False
    ) -> None:
        super().__init__(raw, minor, length)
        self.method = method
        self._target = target
        self.may_switch = may_switch
        """The answer may turn the connection into something other than HTTP (CONNECT, Upgrade)."""

    def __repr__(self) -> str:
        return f"RequestHead({self.method} {self.target} {self.version})"

    @property
    def target(self) -> str:
        """As it was sent: origin form, absolute form, authority form or `*`."""
        return self._target.decode("latin-1")

    @property
    def path(self) -> str:
        """The path without its query, whichever form the target has."""
        target = self.target
        if not target.startswith("/"):
            _, mark, rest = target.partition("://")
            if not mark:
                return "" if self.method == "CONNECT" else target
            start = len(rest) if (found := re.search(r"[/?#]", rest)) is None else found.start()
            target = rest[start:]
        path = re.split(r"[?#]", target, maxsplit=1)[0]
        return path or "/"


class ResponseHead(_Head):
    """A status line with its header fields. `raw` ends with the empty line."""

    __slots__ = ("problem", "status")

    def __init__(
        self, raw: bytes, status: int, minor: int, length: int = -1, problem: str | None = None
    ) -> None:
        super().__init__(raw, minor, length)
        self.status = status
        self.problem = problem
        """Why the end of its body cannot be known safely."""

    def __repr__(self) -> str:
        return f"ResponseHead({self.version} {self.status})"

    @property
    def interim(self) -> bool:
        """Another head follows for the same request."""
        return self.status < 200 and self.status != 101


def _parse_fields(raw: bytes) -> tuple[tuple[str, str], ...]:
    fields: list[tuple[str, str]] = []
    for line in raw.decode("latin-1").split("\r\n")[1:-2]:
        if line[:1] in (" ", "\t"):
            if fields:
                name, value = fields[-1]
                fields[-1] = (name, f"{value} {line.strip()}".strip())
            continue
        name, colon, value = line.partition(":")
        if colon:
            fields.append((name, value.strip(" \t")))
    return tuple(fields)
