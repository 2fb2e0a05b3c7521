"""Which body a head announces, read so strictly that no other reader can see it differently.

Works on the head in lower case. A head that two readers might frame in two ways is refused with a
ValueError that says why: this is what keeps a request from being smuggled past a fault.
"""

from __future__ import annotations

import re

from faultkit.proxy.http.heads import TOKEN

ABSENT = -1
"""No framing field: no body in a request, a body up to the end of the stream in a response."""
CHUNKED = -2
OTHER_CODING = -3
"""A transfer coding whose last step is not chunked: ends with the stream."""

_MAX_DIGITS = 18
_NAME = re.compile(TOKEN + rb"+")
_CODINGS = re.compile(rb"(?:" + TOKEN + rb"+[ \t]*,[ \t]*)*" + TOKEN + rb"+")


def declared_body(head: bytes, minor: int) -> int:
    """The length in bytes, or one of the marks above."""
    lengths = _values(head, b"content-length") if b"content-length" in head else []
    codings = _values(head, b"transfer-encoding") if b"transfer-encoding" in head else []
    if codings:
        if lengths:
            raise ValueError("Content-Length and Transfer-Encoding in one head")
        if minor == 0:
            raise ValueError("Transfer-Encoding in HTTP/1.0")
        return _coding(codings)
    if not lengths:
        return ABSENT
    first = lengths[0]
    if not first.isdigit() or len(first) > _MAX_DIGITS:
        raise ValueError(f"Content-Length: expected a number, got {_shown(first)}")
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
    if steps.index(b"chunked") != len(steps) - 1:
        raise ValueError("Transfer-Encoding: chunked is not the last step")
    return CHUNKED


def _values(head: bytes, name: bytes) -> list[bytes]:
    """The values of a framing field. Refuses every line that some reader may take for that field."""
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
