"""Failures of calls to a provider: their kinds, when to repeat a call, and the message for users. Pure.

Also the reading of responses, from which failures are found. This module imports no client library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from types import ModuleType
from typing import Any, Literal, TypeAlias

from faultkit.base.documents.jsonc import refuse_constant
from faultkit.base.rng import Rng
from faultkit.base.text import untrusted_line
from faultkit.llm.providers import ModelEndpoint
from faultkit.llm.redaction import Redaction

FailureKind: TypeAlias = Literal[
    "key", "model", "credit", "rate", "server", "timeout", "connection", "rejected", "garbage"
]
"""garbage: no provider with this API would send the response."""

TEMPORARY_KINDS: frozenset[FailureKind] = frozenset({"rate", "server", "connection"})
"""Failures after which another try may succeed. A timeout is not one: a slow model stays slow."""

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 20.0
LONGEST_RETRY_AFTER_S = 60.0
"""Longest `Retry-After` that is obeyed. A call is given up if its provider asks for a longer wait."""
_BY_STATUS: dict[int, FailureKind] = {
    401: "key",
    402: "credit",
    403: "key",
    404: "model",
    408: "server",
    429: "rate",
}
_NO_CREDIT = ("insufficient_quota", "insufficient credits", "credit balance")


class ProviderFailure(Exception):
    """Raised by a failed call to a provider. Callers turn it into an error for the user."""

    def __init__(
        self, kind: FailureKind, detail: str = "", *, status: int | None = None, after_s: float | None = None
    ) -> None:
        super().__init__(kind, detail)
        self.kind: FailureKind = kind
        self.detail = untrusted_line(detail)
        self.status = status
        self.after_s = after_s
        """Seconds that the provider asks to wait; None if it does not."""


def kind_of(status: int, detail: str) -> FailureKind:
    """Classify an HTTP status. `detail` distinguishes an empty account from too many requests."""
    if status in (400, 402, 429) and any(word in detail.lower() for word in _NO_CREDIT):
        return "credit"
    if status < 400:
        return "garbage"  # A redirect: the server at this address is not the provider's API.
    return _BY_STATUS.get(status) or ("server" if status >= 500 else "rejected")


def describe_failure(failure: ProviderFailure, endpoint: ModelEndpoint, tries: int, timeout_s: float) -> str:
    """Return what happened, as a sentence without its full stop. Callers add what to do."""
    what: dict[FailureKind, str] = {
        "key": "refused the key",
        "model": f"does not know the model {endpoint.model!r}",
        "credit": "says that there is no credit left",
        "rate": "takes no more requests now",
        "server": "failed",
        "timeout": f"did not answer within {round(timeout_s, 2):g} s",
        "connection": f"cannot be reached at {endpoint.base_url}",
        "rejected": "rejected the request",
        "garbage": "sent an unexpected response",
    }
    # Some providers repeat the key that they refuse.
    detail = failure.detail.replace(endpoint.key, "…") if endpoint.key else failure.detail
    status = f"HTTP {failure.status}" if failure.status else ""
    reason = ": ".join(part for part in (status, Redaction().hide(detail)) if part)
    because = f" ({reason})" if reason else ""
    after = f" after {tries} tries" if tries > 1 else ""
    return f"{endpoint.provider.name} {what[failure.kind]}{because}{after}"


# Repeating a call


def pause_s(failure: ProviderFailure, tried: int, rng: Rng) -> float | None:
    """Return the pause after `tried` tries, or None if another try cannot help."""
    if failure.kind not in TEMPORARY_KINDS:
        return None
    # Exponential backoff with jitter. One half is fixed, so that the provider gets a pause; the other half is
    # random, so that many clients do not return at once.
    full_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (min(tried, 32) - 1))
    own_s = full_s * (0.5 + 0.5 * rng.uniform())
    if failure.after_s is None:
        return own_s
    return failure.after_s if failure.after_s <= LONGEST_RETRY_AFTER_S else None


def after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `Retry-After` asks for (RFC 9110, section 10.2.3), or None.

    A date counts from the response's own `Date`, so no local clock is read.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name, ""), scale)
        if seconds is not None:
            return seconds
    then, now = _date(headers.get("retry-after", "")), _date(headers.get("date", ""))
    return None if then is None or now is None else max(0.0, then - now)


def _number(text: str, scale: float) -> float | None:
    try:
        number = float(text) * scale
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _date(text: str) -> float | None:
    parts = parsedate_tz(text)
    try:
        return None if parts is None else float(mktime_tz(parts))
    except (ValueError, OverflowError):
        return None


# Reading the response of a provider, and the errors of a client library
#
# Bodies are read here rather than by the client libraries, so that a value that is missing or has the wrong
# type becomes a failure with a kind, and not a different error from each library.


CONNECT_S = 10.0
"""Longest time to connect. A slower server counts as unreachable."""
_LONGEST_QUOTE = 120


def failure_of(error: Exception, library: ModuleType) -> ProviderFailure:
    """Return the failure behind an error of `openai` or `anthropic`, which name their errors alike."""
    if isinstance(error, library.APITimeoutError):
        # httpx raises ConnectTimeout if no connection was made, ReadTimeout if no response came.
        if type(error.__cause__).__name__.startswith("Connect"):
            return ProviderFailure("connection", "no connection in time")
        return ProviderFailure("timeout")
    if isinstance(error, library.APIConnectionError):
        return ProviderFailure("connection", str(error.__cause__ or error))
    if isinstance(error, library.APIStatusError):
        detail = detail_of(error.body) or str(error.message)
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        return status_failure(error.status_code, detail, after_s(headers))
    return ProviderFailure("garbage", str(error))


def status_failure(status: int, detail: str, wait_s: float | None = None) -> ProviderFailure:
    """Return the failure that an HTTP status stands for."""
    return ProviderFailure(kind_of(status, detail), detail, status=status, after_s=wait_s)


def body_of(text: str) -> dict[str, Any]:
    """Parse a response body. Raises ProviderFailure, also for an error sent with status 200."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise ProviderFailure("garbage", text) from None
    if not isinstance(body, dict):
        raise ProviderFailure("garbage", text)
    error = body.get("error")
    if error:
        # Some gateways report the errors of their upstreams in a response of their own that succeeded.
        status = error.get("code") if isinstance(error, dict) else None
        if isinstance(status, int) and 400 <= status <= 599:
            raise status_failure(status, detail_of(body))
        raise ProviderFailure("server", detail_of(body))
    return body


def detail_of(body: object) -> str:
    """Return the message of an error body, whose shape differs among providers."""
    if isinstance(body, list) and body:
        return detail_of(body[0])
    if isinstance(body, dict):
        inner = body.get("error")
        if isinstance(inner, (dict, list, str)) and inner:
            return detail_of(inner)
        words = [body.get(name) for name in ("message", "code", "detail")]
        return " ".join(word for word in words if isinstance(word, str))
    return body if isinstance(body, str) else ""


def value_at(value: object, *path: str | int) -> Any:
    """Return the value at a path of keys and indexes, or None."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def count_at(value: object, *path: str | int) -> int | None:
    """Return the count at a path, or None if it is no whole number of at least 0."""
    number = value_at(value, *path)
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else None


def text_at(value: object, *path: str | int) -> str:
    """Return the text at a path, or an empty one."""
    text = value_at(value, *path)
    return text if isinstance(text, str) else ""


def arguments_in(written: object) -> tuple[dict[str, Any], str]:
    """Return the arguments that a model wrote for a call, and what is wrong with them.

    No arguments at all are an empty object.
    """
    if written is None or (isinstance(written, str) and not written.strip()):
        return {}, ""
    value = written
    if isinstance(written, str):
        try:
            value = json.loads(written, parse_constant=refuse_constant)
        except (ValueError, RecursionError) as error:
            return {}, f"invalid arguments: they are no JSON ({error}): {_quoted(written)}"
    if not isinstance(value, dict):
        return {}, f"invalid arguments: expected a JSON object, got {_quoted(json.dumps(value))}"
    return value, ""


def _quoted(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"
