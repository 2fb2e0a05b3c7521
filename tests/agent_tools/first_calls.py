"""A process that calls every tool at once, before any of them is imported, and prints which crashed."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from faultkit.agent_tools.tool import Services
from faultkit.agent_tools.tool_catalog import TOOLS
from faultkit.agent_tools.tool_runner import ToolFailure, ToolRunner
from tests.e2e.agent_clients.calls import calls_of

NO_SERVER = "http://127.0.0.1:9/"
"""URL without a server, so that an impact tool fails at once and sends no load."""


async def silent(done: float, of: float | None, message: str) -> None:
    pass


async def main(folder: Path) -> None:
    calls = ToolRunner(Services(index_dir=str(folder / "index")))

    async def call(name: str, arguments: dict[str, object]) -> None:
        outcome = await calls.run(TOOLS[name], arguments, silent)
        if isinstance(outcome, ToolFailure) and not outcome.text.startswith("url: expected an app"):
            print(outcome.text)  # noqa: T201

    async with anyio.create_task_group() as group:
        for name, arguments in calls_of(folder, NO_SERVER).items():
            group.start_soon(call, name, arguments)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
