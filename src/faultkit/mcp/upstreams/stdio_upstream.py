"""A server that runs as a child process, reached over stdio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultkit.mcp.upstreams.upstream import UpstreamListener
from faultkit.mcp.wire.message import Id, Incoming, read
from faultkit.mcp.wire.server_process import ServerProcess

# MCP leaves the times open. The Python SDK (mcp 2.3) gives this process two seconds after closing its stdin,
# and two more after SIGTERM. Ending the server has to fit into that.
_GRACE_S, _TERM_S = 1.5, 1.0


class StdioUpstream:
    """An `Upstream` over stdio."""

    def __init__(
        self,
        command: Sequence[str],
        listener: UpstreamListener,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> None:
        self._command = command
        self._env = env
        self._cwd = cwd
        self._listener = listener
        self._stopping = False
        self._process = ServerProcess(
            lambda line: listener.on_message(read(line)),
            self._ended,
            on_too_long=listener.on_oversized_line,
            on_full=listener.on_input_full,
        )

    async def start(self) -> None:
        await self._process.start(self._command, self._env, self._cwd)

    def send(self, incoming: Incoming) -> None:
        self._process.send(incoming.raw)

    def abandon(self, id: Id) -> None:
        """Do nothing: the client's cancellation has been forwarded to the server."""

    def pause(self, paused: bool) -> None:
        self._process.pause_reading(paused)

    @property
    def unread_bytes(self) -> int:
        return self._process.unread_bytes

    def close_input(self) -> None:
        self._process.close_input()

    async def stop(self, *, urgent: bool = False) -> None:
        self._stopping = True
        await self._process.stop(grace_s=0 if urgent else _GRACE_S, term_s=_TERM_S)

    def _ended(self, code: int) -> None:
        if not self._stopping:
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            self._listener.on_exit(f"the server ended {how}", code)
