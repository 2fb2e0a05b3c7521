"""A server that is a process of ours, spoken to in lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultkit.mcp.upstreams.upstream import Listener
from faultkit.mcp.wire.child import ServerProcess
from faultkit.mcp.wire.message import Id, Incoming, read

# A client that ends us in the way of the specification gives us two seconds after it has closed our input,
# and two more after SIGTERM: the server's own end has to fit into that.
_GRACE_S, _TERM_S = 1.5, 1.0


class StdioUpstream:
    def __init__(
        self,
        command: Sequence[str],
        listener: Listener,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> None:
        self._command = command
        self._env = env
        self._cwd = cwd
        self._listener = listener
        self._stopping = False
        self._process = ServerProcess(
            lambda line: listener.hear(read(line)),
            self._ended,
            on_too_long=listener.hear_too_long,
            on_full=listener.full,
        )

    async def start(self) -> None:
        await self._process.start(self._command, self._env, self._cwd)

    def send(self, incoming: Incoming) -> None:
        self._process.send(incoming.raw)

    def abandon(self, id: Id) -> None:
        """It is told by the client's own notification, which has been handed on."""

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
            self._listener.gone(f"the server ended {how}", code)
