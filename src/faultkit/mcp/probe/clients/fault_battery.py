"""The faults that a client is profiled with, and the tools of the server behind them. Pure.

Most faults hit the first call only, to see whether the client still works afterwards. A few last for the
whole run, to see whether the client ever gives up.
"""

from __future__ import annotations

import re

from faultkit.base.errors import InputError
from faultkit.faults import CALL_FAULTS
from faultkit.faults.call_fault import CallFault, Era, Transport
from faultkit.mcp.fault_specs import parse_spec
from faultkit.mcp.mock.manifest import load_manifest, parse_manifest
from faultkit.mcp.mock.mock_model import Manifest
from faultkit.plan import Plan

_CHOSEN: dict[str, tuple[str, ...]] = {
    "slow": ("slow:1000,first=1",),
    "slow_drip": ("slow_drip:100,first=1",),
    "recover_after": ("recover_after:1",),
    "fail_from": ("fail_from:1,first=1",),
    "tool_error": ("tool_error,first=1", "tool_error"),
    "protocol_error": ("protocol_error,first=1", "protocol_error"),
    "flaky": ("flaky:1,seed=s,first=1",),
    "rate_limit": (
        "rate_limit:http,retry_after_s=1,first=1",
        "rate_limit:jsonrpc,retry_after_s=1,first=1",
        "rate_limit:tool_error,retry_after_s=1,first=1",
        "rate_limit:hidden,retry_after_s=1,first=1",
    ),
    "http_status": (
        "http_status:401,first=1",
        "http_status:404,first=1",
        "http_status:503,first=1",
        "http_status:503",
    ),
    "disconnect": ("disconnect,first=1", "disconnect"),
    "stale_value": ("stale_value",),
    "stale_cache_hints": ("stale_cache_hints",),
}
"""Specs of faults that need other settings than their defaults, or that also last for the whole run."""

BATTERY: tuple[str, ...] = tuple(
    spec for kind in CALL_FAULTS for spec in _CHOSEN.get(kind, (f"{kind},first=1",))
)
"""The specs of each call fault, in the order of the table; by default one with its defaults, on the first
call."""


def fitting(specs: tuple[str, ...], transport: Transport, era: Era) -> tuple[str, ...]:
    """Return the faults that can act on a client with this transport and era."""
    return tuple(spec for spec in specs if _fault_of(spec).fits(transport, era))


def plan_of(spec: str, seed: int | str) -> Plan:
    """Return a plan with one fault; raises InputError if the spec is not valid."""
    rule = parse_spec(spec)
    return Plan(() if rule is None else (rule,), seed)


def kind_of(spec: str) -> str:
    """Return the kind of a fault spec: `hang` of `hang,first=1`."""
    return re.split("[:,@%]", spec)[0]


def _fault_of(spec: str) -> CallFault:
    rule = parse_spec(spec)
    assert rule is not None
    assert isinstance(rule.fault, CallFault)
    return rule.fault


_BUILT_IN = {
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
    """Return the tools of a manifest file, or two built-in ones; raises InputError for a file that is not
    valid."""
    if path is None:
        return parse_manifest(_BUILT_IN)
    try:
        return load_manifest(path)
    except InputError as error:
        raise error.at(f"--tools-from {error.path}") from None
