"""Work that stays undone if an error is dropped, as far as the file shows it."""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Try
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.remote_calls import remote_calls

ACTS = lazy_regex(
    r"^_*(save|write|send|post|put|patch|delete|create|insert|update|upsert|commit|publish|upload|push|store"
    r"|persist|notify|emit|enqueue|charge|pay|refund|submit|apply|copy|move|rename|mkdir|exec|flush|sync"
    r"|append|register|dispatch|ack|nack|reserve|book|debit|credit|transfer)",
    re.IGNORECASE,
)
"""Names of functions that change something; the error of a lookup leaves a default in place."""
_LEAVES_PROCESS = lazy_regex(
    r"^_*(?:save|write|send|post|patch|publish|upload|persist|notify|enqueue|charge|pay|refund|submit|transfer"
    r"|commit|insert|upsert|debit|reserve|rename|replace_?(?:one|file)|copy_?file)",
    re.IGNORECASE,
)
"""Of these, names that mean a write to a store, a file or another service rather than to a collection."""
_IN_MEMORY = lazy_regex(
    r"^_*(?:write|insert|append|push|put|update|set|send|copy)(?:_?(?:str|string|line|char|byte|int|rune|fmt|at|to"
    r"|before|after|all|row|cell|token|no_?wait)s?)?$",
    re.IGNORECASE,
)
_COLLECTIONS = (
    "list", "array", "buffer", "buf", "builder", "sb", "stack", "deque", "dict", "map", "set", "queue",
    "cache", "lines", "items", "headers", "params", "args", "options", "rows", "children", "signal", "stdout",
    "stderr", "console", "out", "err",
)  # fmt: skip
_COLLECTION = lazy_regex(
    rf"(?:^|[._])(?:{'|'.join(_COLLECTIONS)})$|(?:{'|'.join(each.title() for each in _COLLECTIONS)})$"
)
"""Receivers inside the program: `rows`, `self.seen_items`, `itemList`; not `checkout` or `dataset`."""
_OPTIONAL = lazy_regex(
    r"^_*(?:(?:request_?)?gc|trim|warm|prefetch|preload|ping|touch|probe|detect|guess|init|refresh|try|test|validate"
    r"|check(?!out)|verify|get|find|read|load|fetch|list|wait|lookup|count|collect|close|force_?close|dispose|stop"
    r"|clean|clear|evict|unobserve|reset|sleep|delay|focus|blur|scroll|play|pause|vibrate|resize|delete|remove"
    r"|unlink|leave|abort|cancel|release|unlock|log_?out|add_?reaction|connect|disconnect|shut|terminate|kill"
    r"|join|drain|(?:when|wait)_?(?:all|any)|all_?settled|send_?beacon|post_?message|notify_?(?:all|data|changed|property)"
    r"|set_?(?:title|icon|cursor|priority|affinity|name))|^_*(?-i:is|has|can)_?(?-i:[A-Z_])",
    re.IGNORECASE,
)
"""Names of calls whose failure leaves nothing undone that is asked for again."""
_ASIDE = lazy_regex(
    r"(?:^|[._])\w*(?:analytics|gtag|sentry|posthog|mixpanel|segment|amplitude|tracker|statsd|datadog|telemetry|metrics"
    r"|haptics|page|browser|frame|element|locator|driver)(?:\(\))?$",
    re.IGNORECASE,
)
"""Receivers of which nothing else depends: counters of use, and pages of a browser that is driven."""
_WAITS_FOR = frozenset(("ConfigureAwait", "WithCancellation", "ForAwait", "AsTask"))
"""Methods that say how to wait for the call before them."""
_HANDED_OVER = lazy_regex(r"(?:channel|pipe|stream|writer|controller)$", re.IGNORECASE)
"""Receivers inside the program, whose other end says that it is closed."""
_REPORTS = lazy_regex(
    r"(?i:cache|thumbnail|new_?version|telemetr|analytic|crash|breadcrumb|diagnostics|reporter|^_*report$|(?:usage|error|progress)_?report"
    r"|report_?(?:usage|error|exception|event|progress)|respond_?(?:error|exception)|error_?page|debug)"
    r"|(?:^|[_.])(?:[tT]ele|log|trace|dump)(?:ger|ging|s)?(?![a-z])|(?:Log|Trace|Dump)(?:ger|ging|s)?(?![a-z])"
)
"""Functions and classes that report what happens, or keep what can be made again: an error of theirs must not
disturb the program."""
_OF_USE = lazy_regex(r"telemetry|analytics|posthog|mixpanel|distinct_?id\b", re.IGNORECASE)
"""Services that count how a program is used."""
_BEST_EFFORT = lazy_regex(
    r"best.?effort|ignor|optional|not? (?:fatal|critical|important|matter)|non.?(?:fatal|critical|blocking)"
    r"|may fail"
    r"|do(?:es)? not fail|don't (?:fail|care|crash)|avoid crash|swallow|deliberate|intentional"
    r"|on purpose|harmless"
    r"|never (?:fail|block|break|throw)|must not (?:fail|break|throw)|should(?:n't| not) (?:fail|break|stop)"
    r"|in case|if (?:possible|it fails|available)|dealing with exceptions|aren't depending",
    re.IGNORECASE,
)
_LINES_ABOVE = 6


def leaves_undone(each: Try, facts: Facts) -> bool:
    """Return whether a failure of a tried block leaves a write or a message undone.

    Evidence is a call in the block that writes to a store, a file or another service, or that is awaited for
    its effect alone. Errors of a function that was given are those of its owner."""
    if _is_report(each, facts) or says_best_effort(each, facts) or _OF_USE.search(facts.text(each.body)):
        return False
    return any(is_undone(call, facts) for call in facts.within(facts.calls, each.body))


def says_best_effort(place: Placed, facts: Facts) -> bool:
    """Return whether a comment just above a place says that it may fail."""
    line = facts.line(place)
    for at in range(line - 1, max(0, line - 1 - _LINES_ABOVE), -1):
        text = facts.syntax.line_text(at).strip()
        if text in ("{", "{}") or text.startswith(("if", "try", "elif", "else")):
            continue
        if not text.startswith(("#", "//", "*", "/*")):
            return False
        if _BEST_EFFORT.search(text):
            return True
    return False


def _is_report(place: Placed, facts: Facts) -> bool:
    return any(
        _REPORTS.search(scope.short_name) or _REPORTS.search(scope.owner)
        for scope in facts.functions_around(place)
        if not scope.is_anonymous
    )


def is_undone(call: Call, facts: Facts) -> bool:
    """Return whether a call changes something outside of the program."""
    if call in _remote_writes(facts):
        return True
    if call.method in _WAITS_FOR and call.origin is not None:
        return is_undone(call.origin, facts)
    if _OPTIONAL.match(call.method) or call.is_deferred:
        return False
    if _COLLECTION.search(call.receiver_written) or _ASIDE.search(call.receiver_written):
        return False
    if _HANDED_OVER.search(call.receiver_written) and _IN_MEMORY.match(call.method):
        return False
    if _LEAVES_PROCESS.match(call.method) and not (_IN_MEMORY.match(call.method) and not call.is_awaited):
        return True
    if not (call.is_awaited and call.is_discarded):
        return False
    own = facts.functions_named(call.method)
    return not own or any(_acts(scope, facts) for scope in own)


@lru_cache(maxsize=4)
def _remote_writes(facts: Facts) -> frozenset[Call]:
    return frozenset(each.call for each in remote_calls(facts) if not each.is_read and each.kind != "cache")


def _acts(scope: Scope, facts: Facts) -> bool:
    """Return whether a function of this file writes to something outside, or waits for another object."""
    return any(
        _LEAVES_PROCESS.match(call.method)
        or call in _remote_writes(facts)
        or (call.is_awaited and not facts.functions_named(call.method) and not _OPTIONAL.match(call.method))
        for call in facts.within(facts.calls, scope.body)
    )
