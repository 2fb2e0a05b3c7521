"""A server of the sample tools over stdio, run as a process."""

from __future__ import annotations

import sys

from faultkit.agent_tools.stdio_server import run_stdio
from faultkit.agent_tools.tool import Services
from faultkit.agent_tools.tool_runner import ToolRunner
from tests.agent_tools.sample_tools import SAMPLES

if __name__ == "__main__":
    print(f"ended: {run_stdio(ToolRunner(Services()), SAMPLES)}", file=sys.stderr)  # noqa: T201
