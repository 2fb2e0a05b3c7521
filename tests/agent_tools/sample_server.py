"""A server of the sample tools over stdio, as a process of its own."""

from __future__ import annotations

import sys

from faultkit.agent_tools.framework.tool import Services
from faultkit.agent_tools.framework.tool_runner import ToolRunner
from faultkit.agent_tools.stdio_server import run_stdio
from tests.agent_tools.sample_tools import SAMPLES

if __name__ == "__main__":
    print(f"ended: {run_stdio(ToolRunner(Services()), SAMPLES)}", file=sys.stderr)  # noqa: T201
