"""What of an HTTP message goes on to the next hop, and how an answer is passed on. No word of MCP."""

from __future__ import annotations

from faultkit.base.http.address import Address
from faultkit.base.http.client import Reply
from faultkit.base.http.server import Answer, Headers, Request
from faultkit.mcp.gateway.tee import Tee

_OF_THE_HOP = {
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_BODILESS = (204, 304)


def passed(lines: Headers) -> Headers:
    return [(name, value) for name, value in lines if name.lower() not in _OF_THE_HOP]


def passed_back(lines: Headers, upstream: Address, target: str) -> Headers:
    """Of an answer to a request for `target`: whoever is sent on to another place there stays with us."""
    kept = passed(lines)
    for place, (name, value) in enumerate(kept):
        if name.lower() == "location":
            there = upstream.redirected(target, value)
            if there is not None and there.origin == upstream.origin:
                kept[place] = (name, there.target)
    return kept


def leads_away(reply: Reply, upstream: Address, target: str) -> str | None:
    """Where an answer sends its client, if that is past us."""
    location = reply.headers.get("location")
    if location is None or not 300 <= reply.status < 400:
        return None
    there = upstream.redirected(target, location)
    return location if there is None or there.origin != upstream.origin else None


def pass_whole(answer: Answer, status: int, lines: Headers, body: bytes) -> None:
    """An answer that we have had in our hands, as it came."""
    if status in _BODILESS:
        answer.bodiless(status, lines)
    else:
        answer.whole(status, lines, body)


async def copy(request: Request, reply: Reply, lines: Headers, answer: Answer, tee: Tee | None) -> None:
    """An answer with these headers, byte for byte as it comes in."""
    size = reply.headers.get("content-length")
    if reply.status in _BODILESS or request.method == "HEAD":
        answer.bodiless(reply.status, lines if size is None else [*lines, ("content-length", size)])
        return
    is_sized = size is not None and size.isdecimal()
    # Most answers are there with their head, and go out with it.
    chunk = reply.ready()
    if is_sized and size is not None:
        answer.begin_sized(reply.status, lines, int(size), chunk)
    else:
        answer.begin(reply.status, lines, chunk)
    write = answer.write_plain if is_sized else answer.write
    if tee is not None:
        tee.feed(chunk)
    while chunk := await reply.chunk():
        write(chunk)
        if tee is not None:
            tee.feed(chunk)
        if not answer.is_open:
            return
        await answer.drained()
    if tee is not None:
        tee.end()
    if is_sized:
        answer.end_sized()
    else:
        answer.end()
