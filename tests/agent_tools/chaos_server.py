"""A server of the chaos tools in this process, called through the SDK's own client."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from mcp.client.client import Client

from faultkit.agent_tools.chaos_tools import CHAOS_TOOLS, INSTRUCTIONS
from faultkit.agent_tools.mcp_server import make_server
from faultkit.agent_tools.tool import Services
from faultkit.agent_tools.tool_runner import ToolRunner
from faultkit.chaos.session import ChaosSettings

ERAS = ("legacy", "2026-07-28")
PATIENCE_S = 30.0
KILL_CACHE = """\
name: kill-cache
steady_state:
  - {name: healthy, process: [test, "!", -e, broken]}
method:
  - name: kill
    process: [touch, killed]
    undo: {process: [rm, -f, killed, broken]}
"""
KILL, UNDO = "process: [touch, killed]", "process: [rm, -f, killed, broken]"
FAIL = 'process: [sh, -c, "echo the cache laughs >&2; exit 1"]'


@dataclass
class Server:
    """Calls of a server that lives as long as the test; each call has a client of its own."""

    settings: ChaosSettings
    services: Services
    mode: str = "legacy"

    def call(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        async def scene(client: Client) -> types.CallToolResult:
            return await client.call_tool(name, arguments)

        found: types.CallToolResult = self.play(scene)
        return found

    def ok(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = self.call(name, arguments)
        assert not result.is_error, result.content
        return checked(name, result)

    def error(self, name: str, arguments: dict[str, Any]) -> str:
        result = self.call(name, arguments)
        assert result.is_error
        structured = checked(name, result)
        assert structured["status"] == "error"
        return str(structured["error"])

    def play(self, scene: Callable[[Client], Awaitable[Any]]) -> Any:
        async def bounded() -> Any:
            # The session outlives a client here, as it does over HTTP.
            calls = ToolRunner(_Lasting(self.services), progress_every_s=0)
            server = make_server(calls, CHAOS_TOOLS, INSTRUCTIONS)
            with anyio.fail_after(PATIENCE_S):
                async with Client(server, mode=self.mode) as client:
                    return await scene(client)

        return anyio.run(bounded)

    def restart(self) -> None:
        self.services.close()

    def write(self, name: str, text: str) -> None:
        (self.settings.experiments / name).write_text(text)


class _Lasting(Services):
    def __init__(self, of: Services) -> None:
        super().__init__(chaos=of.chaos)
        self._of = of

    def chaos_session(self) -> Any:
        return self._of.chaos_session()


def checked(name: str, result: types.CallToolResult) -> dict[str, Any]:
    """Check that the structured content fits its schema and equals the text, also of errors."""
    structured = result.structured_content
    Draft202012Validator(CHAOS_TOOLS[name].output).validate(structured)
    [content] = result.content
    assert isinstance(content, types.TextContent)
    assert json.loads(content.text) == structured
    assert isinstance(structured, dict)
    return structured


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "chaos"
    folder.mkdir()
    (folder / "kill-cache.yaml").write_text(KILL_CACHE)
    settings = ChaosSettings(tmp_path / "state", str(tmp_path / "audit.db"), folder)
    made = Server(settings, Services(chaos=lambda: settings))
    yield made
    made.services.close()


def seed_examples() -> list[tuple[str, dict[str, Any]]]:
    text = (Path(__file__).parent / "seed_002.json").read_text()
    return [(each["tool_name"], each["arguments"]) for each in json.loads(text)]


def inject(name: str, action: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "chaos_inject_fault", {"fault_name": name, "action": action, **more}
