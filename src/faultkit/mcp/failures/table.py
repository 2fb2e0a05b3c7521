"""All failure tools, by name."""

from __future__ import annotations

from collections.abc import Collection

from faultkit.mcp.failures.data import DATA
from faultkit.mcp.failures.failing import FAILING
from faultkit.mcp.failures.identity import IDENTITY
from faultkit.mcp.failures.streaming import STREAMING
from faultkit.mcp.failures.tool import FailureTool, Group

FAILURE_TOOLS: dict[str, FailureTool] = {
    tool.name: tool for tool in sorted((*FAILING, *DATA, *STREAMING, *IDENTITY), key=lambda tool: tool.name)
}


def tools_of(groups: Collection[Group]) -> dict[str, FailureTool]:
    """Those that are served."""
    return {name: tool for name, tool in FAILURE_TOOLS.items() if tool.group in groups}
