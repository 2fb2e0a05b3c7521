"""A server that is a process of ours, spoken to in lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultkit.mcp.gateway.upstream import Gone, Hear
from faultkit.mcp.wire.child import ServerProcess
from faultkit.mcp.wire.message import Id, Incoming, read


class StdioUpstream:
    def __init__(
        self, command: Sequence[str], hear: Hear, gone: Gone, env: Mapping[str, str] | None = None
    ) -> None:
        self._command = command
        self._env = env
        self._gone = gone
        self._stopping = False
        self._process = ServerProcess(lambda line: hear(read(line)), self._ended)

    async def start(self) -> None:
        await self._process.start(self._command, self._env)

    def send(self, incoming: Incoming) -> None:
        self._process.send(incoming.raw)

    def abandon(self, id: Id) -> None:
        """It is told by the client's own notification, which has been handed on."""

    async def stop(self) -> None:
        self._stopping = True
        await self._process.stop()

    def _ended(self, code: int) -> None:
        if not self._stopping:
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            self._gone(f"the server ended {how}", code)
