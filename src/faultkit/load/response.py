"""Responses in a stream of bytes: where each ends, its status, and whether another request may follow; and
the ways in which a request fails.

Bodies are counted, not kept. It knows no sockets. The parser is httptools, with the end of a body checked by
the proxy's own framing rules.
"""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import Literal, TypeAlias, get_args

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from faultkit.proxy.http.framing import MAX_HEAD_BYTES
from faultkit.proxy.http.heads import ABSENT, OTHER_CODING, read_response_head
from faultkit.proxy.http.own_answer import PROXY_STATUS


class Failure(IntEnum):
    """How a request failed: a small number, so that a million fit in an array. `label` is its name in
    reports."""

    NONE = 0
    DNS = 1
    """The name could not be resolved."""
    REFUSED = 2
    UNREACHABLE = 3
    RESET = 4
    CLOSED = 5
    """The connection was closed (FIN) before the response was complete."""
    TIMEOUT = 6
    TLS = 7
    PROTOCOL = 8
    """The response is not HTTP, or the proxy refused the tunnel."""
    STATUS = 9
    """A response with a status from 500 to 599."""
    SHORTAGE = 10
    """Our own proxy has no descriptor left to reach the target. The target did not fail, so the engine counts
    the request as dropped."""
    CLIENT_STATUS = 11
    """A response with a status from 400 to 499 where a stream, a reply of MCP or the answer of a model was
    expected."""
    EARLY_END = 12
    """The event stream, or the answer of a model, ended in good order before it was complete."""
    NO_STREAM = 13
    """The response is no event stream."""
    EXITED = 14
    """The process of an MCP server ended before its reply, or could not be started again."""
    INVALID_REPLY = 15
    """The reply is no JSON-RPC message, or none for this call."""
    RPC_ERROR = 16
    """The reply is a JSON-RPC error."""
    TOOL_ERROR = 17
    """The result of the tool says `isError`."""
    MODEL_ERROR = 18
    """The answer of a model is, or ends with, an error after a status of success."""
    MALFORMED_EVENT = 19
    """An event of a model's answer, or the whole answer, is no JSON."""

    @property
    def label(self) -> str:
        return _LABELS.get(self, self.name.lower())

    @property
    def level(self) -> Level:
        """Where a call of MCP failed."""
        return _LEVELS.get(self, "transport")


Level: TypeAlias = Literal["transport", "protocol", "tool"]
LEVELS: tuple[Level, ...] = get_args(Level)
_LABELS = {Failure.STATUS: "status_5xx", Failure.CLIENT_STATUS: "status_4xx"}
_LEVELS: dict[Failure, Level] = {
    Failure.INVALID_REPLY: "protocol",
    Failure.RPC_ERROR: "protocol",
    Failure.TOOL_ERROR: "tool",
}


FAILURES = tuple(failure for failure in Failure if failure not in (Failure.NONE, Failure.SHORTAGE))
"""The failures that samples may have."""

_BY_ERROR_CODE = {
    errno.ECONNREFUSED: Failure.REFUSED,
    errno.ETIMEDOUT: Failure.TIMEOUT,
    errno.ECONNRESET: Failure.RESET,
    errno.ECONNABORTED: Failure.RESET,
    errno.EPIPE: Failure.RESET,
}


def failure_of(code: int) -> Failure:
    """Return the failure of an error code; UNREACHABLE for others (no route, host down, not permitted)."""
    return _BY_ERROR_CODE.get(code, Failure.UNREACHABLE)


NOT_HTTP = (HttpParserError, HttpParserUpgrade)
"""What `feed` raises if the bytes are no response, or continue after its end."""


_OF_PROXIES = (502, 504)
_TROUBLES = {
    b"dns_error": Failure.DNS,
    b"connection_refused": Failure.REFUSED,
    b"connection_timeout": Failure.TIMEOUT,
    b"proxy_internal_error": Failure.SHORTAGE,
}
"""Failures by the error types of our proxy (RFC 9209) when it could not reach the target."""


class ResponseReader:
    """Reads the responses of one connection, one after the other."""

    __slots__ = ("_complete", "_parser", "_start", "keep_alive", "status", "trouble")

    def __init__(self) -> None:
        self._parser: HttpResponseParser | None = None
        self._complete = True
        self._start = b""
        """The first bytes of a response that does not come in one piece."""
        self.status = 0
        self.trouble = Failure.NONE
        """Why our own proxy, and not the target, wrote this response."""
        self.keep_alive = False
        """Once complete: whether the server takes another request on this connection."""

    def feed(self, data: bytes) -> bool:
        """Take bytes; return whether the response is complete. Later bytes belong to the next one."""
        if self._complete:
            self._begin()
        assert self._parser is not None
        self._parser.feed_data(data)
        if self._complete:
            if self.status in _OF_PROXIES:
                self.trouble = proxy_trouble(self._start + data)
            return True
        if len(self._start) < MAX_HEAD_BYTES:
            self._start += data[: MAX_HEAD_BYTES - len(self._start)]
        return False

    def end(self) -> bool:
        """Return whether the end of the stream, within a response, is the response's end (RFC 9112 §6.3,
        rule 8)."""
        start = self._start
        try:
            while (end := start.find(b"\r\n\r\n") + 4) >= 4:
                head = read_response_head(start[:end])
                if not head.interim:
                    self.status = head.status
                    return head.problem is None and head.length in (ABSENT, OTHER_CODING)
                start = start[end:]
        except ValueError:
            pass
        return False

    def drop_parser(self) -> None:
        """Drop the parser: it refers to this object, and the cycle would keep both alive."""
        self._parser = None

    def _begin(self) -> None:
        self._complete = False
        self._start = b""
        self.trouble = Failure.NONE
        if self._parser is None:
            self._parser = HttpResponseParser(self)

    # --- called by the parser -----------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._complete:
            raise ValueError("bytes after the answer")

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        if not 100 <= self._parser.get_status_code() < 600:
            raise ValueError("a status that HTTP does not have")

    def on_message_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status >= 200:  # Interim responses precede the final one (RFC 9110 §15.2).
            self.status = status
            self.keep_alive = self._parser.should_keep_alive()
            self._complete = True


def proxy_trouble(answer: bytes) -> Failure:
    """Return the trouble that Faultkit's own proxy reports in this response; NONE if another server wrote
    it."""
    head = answer.partition(b"\r\n\r\n")[0]
    _, found, error = head.partition(f"\r\n{PROXY_STATUS}".encode())
    return _TROUBLES.get(error.split(b"\r\n")[0], Failure.UNREACHABLE) if found else Failure.NONE


class HeadResponseReader(ResponseReader):
    """Reads responses to HEAD: complete with their head, whatever body it announces (RFC 9112 §6.3, rule
    1)."""

    __slots__ = ()

    def end(self) -> bool:
        return False

    def _begin(self) -> None:
        self._parser = None  # The last one still waits for a body.
        super()._begin()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.on_message_complete()

    def on_body(self, body: bytes) -> None:
        raise ValueError("a body after an answer to HEAD")
