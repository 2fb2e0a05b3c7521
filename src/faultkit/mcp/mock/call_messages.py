"""Messages that a tool of a mock sends while a call is open: progress, and log messages by level. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.base.documents.checks import shown
from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.answer_source import ClientState, TimedMessage
from faultkit.mcp.mock.expressions import fill_names, fill_text
from faultkit.mcp.mock.mock_model import LOG_LEVELS, LOG_MESSAGE, CallMessage, JsonRpcError, MockTool
from faultkit.mcp.wire.era import LOG_LEVEL_KEY, meta_of
from faultkit.mcp.wire.message import INVALID_PARAMS, is_id, notification_of


def timed_messages(
    tool: MockTool, params: Mapping[str, Any], era: Era, client: ClientState
) -> tuple[TimedMessage, ...]:
    """Return the messages of one call. Raises ValueError for a log level that does not exist.

    Progress is sent only for a call with a progress token (MCP 2025-11-25, Progress)."""
    if not tool.messages:
        return ()
    least = _least_level(params, era, client)
    token = meta_of(params).get("progressToken")
    names = {"args": params.get("arguments") or {}, "tool": tool.name}
    return tuple(
        TimedMessage(each.after_s, _encoded(each, names, token if is_id(token) else None, least))
        for each in tool.messages
    )


def _encoded(
    message: CallMessage, names: Mapping[str, Any], token: str | int | None, least: int
) -> bytes | None:
    """Return the notification; None if this call gets none."""
    params = dict(message.params)
    if message.method == LOG_MESSAGE:
        if LOG_LEVELS.index(params["level"]) < least:
            return None
        return notification_of(message.method, fill_names(params, names))
    if token is None:
        return None
    if "message" in params:
        params["message"] = fill_text(params["message"], names)
    return notification_of(message.method, {"progressToken": token, **params})


def _least_level(params: Mapping[str, Any], era: Era, client: ClientState) -> int:
    """Return the place of the least level in LOG_LEVELS that a call gets; beyond the last one for none.

    In the legacy era a session sets the level, and until then gets all. In the modern era each request sets
    it, and without one gets none (MCP 2026-07-28, Logging)."""
    if era == "legacy":
        return 0 if client.log_level is None else LOG_LEVELS.index(client.log_level)
    level = meta_of(params).get(LOG_LEVEL_KEY)
    if level is None:
        return len(LOG_LEVELS)
    if level not in LOG_LEVELS:
        raise ValueError(f"_meta.{LOG_LEVEL_KEY}: {_expected(level)}")
    return LOG_LEVELS.index(level)


def set_log_level(client: ClientState, params: Mapping[str, Any]) -> dict[str, Any] | JsonRpcError:
    """Return the result of `logging/setLevel`, and set the level of the session."""
    level = params.get("level")
    if level not in LOG_LEVELS:
        return JsonRpcError(INVALID_PARAMS, f"Invalid params: level: {_expected(level)}")
    client.log_level = level
    return {}


def _expected(level: object) -> str:
    return f"expected one of {', '.join(LOG_LEVELS)}, got {shown(level)}"
