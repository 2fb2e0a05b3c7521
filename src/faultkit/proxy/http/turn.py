"""One request and its place in the order of responses."""

from __future__ import annotations

from faultkit.proxy.http.answer import Answer
from faultkit.proxy.http.heads import RequestHead


class Turn:
    """What is known of one request until its response has gone to the client."""

    # Most turns change none of these: defaults on the class make the common turn cheap.
    answer: Answer | None = None
    """What the client gets instead of the upstream's response."""
    sent = True
    """The request goes to the upstream; otherwise it is read and dropped."""
    whole = False
    """The request has been read to its end."""
    started = False
    """The client has got a part of the upstream's response."""
    due = False
    """`answer` may be written as soon as all earlier responses are finished."""
    ready_at = 0.0
    """`answer` is not written before."""
    closing = False
    """The client's connection ends after the response."""
    continues = False
    """The client waits for 100 (Continue) before it sends the body that we drop."""

    def __init__(self, head: RequestHead | None) -> None:
        self.head = head
        """None where the bytes were no request at all."""

    @property
    def connects(self) -> bool:
        return self.head is not None and self.head.method == "CONNECT"

    @property
    def keeps_alive(self) -> bool:
        return self.head is not None and self.head.keep_alive

    def answer_with(self, answer: Answer) -> None:
        """The client gets `answer`, once it is due."""
        self.answer = answer
        # An interim status never ends an exchange: nothing could follow it on this connection.
        self.closing = answer.status < 200 or not self.keeps_alive

    def drop_request(self) -> None:
        """The request does not go upstream, or no further."""
        head = self.head
        self.sent = False
        if not self.whole and head is not None and head.minor == 1:
            self.continues = (head.header("expect") or "").lower() == "100-continue"

    def make_due(self, at: float) -> None:
        self.due = True
        self.ready_at = max(self.ready_at, at)
