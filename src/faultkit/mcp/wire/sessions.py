"""The legacy sessions of an HTTP front, each with its streams: begun, used, and ended when unused."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field

from faultkit.mcp.wire.exchange import Service, Session
from faultkit.mcp.wire.streams import Streams


@dataclass(slots=True)
class _Kept:
    session: Session
    streams: Streams
    used_s: float = field(default_factory=lambda: asyncio.get_running_loop().time())


class Sessions:
    def __init__(self, service: Service, most: int, idle_s: float | None) -> None:
        """The service is told of each. Of more than `most`, the one that was not used for longest ends;
        `idle_s`: so does one that nobody has used for so long."""
        self._service = service
        self._most = most
        self._idle_s = idle_s
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def start(self) -> None:
        if self._idle_s is not None:
            self._end_idle(self._idle_s)

    def stop(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        for id in tuple(self._kept):
            self.end(id)

    def open(self, who: str) -> Session:
        while len(self._kept) >= self._most:
            self.end(next(iter(self._kept)))
        streams = Streams()
        session = Session(secrets.token_hex(16), "http", "legacy", streams.own.send)
        session.owner = who
        self._kept[session.id] = _Kept(session, streams)
        self._service.opened(session)
        return session

    def use(self, id: str, who: str) -> Session | None:
        """The one of this id, if there is one and it is theirs."""
        kept = self._kept.get(id)
        if kept is None or kept.session.owner != who:
            return None
        self._kept.move_to_end(id)
        kept.used_s = asyncio.get_running_loop().time()
        return kept.session

    def streams_of(self, session: Session) -> Streams:
        return self._kept[session.id].streams

    def end(self, id: str) -> None:
        kept = self._kept.pop(id, None)
        if kept is not None:
            for exchange in tuple(kept.session.exchanges.values()):
                exchange.cancel()
            kept.streams.close()
            self._service.closed(kept.session)

    def _end_idle(self, idle_s: float) -> None:
        loop = asyncio.get_running_loop()
        for id, kept in tuple(self._kept.items()):
            is_used = kept.session.exchanges or kept.streams.own.is_read
            if not is_used and loop.time() - kept.used_s > idle_s:
                self.end(id)
        self._sweep = loop.call_later(min(60.0, idle_s), self._end_idle, idle_s)
