"""The transports of a probe: streamable HTTP and stdio, both able to send bytes that are not valid messages.

`faultkit.mcp.mcp_client` and `mcp.upstreams` are not used here, because they send only well-formed messages,
match replies for the caller and hide statuses. A probe needs the opposite: it sends half a line or a wrong
envelope, sees every reply and every status, and counts replies that belong to no request. The layers below
(HTTP client, server process, messages, SSE) are the shared ones.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from faultkit.base.errors import TargetError
from faultkit.base.framing import MOST_MESSAGE_BYTES, OversizedLine, SseEvent, SseReader, SseTooLong
from faultkit.base.http.http_client import ConnectionLost, HttpClient, HttpReply
from faultkit.base.http.http_exchange import Headers
from faultkit.base.tasks import TaskSet
from faultkit.faults.call_fault import Transport
from faultkit.mcp.probe.servers.probe_results import ProbeResponse, shortened
from faultkit.mcp.upstreams.server_stderr import ShownLines, StderrPipe
from faultkit.mcp.upstreams.stdio_upstream import ServerProcess
from faultkit.mcp.wire.era import ParameterHeaders, era_of, headers_of
from faultkit.mcp.wire.message import METHOD_NOT_FOUND, Id, Incoming, error_of, read, result_of


class ProbeWire(Protocol):
    """A connection to the server, over either transport."""

    transport: Transport
    lost_reason: str
    """Why the connection cannot be used any more; empty while it can."""
    version: str | None
    """The protocol version, once it is negotiated in the legacy era."""
    stray_replies: int
    """Number of replies that belong to no open request."""

    async def start(self) -> None:
        """Connect, or start the process; raises TargetError if that is impossible."""

    async def exchange(self, raw: bytes, id: Id | None, wait_s: float) -> ProbeResponse:
        """Send bytes and wait for the reply with this id, or for one without an id. Never raises."""
        ...

    async def notify(self, raw: bytes) -> None:
        """Send something that has no reply. Never raises."""

    async def end_session(self, wait_s: float) -> str:
        """End the session as a client does; return what went wrong, empty if nothing did."""
        ...

    async def stop(self) -> None:
        """Close everything, by force if necessary."""


def answer_to(request: Incoming) -> bytes:
    """Return the answer to a request of the server: a ping is answered, all else is refused."""
    if request.method == "ping":
        return result_of(request.id, {})
    return error_of(request.id, METHOD_NOT_FOUND, f"{request.method} is not served here")


_CONTENT = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
_CLOSING_S = 2.0
"""Seconds for connecting, and for each message of closing."""
_READ_ON_S = 0.25
"""Seconds that a stream is read on after its reply, unless it ends: a server ends it then (MCP 2025-11-25,
Transports, Sending Messages to the Server, 6)."""
_NO_DELETE = 405
"""Status of a server that does not let clients end sessions (MCP 2025-11-25, Transports, Session Management,
5)."""


class HttpWire:
    """A server over streamable HTTP: every answer with its status."""

    transport: Transport = "http"

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._client = HttpClient(url)
        self._added_headers = list(headers.items())
        self._session: str | None = None
        self._parameters = ParameterHeaders()
        self._answers: TaskSet[None] = TaskSet()
        self.version: str | None = None
        self.lost_reason = ""
        self.stray_replies = 0

    async def start(self) -> None:
        """Check that the address accepts a connection; no request is sent yet."""
        try:
            async with asyncio.timeout(_CLOSING_S):
                _, writer = await asyncio.open_connection(self._client.host, self._client.port)
        except (OSError, TimeoutError) as error:
            why = (getattr(error, "strerror", None) or str(error) or "no answer").lower()
            raise TargetError(f"cannot reach {self._url}: {why}") from None
        writer.close()

    async def exchange(self, raw: bytes, id: Id | None, wait_s: float) -> ProbeResponse:
        status: int | None = None
        replies: list[Mapping[str, Any]] = []
        others: list[bytes] = []
        try:
            async with asyncio.timeout(wait_s):
                reply = await self._client.request("POST", self._headers(raw), raw)
                status = reply.status
                self._session = reply.headers.get("mcp-session-id", self._session)
                trouble = await self._take(reply, replies, others)
        except TimeoutError:
            trouble = f"no answer within {wait_s:g} s"
        except ConnectionLost as lost:
            trouble = f"the connection was lost: {lost}"
            return ProbeResponse(raw, tuple(replies), status, trouble, True, id, tuple(others))
        except OSError as error:
            return ProbeResponse(raw, (), status, f"cannot reach {self._url}: {error}", True, id)
        if replies:
            return ProbeResponse(raw, tuple(replies), status, id=id, other_lines=tuple(others))
        return ProbeResponse(raw, (), status, trouble, id=id, other_lines=tuple(others))

    async def notify(self, raw: bytes) -> None:
        with suppress(OSError, ConnectionLost, TimeoutError):
            async with asyncio.timeout(_CLOSING_S):
                await (await self._client.request("POST", self._headers(raw), raw)).body(MOST_MESSAGE_BYTES)

    async def end_session(self, wait_s: float) -> str:
        try:
            if self._session is None:
                return ""
            async with asyncio.timeout(wait_s):
                reply = await self._client.request("DELETE", self._headers(b""), b"")
                reply.close()
        except TimeoutError:
            return f"no answer to DELETE within {wait_s:g} s"
        except (OSError, ConnectionLost) as error:
            return f"the connection was lost over DELETE: {error}"
        finally:
            self._session = None
            await self.stop()
        is_ended = 200 <= reply.status < 300 or reply.status == _NO_DELETE
        return "" if is_ended else f"DELETE of the session was answered with {reply.status}"

    async def stop(self) -> None:
        await self._answers.cancel()
        if self._session is not None:
            with suppress(OSError, ConnectionLost, TimeoutError):
                async with asyncio.timeout(_CLOSING_S):
                    (await self._client.request("DELETE", self._headers(b""), b"")).close()
            self._session = None
        self._client.close()

    def _headers(self, raw: bytes) -> Headers:
        headers = [*self._added_headers, *(_CONTENT if raw else ())]
        incoming = read(raw)
        if incoming.kind == "request" and era_of(incoming) == "modern":
            return [*headers, *headers_of(incoming), *self._parameters.of(incoming)]
        if self._session is not None:
            headers.append(("mcp-session-id", self._session))
        if self.version is not None:
            headers.append(("mcp-protocol-version", self.version))
        return headers

    async def _take(self, reply: HttpReply, replies: list[Mapping[str, Any]], others: list[bytes]) -> str:
        """Add the responses of an answer to `replies`, and events that are no message to `others`; return
        what is wrong if there are no responses.

        A stream is read on for a while after its first response: more of them are stray replies."""
        if reply.is_stream:
            reader = SseReader()
            try:
                while not replies and (chunk := await reply.chunk()):
                    self._take_events(reader.feed(chunk), replies, others)
                with suppress(TimeoutError, ConnectionLost):
                    async with asyncio.timeout(_READ_ON_S):
                        while replies and (chunk := await reply.chunk()):
                            self._take_events(reader.feed(chunk), replies, others)
            except SseTooLong as error:
                return str(error)
            finally:
                reply.close()
            return "the stream ended without a reply"
        body = await reply.body(MOST_MESSAGE_BYTES)
        self._receive(read(body), replies)
        return f"HTTP {reply.status} with {shortened(body) or 'no body'}"

    def _take_events(
        self, events: Sequence[SseEvent], replies: list[Mapping[str, Any]], others: list[bytes]
    ) -> None:
        for event in events:
            incoming = read(event.data)
            is_stray = incoming.kind == "response" and bool(replies)
            if is_stray:
                self.stray_replies += 1
            else:
                self._receive(incoming, replies)
            # An event without data only carries an id to resume at.
            is_invalid = incoming.kind == "invalid" and bool(event.data)
            if (is_stray or is_invalid) and len(others) < _MOST_OTHER_LINES:
                others.append(event.data)

    def _receive(self, incoming: Incoming, replies: list[Mapping[str, Any]]) -> None:
        if incoming.kind == "response":
            self._parameters.learn(incoming)
            replies.append(incoming.message)
        elif incoming.kind == "request":
            self._answers.start(self.notify(answer_to(incoming)))


_TERM_S = 1.0
_MOST_OTHER_LINES = 3
"""Lines that are kept of what came in place of a reply."""


@dataclass(slots=True)
class _PendingRequest:
    """A request without its reply."""

    id: Id | None
    received: asyncio.Future[None]
    reply: Mapping[str, Any] | None = None
    other_lines: list[bytes] = field(default_factory=list)


class StdioWire:
    """A server process on stdin and stdout."""

    transport: Transport = "stdio"

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        on_invalid_line: Callable[[bytes], None],
        show: Callable[[str], None],
    ) -> None:
        """`on_invalid_line` gets each line that is no message, unless the wire has been stopped. `show` gets
        each line of the process on its standard error, fit for a terminal."""
        self._command = command
        self._env = env
        self._on_invalid_line = on_invalid_line
        self._is_stopped = False
        self._pending: list[_PendingRequest] = []
        self._process = ServerProcess(self._receive, self._ended, on_oversized_line=self._on_oversized_line)
        self._shown_lines = ShownLines(show)
        self._stderr: StderrPipe | None = None
        self.lost_reason = ""
        self.version: str | None = None
        self.stray_replies = 0

    async def start(self) -> None:
        self._stderr = StderrPipe(self._shown_lines.feed)
        await self._process.start(self._command, self._env, stderr=self._stderr.writing)

    async def exchange(self, raw: bytes, id: Id | None, wait_s: float) -> ProbeResponse:
        pending = _PendingRequest(id, asyncio.get_running_loop().create_future())
        self._pending.append(pending)
        try:
            if self.lost_reason or not self._process.send(raw):
                return ProbeResponse(raw, trouble=self.lost_reason or "its stdin is closed", is_lost=True)
            await asyncio.wait([pending.received], timeout=wait_s)
        finally:
            self._pending.remove(pending)
        if pending.reply is not None:
            return ProbeResponse(raw, (pending.reply,), id=id)
        is_lost = bool(self.lost_reason)
        trouble = self.lost_reason or f"no answer within {wait_s:g} s"
        return ProbeResponse(raw, (), None, trouble, is_lost, id, tuple(pending.other_lines))

    async def notify(self, raw: bytes) -> None:
        self._process.send(raw)

    async def end_session(self, wait_s: float) -> str:
        self._process.close_input()
        try:
            async with asyncio.timeout(wait_s):
                await self._process.ended()
        except TimeoutError:
            return f"it did not end within {wait_s:g} s of the end of its stdin"
        finally:
            await self.stop()
        return ""

    async def stop(self) -> None:
        # A process that is killed may break off in the middle of a line.
        self._is_stopped = True
        await self._process.stop(grace_s=0.0, term_s=_TERM_S)
        if self._stderr is not None:
            self._stderr.read_rest()
            self._shown_lines.end()
            self._stderr.close()
            self._stderr = None

    def _receive(self, line: bytes) -> None:
        incoming = read(line)
        if incoming.kind == "request":
            self._process.send(answer_to(incoming))
        elif incoming.kind == "response":
            asked = next((each for each in self._pending if _is_for(each, incoming.message.get("id"))), None)
            if asked is None or asked.received.done():
                self.stray_replies += 1
                self._keep_line(line)
            else:
                asked.reply = incoming.message
                asked.received.set_result(None)
        elif incoming.kind != "notification":
            self._keep_line(line)
            if incoming.kind == "invalid" and not self._is_stopped:
                self._on_invalid_line(line)

    def _keep_line(self, line: bytes) -> None:
        """Keep a line that answers nothing, as evidence for every request that waits."""
        for each in self._pending:
            if len(each.other_lines) < _MOST_OTHER_LINES:
                each.other_lines.append(line)

    def _on_oversized_line(self, line: OversizedLine) -> None:
        self._mark_lost(f"it sent {line.size:,} bytes in one line")

    def _ended(self, code: int) -> None:
        self._mark_lost(f"the process ended {_how(code)}")

    def _mark_lost(self, why: str) -> None:
        self.lost_reason = self.lost_reason or why
        for each in self._pending:
            if not each.received.done():
                each.received.set_result(None)


def _is_for(pending: _PendingRequest, id: object) -> bool:
    """Return whether a reply with this id answers a request: a null id answers any, and `"1"` is not `1`
    (JSON-RPC 2.0, section 5)."""
    return id is None or (type(id) is type(pending.id) and id == pending.id)


def _how(code: int) -> str:
    if code >= 0:
        return f"with exit code {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"
