"""Runs tools: each call in a thread, with its progress, until it ends or is cancelled. Knows no MCP.

Whatever a tool does, there is an outcome: a result, or a text that says what went wrong. A cancelled call
is told so and waited for, so that its traffic, ports and processes are gone when it is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import anyio
import anyio.to_thread

from faultkit.agent_tools.arguments import read_arguments, told
from faultkit.agent_tools.importing import IMPORTING
from faultkit.agent_tools.progress import EVERY_S, Progress, Send
from faultkit.agent_tools.services import Services
from faultkit.agent_tools.tool import Tool, ToolCall, ToolResult
from faultkit.base.errors import FaultkitError

MOST_AT_ONCE = 32
"""More calls than that wait for one of them to end."""
LONGEST_PROBLEM = 4_000
"""Characters of an error: what it quotes may be as long as what a caller sent."""
WIND_UP_S = 10.0
"""A tool that does not end so long after it was told to is given up, and the log says so."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failed:
    text: str
    structured: dict[str, Any] | None = None


Outcome = ToolResult | Failed
_STOPPED = Failed("stopped before it began: the call was cancelled")


class Calls:
    """Those of one server. Used from its event loop, but for `stop`, which any thread may call."""

    def __init__(
        self, services: Services, *, wind_up_s: float = WIND_UP_S, progress_every_s: float = EVERY_S
    ) -> None:
        self.services = services
        self._wind_up_s = wind_up_s
        self._progress_every_s = progress_every_s
        self._limiter = anyio.CapacityLimiter(MOST_AT_ONCE)
        self._running: set[threading.Event] = set()

    async def run(self, tool: Tool, given: Mapping[str, Any], send: Send) -> Outcome:
        """`send` passes progress on to whoever called."""
        progress = Progress(send, self._progress_every_s)
        try:
            outcome = await self._in_thread(tool, given, progress)
            await progress.finish()
            return outcome
        finally:
            await progress.stop()

    def stop(self) -> None:
        """Tell all calls to end; what they answer still goes out."""
        for cancelled in tuple(self._running):
            cancelled.set()

    async def _in_thread(
        self,
        tool: Tool,
        given: Mapping[str, Any],
        progress: Progress,
    ) -> Outcome:
        loop = asyncio.get_running_loop()
        cancelled, began, ended = threading.Event(), threading.Event(), anyio.Event()

        def work() -> Outcome:
            began.set()
            try:
                if cancelled.is_set():
                    return _STOPPED
                return _perform(tool, given, self.services, cancelled, progress.report)
            finally:
                with contextlib.suppress(RuntimeError):  # The loop is gone: nobody waits any more.
                    loop.call_soon_threadsafe(ended.set)

        self._running.add(cancelled)
        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            await progress.stop()  # Of a call that was cancelled, nothing more may be said.
            # One that has not begun by now sees that it is cancelled, and does nothing.
            if began.is_set():
                await self._wound_up(tool, ended)
            raise
        finally:
            self._running.discard(cancelled)

    async def _wound_up(self, tool: Tool, ended: anyio.Event) -> None:
        began = time.monotonic()
        with anyio.move_on_after(self._wind_up_s, shield=True) as scope:
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
) -> Outcome:
    began = time.monotonic()
    outcome: Outcome
    try:
        values = read_arguments(tool, given)
        result = _function(tool.run)(ToolCall(values, services, cancelled, report))
        outcome = ToolResult(_text(result.text), plain(result.structured))
    except FaultkitError as error:
        outcome = _failed(tool, given, told(tool, error))
    except BaseException as error:  # SystemExit as well: a tool must not end the server.
        _log.error("%s: unexpected error", tool.name, exc_info=error)
        problem = f"unexpected {type(error).__name__}: {' '.join(str(error).split())}"
        outcome = _failed(tool, given, problem)
    how = "failed" if isinstance(outcome, Failed) else "done"
    _log.info("%s: %s in %.0f ms", tool.name, how, 1000 * (time.monotonic() - began))
    return outcome


def _failed(tool: Tool, given: Mapping[str, Any], problem: str) -> Failed:
    text = _cut(_text(problem))
    if tool.failure is None:
        return Failed(text)
    structured = plain(tool.failure(given, text))
    return Failed(json.dumps(structured, ensure_ascii=False), structured)


def _function(path: str) -> Callable[[ToolCall], ToolResult]:
    module, _, name = path.partition(":")
    with IMPORTING:
        function: Callable[[ToolCall], ToolResult] = getattr(import_module(module), name)
    return function


def plain(document: dict[str, Any]) -> dict[str, Any]:
    """What JSON makes of it, in UTF-8: names of files may hold bytes that are none."""
    written = json.dumps(document, ensure_ascii=False, allow_nan=False)
    found: dict[str, Any] = json.loads(_text(written))
    return found


def _cut(problem: str) -> str:
    return problem if len(problem) <= LONGEST_PROBLEM else f"{problem[: LONGEST_PROBLEM - 1]}…"


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
