"""TOOLS: all the tools, in the order in which clients list them.

Those about code are declared in `code_tools`, those that run scenarios in `impact_tools`.
"""

from __future__ import annotations

from faultkit.servers.code_tools import CODE_TOOLS
from faultkit.servers.impact_tools import IMPACT_TOOLS
from faultkit.servers.tool import Tool

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (*CODE_TOOLS, *IMPACT_TOOLS)}
