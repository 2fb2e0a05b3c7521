"""Loops that build an answer from rows, in contrast to loops that work on each row.

A listing reads for each row and collects what it read: how long a caller waits for it grows with the rows. A
loop that also writes, sends or publishes for each row does a piece of work for each, next to which one more
read matters little.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Scope, Step, is_within
from faultkit.code.rules.vocabulary.command_lines import is_command_line
from faultkit.code.rules.vocabulary.data_sizes import base_name, is_given
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.repetition import frequency_of, is_for_screen, runs_once
from faultkit.code.rules.vocabulary.returned_values import returned_values

_COLLECTS = frozenset(
    (
        "append", "push", "add", "Add", "put", "set", "insert", "extend", "addAll", "AddRange", "TryAdd",
        "concat", "unshift", "push_back",
    )
)  # fmt: skip
_CHANGES = NamePattern(
    r"^_?(save|insert|update|delete|remove|create|upsert|persist|destroy|write|send|publish|emit|notify|enqueue"
    r"|dispatch|commit|register|unregister|schedule|restore|upload|download|process|import|ban|kick|hdel|hset|del"
    r"|zrem|zadd|srem|sadd|lpush|rpush|expire|start|stop|run|close|cancel|retry|rescan|sync|migrate|apply|embed"
    r"|charge|refund|mark)(?=_|[A-Z]|$)"
    r"|^(Save|Insert|Update|Delete|Remove|Create|Upsert|Write|Send|Publish|Notify|Enqueue|Dispatch|Commit"
    r"|Process|Start|Stop|Upload|Download|Restore|Sync|Migrate|Apply|Mark)(?=[A-Z]|$)"
)
_OUTSIDE = NamePattern(
    r"(?:^|[._a-z])(?:repo(?:sitory)?|dao|service|client|db|database|session|queue|bus|producer|publisher|mailer"
    r"|em|entity_?manager|store|storage|model|gateway|api|tx|conn|connection|redis\w*|emitter)$",
    re.IGNORECASE,
)
"""Objects whose methods change something outside the process."""
_SETS = NamePattern(
    r"^(set|add|put|append|push|with|attach|assign|load|fetch|populate|refresh)(?=_|[A-Z]|$)", re.IGNORECASE
)
"""Methods by which a row is given what was read for it."""
_SESSION = NamePattern(r"(?:^|[._])(?:db|session|db_session|context|_context|em)$")
"""Objects to which new rows are added."""
_OF_ROWS = frozenset(("save", "destroy", "delete", "remove", "persist", "commit", "saveOrFail"))
"""Methods without arguments by which a row writes itself."""
_KEPT = lazy_regex(r"\w[.\[]|\w\]$")
_CONSTANT = lazy_regex(
    r"[\s(]*(-?\d+|[\"'].*|true|false|null|nil|None|True|False|undefined|\(\)|Ok\(\(\)\)|[A-Z]\w*\.[A-Z_]+|err)?[\s);]*"
)
_EMBEDDED = (
    "sqlite3",
    "aiosqlite",
    "better-sqlite3",
    "sqlite",
    "rusqlite",
    "Microsoft.Data.Sqlite",
    "System.Data.SQLite",
)
"""Databases inside the process: a query makes no round trip."""


def is_waited_for(loop: Loop, facts: Facts) -> bool:
    """Return whether a request, a message or a caller waits for the reads of all rounds of a loop.

    A function that no request of this text reaches must load the list itself, and only read: how long a list
    is that its callers give is not known here."""
    if is_for_screen(facts) or facts.imports_any(*_EMBEDDED) or works_on_items(loop, facts):
        return False
    frequency = frequency_of(loop, facts)
    if frequency in ("request", "message"):
        return True
    scope = facts.named_function_of(loop)
    if frequency is not None or scope is None or runs_once(scope) or is_command_line(facts):
        return False
    if _OPERATES.match(scope.short_name) or is_given(loop, facts):
        return False
    return _builds_answer(loop, facts) and _returns(scope, facts)


_OPERATES = NamePattern(
    r"^_*(check|validate|verify|ensure|assert|propagate|delete|remove|update|create|add|save|apply|merge|sync|migrate"
    r"|repair|import|restore|handle|process|execute|perform|complete|cancel|close|register|assign|prepare|collect|init"
    r"|setup|set|copy|clone|move|rename|reset|refresh|calculate|compute|recalculate|send|notify|publish)(?=_|[A-Z]|$)",
    re.IGNORECASE,
)
"""Functions that do something once, for which they look at rows; a listing is asked for again and again."""
_COMPARES = lazy_regex(
    r"[!=]==?|\b(?:is|instanceof|isinstance|in|equals|Equals|typeof|case)\b|\.(?:equals|startsWith)\("
)
_NOTHING = lazy_regex(
    r"\b(?:null|None|nil|undefined|Null)\b|[\"']{2}|\blen\b|\.(?:length|size|Count|isEmpty)\b"
)
_LIMITED = lazy_regex(
    r"\b(?:take|limit|Limit|Take|first|top|pageSize|per_page)\b\s*[:=(]\s*(?:\d|1\d|2[0-5])\b"
)


def asks_seldom(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether few rounds of a loop make a call: it stands behind a comparison of the item with a
    value, or the query for the rows has a small limit."""
    reads = [
        each.call
        for each in remote_calls(facts)
        if each.is_read and each.call is not call and is_within(each.call.span, loop.body)
    ]
    for step in facts.within(facts.steps, loop.body):
        if step.kind != "branch" or not is_within(call.span, step.span) or is_asked_in(call, step):
            continue
        is_choice = facts.text(step.span).startswith(("switch", "match", "when", "select"))
        if not is_choice and (not _COMPARES.search(step.text) or _NOTHING.search(step.text)):
            continue
        # Where items of other kinds ask as well, all do.
        if not any(facts.are_exclusive(each, call) or not is_within(each.span, step.span) for each in reads):
            return True
    if ends_with_round(loop, facts):
        return True
    base = base_name(loop.over)
    made = [facts.text(each.span) for each in facts.assignments_to(base, loop)] if base else []
    return any(map(_LIMITED.search, (loop.over, *made)))


def ends_with_round(loop: Loop, facts: Facts) -> bool:
    """Return whether a round that goes to its end ends the loop, too: `for app in apps: …; return found`."""
    scope = facts.function_of(loop)
    return any(
        step.kind in ("return", "break")
        and facts.function_of(step) is scope
        and not any(is_within(arm.span, loop.body) and is_within(step.span, arm.span) for arm in facts.arms)
        for step in facts.within(facts.steps, loop.body)
    )


def is_asked_in(call: Call, step: Step) -> bool:
    """Return whether a call is a part of the condition of a branch."""
    return call.written in step.text


def works_on_items(loop: Loop, facts: Facts) -> bool:
    """Return whether each round of a loop writes, sends or starts something outside the process."""
    known = {each.call for each in remote_calls(facts) if not each.is_read}
    items = {target.rpartition(" ")[2] for target in loop.targets}
    return any(
        call in known
        or (_CHANGES.match(call.method) is not None and _goes_out(call, facts))
        or (call.method in ("add", "Add") and _SESSION.search(call.receiver_written) is not None)
        # `row.complete(user)` as a statement changes something.
        or (call.is_discarded and call.receiver_written in items and not _SETS.match(call.method))
        for call in facts.within(facts.calls, loop.body)
    )


def _goes_out(call: Call, facts: Facts) -> bool:
    if call.is_awaited or _OUTSIDE.search(call.receiver_written) is not None:
        return True
    # `return row.save()`, `await Promise.all([row.save(), …])`
    if call.method in _OF_ROWS and not call.positional and call.receiver_written:
        return True
    return call.is_argument and any(each.is_awaited for each in facts.calls_around(call))


def _builds_answer(loop: Loop, facts: Facts) -> bool:
    """Return whether a loop collects what it reads: in a list, a map, the items themselves or a stream."""
    if loop.kind == "comprehension" or loop not in facts.loops:  # The call that is given a closure: `map`.
        return True
    if any(step.kind == "yield" for step in facts.within(facts.steps, loop.body)):
        return True
    if any(call.method in _COLLECTS or call.is_returned for call in facts.within(facts.calls, loop.body)):
        return True
    return any(
        _KEPT.search(target) or each.operator not in ("=", ":=")
        for each in facts.within(facts.assignments, loop.body)
        for target in each.targets
    )


def _returns(scope: Scope, facts: Facts) -> bool:
    """Return whether a function returns more than a constant, or yields."""
    if any(step.kind == "yield" for step in facts.within(facts.steps, scope.body)):
        return True
    return any(not _CONSTANT.fullmatch(facts.text(each)) for each in returned_values(scope, facts))


_LOOKUP = lazy_regex(
    r"(\w+)\??\.(?:get|has|containsKey|ContainsKey|TryGetValue|contains_key|get_mut|contains)\("
    r"|\bin (\w+)|(\w+)\[[^\]]+\]"
)
_FOR_ABSENT = frozenset(
    (
        "computeIfAbsent", "getOrPut", "GetOrAdd", "GetOrAddAsync", "GetOrCreateAsync", "GetOrCreate",
        "setdefault", "or_insert_with", "remember", "memoize", "getOrSet", "get_or_set", "get_or_insert_with",
        "try_get_with",
    )
)  # fmt: skip
"""Functions that are given what makes a value, and call it once for each key."""


def is_remembered(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether it is done once for each key: `if key not in known: known[key] = get(key)`."""
    if any(each.method in _FOR_ABSENT for each in facts.calls_around(call)):
        return True
    for step in facts.within(facts.steps, loop.body):
        if step.kind != "branch" or step.span.start > call.span.start or facts.text(call.span) in step.text:
            continue
        inside = is_within(call.span, step.span)
        if (
            inside
            and re.search(r"\bnot in\b|!|\bnot\b|is None|== nil|=== undefined|ok\b", step.text)
            and re.search(r"\.(set|put|add|setdefault)\(|\w\[[^\]\n]+\]\s*=[^=]", facts.text(step.span))
        ):
            return True
        # `found = known.get(key) …`, and what was read is put there in the same round.
        asked = _LOOKUP.search(step.text)
        leaves = any(each.kind == "continue" for each in facts.within(facts.steps, step.span))
        if asked is not None and (inside or leaves):
            name = next(each for each in asked.groups() if each)
            kept = rf"\b{name}\??\.(set|put|Add|TryAdd|insert)\(|\b{name}\[[^\]\n]+\]\s*=[^=]"
            if re.search(kept, facts.text(loop.body)):
                return True
    return False
