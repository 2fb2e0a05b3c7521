"""What rules can be aimed at: all that a manifest has, and all that a recording has seen."""

from __future__ import annotations

import json
from typing import Any

from faultkit.mcp.mock.mock_recording import read_recording
from faultkit.mcp.mock.mock_source import read_manifest
from faultkit.mcp.targets import METHODS, Inventory


def recorded(*asked: tuple[str, dict[str, Any], dict[str, Any]]) -> str:
    """Methods, their parameters, and what the reply has."""
    lines = []
    for id, (method, params, reply) in enumerate(asked, 1):
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        lines.append({"t": 0, "session": "s", "from": "client", "message": request})
        answer = {"jsonrpc": "2.0", "id": id, **reply}
        lines.append({"t": 0, "session": "s", "from": "server", "message": answer})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def test_a_manifest_has_what_it_lists() -> None:
    text = "{name: db, tools: [{name: a}], resources: [{uri: 'm://r'}], prompts: [{name: p}, {name: q}]}"
    assert read_manifest(text).inventory == Inventory("db", ("a",), ("m://r",), ("p", "q"), METHODS)


def test_a_recording_has_what_it_listed_and_what_was_asked_of_it_and_there() -> None:
    missing = {"error": {"code": -32002, "message": "no"}}
    text = recorded(
        ("tools/list", {}, {"result": {"tools": [{"name": "a"}]}}),
        ("resources/list", {}, {"result": {"resources": [{"uri": "m://r"}, {"name": "odd"}]}}),
        ("resources/read", {"uri": "m://t/1"}, {"result": {"contents": []}}),
        ("resources/read", {"uri": "m://none"}, missing),
        ("prompts/get", {"name": "p"}, {"result": {"messages": []}}),
        ("acme/do", {}, {"result": {}}),
    )
    found = read_recording(text).inventory
    assert (found.tools, found.resources, found.prompts) == (("a",), ("m://r", "m://t/1"), ("p",))
    assert found.methods == (*METHODS, "acme/do")
