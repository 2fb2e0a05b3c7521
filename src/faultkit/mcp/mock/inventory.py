"""What a mock has that rules can be aimed at, out of its manifest or its recording. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from faultkit.mcp.mock.model import Manifest
from faultkit.mcp.targets import METHODS, Inventory

if TYPE_CHECKING:
    from faultkit.mcp.mock.recording import Recording, Reply


def inventory_of(source: Manifest | Recording) -> Inventory:
    tools = tuple(str(tool["name"]) for tool in source.listed)
    if isinstance(source, Manifest):
        resources = [each.listed["uri"] for each in source.resources]
        prompts = [each.listed["name"] for each in source.prompts]
        return Inventory(source.name, tools, tuple(resources), tuple(prompts), METHODS)
    asked = dict.fromkeys(reply.method for reply in source.replies)
    return Inventory(
        source.name,
        tools,
        tuple(dict.fromkeys(_named(source.replies, "resources", "uri", "resources/read"))),
        tuple(dict.fromkeys(_named(source.replies, "prompts", "name", "prompts/get"))),
        tuple(dict.fromkeys((*METHODS, *asked))),
    )


def _named(replies: Iterable[Reply], kind: str, key: str, method: str) -> Iterator[str]:
    """Those that a list showed, and those that were asked for and there."""
    for reply in replies:
        if reply.member != "result":
            continue
        listed = reply.value.get(kind) if reply.method == f"{kind}/list" else None
        entries = listed if isinstance(listed, list) else []
        if reply.method == method:
            entries = [reply.params]
        for entry in entries:
            if isinstance(entry, dict) and isinstance(entry.get(key), str):
                yield entry[key]
