"""What a probe works with: the server, the tools that it may call, and a record of all that it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from faultkit.base.errors import InputError
from faultkit.mcp.client import At
from faultkit.mcp.probe.servers.arguments import Arguments, Tool, first_of, is_harmless, misfit, plain
from faultkit.mcp.probe.servers.model import Evidence, Wish
from faultkit.mcp.probe.servers.peer import Peer
from faultkit.mcp.probe.servers.seen import Seen
from faultkit.mcp.wire.message import Id

_MOST_EVIDENCE = 6


class Bench:
    def __init__(self, at: At, wish: Wish) -> None:
        self.at = at
        self.wish = wish
        self.all_tools: Sequence[Tool] = ()
        self.tools: Sequence[Tool] = ()
        """Those that may be called."""
        self.slow: tuple[str, Arguments] | None = None
        """A call that takes longer than the server allows."""
        self.restarts = 0
        self._peer: Peer | None = None
        self._evidence: list[Evidence] = []
        self._called: list[str] = []

    # --- the server ---------------------------------------------------------------------------

    @property
    def peer(self) -> Peer:
        assert self._peer is not None
        return self._peer

    async def ready(self) -> None:
        """A server that can be asked; TargetError if it cannot be had."""
        if self._peer is None:
            self._peer = await self.another()

    async def another(self) -> Peer:
        """One more beside it, for whoever closes it."""
        peer = Peer(self.at, self.wish.wait_s)
        try:
            await peer.open()
        except BaseException:
            await peer.wire.stop()
            raise
        return peer

    async def drop(self) -> None:
        """The next probe gets a new one."""
        peer, self._peer = self._peer, None
        if peer is not None:
            await peer.wire.stop()

    async def learn_tools(self) -> None:
        """InputError for a tool of the user's that there is not, or arguments that it does not take."""
        self.all_tools = await self.peer.tools()
        by_name = {str(tool.get("name")): tool for tool in self.all_tools}
        named = (*self.wish.tools, *(() if self.wish.slow is None else (self.wish.slow[0],)))
        for name in named:
            if name not in by_name:
                flag = "--tool" if name in self.wish.tools else "--slow"
                known = ", ".join(sorted(by_name)) or "none"
                raise InputError(flag, f'expected a tool of the server, got "{name}" (tools: {known})')
        if self.wish.tools:
            self.tools = [by_name[name] for name in self.wish.tools]
        else:
            self.tools = [tool for tool in self.all_tools if is_harmless(tool)]
        if self.wish.slow is not None:
            name, given = self.wish.slow
            self.slow = name, _slow_arguments(by_name[name], given)

    # --- the record ---------------------------------------------------------------------------

    def begin(self) -> None:
        self._evidence, self._called = [], []

    def record(self) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
        """Since `begin`."""
        return tuple(self._evidence), tuple(self._called)

    def note(self, evidence: Evidence) -> None:
        if len(self._evidence) < _MOST_EVIDENCE and evidence not in self._evidence:
            self._evidence.append(evidence)

    # --- what probes do -----------------------------------------------------------------------

    def choose(self, make: Callable[[Tool], Arguments | None]) -> tuple[str, Arguments] | None:
        return first_of(self.tools, make)

    async def ask(self, method: str, params: Mapping[str, Any], id: Id | None = None) -> Seen:
        return self._noted(await self.peer.ask(method, params, id))

    async def ask_raw(self, raw: bytes, id: Id | None) -> Seen:
        return self._noted(await self.peer.ask_raw(raw, id))

    async def call(self, tool: str, arguments: Mapping[str, Any], id: Id | None = None) -> Seen:
        self._called.append(tool)
        return await self.ask("tools/call", {"name": tool, "arguments": dict(arguments)}, id)

    def _noted(self, seen: Seen) -> Seen:
        self.note(seen.evidence)
        return seen


def _slow_arguments(tool: Tool, given: Mapping[str, object] | None) -> Arguments:
    arguments = plain(tool) if given is None else dict(given)
    if arguments is None:
        raise InputError("--slow", f"expected {tool.get('name')}={{JSON}}: its arguments cannot be made up")
    if problem := misfit(tool, arguments):
        raise InputError("--slow", f"expected arguments that its schema allows, got {problem}")
    return arguments
