"""Loops that read on or ask for a state, which look like retries: nothing failed that is tried again."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span

_LOCAL = frozenset({"list", "tuple", "set", "dict", "sorted", "len", "next", "iter", "max", "min", "sum"})
_PARSES = lazy_regex(r"_?(try_?)?(parse|decode|ingest|tokeni|lex|advance)", re.IGNORECASE)


def is_local(body: Span, facts: Facts) -> bool:
    """Return whether only memory is read: `list(things)`, or the next command of a text that is parsed."""
    calls = list(facts.within(facts.calls, body))
    return bool(calls) and all(
        call.name in _LOCAL or (_PARSES.match(call.method) is not None and not _is_sent(call))
        for call in calls
    )


def _is_sent(call: Call) -> bool:
    return call.is_awaited or re.search(r"client|api|service|http", call.receiver_written, re.I) is not None


_LIMITED = ("wait_for", "timeout", "timeout_after", "withTimeout", "withTimeoutOrNull", "WaitAsync")
_NEXT = lazy_regex(r"\.(read\w*|recv\w*|receive\w*|Read\w*Async|Receive\w*)\(|\.(get|take|poll)\(\)")


def waits_for_next(body: Span, facts: Facts) -> bool:
    """Return whether a try waits some time for more of a stream or queue: the limit is its pause."""
    return any(
        _NEXT.search(each.value.text)
        for call in facts.within(facts.calls, body)
        if call.method in _LIMITED
        for each in call.positional
    )


_OTHER_STATUS = lazy_regex(
    r"if\s*\(?\s*[\w.?]+\.(?:status\w*|\w*[cC]ode)\s*!==?\s*([\w.]+)\s*\)?\s*[:{]?\s*(?:throw|raise)\b"
)
_FAILED = lazy_regex(
    r"^(4(08|25|29)|5\d\d)$|unavail|thrott|busy|too_?many|rate|time|lock|abort|conn|reset|refus|internal|gateway",
    re.I,
)


def asks_for_state(handler: str) -> bool:
    """Return whether a handler goes on after one status only, which says "not yet" and is no failure."""
    found = _OTHER_STATUS.search(handler)
    return found is not None and _FAILED.search(found[1]) is None
