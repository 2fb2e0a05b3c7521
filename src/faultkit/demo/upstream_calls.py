"""Calls of the demo service to its upstream, with a time limit and a size limit.

Each call opens a new connection, so that connection faults hit every call. HTTP_PROXY, HTTPS_PROXY and
NO_PROXY are honoured, for addresses of this machine too.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass

import anyio.lowlevel
import httpx

from faultkit.base.text import one_line

MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class UpstreamAnswer:
    """The outcome of a call: a response, or a failure, which the service passes on instead of raising."""

    status: int | None
    """HTTP status; None if there was no response."""
    content: str
    """Body of the response; without one, the reason."""
    duration_s: float
    timed_out: bool = False

    @property
    def duration(self) -> str:
        """Duration in milliseconds, as text."""
        return f"{self.duration_s * 1000:.3f}"


class UpstreamCaller:
    """An HTTP client that is opened and closed with the service."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.AsyncClient(timeout=timeout_s, limits=limits, follow_redirects=False)

    async def warm_up(self) -> None:
        """Import what the first call would import, so that it takes no longer than the others."""
        await anyio.lowlevel.checkpoint()

    async def get(self, url: str) -> UpstreamAnswer:
        """Send a GET request and return its outcome."""
        began = time.perf_counter()

        def failed(problem: str, *, timed_out: bool = False) -> UpstreamAnswer:
            return UpstreamAnswer(None, problem, time.perf_counter() - began, timed_out)

        try:
            # The client's own limits are per step: a response that trickles would pass them all.
            async with asyncio.timeout(self._timeout_s):
                status, content = await self._fetch(url)
        except (TimeoutError, httpx.TimeoutException):
            return failed(f"no answer from {url} within {self._timeout_s:g} s", timed_out=True)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ssl.SSLError, ValueError) as error:
            reason = one_line(str(error)) or type(error).__name__
            return failed(f"no answer from {url}: {reason}")
        return UpstreamAnswer(status, content, time.perf_counter() - began)

    async def _fetch(self, url: str) -> tuple[int, str]:
        async with self._client.stream("GET", url) as answer:
            body = bytearray()
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise ValueError(f"the answer has more than {MOST_BYTES} bytes")
        return answer.status_code, body.decode(answer.encoding or "utf-8", "replace")

    async def close(self) -> None:
        await self._client.aclose()
