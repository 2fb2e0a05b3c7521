"""What one request got, as a judgement sees it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.mcp.probe.servers.model import Evidence
from faultkit.mcp.wire.message import encode

_LONGEST = 200
_ENDS = 80
"""Of something long, so many characters at each end are shown."""


@dataclass(frozen=True, slots=True)
class Seen:
    sent: bytes
    replies: tuple[Mapping[str, Any], ...] = ()
    """The responses that came for it."""
    status: int | None = None
    """Of the answer, over HTTP."""
    trouble: str = ""
    """Why there is no reply: silence, a lost connection, a process that ended, an answer that is none."""
    gone: bool = False
    """The connection or the process was lost over it."""

    @property
    def reply(self) -> Mapping[str, Any] | None:
        return self.replies[0] if self.replies else None

    @property
    def code(self) -> int | None:
        """Of a JSON-RPC error."""
        error = None if self.reply is None else self.reply.get("error")
        code = error.get("code") if isinstance(error, Mapping) else None
        return code if type(code) is int else None

    @property
    def result(self) -> Mapping[str, Any] | None:
        found = None if self.reply is None else self.reply.get("result")
        return found if isinstance(found, Mapping) else None

    @property
    def is_tool_error(self) -> bool:
        return self.result is not None and self.result.get("isError") is True

    @property
    def problem(self) -> str:
        """Why it is no clean answer; empty if it is one, whether a result or an error."""
        if self.reply is None:
            return self.trouble or "no reply came"
        if len(self.replies) > 1:
            return f"{len(self.replies)} replies came for one request"
        return _malformed(self.reply)

    @property
    def kind(self) -> str:
        """In a word: answers of one kind may differ in what they say."""
        if self.problem:
            return self.problem
        if self.code is not None:
            return f"error {self.code}"
        return "isError" if self.is_tool_error else "result"

    @property
    def evidence(self) -> Evidence:
        status = "" if self.status is None else f"HTTP {self.status} "
        came = " ".join(shortened(encode(dict(reply))) for reply in self.replies)
        return Evidence(shortened(self.sent), f"{status}{came or self.trouble or 'nothing'}".strip())


def _malformed(reply: Mapping[str, Any]) -> str:
    if reply.get("jsonrpc") != "2.0":
        return 'the reply lacks "jsonrpc": "2.0"'
    if ("result" in reply) == ("error" in reply):
        return "the reply has both a result and an error" if "result" in reply else "the reply has neither"
    error = reply.get("error")
    if "error" in reply and not (
        isinstance(error, Mapping)
        and type(error.get("code")) is int
        and isinstance(error.get("message"), str)
    ):
        return "the error of the reply lacks a whole number as code or a text as message"
    return ""


def shortened(raw: bytes) -> str:
    """On one line, its middle left out if it is long."""
    text = " ".join(raw[: 4 * _LONGEST].decode("utf-8", "replace").split())
    if len(raw) <= 4 * _LONGEST and len(text) <= _LONGEST:
        return text
    end = " ".join(raw[-4 * _ENDS :].decode("utf-8", "replace").split())[-_ENDS:]
    return f"{text[:_ENDS]} … ({len(raw):,} bytes) … {end}"
