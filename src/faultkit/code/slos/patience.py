"""How long a call may take in the worst case: its timeout, and how often it is tried. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.vocabulary.http import HttpRequest, http_requests
from faultkit.code.rules.vocabulary.retries import Retry, is_retried, retries
from faultkit.code.slos.seconds import count_of, seconds_of

USUAL_TRIES = 3
"""Where code tries again and does not say how often."""
_MOST_TRIES = 1000

_BLOCKS = ("timeout", "fail_after", "move_on_after")
_WRAPPERS = ("wait_for", "timeout", "withTimeout", "orTimeout")
_GO_CONTEXTS = ("context.WithTimeout", "context.WithTimeoutCause")
_COUNTS = re.compile(
    r"(?:stop_after_attempt\(|max_tries\s*=|tries\s*=|attempts\s*[=:(]|maxAttempts\s*[=:])\s*([\w.]+)"
)
_AGAIN = re.compile(r"(?:retries|max_retries|maxRetries|retry|total)\s*[=:(]\s*([\w.]+)")
"""How often after the first time."""
_RANGE = re.compile(r"range\(\s*(?:([\w.]+)\s*,\s*)?([\w.]+)\s*\)")
_BELOW = re.compile(r"<(=?)\s*([\w.]+)")


@dataclass(frozen=True, slots=True)
class Patience:
    timeout_s: float | None = None
    timeout_is: Literal["given", "default", "missing", "unknown"] = "unknown"
    tries: int | None = 1
    library: str = ""


def patience_of(call: Call, facts: Facts) -> Patience:
    tries = tries_of(call, facts)
    around_s = _around_s(call, facts)
    request = next((each for each in http_requests(facts) if each.call is call), None)
    if request is None:
        return Patience(around_s, "given" if around_s is not None else "unknown", tries)
    library = request.library.name
    own_s = _own_s(request, facts)
    given = [each for each in (own_s, around_s) if each is not None]
    if given:
        return Patience(min(given), "given", tries, library)
    if request.timeout is not False:
        return Patience(None, "given" if request.timeout else "unknown", tries, library)
    default_s = request.library.default_s
    return Patience(default_s, "missing" if default_s is None else "default", tries, library)


def _own_s(request: HttpRequest, facts: Facts) -> float | None:
    call, library = request.call, request.library
    argument = call.argument(*library.timeouts, place=library.place) if library.timeouts else None
    if argument is None and call.origin is not None and library.on_client:
        argument = call.origin.argument(*library.on_client)
    if argument is not None and argument.value.shape != "none":
        return seconds_of(argument.value.text, facts)
    if library.name == "java.net.http":
        found = re.search(r"\.timeout\(\s*([^()]*\([^()]*\)|\w+)", _built(call, facts))
        return None if found is None else seconds_of(found[1], facts)
    return None


def _built(call: Call, facts: Facts) -> str:
    """Java: how the request that is sent was made."""
    given = call.argument(place=0)
    text = "" if given is None else given.value.text
    made = [each.value.text for each in facts.assignments if text in each.targets and each.value is not None]
    return made[-1] if made else text


def _around_s(call: Call, facts: Facts) -> float | None:
    """`async with asyncio.timeout(5)`, `wait_for(…, 5)`, and in Go a context that ends."""
    bounds = [
        each.argument("delay", place=0) for each in facts.managed_around(call) if each.method in _BLOCKS
    ]
    bounds += [
        each.argument("timeout", place=1) for each in facts.calls_around(call) if each.method in _WRAPPERS
    ]
    if facts.language == "go":
        function = facts.named_function_of(call)
        bounds += [
            each.argument(place=1)
            for each in facts.calls_named(*_GO_CONTEXTS)
            if facts.named_function_of(each) is function
        ]
    found = [seconds_of(each.value.text, facts) for each in bounds if each is not None]
    return min((each for each in found if each is not None), default=None)


def tries_of(call: Call, facts: Facts) -> int | None:
    """None if it is tried without an end."""
    around = [each for each in retries(facts) if is_within(call.span, each.body)]
    if around:
        return _counted(around[0], facts)
    if not is_retried(call, facts):
        return 1
    made = call.origin
    found = None if made is None else _AGAIN.search(facts.text(made.span))
    count = None if found is None else count_of(found[1], facts)
    return USUAL_TRIES if count is None else min(count + 1, _MOST_TRIES)


def _counted(retry: Retry, facts: Facts) -> int | None:
    if retry.limited is False:
        return None
    text = "" if retry.call is None else facts.text(retry.call.span)
    if retry.loop is not None:
        return _of_loop(retry.loop.over, facts)
    if (found := _COUNTS.search(text)) and (count := count_of(found[1], facts)):
        return min(count, _MOST_TRIES)
    if (found := _AGAIN.search(text)) and (count := count_of(found[1], facts)) is not None:
        return min(count + 1, _MOST_TRIES)
    return USUAL_TRIES


def _of_loop(over: str, facts: Facts) -> int:
    if found := _RANGE.search(over):
        first, last = count_of(found[1] or "0", facts), count_of(found[2], facts)
        if first is not None and last is not None and last > first:
            return min(last - first, _MOST_TRIES)
    if (found := _BELOW.search(over)) and (count := count_of(found[2], facts)):
        return min(count + bool(found[1]), _MOST_TRIES)
    return USUAL_TRIES
