"""What a retry repeats: whether it is sent to others, how often, and what happens between two tries."""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.changed_values import is_given
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.outside_services import asks_outside
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.retry_loops import Retry
from faultkit.code.rules.vocabulary.service_clients import service_calls
from faultkit.code.rules.vocabulary.waits import is_sleep

_NEAR = NamePattern(
    r"^(os|shutil|sqlite3|fcntl|pathlib|fs|fs/promises|fs-extra|tempfile|socket\.socket\.bind|File|Directory|Path|Files"
    r"|java\.nio\.file|java\.io|System\.IO|tokio\.fs|std\.fs|io/ioutil|path/filepath)\b"
    r"|\.fs\.\w+$|\.(stat|bind|unlink|(rm|rmdir|unlink|mkdir|rename|stat)Sync)$"
)
"""Calls that use a file, a lock or a port of this machine."""
_SENDS = NamePattern(
    r"^_*(re_?)?(send|publish|post|upload|download|fetch|request|push|deliver|connect|dial|notify|invoke|replicate|forward"
    r"|subscribe|log_?in|transmit|produce|broadcast|charge)(_|[A-Z]|$)",
)
"""Verbs of what goes to another process, where neither the object nor the language shows it."""
_CAPITAL_SENDS = NamePattern(
    r"^(Re)?(Send|Publish|Post|Upload|Download|Fetch|Request|Push|Deliver|Connect|Dial|Notify|Invoke|Replicate|Forward"
    r"|Subscribe|LogIn|Login|Transmit|Produce|Broadcast|Charge)([A-Z]|$)"
)
_ASYNC = frozenset(("python", "javascript", "typescript", "tsx", "csharp", "rust"))
_DECIDES = lazy_regex(r"retr(y|ies|ier|ying)|back_?off|polic(y|ies)|throttl", re.IGNORECASE)
_SOME = lazy_regex(r"(?:>=?|<=?|==|\.\.=?|\bgt\b|\bge\b|\bin range\()\s*(\d+)\b")
_NUMBER = lazy_regex(r"(?<![\w.])(\d+)\b")
_LIMIT = lazy_regex(r"(?:range\((?:\s*\d+\s*,)?|<=?|[.]{2}=?|until)\s*([\w.]+)\b(?!\s*,)")


@lru_cache(maxsize=4)
def _leaving(facts: Facts) -> frozenset[Call]:
    """Return the calls that are known to leave the process."""
    return frozenset(
        (
            *(each.call for each in http_requests(facts)),
            *(each.call for each in remote_calls(facts)),
            *service_calls(facts),
        )
    )


def is_near(span: Span, facts: Facts) -> bool:
    """Return whether code uses files, locks or ports of this machine."""
    return any(_NEAR.search(call.name) for call in facts.within(facts.calls, span))


def is_sent(span: Span, facts: Facts) -> bool:
    """Return whether code asks another process: a known client, an awaited call, or a verb that says so."""
    calls = [each for each in facts.within(facts.calls, span) if not is_logging(each) and not is_sleep(each)]
    if facts.language in _ASYNC and any(each.is_awaited for each in calls):
        return True
    return any(leaves_process(each, facts) for each in calls)


def leaves_process(call: Call, facts: Facts) -> bool:
    """Return whether a call asks another process, by its client, its context, or a verb that says so."""
    if _SENDS.match(call.method) or _CAPITAL_SENDS.match(call.method):
        return True
    if facts.language == "go" and _takes_context(call):
        return True
    return call in _leaving(facts) or asks_outside(call, facts)


def _takes_context(call: Call) -> bool:
    first = call.argument(place=0)
    return first is not None and re.fullmatch(r"\w*[cC]tx", first.value.text) is not None


_NOT_GIVEN = lazy_regex(
    r"^(self|cls|this|_.*|\w*([cC]tx|[cC]ontext|[lL]og|[lL]ogger|[oO]ptions|[oO]pts|[cC]onfig|[sS]ettings|[sS]cope|[tT]oken))$"
)
"""Parameters that are no work: what every function is given."""
_LASTING = lazy_regex(
    r"start_?up|^_*(wait_?for|init|migrate|run|start|listen|loop|watch|poll|consume|subscribe|re_?connect|main|serve|heart_?beat|keep_?alive)"
    r"|bootstrap|(loop|worker|daemon|thread)$",
    re.IGNORECASE,
)
"""Names of functions that wait for a dependency, or go on as long as the program."""


_RECONNECTS = lazy_regex(r"re_?connect|heart_?beat|keep_?alive", re.IGNORECASE)


def reconnects(place: Placed, facts: Facts) -> bool:
    """Return whether the name of the function around a place says that it keeps a connection up."""
    scope = facts.named_function_of(place)
    return scope is not None and _RECONNECTS.search(scope.short_name) is not None


def is_awaited_by_caller(retry: Retry, facts: Facts) -> bool:
    """Return whether a loop repeats what a caller gave its function to send, and waits for."""
    loop = retry.loop
    scope = None if loop is None else facts.named_function_of(loop)
    if loop is None or scope is None or _LASTING.search(scope.short_name):
        return False
    if facts.is_launched(loop) or any(each.is_launched for each in facts.callers_of(scope)):
        return False
    around = [each for each in facts.functions_around(loop) if is_within(each.span, scope.span)]
    names = {one.name for each in around for one in each.parameters if not _NOT_GIVEN.match(one.name)}
    if any(call.written in names for call in facts.within(facts.calls, retry.body)):
        return True  # A helper that is given the function to try.
    used = names | {
        name
        for each in facts.within(facts.assignments, scope.body)
        if each.value is not None and names & {*re.findall(r"\w+", each.value.text)}
        for name in each.targets
    }
    return any(is_given(name, retry.body, facts) for name in used) and is_sent(retry.body, facts)


def may_wait_between(retry: Retry, facts: Facts) -> bool:
    """Return whether a loop calls something between two tries that may wait out of sight."""
    if retry.loop is None:
        return False
    return any(
        _may_wait(call, facts)
        for call in facts.within(facts.calls, retry.loop.body)
        if not is_within(call.span, retry.body) or _is_in_handler(call, retry.loop, facts)
    )


def _is_in_handler(call: Call, loop: Loop, facts: Facts) -> bool:
    return any(is_within(each.span, loop.body) for each in facts.handlers_around(call))


def _may_wait(call: Call, facts: Facts) -> bool:
    if is_logging(call):
        return False
    own = [each for each in facts.functions_named(call.method) if call in facts.callers_of(each)]
    if own:
        return any(is_sleep(each) for scope in own for each in facts.within(facts.calls, scope.body))
    return call.is_awaited or _DECIDES.search(call.written) is not None


def number_of_tries(retry: Retry, facts: Facts) -> int | None:
    """Return how often something is tried, or None if the text has no number."""
    if retry.loop is None:
        first = None if retry.call is None else retry.call.argument(place=0)
        if first is not None and first.value.shape == "name":
            return _value(first.value.text, facts)
        return _first_number("" if retry.call is None else facts.text(retry.call.span))
    limit = _LIMIT.search(facts.text(retry.loop.head))
    if limit is not None:
        return _value(limit[1], facts)
    counters = {
        name
        for each in facts.within(facts.assignments, retry.loop.span)
        if each.operator in ("+=", "-=", "++", "--")
        for name in each.targets
    }
    for step in facts.within(facts.steps, retry.loop.body):
        if step.kind == "branch" and counters & {*re.findall(r"[\w.]+", step.text)}:
            found = _SOME.search(step.text)
            return None if found is None else int(found[1])
    return None


def _first_number(text: str) -> int | None:
    found = _NUMBER.search(text)
    return None if found is None else int(found[1])


def _value(text: str, facts: Facts) -> int | None:
    """Return a number, or that of the only assignment to a constant."""
    if not text.isdigit():
        made = facts.assignments_of(text, text.rpartition(".")[2])
        text = made[0].value.text if len(made) == 1 and made[0].value is not None else ""
    return int(text) if text.isdigit() else None
