"""Heads of HTTP/1.1 messages that need no parsing, because the same bytes were parsed before.

The messages of one connection mostly differ in their bodies and in Content-Length alone. This module knows
neither requests nor responses.
"""

from __future__ import annotations

import re
from typing import Any

from faultkit.base.http.http_exchange import Headers

_LENGTH = re.compile(rb"\r\n(content-length):[ \t]*(\d+)[ \t]*\r\n", re.IGNORECASE)
_END = b"\r\n\r\n"
_MOST_DIGITS = 9


class KnownHead:
    """A parsed head. Messages with the same bytes, but for their length, share its memo."""

    __slots__ = ("_after", "_before", "_digits", "headers", "lines", "memo")

    def __init__(
        self,
        before: bytes,
        after: bytes,
        digits: bytes,
        lines: Headers,
        headers: dict[str, str],
        memo: dict[object, Any],
    ) -> None:
        self._before, self._after, self._digits = before, after, digits
        """The head before and after its length, and the latest length."""
        self.lines, self.headers = lines, headers
        self.memo = memo
        """What the receiver of messages keeps for the next ones with this head."""

    def take(self, message: bytes) -> tuple[Headers, dict[str, str], bytes] | None:
        """Return lines, headers and body of a complete message with this head; None for any other bytes."""
        before, after = self._before, self._after
        if not message.startswith(before):
            return None
        begin = len(before)
        end = message.find(b"\r", begin, begin + _MOST_DIGITS + 1)
        if end < 0 or not message.startswith(after, end):
            return None
        digits, start = message[begin:end], end + len(after)
        if not digits.isdigit() or len(message) - start != int(digits):
            return None
        if digits != self._digits:
            size = digits.decode("ascii")
            # New objects: those of earlier messages may be in use.
            self.lines = [
                (name, size if name.lower() == "content-length" else value) for name, value in self.lines
            ]
            self.headers = {**self.headers, "content-length": size}
            self._digits = digits
        return self.lines, self.headers, message[start:]


def known_head(
    message: bytes, lines: Headers, headers: dict[str, str], memo: dict[object, Any]
) -> KnownHead | None:
    """Return the head of a message that was parsed and is complete with these bytes; None if its body is not
    framed by a length alone (RFC 9112 §6.3)."""
    end = message.find(_END) + len(_END)
    length = _LENGTH.search(message, 0, end - len(_END) + 2)
    if length is None or "transfer-encoding" in headers or end + int(length[2]) != len(message):
        return None
    begin, after = length.span(2)
    if message[after : after + 1] != b"\r":
        return None
    return KnownHead(message[:begin], message[after:end], length[2], lines, headers, memo)
