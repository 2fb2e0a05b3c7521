"""Answers in a stream of bytes: where each ends, what its status is, and whether another may follow.

Bodies are counted, not kept. It knows no sockets.
"""

from __future__ import annotations

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from faultkit.load.failure import Failure
from faultkit.proxy.http.answer import PROXY_STATUS
from faultkit.proxy.http.body import ABSENT, OTHER_CODING
from faultkit.proxy.http.framing import MAX_HEAD_BYTES
from faultkit.proxy.http.parsing import read_response_head

NOT_HTTP = (HttpParserError, HttpParserUpgrade)
"""What `feed` raises where the bytes are no answer, or go on after it."""


_OF_PROXIES = (502, 504)
_TROUBLES = {
    b"dns_error": Failure.DNS,
    b"connection_refused": Failure.REFUSED,
    b"connection_timeout": Failure.TIMEOUT,
}
"""What our own proxy says when it could not reach the target: not an answer of the target."""


class Answer:
    """The answers of one connection, one after the other."""

    __slots__ = ("_complete", "_parser", "_start", "keep_alive", "status", "trouble")

    def __init__(self) -> None:
        self._parser: HttpResponseParser | None = None
        self._complete = True
        self._start = b""
        """The first bytes of an answer that does not come in one piece."""
        self.status = 0
        self.trouble = Failure.NONE
        """Why our own proxy, and not the target, wrote this answer."""
        self.keep_alive = False
        """Once it is complete: whether the server will take another request on this connection."""

    def feed(self, data: bytes) -> bool:
        """Whether the answer is complete. What is fed after that belongs to the next one."""
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
        """The stream has ended within an answer: whether that was the end of the answer, too."""
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
        """None will be needed any more; the two know each other, and would keep each other alive."""
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
        if status >= 200:  # Those below come before the answer.
            self.status = status
            self.keep_alive = self._parser.should_keep_alive()
            self._complete = True


def proxy_trouble(answer: bytes) -> Failure:
    """What our own proxy says of itself in this answer; NONE if somebody else wrote it."""
    head = answer.partition(b"\r\n\r\n")[0]
    _, found, error = head.partition(f"\r\n{PROXY_STATUS}".encode())
    return _TROUBLES.get(error.split(b"\r\n")[0], Failure.UNREACHABLE) if found else Failure.NONE


class HeadAnswer(Answer):
    """Answers to HEAD: complete with their head, whatever it says of a body."""

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
