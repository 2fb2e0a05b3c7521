"""Plain values out of a provider's HTTP answer, and failures out of a client library's errors.

Bodies are read by hand rather than by the libraries: what is not there or has the wrong type is then a
failure with a name, and not whatever each library makes of it.
"""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from faultkit.llm.failure import Failure, kind_of
from faultkit.llm.retry import after_s

CONNECT_S = 10.0
"""Whoever takes longer to accept a connection is not there."""
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def failure_of(error: Exception, library: ModuleType) -> Failure:
    """The failure behind an error of `openai` or `anthropic`, which name their errors alike."""
    if isinstance(error, library.APITimeoutError):
        # Who cannot even be connected to is away; who is slow to answer is slow.
        cause = type(error.__cause__).__name__
        return (
            Failure("connection", "no connection in time")
            if cause.startswith("Connect")
            else Failure("timeout")
        )
    if isinstance(error, library.APIConnectionError):
        return Failure("connection", str(error.__cause__ or error))
    if isinstance(error, library.APIStatusError):
        detail = detail_of(error.body) or str(error.message)
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        return status_failure(error.status_code, detail, after_s(headers))
    return Failure("garbage", str(error))


def status_failure(status: int, detail: str, wait_s: float | None = None) -> Failure:
    return Failure(kind_of(status, detail), detail, status=status, after_s=wait_s)


def body_of(text: str) -> dict[str, Any]:
    """A JSON object. Some gateways send their errors with status 200: those are failures, too."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise Failure("garbage", text) from None
    if not isinstance(body, dict):
        raise Failure("garbage", text)
    error = body.get("error")
    if error:
        status = error.get("code") if isinstance(error, dict) else None
        if isinstance(status, int) and 400 <= status <= 599:
            raise status_failure(status, detail_of(body))
        raise Failure("server", detail_of(body))
    return body


def detail_of(body: object) -> str:
    """The words of an error body, whose shape differs from provider to provider."""
    if isinstance(body, list) and body:
        return detail_of(body[0])
    if isinstance(body, dict):
        inner = body.get("error")
        if isinstance(inner, (dict, list, str)) and inner:
            return detail_of(inner)
        words = [body.get(name) for name in ("message", "code", "detail")]
        return " ".join(word for word in words if isinstance(word, str))
    return body if isinstance(body, str) else ""


def at(value: object, *path: str | int) -> Any:
    """What stands at a path of keys and places, or None."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def count_at(value: object, *path: str | int) -> int | None:
    """A count that can be believed: a whole number that is not negative."""
    number = at(value, *path)
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else None


def text_at(value: object, *path: str | int) -> str:
    text = at(value, *path)
    return text if isinstance(text, str) else ""


def is_loopback(base_url: str) -> bool:
    authority = base_url.partition("://")[2].partition("/")[0]
    return authority.startswith(_LOOPBACK)
