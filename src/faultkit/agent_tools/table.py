"""TOOLS: the tools that look at code and measure it, in the order in which clients list them.

Those about code are declared in `code_tools`, those that run scenarios in `impact_tools`, and those that
break things by name in `chaos_tools`. `fault agent tool` serves all of them.
"""

from __future__ import annotations

from faultkit.agent_tools.chaos_tools import CHAOS_TOOLS
from faultkit.agent_tools.code_tools import CODE_TOOLS
from faultkit.agent_tools.impact_tools import IMPACT_TOOLS
from faultkit.agent_tools.tool import Tool

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (*CODE_TOOLS, *IMPACT_TOOLS)}
AGENT_TOOLS: dict[str, Tool] = {**TOOLS, **CHAOS_TOOLS}
