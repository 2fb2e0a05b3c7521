"""HTTP/2 without I/O: bytes and times in, bytes and times out.

    frame_scanner    frames cut out of a stream of bytes: GOAWAY apart, floods refused, work in slices
    authority        the authority of requests, replaced in frames that pass as they are
    grpc             messages, status and deadline of gRPC calls
    leg              one of the two connections: the `h2` library, windows and credit
    items            what is sent on a stream, with its time
    stream           one request and its answer, from leg to leg
    stream_effects   what rules do to a stream
    stream_pump      what waits in streams, sent in order, in time and within windows
    answer_path      one answer on its way through the filters of answer faults
    answer_pump      the upstream's answers, through filters and effects
    exchange         one client connection and its upstream connection, stream by stream

The layer ends HTTP/2 on both sides and maps streams one to one, because the ids and the compressed headers of
one connection mean nothing on another. Frames and windows are the `h2` library's. Nothing here knows sockets,
asyncio or a clock, and TLS is outside: both sides are plain bytes.
"""

from faultkit.proxy.http2.answer_path import Filtered
from faultkit.proxy.http2.exchange import Http2Exchange, Judged
from faultkit.proxy.http2.stream import RequestFields

__all__ = ["Filtered", "Http2Exchange", "Judged", "RequestFields"]
