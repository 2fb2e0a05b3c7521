"""The four combinations of transport and era in which a fault can act, and the server of the fault tests."""

from __future__ import annotations

from typing import Any, NamedTuple

from faultkit.faults.call_fault import Era, Transport
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY
from faultkit.plan import Plan
from tests.mcp.specs import parse_specs


class Place(NamedTuple):
    transport: Transport
    era: Era

    def __str__(self) -> str:
        return f"{self.transport}-{self.era}"


OLD_PIPES = Place("stdio", "legacy")
NEW_PIPES = Place("stdio", "modern")
OLD_HTTP = Place("http", "legacy")
NEW_HTTP = Place("http", "modern")

PIPES = (OLD_PIPES, NEW_PIPES)
HTTP = (OLD_HTTP, NEW_HTTP)
OLD = (OLD_PIPES, OLD_HTTP)
NEW = (NEW_PIPES, NEW_HTTP)
EVERYWHERE = (*PIPES, *HTTP)

SERVER = "shop"
TOOL = "count"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OUTPUT = {"type": "object", "properties": {"call": {"type": "integer"}, "place": {"type": "string"}}}
LISTED = {
    "name": TOOL,
    "description": "Says how often it was called.",
    "inputSchema": SCHEMA,
    "outputSchema": OUTPUT,
}
MANIFEST = parse_manifest(
    {
        "name": SERVER,
        "version": "1",
        # Its answer has the number of calls that the server received.
        "tools": [{**LISTED, "response": {"call": "${call}", "place": "Paris"}}],
    }
)
META = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}
TOKEN = "steps"


def request(
    place: Place, method: str, params: dict[str, Any], id: int | None, meta: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a message of a client; without an id, a notification."""
    more = {**(META if place.era == "modern" and id is not None else {}), **(meta or {})}
    whole = {**params, "_meta": more} if more else params
    named = {} if id is None else {"id": id}
    return {"jsonrpc": "2.0", **named, "method": method, "params": whole}


def call(place: Place, id: int) -> dict[str, Any]:
    params = {"name": TOOL, "arguments": {"city": "Paris"}}
    return request(place, "tools/call", params, id, {"progressToken": TOKEN})


def cancel(place: Place, id: int) -> dict[str, Any]:
    return request(place, "notifications/cancelled", {"requestId": id}, None)


def plan_of(*specs: str, seed: int = 7) -> Plan:
    return Plan(rules=parse_specs(specs), seed=seed)
