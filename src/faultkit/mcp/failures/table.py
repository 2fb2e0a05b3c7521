"""All failure tools, by name."""

from __future__ import annotations

from faultkit.mcp.failures.data import DATA
from faultkit.mcp.failures.failing import FAILING
from faultkit.mcp.failures.identity import IDENTITY
from faultkit.mcp.failures.streaming import STREAMING
from faultkit.mcp.failures.tool import FailureTool

FAILURE_TOOLS: dict[str, FailureTool] = {
    tool.name: tool for tool in sorted((*FAILING, *DATA, *STREAMING, *IDENTITY), key=lambda tool: tool.name)
}
