"""How a client finds its server."""

from __future__ import annotations

import json
from pathlib import Path

from faultkit.mcp.probe.clients.client_run import argv_of, environment_of

SERVER = ("python", "-m", "a server")


def test_a_placeholder_that_is_a_word_becomes_as_many_words_as_it_takes() -> None:
    assert argv_of(["client", "{server}", "-v"], {"{server}": SERVER}) == ["client", *SERVER, "-v"]


def test_a_placeholder_within_a_word_becomes_one_text_for_a_shell() -> None:
    shell = argv_of(
        ["sh", "-c", "client {server} --at {url}"], {"{server}": SERVER, "{url}": ["http://x/mcp"]}
    )
    assert shell == ["sh", "-c", "client python -m 'a server' --at http://x/mcp"]


def test_a_client_is_told_of_a_url_by_its_environment(tmp_path: Path) -> None:
    env, config = environment_of(tmp_path, url="http://127.0.0.1:9/mcp")
    assert env["FAULT_MCP_URL"] == "http://127.0.0.1:9/mcp"
    assert env["FAULT_MCP_CONFIG"] == config
    server = {"type": "http", "url": "http://127.0.0.1:9/mcp"}
    assert json.loads(Path(config).read_text()) == {"mcpServers": {"faultkit": server}}
    assert "127.0.0.1" in env["NO_PROXY"].split(",")


def test_a_client_is_told_of_a_command_by_its_config(tmp_path: Path) -> None:
    env, config = environment_of(tmp_path, command=SERVER)
    assert "FAULT_MCP_URL" not in env
    server = {"command": "python", "args": ["-m", "a server"]}
    assert json.loads(Path(config).read_text()) == {"mcpServers": {"faultkit": server}}
