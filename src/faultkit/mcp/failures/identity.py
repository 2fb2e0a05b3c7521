"""Tools that tell what arrived: who called, what was said, and with which headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.mcp.failures.outcome import Outcome, Structured
from faultkit.mcp.failures.tool import Argument, Caller, FailureTool

SECRET_KEYS = (
    "password",
    "token",
    "secret",
    "authorization",
    "api_key",
    "credentials",
    "bearer",
    "cookie",
    "jwt",
    "session_id",
    "private_key",
    "passwd",
)
"""What is in the name of something that must not be shown."""
REDACTED = "[redacted]"


def whoami(given: Mapping[str, Any], caller: Caller) -> Outcome:
    known = {
        "subject": caller.subject,
        "email": caller.email,
        "name": caller.name,
        "auth_type": caller.auth_type,
        "claims": dict(caller.claims),
    }
    always = ("subject", "auth_type")
    return Structured({key: value for key, value in known.items() if value or key in always})


def echo(given: Mapping[str, Any], caller: Caller) -> Outcome:
    return Structured({key: value for key, value in given.items() if value})


def headers(given: Mapping[str, Any], caller: Caller) -> Outcome:
    found: dict[str, list[str]] = {}
    for name, value in caller.headers:
        found.setdefault(_canonical(name), []).append(value)
    shown = {name: [REDACTED] if is_secret(name) else values for name, values in found.items()}
    return Structured({"headers": shown, "count": len(shown)})


def is_secret(name: str) -> bool:
    plain = name.lower().replace("-", "_")
    return any(key in plain or key.replace("_", "") in plain for key in SECRET_KEYS)


def _canonical(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("-"))


IDENTITY = (
    FailureTool(
        "whoami",
        "identity",
        "Who the server takes you for.",
        whoami,
        output=None,
        read_only=True,
    ),
    FailureTool(
        "echo",
        "identity",
        "What you said, as it arrived.",
        echo,
        {
            "message": Argument("string", "a text to send back"),
            "extras": Argument("object", "anything else to send back"),
        },
        read_only=True,
    ),
    FailureTool(
        "headers",
        "identity",
        "The HTTP headers of your request, those with secrets hidden.",
        headers,
        output={"headers": "object", "count": "integer"},
        read_only=True,
    ),
)
