"""A server on pipes, as a probe speaks to it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faultkit.faults.call.call import Transport
from faultkit.mcp.probe.servers.seen import Seen
from faultkit.mcp.probe.servers.wire.wire import answer_to
from faultkit.mcp.wire.child import ServerProcess
from faultkit.mcp.wire.lines import TooLong
from faultkit.mcp.wire.message import Id, read

_TERM_S = 1.0


@dataclass(slots=True)
class _Waiting:
    id: Id | None
    came: asyncio.Future[None]
    reply: Mapping[str, Any] | None = None


class StdioWire:
    transport: Transport = "stdio"

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._command = command
        self._env = env
        self._waiting: list[_Waiting] = []
        self._process = ServerProcess(self._hear, self._ended, on_too_long=self._too_long)
        self.gone = ""
        self.version: str | None = None
        self.strays = 0

    async def start(self) -> None:
        await self._process.start(self._command, self._env)

    async def exchange(self, raw: bytes, id: Id | None, wait_s: float) -> Seen:
        waiting = _Waiting(id, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            if self.gone or not self._process.send(raw):
                return Seen(raw, trouble=self.gone or "its stdin is closed", gone=True)
            await asyncio.wait([waiting.came], timeout=wait_s)
        finally:
            self._waiting.remove(waiting)
        if waiting.reply is not None:
            return Seen(raw, (waiting.reply,))
        if self.gone:
            return Seen(raw, trouble=self.gone, gone=True)
        return Seen(raw, trouble=f"no answer within {wait_s:g} s")

    async def tell(self, raw: bytes) -> None:
        self._process.send(raw)

    async def leave(self, wait_s: float) -> str:
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
        await self._process.stop(grace_s=0.0, term_s=_TERM_S)

    def _hear(self, line: bytes) -> None:
        incoming = read(line)
        if incoming.kind == "request":
            self._process.send(answer_to(incoming))
        elif incoming.kind == "response":
            asked = next((each for each in self._waiting if _is_for(each, incoming.id)), None)
            if asked is None or asked.came.done():
                self.strays += 1
            else:
                asked.reply = incoming.message
                asked.came.set_result(None)

    def _too_long(self, line: TooLong) -> None:
        self._lose(f"it sent {line.size:,} bytes in one line")

    def _ended(self, code: int) -> None:
        self._lose(f"the process ended {_how(code)}")

    def _lose(self, why: str) -> None:
        self.gone = self.gone or why
        for each in self._waiting:
            if not each.came.done():
                each.came.set_result(None)


def _is_for(waiting: _Waiting, id: Id | None) -> bool:
    """An error that lacks an id is for whoever waits; a text is not the number that it spells."""
    return id is None or (type(id) is type(waiting.id) and id == waiting.id)


def _how(code: int) -> str:
    if code >= 0:
        return f"with exit code {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"
