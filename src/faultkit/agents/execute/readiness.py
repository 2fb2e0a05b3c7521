"""Waiting for a server that is still starting: the key `wait_for_ready` of a suite."""

from __future__ import annotations

import asyncio

from faultkit.agents.suite.definition import CommandServer, UrlServer
from faultkit.base.errors import TargetError
from faultkit.base.http.http_client import ConnectionLost, HttpClient
from faultkit.base.http.http_url import parse_url

READY_S = 60.0
"""Longest wait for a URL that must answer."""
_AGAIN_S = 0.2
"""Seconds between two attempts."""
_MOST_BYTES = 1 << 20


async def wait_until_ready(serving: CommandServer | UrlServer) -> None:
    """Wait until a server accepts connections, or until its URL answers with 2xx, as the suite asks.

    Raises TargetError if the time for that is over.
    """
    if not isinstance(serving, UrlServer) or not (serving.ready_url or serving.ready_s):
        return
    limit_s = serving.ready_s or READY_S
    problem = "no attempt ended"
    try:
        async with asyncio.timeout(limit_s):
            while True:
                problem = await _problem(serving)
                if not problem:
                    return
                await asyncio.sleep(_AGAIN_S)
    except TimeoutError:
        where = serving.ready_url or serving.url
        raise TargetError(f"{where}: not ready within {limit_s:g} s (wait_for_ready): {problem}") from None


async def _problem(serving: UrlServer) -> str:
    """Return why a server is not ready; empty if it is."""
    try:
        if serving.ready_url:
            return await _status_problem(serving.ready_url)
        address = parse_url(serving.url)
        _, writer = await asyncio.open_connection(address.host, address.port)
        writer.close()
    except (OSError, ConnectionLost) as error:
        return str(error) or type(error).__name__
    return ""


async def _status_problem(url: str) -> str:
    client = HttpClient(url)
    try:
        reply = await client.request("GET", (), b"")
        await reply.body(_MOST_BYTES)
    finally:
        client.close()
    return "" if 200 <= reply.status < 300 else f"it answered with status {reply.status}"
