"""A client of HTTP/2 that sends any bytes to the layer, and the frames that it gets back."""

from __future__ import annotations

from collections.abc import Iterator

from hpack import Encoder

from faultkit.faults.events import Close, Data
from faultkit.proxy.http import ToClient
from faultkit.proxy.http2 import Http2Exchange, Judged
from faultkit.proxy.http2.frame_scanner import PREFACE
from tests.proxy.http2.peers import get

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
FIELDS = Encoder().encode(get())


def frame(kind: int, stream_id: int, payload: bytes = b"", flags: int = 0) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream_id.to_bytes(4, "big") + payload


class RawClient:
    """A client that sends any bytes, and what it got."""

    def __init__(self, start: bytes = PREFACE + frame(SETTINGS, 0)) -> None:
        self.layer = Http2Exchange(lambda request: Judged())
        self.got = b""
        self.closed = False
        self.layer.start(0.0)
        self.send(start)
        if not self.closed:
            self.got = b""

    def send(self, payload: bytes) -> None:
        outputs = self.layer.from_client(Data(0.0, payload))
        while not self.layer.wants_input:
            outputs += self.layer.wake(0.0)
        for output in outputs:
            if isinstance(output, ToClient):
                if isinstance(output.event, Data):
                    self.got += output.event.payload
                self.closed |= isinstance(output.event, Close)

    def frames(self) -> Iterator[tuple[int, int, int, bytes]]:
        """Yield kind, flags, stream and payload of each frame that came."""
        place = 0
        while place < len(self.got):
            size, kind, flags = (
                self.got[place + 2] + (self.got[place + 1] << 8),
                *self.got[place + 3 : place + 5],
            )
            stream_id = int.from_bytes(self.got[place + 5 : place + 9], "big")
            yield kind, flags, stream_id, self.got[place + 9 : place + 9 + size]
            place += 9 + size

    @property
    def goaway_code(self) -> int | None:
        """The error code of the GOAWAY frame that came last."""
        codes = [
            int.from_bytes(payload[4:8], "big") for kind, _, _, payload in self.frames() if kind == GOAWAY
        ]
        return codes[-1] if codes else None
