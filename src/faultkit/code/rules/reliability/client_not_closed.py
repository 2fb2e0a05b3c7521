"""Finds clients with a connection pool that a function creates and never closes.

Evidence that it matters: the function that makes it is called again and again. A session of requests closes
its connections when it is collected, and is `POSSIBLE`.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import LIKELY, POSSIBLE, PYTHON, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.resources import is_closed_or_passed_on

_CLIENTS = (
    "aiohttp.ClientSession",
    "httpx.AsyncClient",
    "httpx.Client",
    "requests.Session",
    "requests.session",
    "grpc.insecure_channel",
    "grpc.secure_channel",
    "concurrent.futures.ThreadPoolExecutor",
    "concurrent.futures.ProcessPoolExecutor",
    "multiprocessing.Pool",
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_CLIENTS):
        if facts.function_of(call) is None or is_closed_or_passed_on(call, facts):
            continue
        mild: Severity | None = "low" if call.name.startswith("requests") else None
        sure = POSSIBLE if mild or _is_left_running(call, facts) else LIKELY
        yield Hit(call.span, f"{call.written}() is made here and never closed", sure, mild)


def _is_left_running(call: Call, facts: Facts) -> bool:
    """Return whether the function goes on until the process ends: it has an endless loop after the call."""
    scope = facts.function_of(call)
    return scope is not None and any(
        loop.kind in ("endless", "while") and loop.span.start > call.span.start
        for loop in facts.own(facts.loops, scope)
    )


RULE = Rule(
    id="FK-R015",
    slug="client-not-closed",
    title="Client or pool not closed",
    why="Its connections and threads stay open after the function has ended, a few more with every call.",
    fix="Use it in a with block, or make one for the whole process and close it at shutdown.",
    kind="reliability",
    severity="medium",
    languages=PYTHON,
    check=_check,
)
