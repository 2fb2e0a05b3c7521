"""Calls to the dependency, as a careful service makes them: a time limit, a size limit, no surprises.

A new connection each time, so that faults of connections meet every call. HTTP_PROXY, HTTPS_PROXY and
NO_PROXY are honoured, for addresses of this machine too.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass

import anyio.lowlevel
import httpx

MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call. It never raises: a dependency that fails is what this service is for."""

    status: int | None
    """None: there was no answer."""
    content: str
    """The body; without an answer, what went wrong."""
    duration_s: float
    timed_out: bool = False

    @property
    def duration(self) -> str:
        return f"{self.duration_s * 1000:.3f}"


class Caller:
    """Opened and closed with the service."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.AsyncClient(timeout=timeout_s, limits=limits, follow_redirects=False)

    async def warm_up(self) -> None:
        """Load what a first call would load, so that it does not look slower than the others."""
        await anyio.lowlevel.checkpoint()

    async def get(self, url: str) -> Answer:
        began = time.perf_counter()

        def failed(problem: str, *, timed_out: bool = False) -> Answer:
            return Answer(None, problem, time.perf_counter() - began, timed_out)

        try:
            # The client's own limits are for each step; an answer in drops would pass them all.
            async with asyncio.timeout(self._timeout_s):
                status, content = await self._fetch(url)
        except (TimeoutError, httpx.TimeoutException):
            return failed(f"no answer from {url} within {self._timeout_s:g} s", timed_out=True)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ssl.SSLError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            return failed(f"no answer from {url}: {reason}")
        return Answer(status, content, time.perf_counter() - began)

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
