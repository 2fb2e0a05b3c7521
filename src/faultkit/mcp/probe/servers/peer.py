"""A server that is being probed: opened in the era that it speaks, and asked in well-formed words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit import __version__
from faultkit.base.errors import TargetError
from faultkit.faults.call.call import Era
from faultkit.mcp.client import At
from faultkit.mcp.probe.servers.seen import Seen
from faultkit.mcp.probe.servers.wire.http import HttpWire
from faultkit.mcp.probe.servers.wire.stdio import StdioWire
from faultkit.mcp.probe.servers.wire.wire import Wire
from faultkit.mcp.wire.era import CAPABILITIES_KEY, NEWEST, NEWEST_LEGACY, SERVER_INFO_KEY, VERSION_KEY
from faultkit.mcp.wire.message import CANCELLED, Id, encode, notification_of

_INFO = {"name": "faultkit-edge", "version": __version__}
_META = {VERSION_KEY: NEWEST, CAPABILITIES_KEY: {}}
_MOST_PAGES = 100
_STARTING, _LEAST_OPENING_S = 3, 5.0


def opening_s(wait_s: float) -> float:
    """A server that is being started may take longer than one that runs, which has `wait_s` for an answer."""
    return max(_STARTING * wait_s, _LEAST_OPENING_S)


class Peer:
    def __init__(self, at: At, wait_s: float) -> None:
        self._at = at
        self._wait_s = wait_s
        self._asked = 0
        self.wire: Wire = HttpWire(at.url, at.headers) if at.url else StdioWire(at.command, at.env)
        self.era: Era = "legacy"
        self.capabilities: Mapping[str, Any] = {}
        self.info: Mapping[str, Any] = {}

    async def open(self) -> None:
        """TargetError if it cannot be had, or speaks neither era."""
        await self.wire.start()
        hello = {"protocolVersion": NEWEST_LEGACY, "capabilities": {}, "clientInfo": _INFO}
        opened = await self.wire.exchange(*self.request("initialize", hello), opening_s(self._wait_s))
        if opened.result is not None:
            version = opened.result.get("protocolVersion")
            self.wire.version = version if isinstance(version, str) else None
            self._learn(opened.result, opened.result.get("serverInfo"))
            await self.wire.tell(notification_of("notifications/initialized", {}))
            return
        self.era = "modern"
        found = Seen(b"") if opened.gone else await self.ask("server/discover", {})
        if found.result is None:
            await self.wire.stop()
            raise TargetError(f"{self._at}: the server does not initialize: {opened.evidence.came}")
        meta = found.result.get("_meta")
        self._learn(found.result, meta.get(SERVER_INFO_KEY) if isinstance(meta, Mapping) else None)

    def _learn(self, result: Mapping[str, Any], info: object) -> None:
        said = result.get("capabilities")
        self.capabilities = said if isinstance(said, Mapping) else {}
        self.info = info if isinstance(info, Mapping) else {}

    def request(self, method: str, params: Mapping[str, Any], id: Id | None = None) -> tuple[bytes, Id]:
        """As this server's era wants it."""
        if id is None:
            self._asked += 1
            id = self._asked
        more = {"_meta": _META} if self.era == "modern" else {}
        return encode({"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, **more}}), id

    async def ask(self, method: str, params: Mapping[str, Any], id: Id | None = None) -> Seen:
        return await self.wire.exchange(*self.request(method, params, id), self._wait_s)

    async def ask_raw(self, raw: bytes, id: Id | None) -> Seen:
        return await self.wire.exchange(raw, id, self._wait_s)

    async def call_off(self, id: Id) -> None:
        await self.wire.tell(notification_of(CANCELLED, {"requestId": id}))

    @property
    def always_served(self) -> str:
        """What every server of its era has an answer for."""
        return "ping" if self.era == "legacy" else "server/discover"

    async def is_well(self) -> Seen:
        return await self.ask(self.always_served, {})

    async def tools(self) -> list[Mapping[str, Any]]:
        """All pages; none if it has none, or does not list them."""
        found: list[Mapping[str, Any]] = []
        cursor: object = None
        for _ in range(_MOST_PAGES if "tools" in self.capabilities else 0):
            result = (await self.ask("tools/list", {} if cursor is None else {"cursor": cursor})).result or {}
            listed = result.get("tools")
            found += (
                [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
            )
            cursor = result.get("nextCursor")
            if cursor is None:
                break
        return found
