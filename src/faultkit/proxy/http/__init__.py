"""HTTP/1.1 without I/O: bytes and times in, bytes and times out.

    heads            the head of a request or response, and the body it announces (RFC 9112 §6)
    framing          where messages begin and end in a stream of bytes (RFC 9112 §2, §7)
    request_target   the origin a request is meant for, and heads rewritten for it (RFC 9112 §3.2)
    own_answer       responses that the proxy writes itself
    response_order   which request is answered next, when legs end, what is held back
    answer_rewrite   one answer of the upstream on its way through the filters of faults
    exchange         one client connection: faults, reverse and forward proxying
    whole_messages   the short way through it, for messages that come whole and pass as they are

Own code instead of h11, because bytes must pass unchanged, and h11 normalises what it parses.
Nothing here knows sockets, asyncio or a clock.
"""

from faultkit.proxy.http.answer_rewrite import Answered
from faultkit.proxy.http.exchange import HttpExchange, Mode
from faultkit.proxy.http.heads import HTTP_2, HTTP_2_PREFACE, TLS, RequestHead, ResponseHead
from faultkit.proxy.http.held_request import BodyVerdict
from faultkit.proxy.http.own_answer import OwnAnswer
from faultkit.proxy.http.request_target import Origin, host_field, origin_of
from faultkit.proxy.http.response_order import Dial, Hangup, Output, ToClient, ToUpstream
from faultkit.proxy.http.whole_messages import WholeMessages

__all__ = [
    "HTTP_2",
    "HTTP_2_PREFACE",
    "TLS",
    "Answered",
    "BodyVerdict",
    "Dial",
    "Hangup",
    "HttpExchange",
    "Mode",
    "Origin",
    "Output",
    "OwnAnswer",
    "RequestHead",
    "ResponseHead",
    "ToClient",
    "ToUpstream",
    "WholeMessages",
    "host_field",
    "origin_of",
]
