"""Finds retries without a wait, or with the same wait every time.

A retry at once is shown if it repeats what is sent to others more than a few times, with nothing between the
tries that may wait. Loops that wait in a helper, swap a value, or go on to another item are no such retries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Handler
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.idle_helpers import DRAWS
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.read_again import asks_for_state
from faultkit.code.rules.vocabulary.reconnecting import reconnecting_loops
from faultkit.code.rules.vocabulary.repetition import retries
from faultkit.code.rules.vocabulary.retry_loops import Retry
from faultkit.code.rules.vocabulary.retry_policies import reconnect_strategies, reconnects
from faultkit.code.rules.vocabulary.stuck_counters import stuck_pauses
from faultkit.code.rules.vocabulary.tried_work import is_near, is_sent, may_wait_between, number_of_tries
from faultkit.code.rules.vocabulary.waits import is_sleep

_FEW_TRIES = 3
"""So many tries at once burden another service little."""


def _check(facts: Facts) -> Iterator[Hit]:
    for retry in retries(facts):
        if retry.waits is False:
            if not is_near(retry.body, facts) and not _waits_otherwise(retry, facts):
                what = "this retries at once, without a wait between tries"
                yield Hit(retry.place, what, LIKELY if _is_burden(retry, facts) else POSSIBLE)
        elif retry.waits_longer is False and not is_near(retry.body, facts) and not _is_short(retry, facts):
            if any(asks_for_state(facts.text(one.body)) for one in _handlers(retry, facts)):
                continue  # It waits for an answer, not for something to recover.
            what = "this waits the same time before every try, however often it failed"
            yield Hit(retry.place, what, POSSIBLE, "low")
    for span, what in stuck_pauses(facts):
        yield Hit(span, what, LIKELY)
    for span in reconnect_strategies(facts):
        yield Hit(span, "this connects again at once, however often it failed", LIKELY)
    known = {retry.span for retry in retries(facts)}
    for loop, place in reconnecting_loops(facts):
        if loop.head not in known:
            yield Hit(place, "after this failure, the loop tries again at once, without a wait", LIKELY)
    for call in reconnects(facts):
        what = f"{call.written}() connects again at once whenever the connection ends"
        yield Hit(call.span, what, LIKELY)


def _is_burden(retry: Retry, facts: Facts) -> bool:
    """Return whether many tries at once are shown: of what is sent to others, with nothing between them."""
    tries = number_of_tries(retry, facts)
    if (tries is not None and tries <= _FEW_TRIES) or _is_after_change(retry, facts):
        return False
    if retry.loop is None:
        around = [] if retry.call is None else facts.calls_around(retry.call)[-1:]
        return not any(_GONE.search(facts.text(each.span)) for each in around)
    # A new name or key for each try is another try.
    draws = DRAWS.search(facts.text(retry.body)) is not None
    return not draws and is_sent(retry.body, facts) and not may_wait_between(retry, facts)


_SWAPS = NamePattern(
    r"^(weak_?)?compare_?(and_?)?(exchange|set|swap)|^compareAndSet|^CompareAndSwap|^CompareExchange", re.I
)
_GONE = NamePattern(r"NoSuch|Not_?Found|DoesNotExist|Missing|Stale|Conflict|Concurrency|Optimistic", re.I)
"""Errors of an item that is no longer there, or of two that changed it at once."""
_REFUSED = NamePattern(r"Unauthori[sz]ed|Authentic|Expired|Token|Redirect|Moved", re.I)
"""Errors after which something is renewed before the next try."""


def _waits_otherwise(retry: Retry, facts: Facts) -> bool:
    """Return whether a loop waits in a function of this text, swaps a value, or goes on to another item."""
    if retry.loop is None:
        return False
    calls = [*facts.within(facts.calls, retry.loop.span)]
    if any(_SWAPS.search(call.method) for call in calls):
        return True
    for call in calls:
        for scope in facts.functions_named(call.method):
            if call in facts.callers_of(scope) and any(map(is_sleep, facts.within(facts.calls, scope.body))):
                return True
    types = _types_that_go_on(retry, facts)
    return bool(types) and all(map(_GONE.search, types))


def _is_after_change(retry: Retry, facts: Facts) -> bool:
    """Return whether a failure is answered by a new token or address before the next try."""
    types = _types_that_go_on(retry, facts)
    return bool(types) and all(map(_REFUSED.search, types))


def _handlers(retry: Retry, facts: Facts) -> list[Handler]:
    return [handler for each in facts.tries if each.body == retry.body for handler in each.handlers]


def _types_that_go_on(retry: Retry, facts: Facts) -> list[str]:
    """Return the errors after which a loop goes on; empty if it goes on after any."""
    handlers = [each for each in _handlers(retry, facts) if not each.exits and not each.raises]
    return (
        [] if any(each.is_broad for each in handlers) else [name for each in handlers for name in each.types]
    )


_AT_START = lazy_regex(r"(?i)start_?up|^_?wait_?for|^_?init|^_?migrate|bootstrap")


def _is_short(retry: Retry, facts: Facts) -> bool:
    """Return whether a loop makes few tries, or waits for a dependency when the program starts."""
    if retry.loop is None:
        return False
    tries, scope = number_of_tries(retry, facts), facts.named_function_of(retry.loop)
    return (tries is not None and tries <= _FEW_TRIES) or (
        scope is not None and _AT_START.search(scope.short_name) is not None
    )


RULE = Rule(
    id="FK-R006",
    slug="retry-without-backoff",
    title="Retry without backoff",
    why="All clients come back at the same moment, and a dependency that was slow is kept down by "
    "its own callers.",
    fix="Wait longer after each failure (exponential backoff) and add jitter.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
