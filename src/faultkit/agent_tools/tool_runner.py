"""Runs tools: each call in a thread, with its progress, until it ends or is cancelled. Does not know MCP.

Every call has an outcome: a result, or a text that says what went wrong. A cancelled call is notified and
awaited, so that its traffic, ports and processes have ended when the call is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import anyio
import anyio.to_thread

from faultkit.agent_tools.argument_kinds import message_with_example, read_arguments
from faultkit.agent_tools.tool import IMPORT_LOCK, Services, Tool, ToolCall, ToolResult
from faultkit.base.errors import FaultkitError
from faultkit.base.text import shortened

MOST_AT_ONCE = 32
"""Calls that run at the same time; others wait."""
LONGEST_PROBLEM = 4_000
"""Characters of an error, because an error may quote an argument of any length."""
END_S = 10.0
"""Seconds that a cancelled tool has to end; after that it is abandoned, and the log says so."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """A call that failed."""

    text: str
    structured: dict[str, Any] | None = None


ToolOutcome = ToolResult | ToolFailure
_STOPPED = ToolFailure("stopped before it began: the call was cancelled")


PROGRESS_EVERY_S = 0.2
"""Shortest time between two progress messages."""

SendProgress = Callable[[float, float | None, str], Awaitable[None]]


class ProgressReporter:
    """Progress of one call: any thread reports at any rate, the event loop sends now and then.

    What is sent only grows, as MCP requires (Progress: "The progress value MUST increase"), and no faster
    than the client reads it. Make and stop it in the event loop; `report` is thread-safe."""

    def __init__(self, send: SendProgress, every_s: float = PROGRESS_EVERY_S) -> None:
        self._send = send
        self._every_s = every_s
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._lock = threading.Lock()
        self._latest: tuple[float, float | None, str] | None = None
        self._most = -math.inf
        self._task: asyncio.Task[None] | None = None
        self._is_over = self._is_sending = False

    def report(self, done: float, of: float | None, message: str) -> None:
        """Report progress. A value that is not larger than the last is dropped."""
        with self._lock:
            if not (math.isfinite(done) and done > self._most):
                return
            is_first, self._most = self._latest is None, done
            self._latest = (done, of, message)
        if is_first:
            with contextlib.suppress(RuntimeError):  # The loop has ended, and with it the client's session.
                self._loop.call_soon_threadsafe(self._woken)

    async def finish(self) -> None:
        """Send the last report if it has not been sent."""
        self._is_over = True
        if self._task is not None:
            if not self._is_sending:
                self._task.cancel()
            await asyncio.wait([self._task])
        await self._flush()

    async def stop(self) -> None:
        """Send nothing more."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([self._task])

    def _woken(self) -> None:
        if self._task is None and not self._is_over:
            self._task = self._loop.create_task(self._run())
        self._wake.set()

    async def _run(self) -> None:
        while not self._is_over:
            await self._wake.wait()
            self._wake.clear()
            await self._flush()
            if not self._is_over:
                await asyncio.sleep(self._every_s)

    async def _flush(self) -> None:
        with self._lock:
            latest, self._latest = self._latest, None
        if latest is not None:
            self._is_sending = True
            await self._send(*latest)
            self._is_sending = False


class ToolRunner:
    """The running calls of one server. Use it in its event loop; only `stop` is thread-safe."""

    def __init__(
        self, services: Services, *, end_s: float = END_S, progress_every_s: float = PROGRESS_EVERY_S
    ) -> None:
        self.services = services
        self._end_s = end_s
        self._progress_every_s = progress_every_s
        self._limiter = anyio.CapacityLimiter(MOST_AT_ONCE)
        self._running: set[threading.Event] = set()

    async def run(self, tool: Tool, given: Mapping[str, Any], send: SendProgress) -> ToolOutcome:
        """Run a tool and return its outcome. `send` sends progress to the client."""
        progress = ProgressReporter(send, self._progress_every_s)
        try:
            outcome = await self._in_thread(tool, given, progress)
            await progress.finish()
            return outcome
        finally:
            await progress.stop()

    def stop(self) -> None:
        """Cancel all calls; their results are still sent."""
        for cancelled in tuple(self._running):
            cancelled.set()

    async def _in_thread(
        self,
        tool: Tool,
        given: Mapping[str, Any],
        progress: ProgressReporter,
    ) -> ToolOutcome:
        loop = asyncio.get_running_loop()
        cancelled, began, ended = threading.Event(), threading.Event(), anyio.Event()

        def work() -> ToolOutcome:
            began.set()
            try:
                if cancelled.is_set():
                    return _STOPPED
                return _perform(tool, given, self.services, cancelled, progress.report)
            finally:
                with contextlib.suppress(RuntimeError):  # The loop has ended, and with it the call.
                    loop.call_soon_threadsafe(ended.set)

        self._running.add(cancelled)
        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            await progress.stop()  # MCP (Cancellation): no more messages about a cancelled request.
            # A call that has not started yet finds itself cancelled, and does nothing.
            if began.is_set():
                await self._wait_for_end(tool, ended)
            raise
        finally:
            self._running.discard(cancelled)

    async def _wait_for_end(self, tool: Tool, ended: anyio.Event) -> None:
        began = time.monotonic()
        with anyio.move_on_after(self._end_s, shield=True) as scope:
            await ended.wait()
        took_ms = 1000 * (time.monotonic() - began)
        if scope.cancelled_caught:
            _log.warning("%s: cancelled, but it goes on after %.0f ms: given up", tool.name, took_ms)
        else:
            _log.info("%s: cancelled, and ended %.0f ms later", tool.name, took_ms)


def _perform(
    tool: Tool,
    given: Mapping[str, Any],
    services: Services,
    cancelled: threading.Event,
    report: Callable[[float, float | None, str], None],
) -> ToolOutcome:
    began = time.monotonic()
    outcome: ToolOutcome
    try:
        values = read_arguments(tool, given, services.root)
        result = _function(tool.run)(ToolCall(values, services, cancelled, report))
        outcome = ToolResult(_text(result.text), json_safe(result.structured))
    except FaultkitError as error:
        outcome = _failed(tool, given, message_with_example(tool, error))
    except BaseException as error:  # SystemExit as well: a tool must not end the server.
        outcome = _failed(tool, given, _missing_extra(tool, error) or _unexpected(tool, error))
    how = "failed" if isinstance(outcome, ToolFailure) else "done"
    _log.info("%s: %s in %.0f ms", tool.name, how, 1000 * (time.monotonic() - began))
    return outcome


def _missing_extra(tool: Tool, error: BaseException) -> str:
    """Return the sentence that names the extra of a package that is not installed, or an empty text."""
    if not isinstance(error, ImportError):
        return ""
    from faultkit.base.installation import explain_import

    missing = explain_import(error, f"the tool {tool.name}")
    return "" if missing is None else str(missing)


def _unexpected(tool: Tool, error: BaseException) -> str:
    _log.error("%s: unexpected error", tool.name, exc_info=error)
    return f"unexpected {type(error).__name__}: {' '.join(str(error).split())}"


def _failed(tool: Tool, given: Mapping[str, Any], problem: str) -> ToolFailure:
    text = shortened(_text(problem), LONGEST_PROBLEM)
    if tool.failure is None:
        return ToolFailure(text)
    structured = json_safe(tool.failure(given, text))
    return ToolFailure(json.dumps(structured, ensure_ascii=False), structured)


def _function(path: str) -> Callable[[ToolCall], ToolResult]:
    module, _, name = path.partition(":")
    with IMPORT_LOCK:
        function: Callable[[ToolCall], ToolResult] = getattr(import_module(module), name)
    return function


def json_safe(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document as JSON and UTF-8 can express it: file names may contain any bytes."""
    written = json.dumps(document, ensure_ascii=False, allow_nan=False)
    found: dict[str, Any] = json.loads(_text(written))
    return found


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
