"""One of the two HTTP/2 connections of a link, as the `h2` library has it, with its windows.

Bytes that a peer sends are held until the other leg takes them. The peer gets window back for a stream as its
bytes are passed on, so a slow receiver slows its sender down. For the connection it gets window back at once,
so that one slow stream does not stop the others, until so much is held that it must.
"""

from __future__ import annotations

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import Event
from h2.exceptions import NoSuchStreamError, ProtocolError
from h2.settings import SettingCodes, Settings

from faultkit.proxy.http2.frame_scanner import goaway_bytes
from faultkit.proxy.http2.grpc import Field

STREAM_WINDOW = 1 << 20
"""Bytes that a peer may send on a stream ahead of the other leg."""
_CONNECTION_WINDOW = 2 << 20
_FIRST_WINDOW = 65535
"""The window of a connection before the first WINDOW_UPDATE (RFC 9113 §6.9.2)."""
_MOST_HELD = 4 << 20
"""Bytes of one peer that are held before its connection gets no more window."""
MOST_STREAMS = 1000
"""Streams of one client connection at a time."""
_MOST_HEADERS = 1 << 16
"""Bytes of one block of header fields: `h2` ends a connection that sends more."""

_ENDED = (ProtocolError, KeyError)
"""What `h2` raises for a stream that has ended: KeyError, once it has dropped the stream."""

Fields = list[Field]


def reason(problem: ProtocolError) -> str:
    """Return what a peer did wrong. `h2` gives a number alone for a frame of a stream that is not open."""
    if isinstance(problem, NoSuchStreamError):
        return f"a frame of stream {problem.stream_id}, which is not open"
    return str(problem) or type(problem).__name__


class Leg:
    """A connection. `passed`, `send_*` and `reset` are for one stream; errors of a stream that has ended
    meanwhile are returned, never raised."""

    __slots__ = ("_credit", "_extra", "_held", "_owed", "h2")

    def __init__(self, to_upstream: bool) -> None:
        config = H2Configuration(
            client_side=to_upstream,
            header_encoding=None,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
            normalize_inbound_headers=False,
        )
        self.h2 = H2Connection(config)
        values: dict[SettingCodes, int] = {
            SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
            SettingCodes.MAX_HEADER_LIST_SIZE: _MOST_HEADERS,
        }
        if to_upstream:
            values[SettingCodes.ENABLE_PUSH] = 0
        else:
            values[SettingCodes.MAX_CONCURRENT_STREAMS] = MOST_STREAMS
        self.h2.local_settings = Settings(client=to_upstream, initial_values=values)
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(_CONNECTION_WINDOW - _FIRST_WINDOW)
        self._credit: dict[int, int] = {}
        """Bytes that were passed on, by stream, and that its window has not got back."""
        self._held = 0
        self._owed = 0
        """Bytes that the connection's window has not got back."""
        self._extra: list[bytes] = []
        """Frames that `h2` does not write, in their order with its own."""

    def receive(self, payload: bytes) -> list[Event]:
        """Return the events of what has arrived. Raises ProtocolError."""
        return self.h2.receive_data(payload)

    def output(self) -> bytes:
        """Return what is to be sent to the peer."""
        last = self.h2.data_to_send()
        if not self._extra:
            return last
        parts, self._extra = [*self._extra, last], []
        return b"".join(parts)

    # --- streams ------------------------------------------------------------------------------

    def window(self, stream_id: int) -> int:
        """Return how many bytes may be sent on a stream in one frame; 0 if it has ended, or if SETTINGS have
        made its window negative (RFC 9113 §6.9.2)."""
        try:
            window = self.h2.local_flow_control_window(stream_id)
        except _ENDED:
            return 0
        return max(0, min(window, self.h2.max_outbound_frame_size))

    def send_fields(self, stream_id: int, fields: Fields, ends: bool) -> bool:
        """Send a block of header fields. False if the stream takes none."""
        try:
            if fields:
                self.h2.send_headers(stream_id, fields, end_stream=ends)
            else:
                self.h2.end_stream(stream_id)  # Trailers without a field.
        except _ENDED:
            return False
        return True

    def send_data(self, stream_id: int, payload: bytes, ends: bool = False) -> bool:
        """Send a part of a body that its window allows. False if the stream takes none."""
        try:
            self.h2.send_data(stream_id, payload, end_stream=ends)
        except _ENDED:
            return False
        return True

    def reset(self, stream_id: int, code: int) -> None:
        """Send RST_STREAM, unless the stream has ended."""
        try:
            self.h2.reset_stream(stream_id, code)
        except _ENDED:
            return

    def send_goaway(self, last_stream_id: int, code: int, debug: bytes) -> None:
        """Send GOAWAY. Streams go on: `h2` would refuse that, so the frame is written here."""
        self._extra += (self.h2.data_to_send(), goaway_bytes(last_stream_id, code, debug))

    # --- windows ------------------------------------------------------------------------------

    def received(self, size: int) -> None:
        """Count bytes that the peer has sent."""
        self._held += size
        self._owed += size

    def passed(self, stream_id: int, size: int) -> None:
        """Count bytes that are not held any more: the other leg has taken them, or they are dropped."""
        self._held -= size
        if not size:
            return
        credit = self._credit.get(stream_id, 0) + size
        if credit >= STREAM_WINDOW // 4:
            self._open_window(credit, stream_id)
            credit = 0
        self._credit[stream_id] = credit

    def forget(self, stream_id: int) -> None:
        """Forget a stream that has ended."""
        self._credit.pop(stream_id, None)

    def settle(self) -> None:
        """Give the connection its window back, unless too much is held."""
        if self._owed >= _CONNECTION_WINDOW // 4 and self._held < _MOST_HELD:
            self._open_window(self._owed, None)
            self._owed = 0

    def _open_window(self, size: int, stream_id: int | None) -> None:
        try:
            self.h2.increment_flow_control_window(size, stream_id)
        except _ENDED:
            return  # The peer has ended its side.

    def limit_streams(self, most: int) -> None:
        """Let the peer open at most so many streams at a time."""
        most = min(most, MOST_STREAMS)
        if most != self.h2.local_settings.max_concurrent_streams:
            self.h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: most})

    def allow_extended_connect(self) -> None:
        """Tell the peer that it may open tunnels to protocols such as WebSocket (RFC 8441 §3)."""
        if not self.h2.local_settings.enable_connect_protocol:
            self.h2.update_settings({SettingCodes.ENABLE_CONNECT_PROTOCOL: 1})
