"""MCP over stdin and stdout: one JSON message a line, and nothing else.

While it serves, descriptor 0 is empty and 1 is stderr, so that neither a child process nor a stray print can
disturb the protocol. A daemon thread reads, so that a signal ends the server although its client keeps stdin
open. A line that is not a message is answered with a JSON-RPC error instead of being ignored. Requests that
came before the end of stdin are answered after it, within a limit. The SDK's own stdio transport does none of
this.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import math
import os
import select
import stat
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage

from faultkit.agent_tools.mcp_server import make_server
from faultkit.agent_tools.tool import Tool
from faultkit.agent_tools.tool_catalog import TOOLS
from faultkit.agent_tools.tool_runner import ToolRunner
from faultkit.base.errors import RunError
from faultkit.base.signals import REASONS, StopReason, handle_signals

_CHUNK_BYTES = 65_536
_MOST_AHEAD = 64
"""Messages that are read ahead of the event loop."""
_LAST_ANSWERS_S = 5.0
"""Seconds after the end of stdin in which requests are still answered; then they are cancelled."""
_FLUSH_S = 1.0
"""Seconds to wait at the end for a client that has stopped reading."""

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


def run_stdio(
    calls: ToolRunner, tools: Mapping[str, Tool] = TOOLS, instructions: str | None = None
) -> StopReason:
    """Serve until stdin ends, the client stops reading, or a signal arrives; return which of them it was."""
    server = make_server(calls, tools, instructions)
    with _wire() as (source, sink):
        return anyio.run(_serve, server, source, sink)


async def _serve(server: Server[Any], source: int, sink: int) -> StopReason:
    # Unbounded, because the reader thread limits how far it reads ahead.
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    outgoing, unwritten = anyio.create_memory_object_stream[SessionMessage]()
    serving = anyio.CancelScope()
    requests = _OpenRequests()
    ending: StopReason = "end of input"

    def stop(why: StopReason) -> None:
        nonlocal ending
        ending = why
        serving.cancel()

    with handle_signals(lambda number: stop(REASONS[number]), once=True):
        async with anyio.create_task_group() as group:
            group.start_soon(_write, unwritten, sink, serving, requests)
            group.start_soon(_close_after_answers, incoming, requests)
            _Reader(source, incoming, outgoing, requests).start()
            with serving:
                await server.run(read, outgoing, server.create_initialization_options())
            requests.give_up()
            outgoing.close()
            group.cancel_scope.deadline = anyio.current_time() + _FLUSH_S
    return ending


class _OpenRequests:
    """The requests that are not answered yet. Used in the event loop only."""

    def __init__(self) -> None:
        self._ids: set[int | str] = set()
        self._input_ended = False
        self._done = asyncio.Event()

    def note_received(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            cancelled = (message.params or {}).get("requestId")
            if isinstance(cancelled, int | str):
                self._close(cancelled)  # It is not answered.

    def note_sent(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            self._close(message.id)

    def note_end_of_input(self) -> None:
        self._input_ended = True
        asyncio.get_running_loop().call_later(_LAST_ANSWERS_S, self._done.set)
        self._check()

    def give_up(self) -> None:
        """Let `wait` return: the server has ended."""
        self._done.set()

    async def wait(self) -> None:
        """Wait until the input has ended and all is answered, or until the limit after its end."""
        await self._done.wait()

    def _close(self, id: int | str) -> None:
        self._ids.discard(id)
        self._check()

    def _check(self) -> None:
        if self._input_ended and not self._ids:
            self._done.set()


async def _close_after_answers(incoming: Incoming, requests: _OpenRequests) -> None:
    # At the end of its input the server cancels the requests that it has.
    await requests.wait()
    incoming.close()


async def _write(
    unwritten: MemoryObjectReceiveStream[SessionMessage],
    sink: int,
    serving: anyio.CancelScope,
    requests: _OpenRequests,
) -> None:
    is_pipe = stat.S_ISFIFO(os.fstat(sink).st_mode)
    poll = select.poll()
    poll.register(sink, select.POLLOUT)
    try:
        async for each in unwritten:
            line = _encoded(each.message) + b"\n"
            if is_pipe and len(line) <= select.PIPE_BUF and poll.poll(0):
                os.write(sink, line)  # A ready pipe takes up to PIPE_BUF bytes without blocking.
            else:
                await anyio.to_thread.run_sync(_write_all, sink, line, abandon_on_cancel=True)
            requests.note_sent(each.message)
    except OSError:
        # The client has closed our output, and so has ended.
        serving.cancel()


def _encoded(message: types.JSONRPCMessage) -> bytes:
    """Return a message as JSON; an error in place of a result that has no JSON, such as half of a surrogate
    pair."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except ValueError:
        error = types.ErrorData(code=types.INTERNAL_ERROR, message="Internal error: the result has no JSON")
        id = message.id if isinstance(message, types.JSONRPCResponse) else None
        return types.JSONRPCError(jsonrpc="2.0", id=id, error=error).model_dump_json().encode()


def _write_all(sink: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(sink, rest) :]


class _Reader(threading.Thread):
    """Reads stdin in a daemon thread, because a blocking read cannot be cancelled."""

    def __init__(self, source: int, incoming: Incoming, outgoing: Outgoing, requests: _OpenRequests) -> None:
        super().__init__(name="faultkit-stdin", daemon=True)
        self._source = source
        self._incoming = incoming
        self._outgoing = outgoing
        self._requests = requests
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(_MOST_AHEAD)

    def run(self) -> None:
        # The loop and its streams may end at any time.
        with contextlib.suppress(RuntimeError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            for line in _lines(self._source):
                if line.strip():
                    self._pass_on(line)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._requests.note_end_of_input)

    def _pass_on(self, line: bytes) -> None:
        message = _message(line)
        if message is not None:
            self._room.acquire()
            self._loop.call_soon_threadsafe(self._deliver, SessionMessage(message))
        else:
            answer = self._outgoing.send(SessionMessage(_refusal(line)))
            asyncio.run_coroutine_threadsafe(answer, self._loop).result()

    def _deliver(self, message: SessionMessage) -> None:
        self._room.release()
        self._requests.note_received(message.message)
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._incoming.send_nowait(message)


def _lines(source: int) -> Iterator[bytes]:
    parts: list[bytes] = []
    while chunk := os.read(source, _CHUNK_BYTES):
        first, *others = chunk.split(b"\n")
        parts.append(first)
        for other in others:
            yield b"".join(parts)
            parts = [other]
    yield b"".join(parts)


def _message(line: bytes) -> types.JSONRPCMessage | None:
    text = line.decode("utf-8", "replace")
    try:
        message = types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        return None
    # A request with the id null would be parsed as a notification, and its sender would wait for ever.
    if isinstance(message, types.JSONRPCNotification) and '"id"' in text and "id" in json.loads(text):
        return None
    return message


def _refusal(line: bytes) -> types.JSONRPCError:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        error = types.ErrorData(
            code=types.PARSE_ERROR, message="Parse error: expected one JSON object a line"
        )
        return types.JSONRPCError(jsonrpc="2.0", id=None, error=error)
    id = found.get("id") if isinstance(found, dict) else None
    known = id if isinstance(id, (str, int)) and not isinstance(id, bool) else None
    if isinstance(known, str) and not known.isascii() and any(0xD800 <= ord(c) <= 0xDFFF for c in known):
        # Half of a surrogate pair cannot be sent back.
        known = None
    error = types.ErrorData(
        code=types.INVALID_REQUEST, message="Invalid request: expected a JSON-RPC 2.0 message"
    )
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=error)


@contextlib.contextmanager
def _wire() -> Iterator[tuple[int, int]]:
    """Yield stdin and stdout as descriptors that no other code uses."""
    sys.stdout.flush()
    try:
        source, sink = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in (0, 1))
    except OSError as error:
        raise RunError(f"stdin and stdout are needed to serve over stdio: {error.strerror}") from None
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(nothing, 1)
    os.close(nothing)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()
        os.dup2(sink, 1)
        os.dup2(source, 0)
        # The duplicates stay open, because a thread may still be blocked in one of them.
