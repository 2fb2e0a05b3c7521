"""The faults that a client is profiled with, and the tools of the server behind them. Pure.

Most faults hit the first call only, to see whether the client still works afterwards. A few last for the
whole run, to see whether the client ever gives up.
"""

from __future__ import annotations

import re

from faultkit.base.errors import InputError
from faultkit.faults.call.call import CallFault, Era, Transport
from faultkit.mcp.fault_specs import parse_spec
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.mock_model import Manifest
from faultkit.mcp.mock.mock_source import load_manifest
from faultkit.plan import Plan

BATTERY: tuple[str, ...] = (
    "hang,first=1",
    "wedged,first=1",
    "frozen,first=1",
    "slow:1000,first=1",
    "slow_drip:100,first=1",
    "recover_after:1",
    "fail_from:1,first=1",
    "tool_error,first=1",
    "tool_error",
    "protocol_error,first=1",
    "protocol_error",
    "flaky:1,seed=s,first=1",
    "rate_limit:http,retry_after_s=1,first=1",
    "rate_limit:jsonrpc,retry_after_s=1,first=1",
    "rate_limit:tool_error,retry_after_s=1,first=1",
    "rate_limit:hidden,retry_after_s=1,first=1",
    "http_status:401,first=1",
    "http_status:404,first=1",
    "http_status:503,first=1",
    "http_status:503",
    "malformed_json,first=1",
    "wrong_id,first=1",
    "mistyped_id,first=1",
    "duplicate_reply,first=1",
    "out_of_order,first=1",
    "reply_after_cancel,first=1",
    "lost_reply,first=1",
    "truncated_reply,first=1",
    "stream_end,first=1",
    "keep_alive_only,first=1",
    "disconnect,first=1",
    "disconnect",
    "tcp_reset,first=1",
    "empty_result,first=1",
    "oversized_result,first=1",
    "corrupt_value,first=1",
    "stale_value",
    "prompt_injection,first=1",
    "schema_drift,first=1",
    "vanished_tools,first=1",
    "notification_storm,first=1",
    "progress_storm,first=1",
    "header_mismatch,first=1",
    "unsupported_version,first=1",
    "unknown_result_type,first=1",
    "input_required_loop,first=1",
    "stale_cache_hints",
    "dead_subscription,first=1",
)


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
        raise InputError(f"--tools-from {error.path}", error.problem) from None
