"""WebSocket without I/O: bytes and times in, bytes and times out (RFC 6455, RFC 7692).

    frame_scanner        where frames begin and end in a stream of bytes
    compression          what the peers have agreed on, and compressed messages made readable
    frame_writer         frames of our own: changed messages, copies, Close
    message_flow         the messages of one way: which pass, which are held, changed or dropped
    held_events          what waits in one way, released in order and in time
    websocket_exchange   both ways of one connection, and its close

Frames that no rule changes pass as the bytes that came. Frames of our own are written by the `wsproto`
library, which also masks them. Its readers are not used, because they keep no raw bytes and set no limit to
what a compressed message becomes. Nothing here knows sockets, asyncio, a clock or a rule's conditions.
"""

from faultkit.proxy.websocket.message_flow import Acting, Judged, MessageRules
from faultkit.proxy.websocket.websocket_exchange import WebSocketExchange

__all__ = ["Acting", "Judged", "MessageRules", "WebSocketExchange"]
