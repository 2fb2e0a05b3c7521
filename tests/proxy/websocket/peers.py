"""A client and a server of the `wsproto` library, joined by bytes through the layer, in virtual time.

The connection is open from the beginning: the handshake is the business of HTTP/1.1. What an application
would see on each side is kept as plain values.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from wsproto.connection import Connection, ConnectionType
from wsproto.events import (
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    TextMessage,
)
from wsproto.extensions import Extension, PerMessageDeflate
from wsproto.frame_protocol import CloseReason, FrameDecoder, FrameProtocol, Opcode, RsvBits
from wsproto.utilities import RemoteProtocolError

from faultkit.faults.events import Close, Data, Eof, Reset
from faultkit.faults.events import Event as StreamEvent
from faultkit.faults.websocket_fault import ControlKind, DelayMessage, MessageEffect
from faultkit.plan.match import Flow, MessageKind
from faultkit.proxy.http import Output, ToClient, ToUpstream
from faultkit.proxy.websocket import Acting, Judged, WebSocketExchange
from faultkit.proxy.websocket.compression import read_extensions


def cut_whole(payload: bytes) -> Iterator[bytes]:
    yield payload


def cut_each(payload: bytes) -> Iterator[bytes]:
    return (payload[at : at + 1] for at in range(len(payload)))


class _Deflate(PerMessageDeflate):
    """Compression that survives control frames between fragments: after one, the reader of `wsproto` takes
    the rest of a compressed message for an uncompressed one."""

    _before: bool | None = None

    def frame_inbound_header(
        self, proto: FrameDecoder | FrameProtocol, opcode: Opcode, rsv: RsvBits, payload_length: int
    ) -> CloseReason | RsvBits:
        self._before = self._inbound_compressed
        return super().frame_inbound_header(proto, opcode, rsv, payload_length)

    def frame_inbound_complete(
        self, proto: FrameDecoder | FrameProtocol, fin: bool
    ) -> bytes | CloseReason | None:
        before, is_control = self._before, not self._inbound_is_compressible
        content = super().frame_inbound_complete(proto, fin)
        if is_control:
            self._inbound_compressed = before
        return content


class Peer:
    """An application with its `wsproto` connection."""

    def __init__(self, role: ConnectionType, accepted: str | None) -> None:
        extensions: list[Extension] = []
        if accepted is not None:
            deflate = _Deflate()
            deflate.finalize(accepted)
            extensions.append(deflate)
        self.ws = Connection(role, extensions)
        self.seen: list[object] = []
        """Messages, and pings, pongs and closes as pairs of their name and content."""
        self.got = b""
        """All bytes that have come, and how they ended."""
        self.ended: type[StreamEvent] | None = None
        self.answers = True
        """Whether it answers Close, as it must."""
        self._parts: list[str | bytes] = []

    def receive(self, payload: bytes) -> bytes:
        """Take bytes, and return the answers to them."""
        self.got += payload
        answers = b""
        try:
            self.ws.receive_data(payload)
            for event in self.ws.events():
                answers += self._take(event)
        except RemoteProtocolError as problem:
            self.seen.append(("broken", str(problem)))
        return answers

    def _take(self, event: Event) -> bytes:
        match event:
            case TextMessage() | BytesMessage():
                self._parts.append(event.data if isinstance(event, TextMessage) else bytes(event.data))
                if event.message_finished:
                    first, *rest = self._parts
                    whole = first
                    for part in rest:
                        whole += part  # type: ignore[operator] # All are texts, or all are bytes.
                    self.seen.append(whole)
                    self._parts = []
            case Ping():
                self.seen.append(("ping", bytes(event.payload)))
            case Pong():
                self.seen.append(("pong", bytes(event.payload)))
            case CloseConnection():
                self.seen.append(("close", int(event.code), event.reason or ""))
                if self.answers and self.ws.state.name == "REMOTE_CLOSING":
                    return self.ws.send(event.response())
        return b""


@dataclass
class Rules:
    """What becomes of the n-th message of each way, and which control frames are dropped."""

    effects: dict[tuple[Flow, int], list[MessageEffect]] = field(default_factory=dict)
    swallowed: set[tuple[Flow, ControlKind]] = field(default_factory=set)
    noted: list[tuple[str, float]] = field(default_factory=list)
    judged: list[tuple[Flow, MessageKind]] = field(default_factory=list)

    def judge(self, flow: Flow, kind: MessageKind) -> Judged:
        number = sum(1 for each, _ in self.judged if each == flow)
        self.judged.append((flow, kind))
        effects = self.effects.get((flow, number), [])
        delays = {
            f"rule {place}": each.delay_s
            for place, each in enumerate(effects)
            if isinstance(each, DelayMessage)
        }
        others = [each for each in effects if not isinstance(each, DelayMessage)]
        return Judged(delays, tuple(Acting("rule", each, self._note) for each in others))

    def swallows(self, flow: Flow, kind: ControlKind) -> bool:
        return (flow, kind) in self.swallowed

    def _note(self, effect: str, value: float) -> None:
        self.noted.append((effect, value))


class Layered:
    """A client and a server with the layer between them."""

    def __init__(
        self,
        rules: Rules | None = None,
        accepted: str | None = None,
        cut: Callable[[bytes], Iterator[bytes]] = cut_whole,
    ) -> None:
        self.rules = rules or Rules()
        self.now = 0.0
        self.client = Peer(ConnectionType.CLIENT, accepted)
        self.server = Peer(ConnectionType.SERVER, accepted)
        self.layer = WebSocketExchange(self.rules, read_extensions(accepted))
        self.sent = {"client": b"", "server": b""}
        self.released: list[tuple[str, float]] = []
        """To whom something was delivered, and when."""
        self.troubles: list[str] = []
        self._cut = cut
        self._unsent: deque[tuple[Peer, bytes]] = deque()

    def client_sends(self, what: Event | bytes) -> None:
        self._send(self.client, what)

    def server_sends(self, what: Event | bytes) -> None:
        self._send(self.server, what)

    def _send(self, peer: Peer, what: Event | bytes) -> None:
        """Send, and then the answers that peers give to it: not in the middle of a frame."""
        self._unsent.append((peer, what if isinstance(what, bytes) else peer.ws.send(what)))
        if len(self._unsent) > 1:
            return
        while self._unsent:
            peer, raw = self._unsent[0]
            is_client = peer is self.client
            self.sent["client" if is_client else "server"] += raw
            take = self.layer.from_client if is_client else self.layer.from_upstream
            for part in self._cut(raw):
                self._deliver(take(Data(self.now, part)))
            self._unsent.popleft()

    def run(self, until: float) -> None:
        """Let the time pass."""
        while (at := self.layer.wake_at) <= until:
            self.now = max(self.now, at)
            self._deliver(self.layer.wake(self.now))
        self.now = until

    def deliver(self, outputs: list[Output]) -> None:
        self._deliver(outputs)

    def _deliver(self, outputs: list[Output]) -> None:
        self.troubles += self.layer.troubles
        self.layer.troubles.clear()
        for output in outputs:
            assert isinstance(output, ToClient | ToUpstream)
            peer, name = (self.client, "client") if isinstance(output, ToClient) else (self.server, "server")
            event = output.event
            self.released.append((name, event.at))
            if isinstance(event, Data):
                answers = peer.receive(event.payload)
                if answers:
                    self._send(peer, answers)
            elif isinstance(event, Eof | Close | Reset):
                peer.ended = type(event)
