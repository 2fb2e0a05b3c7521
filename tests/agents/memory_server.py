"""A server in memory that keeps the calls it got, so that tests can count effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faultkit.agents.execute.virtual_toolbox import VirtualToolbox
from faultkit.agents.suite.agent_interface import RunBudget, ToolInfo
from faultkit.faults.call_fault import Message, Transport
from faultkit.mcp.injector import Injector
from faultkit.plan import Plan
from tests.mcp.specs import parse_specs


class MemoryServer:
    """A shop with four tools, of which one changes something."""

    def __init__(self, name: str = "shop", transport: Transport = "stdio") -> None:
        self.name = name
        self.transport: Transport = transport
        self.tools: Sequence[ToolInfo] = (
            ToolInfo("search", name, read_only=True),
            ToolInfo("grep", name, read_only=True),
            ToolInfo("order", name),
            ToolInfo("orders", name, read_only=True),
        )
        self.received: list[tuple[str, Mapping[str, Any]]] = []

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Message:
        self.received.append((tool, arguments))
        text = f"{tool} answers"
        if tool == "orders":
            text = ", ".join(str(given["item"]) for name, given in self.received if name == "order")
        return {"jsonrpc": "2.0", "id": 0, "result": {"content": [{"type": "text", "text": text}]}}


def toolbox(
    *specs: str,
    server: MemoryServer | None = None,
    budget: RunBudget | None = None,
    patience_ms: float = 3000.0,
    seed: int = 0,
) -> VirtualToolbox:
    """Return a toolbox in virtual time with these faults in front of a server."""
    server = server or MemoryServer()
    injector = Injector(Plan(parse_specs(specs), seed), server.name)
    return VirtualToolbox([server], {server.name: injector}, budget or RunBudget(), patience_ms)
