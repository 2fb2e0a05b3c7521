"""A client and a server of the `h2` library, joined by bytes: directly, or through the layer.

What an application would see on each side is kept as plain values, so that two ways can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.exceptions import ProtocolError

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.proxy.http import Output, ToClient, ToUpstream
from faultkit.proxy.http2 import Filtered, Http2Exchange, Judged, RequestFields

Field = tuple[bytes, bytes]


def pass_all(request: RequestFields) -> Judged:
    return Judged()


@dataclass
class Seen:
    """What came on one stream."""

    heads: list[list[Field]] = field(default_factory=list)
    """Blocks of header fields: interim answers, the request or answer, trailers."""
    body: bytes = b""
    ended: bool = False
    reset: int | None = None


class Peer:
    """An application with its `h2` connection."""

    def __init__(self, is_client: bool) -> None:
        self.h2 = H2Connection(H2Configuration(client_side=is_client, header_encoding=None))
        self.h2.initiate_connection()
        self.seen: dict[int, Seen] = {}
        self.goaway: tuple[int, int, bytes] | None = None
        self.reads = True
        """Whether the application reads bodies, and so extends the windows."""
        self.on_stream: Callable[[int], None] | None = None
        """Called when a stream has come to its end."""
        self.ended: list[type[Event]] = []
        """How the bytes to this peer have ended."""
        self._waiting: dict[int, list[tuple[bytes, bool]]] = {}

    def receive(self, payload: bytes) -> None:
        for event in self.h2.receive_data(payload):
            stream_id = getattr(event, "stream_id", None)
            seen = self.seen.setdefault(stream_id, Seen()) if stream_id else Seen()
            match event:
                case (
                    events.RequestReceived()
                    | events.ResponseReceived()
                    | events.InformationalResponseReceived()
                    | events.TrailersReceived()
                ):
                    seen.heads.append([(bytes(name), bytes(value)) for name, value in event.headers])
                case events.DataReceived():
                    seen.body += event.data
                    if self.reads and event.flow_controlled_length:
                        self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case events.StreamEnded():
                    seen.ended = True
                    if self.on_stream is not None:
                        self.on_stream(event.stream_id)
                case events.StreamReset():
                    seen.reset = int(event.error_code)
                case events.ConnectionTerminated():
                    self.goaway = (
                        event.last_stream_id or 0,
                        int(event.error_code or 0),
                        event.additional_data or b"",
                    )
                case _:
                    pass
        self._send_waiting()

    def send_body(self, stream_id: int, body: bytes, ends: bool = True) -> None:
        """Send a body as the windows allow."""
        self._waiting.setdefault(stream_id, []).append((body, ends))
        self._send_waiting()

    def _send_waiting(self) -> None:
        for stream_id, parts in self._waiting.items():
            while parts:
                body, ends = parts[0]
                try:
                    room = min(self.h2.local_flow_control_window(stream_id), self.h2.max_outbound_frame_size)
                    if body and not room:
                        break
                    part, rest = body[:room], body[room:]
                    self.h2.send_data(stream_id, part, end_stream=ends and not rest)
                except ProtocolError:
                    parts.clear()
                    break
                if rest:
                    parts[0] = (rest, ends)
                else:
                    parts.pop(0)


def cut_whole(payload: bytes) -> Iterator[bytes]:
    yield payload


class Joined:
    """A client and a server with nothing between them."""

    def __init__(self, cut: Callable[[bytes], Iterator[bytes]] = cut_whole) -> None:
        self.client, self.server = Peer(True), Peer(False)
        self._cut = cut

    def run(self) -> None:
        """Carry bytes until none are left."""
        while self._carry():
            pass

    def _carry(self) -> bool:
        to_server, to_client = self.client.h2.data_to_send(), self.server.h2.data_to_send()
        for part in self._cut(to_server) if to_server else ():
            self.server.receive(part)
        for part in self._cut(to_client) if to_client else ():
            self.client.receive(part)
        return bool(to_server or to_client)


class Layered(Joined):
    """A client and a server with the layer between them, in virtual time."""

    def __init__(
        self,
        judge: Callable[[RequestFields], Judged] = pass_all,
        cut: Callable[[bytes], Iterator[bytes]] = cut_whole,
        host: str | None = None,
        own_port: int | None = None,
        judge_answer: Callable[[RequestFields, int, int, bool], Filtered | None] | None = None,
    ) -> None:
        super().__init__(cut)
        self.now = 0.0
        self.layer = Http2Exchange(judge, host, own_port, judge_answer)
        self._deliver(self.layer.start(self.now))

    def run(self, until: float | None = None) -> None:
        """Carry bytes until none are left, and nothing is due before `until`."""
        while True:
            while self._carry():
                pass
            at = self.layer.wake_at
            if at > (self.now if until is None else until):
                break
            self.now = max(self.now, at)
            self._deliver(self.layer.wake(self.now))
        if until is not None:
            self.now = max(self.now, until)

    def _carry(self) -> bool:
        to_server, to_client = self.client.h2.data_to_send(), self.server.h2.data_to_send()
        for part in self._cut(to_server) if to_server else ():
            self.feed_client(part)
        for part in self._cut(to_client) if to_client else ():
            self._deliver(self.layer.from_upstream(Data(self.now, part)))
        return bool(to_server or to_client)

    def feed_client(self, payload: bytes) -> None:
        """Feed bytes to the layer as the client's."""
        self._deliver(self.layer.from_client(Data(self.now, payload)))

    def end(self, event: Event, of_client: bool) -> None:
        """End the bytes of the client or of the server."""
        self._deliver(self.layer.from_client(event) if of_client else self.layer.from_upstream(event))

    def end_rules(self, acting: set[object]) -> None:
        self._deliver(self.layer.end_rules(acting, self.now))

    def _deliver(self, outputs: list[Output]) -> None:
        for output in outputs:
            assert isinstance(output, (ToClient, ToUpstream))
            peer = self.client if isinstance(output, ToClient) else self.server
            event = output.event
            assert event.at <= self.now, "what waits is to wait inside"
            if isinstance(event, Data):
                for part in self._cut(event.payload):
                    peer.receive(part)
            else:
                assert isinstance(event, (Eof, Close, Reset))
                peer.ended.append(type(event))


def get(path: str = "/", **fields: str) -> list[Field]:
    """Return the header fields of a request."""
    more = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
    return [
        (b":method", b"GET"),
        (b":scheme", b"http"),
        (b":authority", b"origin.example"),
        (b":path", path.encode()),
        *more,
    ]


def call(path: str = "/shop.Orders/Get", **fields: str) -> list[Field]:
    """Return the header fields of a gRPC call."""
    return [
        (b":method", b"POST"),
        *get(path)[1:],
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    ] + [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]


def message(text: bytes) -> bytes:
    """Return a gRPC message."""
    return b"\0" + len(text).to_bytes(4, "big") + text


OK: list[Field] = [(b":status", b"200")]
