"""Calls of the demo service to its upstream, with a time limit and a size limit.

Each call opens a new connection, so that connection faults hit every call. HTTP_PROXY, HTTPS_PROXY and
NO_PROXY are honoured, for addresses of this machine too.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.base.http.http_client import ConnectionLost, HttpClient
from faultkit.base.http.http_proxy import environment_proxy
from faultkit.base.text import one_line

MOST_BYTES = 1024 * 1024
_HEADERS = (("accept", "*/*"), ("user-agent", "faultkit-demo"))
_CHARSET = re.compile(r"charset=\"?([\w.:-]+)", re.ASCII | re.IGNORECASE)


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
    """The clients of the service's upstreams, one for each URL."""

    def __init__(self, timeout_s: float, retries: int = 0) -> None:
        """`timeout_s`: for each call. `retries`: calls after the first one, while there is no response."""
        self._timeout_s = timeout_s
        self._retries = retries
        self._clients: dict[str, HttpClient] = {}

    async def get(self, url: str) -> UpstreamAnswer:
        """Send a GET request, again if there is no response, and return the outcome of the last call."""
        began, left = time.perf_counter(), self._retries
        while (answer := await self._get_once(url, began)).status is None and left:
            left -= 1
        return answer

    async def _get_once(self, url: str, began: float) -> UpstreamAnswer:

        def failed(problem: str, *, timed_out: bool = False) -> UpstreamAnswer:
            return UpstreamAnswer(None, problem, time.perf_counter() - began, timed_out)

        try:
            async with asyncio.timeout(self._timeout_s):
                status, content = await self._fetch(url)
        except TimeoutError:
            return failed(f"no answer from {url} within {self._timeout_s:g} s", timed_out=True)
        except (ConnectionLost, InputError, OSError) as error:
            return failed(f"no answer from {url}: {one_line(str(error)) or type(error).__name__}")
        return UpstreamAnswer(status, content, time.perf_counter() - began)

    async def _fetch(self, url: str) -> tuple[int, str]:
        reply = await self._client(url).request("GET", _HEADERS, b"")
        try:
            body = await reply.body(MOST_BYTES)
        finally:
            reply.close()
        named = _CHARSET.search(reply.headers.get("content-type", ""))
        try:
            return reply.status, body.decode(named[1] if named else "utf-8", "replace")
        except LookupError:  # A charset that Python does not know.
            return reply.status, body.decode("utf-8", "replace")

    def _client(self, url: str) -> HttpClient:
        client = self._clients.get(url)
        if client is None:
            client = HttpClient(url, proxy_for=environment_proxy, most_kept=0, connect_s=self._timeout_s)
            self._clients[url] = client
        return client

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            client.close()
