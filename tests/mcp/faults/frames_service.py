"""A service that answers each call with the frames that its tool is named for, for tests of single frames."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from faultkit.faults.call_fault import Frame, Verdict
from faultkit.mcp.interpreter import execute_verdict
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Incoming, read, result_of


class Frames:
    def __init__(self, frames: Mapping[str, tuple[Frame, ...]]) -> None:
        self._frames = frames
        self.tasks: set[asyncio.Task[None]] = set()

    def opened(self, session: Session) -> None:
        pass

    def closed(self, session: Session) -> None:
        pass

    def notification(self, session: Session, incoming: Incoming) -> None:
        pass

    def response(self, session: Session, incoming: Incoming) -> None:
        pass

    def request(self, exchange: Exchange) -> None:
        request = exchange.request
        frames = self._frames.get(request.params.get("name", ""))
        if frames is None:
            exchange.reply(result_of(request.id, {"protocolVersion": "2025-11-25"}))
            return
        verdict = Verdict(ask=False, frames=lambda reply: frames)
        task = asyncio.get_running_loop().create_task(execute_verdict(verdict, exchange, _no_server))
        self.tasks.add(task)


async def _no_server() -> Incoming:
    return read(b"")
