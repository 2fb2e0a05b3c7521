"""A small service for the tests of fronts: it answers by the name of the tool, and records its calls."""

from __future__ import annotations

import asyncio

from faultkit.faults.call_fault import Verdict
from faultkit.mcp.interpreter import count_reply, execute_verdict
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Incoming, error_of, notification_of, read, result_of


class Tools:
    """`echo` answers with its arguments, `slow` when released, `chatty` with two notes before its reply."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.seen: list[str] = []
        self.responses: list[object] = []
        self.waiting: list[Exchange] = []
        self.verdicts: dict[str, Verdict] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()
        self.asked = asyncio.Event()

    def opened(self, session: Session) -> None:
        self.sessions.append(session)

    def closed(self, session: Session) -> None:
        self.seen.append("closed")
        self.ended.set()

    def notification(self, session: Session, incoming: Incoming) -> None:
        self.seen.append(incoming.method)

    def response(self, session: Session, incoming: Incoming) -> None:
        self.responses.append(incoming.message.get("result"))

    def request(self, exchange: Exchange) -> None:
        request = exchange.request
        self.seen.append(request.method)
        name = request.params.get("name", "")
        if request.method == "initialize":
            version = request.params["protocolVersion"]
            info = {"name": "tools", "version": "1"}
            exchange.reply(
                result_of(
                    request.id,
                    {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info},
                )
            )
        elif request.method == "ping":
            exchange.reply(result_of(request.id, {}))
        elif request.method != "tools/call":
            exchange.reply(error_of(request.id, -32601, "no such method"))
        elif name in self.verdicts:
            task = asyncio.get_running_loop().create_task(
                execute_verdict(self.verdicts[name], exchange, lambda: self._ask(request))
            )
            self.tasks.add(task)
        elif name == "slow":
            self.waiting.append(exchange)
        else:
            if name == "chatty":
                exchange.note(notification_of("notifications/progress", {"progress": 1}))
                exchange.note(notification_of("notifications/progress", {"progress": 2}))
            exchange.reply(result_of(request.id, answer_of(request)))
            count_reply(exchange.session)

    async def _ask(self, request: Incoming) -> Incoming:
        self.asked.set()
        return read(result_of(request.id, answer_of(request)))


def answer_of(request: Incoming) -> dict[str, object]:
    return {"content": [{"type": "text", "text": str(request.params.get("arguments", ""))}]}
