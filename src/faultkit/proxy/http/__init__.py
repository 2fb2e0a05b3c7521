"""HTTP/1.1 without I/O: bytes and times in, bytes and times out.

    heads      the head of a request or response, parsed as far as someone asks
    parsing    a head from its bytes
    body       which body a head announces
    chunks     how far a chunked body goes
    framing    where messages begin and end in a stream of bytes
    target     the origin a request is meant for, and heads rewritten for it
    answer     the responses that the proxy writes itself
    output     what an exchange asks of the relay
    turn       one request and its place in the order of responses
    order      whose turn it is, when legs end, what is held back
    exchange   one client connection: faults, reverse and forward proxying

Nothing here knows sockets, asyncio or a clock.
"""

from faultkit.proxy.http.exchange import HttpExchange
from faultkit.proxy.http.heads import RequestHead, ResponseHead
from faultkit.proxy.http.output import Dial, Hangup, Output, ToClient, ToUpstream
from faultkit.proxy.http.target import Origin, host_field, origin_of

__all__ = [
    "Dial",
    "Hangup",
    "HttpExchange",
    "Origin",
    "Output",
    "RequestHead",
    "ResponseHead",
    "ToClient",
    "ToUpstream",
    "host_field",
    "origin_of",
]
