"""What the server behind the faults serves: the user's tools, or two of our own."""

from __future__ import annotations

from faultkit.base.errors import InputError
from faultkit.mcp.mock.file import load_manifest
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.model import Manifest

_OWN = {
    "name": "faultkit-profile",
    "version": "1",
    "tools": [
        {
            "name": "forecast",
            "description": "Says what the weather will be in a city.",
            "inputSchema": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
            "outputSchema": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
            },
            "annotations": {"readOnlyHint": True},
            "response": {"city": "Paris", "degrees": 21},
        },
        {
            "name": "cities",
            "description": "Lists the cities that there is a forecast for.",
            "inputSchema": {"type": "object", "properties": {}},
            "annotations": {"readOnlyHint": True},
            "response": "Paris, Oslo",
        },
    ],
}


def manifest_of(path: str | None) -> Manifest:
    """InputError if there is none in the file."""
    if path is None:
        return parse_manifest(_OWN)
    try:
        return load_manifest(path)
    except InputError as error:
        raise InputError(f"--tools-from {error.path}", error.problem) from None
