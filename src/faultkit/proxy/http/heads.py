"""The head of a request or response: its raw bytes, its fields, and the body that it announces.

Header fields are parsed when first read: most heads pass through without that. A head that two readers might
frame in two ways is refused with a ValueError, because a request could otherwise be smuggled past a fault
(RFC 9112 §11.2).

Own code instead of h11, because bytes must pass unchanged, and h11 normalises what it parses.
"""

from __future__ import annotations

import re
from functools import lru_cache

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"

HTTP_2 = "HTTP/2"
HTTP_2_PREFACE = b"PRI * HTTP/2.0\r\n"
"""The beginning of every HTTP/2 connection (RFC 9113 §3.4)."""
TLS = "TLS, where clients must speak clear text"

REQUEST_LINE = re.compile(rb"(" + TOKEN + rb"{1,32}) ([^\x00-\x20\x7f]+) HTTP/1\.([01])\r\n")
STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: [^\r\n]*)?\r\n")


class _Head:
    """What requests and responses share. Immutable, because parsed heads are cached and shared."""

    __slots__ = ("_headers", "length", "minor", "raw")

    def __init__(self, raw: bytes, minor: int, length: int) -> None:
        self.raw = raw
        self.minor = minor
        self.length = length
        """Length of the announced body in bytes, or ABSENT, CHUNKED or OTHER_CODING."""
        self._headers: tuple[tuple[str, str], ...] | None = None

    @property
    def version(self) -> str:
        return f"HTTP/1.{self.minor}"

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Names as they were written, values without the white space around them."""
        if self._headers is None:
            self._headers = _parse_fields(self.raw)
        return self._headers

    def header(self, name: str) -> str | None:
        """Return the value of a field, whatever its case; several of one name are joined by commas
        (RFC 9110 §5.3)."""
        name = name.lower()
        values = [value for key, value in self.headers if key.lower() == name]
        return ", ".join(values) if values else None

    @property
    def keep_alive(self) -> bool:
        """Whether the sender keeps the connection for another message (RFC 9112 §9.3)."""
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
        """The response may turn the connection into something other than HTTP (CONNECT, Upgrade)."""

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
        """Why the end of the body cannot be determined safely; None if it can."""

    def __repr__(self) -> str:
        return f"ResponseHead({self.version} {self.status})"

    @property
    def interim(self) -> bool:
        """Whether another head follows for the same request (1xx, RFC 9110 §15.2)."""
        return self.status < 200 and self.status != 101


def _parse_fields(raw: bytes) -> tuple[tuple[str, str], ...]:
    fields: list[tuple[str, str]] = []
    for line in raw.decode("latin-1").split("\r\n")[1:-2]:
        if line[:1] in (" ", "\t"):  # obs-fold, RFC 9112 §5.2: a reader may replace it by a space.
            if fields:
                name, value = fields[-1]
                fields[-1] = (name, f"{value} {line.strip()}".strip())
            continue
        name, colon, value = line.partition(":")
        if colon:
            fields.append((name, value.strip(" \t")))
    return tuple(fields)


# --- the announced body: RFC 9112 §6 --------------------------------------------------------

ABSENT = -1
"""No framing field: no body in a request, a body up to the end of the stream in a response (§6.3, rules 7 and
8)."""
CHUNKED = -2
"""`Transfer-Encoding` whose last coding is chunked: the chunks determine the end (§6.3, rule 4)."""
OTHER_CODING = -3
"""A transfer coding whose last step is not chunked: the body of a response ends with the stream (§6.3, rule
4)."""

_MAX_DIGITS = 18
_NAME = re.compile(TOKEN + rb"+")
_CODINGS = re.compile(rb"(?:" + TOKEN + rb"+[ \t]*,[ \t]*)*" + TOKEN + rb"+")


def declared_body(head: bytes, minor: int) -> int:
    """Return the length in bytes, or one of the marks above. `head` is in lower case; see RFC 9112 §6.3."""
    lengths = _values(head, b"content-length") if b"content-length" in head else []
    codings = _values(head, b"transfer-encoding") if b"transfer-encoding" in head else []
    if codings:
        # §6.3, rule 3 lets Transfer-Encoding override Content-Length, but calls it a likely attack: refused
        # here.
        if lengths:
            raise ValueError("Content-Length and Transfer-Encoding in one head")
        # §6.1: HTTP/1.0 has no transfer codings, and the framing of such a message is to be treated as
        # faulty.
        if minor == 0:
            raise ValueError("Transfer-Encoding in HTTP/1.0")
        return _coding(codings)
    if not lengths:
        return ABSENT
    first = lengths[0]
    if not first.isdigit() or len(first) > _MAX_DIGITS:
        raise ValueError(f"Content-Length: expected a number, got {_shown(first)}")
    # §6.3, rule 5: different lengths are an unrecoverable error; equal ones may be taken as one.
    if len(lengths) > 1 and any(other != first for other in lengths):
        raise ValueError("conflicting Content-Length fields")
    return int(first)


def _coding(values: list[bytes]) -> int:
    value = values[0]
    if len(values) > 1 or not _CODINGS.fullmatch(value):
        raise ValueError(f"Transfer-Encoding: expected one plain list, got {_shown(b' | '.join(values))}")
    steps = [step.strip(b" \t") for step in value.split(b",")]
    if b"chunked" not in steps:
        return OTHER_CODING
    # §6.1: chunked is applied once and last; otherwise the end of the body is unknown.
    if steps.index(b"chunked") != len(steps) - 1:
        raise ValueError("Transfer-Encoding: chunked is not the last step")
    return CHUNKED


def _values(head: bytes, name: bytes) -> list[bytes]:
    """Return the values of a framing field. Refuses every line that some reader may take for that field:
    folded (RFC 9112 §5.2), or with white space before the colon (§5.1)."""
    values = []
    at = head.find(b"\r\n")
    while (at := head.find(name, at)) >= 0:
        line_start = head.rfind(b"\r\n", 0, at) + 2
        line_end = head.find(b"\r\n", at)
        colon = head.find(b":", line_start, line_end)
        if line_start == at and colon == at + len(name):
            if head[line_end + 2] in b" \t":
                raise ValueError(f"{name.decode()} is folded over two lines")
            values.append(head[colon + 1 : line_end].strip(b" \t"))
        elif colon < 0 or (colon > at and not _NAME.fullmatch(head, line_start, colon)):
            raise ValueError(f"malformed {name.decode()} field {_shown(head[line_start:line_end])}")
        at = line_end
    return values


def _shown(value: bytes) -> str:
    return repr(value[:40].decode("latin-1"))


# --- parsing --------------------------------------------------------------------------------

_CACHED_HEADS = 512
"""Clients that keep a connection send much the same head again and again, so small heads are parsed once."""
_CACHED_BYTES = 2048
"""Longer heads are parsed each time: they are rare, and would fill the memory."""


def read_request_head(raw: bytes) -> RequestHead:
    """Parse a request head. Raises ValueError if the message cannot be framed safely."""
    return _request_head(raw) if len(raw) <= _CACHED_BYTES else _request_head.__wrapped__(raw)


def read_response_head(raw: bytes) -> ResponseHead:
    """Parse a response head. Trouble with the body is left in `problem`, because some responses have no
    body."""
    return _response_head(raw) if len(raw) <= _CACHED_BYTES else _response_head.__wrapped__(raw)


@lru_cache(_CACHED_HEADS)
def _request_head(raw: bytes) -> RequestHead:
    _check_lines(raw)
    line = REQUEST_LINE.match(raw)
    if line is None:
        raise ValueError(HTTP_2 if raw.startswith(HTTP_2_PREFACE) else "not an HTTP/1 request line")
    lower = raw.lower()
    # RFC 9112 §5.2: a server must reject obs-fold in a request, or replace it; the bytes here must not
    # change.
    if b"\r\n " in lower or b"\r\n\t" in lower:
        raise ValueError("folded header line in a request")
    method, minor = line[1].decode("ascii"), int(line[3])
    length = declared_body(lower, minor)
    # RFC 9112 §6.3, rule 4: in a request, a last coding other than chunked leaves the length unknown.
    if length < 0 and length not in (ABSENT, CHUNKED):
        raise ValueError("a request whose body has no end")
    # RFC 9110 §9.3.6: content in a CONNECT request has no defined meaning.
    connect = method == "CONNECT"
    if connect and length != ABSENT:
        raise ValueError("CONNECT with a body")
    return RequestHead(raw, method, line[2], minor, length, connect or b"\r\nupgrade:" in lower)


@lru_cache(_CACHED_HEADS)
def _response_head(raw: bytes) -> ResponseHead:
    _check_lines(raw)
    line = STATUS_LINE.match(raw)
    if line is None:
        raise ValueError("not an HTTP/1 status line")
    minor = int(line[1])
    try:
        return ResponseHead(raw, int(line[2]), minor, declared_body(raw.lower(), minor))
    except ValueError as problem:
        return ResponseHead(raw, int(line[2]), minor, ABSENT, str(problem))


def _check_lines(raw: bytes) -> None:
    # RFC 9112 §2.2: a recipient may take a bare LF for a line end, and must not take a bare CR for one. Two
    # readers could thus see different lines, so both are refused.
    lines = raw.count(b"\r\n")
    if raw.count(b"\n") != lines or raw.count(b"\r") != lines:
        raise ValueError("bare CR or LF in a head")
