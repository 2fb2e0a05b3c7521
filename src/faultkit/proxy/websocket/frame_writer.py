"""Frames of our own: changed messages, copies, and Close. Those to the upstream are masked, as a client's."""

from __future__ import annotations

from codecs import getincrementaldecoder

from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import FrameProtocol

from faultkit.proxy.websocket.compression import Deflate

_LEAST_BITS = 9
"""The smallest window that zlib compresses with; where less is agreed on, messages are sent uncompressed."""


def masked(payload: bytes, mask: bytes, begin: int = 0) -> bytes:
    """Return a payload with its mask put on or taken off; `begin` is the place of its first byte."""
    if not mask or not payload:
        return payload
    turned = mask[begin % 4 :] + mask[: begin % 4]
    size = len(payload)
    repeated = (turned * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")


class FrameWriter:
    """Writes the frames of one way."""

    __slots__ = ("_decoder", "_deflating", "_plain", "_sender")

    def __init__(self, *, is_client: bool, deflate: Deflate | None) -> None:
        self._plain = FrameProtocol(is_client, [])
        self._deflating: FrameProtocol | None = None
        if deflate is not None and deflate.window_bits >= _LEAST_BITS:
            side = "client" if is_client else "server"
            agreed = f"permessage-deflate; {side}_max_window_bits={deflate.window_bits}"
            if not deflate.takeover:
                agreed += f"; {side}_no_context_takeover"
            extension = PerMessageDeflate()
            extension.finalize(agreed)
            self._deflating = FrameProtocol(is_client, [extension])
        self._sender: FrameProtocol | None = None
        """What writes the message at hand."""
        self._decoder = getincrementaldecoder("utf-8")()

    def write(self, content: bytes, *, is_text: bool, compressed: bool, ends: bool = True) -> bytes:
        """Return the next frame of a message, or the only one. Raises UnicodeDecodeError for text that is no
        UTF-8."""
        if self._sender is None:
            # An empty message is not compressed, because zlib then has nothing to flush, and no bytes at all
            # would not be a compressed message (RFC 7692 §7.2.3.6).
            deflates = compressed and (content or not ends)
            self._sender = (self._deflating if deflates else None) or self._plain
            self._decoder.reset()
        sender = self._sender
        payload = self._decoder.decode(content, ends) if is_text else content
        if ends:
            self._sender = None
        return bytes(sender.send_data(payload, ends))

    def close(self, code: int, reason: str) -> bytes:
        """Return a Close frame; 1005 stands for no code."""
        return bytes(self._plain.close(None if code == 1005 else code, reason or None))
