"""HTTP/1.1 without I/O: bytes and times in, bytes and times out.

    heads      the head of a request or response, parsed as far as someone asks
    body       which body a head announces
    framing    where messages begin and end in a stream of bytes
    target     the origin a request is meant for, and heads rewritten for it
    answer     the responses that the proxy writes itself
    output     what an exchange asks of the relay
    exchange   one client connection: faults, order of responses, reverse and forward proxying

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
