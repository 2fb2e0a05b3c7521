"""Finds rows that are written or committed one at a time.

Evidence that it matters: a transaction is committed for every row, or rows of a list that grows with the data
are inserted one by one. Updates and deletions of rows that were read before are possible only: how many there
are is not in the text, and each may have its own values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.data_sizes import base_name, is_given, is_in_steps, is_over_data
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import chain_of, remote_calls, sql_calls
from faultkit.code.rules.vocabulary.repetition import (
    frequency_of,
    is_for_screen,
    is_in_retry_loop,
    is_over_items,
    uses_item,
)
from faultkit.code.rules.vocabulary.waits import is_sleep

_GROUPS = lazy_regex(r"batch|chunk|page|bulk|shard|partition|migration|statement", re.IGNORECASE)
_MODELS = NamePattern(r"^django\b|(^|\.)models\b")
_MESSAGES = lazy_regex(r"message|\bmsgs?\b|\bevents?\b|deliver(y|ies)|records?\b", re.IGNORECASE)
_SHORT_LINES = 15
_COMMITS = ("commit", "Commit", "SaveChanges", "SaveChangesAsync")
_CONNECTIONS = NamePattern(
    r"(^|[._a-z])(session|conn|connection|cnx|db|database|tx|trx|transaction|context|ctx|cursor|cur|uow|unit_?of_?work"
    r"|em|entity_?manager|sqlite|pg|mysql|repo|repository)(\(\))?$",
    re.IGNORECASE,
)
_INSERTS = lazy_regex(r"^(insert|Insert)(_|[A-Z]|$)")
_SENDS = lazy_regex(r"^(?i:send|publish|notify|post|charge|emit|upload|deliver)([A-Z_]\w*)?$")


def _check(facts: Facts) -> Iterator[Hit]:
    usual = POSSIBLE if is_for_screen(facts) else LIKELY
    for call in facts.calls_of_method(*_COMMITS):
        if call.is_deferred or not _is_of_database(call):
            continue
        loop = _loop(call, facts)
        if loop is None or _counts(call, loop, facts) or not _may_be_long(loop, facts):
            continue
        if not _is_unit(call, loop, facts) and not _is_after_failure(call, loop, facts):
            yield Hit(call.span, f"{call.written}() waits for the disk after every row", usual)
    yield from _saved(facts)
    for remote in remote_calls(facts):
        call = remote.call
        if remote.kind != "database" or remote.is_read or _is_batched(call, facts):
            continue
        if _waits_for_flush(remote.through or call, facts):
            continue
        loop = _loop(call, facts)
        if loop is None or not uses_item(call, loop, facts) or not _may_be_long(loop, facts):
            continue
        if remote.through is not None and not _is_one_write(remote.through, facts):
            continue
        if _is_unit(call, loop, facts) or (remote.through is not None and _is_over_messages(loop)):
            continue
        # Inside a transaction the disk waits once; the round trips are still many.
        what = f"{call.written}() sends one row at a time"
        inserts = remote.through is None and _inserts(call, facts) and is_over_data(loop, facts)
        yield Hit(call.span, what, usual if inserts else POSSIBLE)


def _is_of_database(call: Call) -> bool:
    """Return whether a commit is that of a connection or a session; other objects have such a method, too."""
    return call.method.startswith("SaveChanges") or _CONNECTIONS.search(call.receiver_written) is not None


def _is_after_failure(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether only the rounds that fail commit."""
    return any(is_within(each.span, loop.body) for each in facts.handlers_around(call))


def _inserts(call: Call, facts: Facts) -> bool:
    return _INSERTS.match(call.method) is not None or any(
        each.call is call and each.verb == "insert" for each in sql_calls(facts)
    )


def _waits_for_flush(call: Call, facts: Facts) -> bool:
    """Return whether a session of SQLAlchemy only marks the row, and sends all of them with the commit."""
    return (
        facts.language == "python" and call.method == "delete" and call.receiver_written.endswith("session")
    )


def _is_unit(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether each round does other work outside as well, such as a mail, and is stored with it."""
    known = {each.call for each in remote_calls(facts) if each.kind == "database"}
    others = {each.call for each in remote_calls(facts) if each.kind != "database"}
    return any(
        (each.is_awaited or _SENDS.match(each.method))
        and each not in known
        and (each in others or (each.receiver_written and each.receiver_written != call.receiver_written))
        and uses_item(each, loop, facts)
        and each is not call
        and not {*chain_of(call)} & {each}
        and not {*chain_of(each)} & known
        for each in facts.within(facts.calls, loop.body)
    )


def _is_over_messages(loop: Loop) -> bool:
    """Return whether each item is a message, which is handled for itself."""
    return _MESSAGES.search(f"{loop.over} {' '.join(loop.targets)}") is not None


def _saved(facts: Facts) -> Iterator[Hit]:
    """Yield items that save themselves: `for user in users: user.save()` of Django and Mongoose."""
    has_models = any(map(_MODELS.search, facts.imports.modules))
    for call in facts.calls_of_method("save", "destroy"):
        loop = _loop(call, facts)
        scope = facts.named_function_of(call)
        if scope is not None and "Admin." in scope.name:
            continue  # Of the rows that one person has chosen on a page.
        if loop is None or call.positional or call.receiver_written not in _words(loop):
            continue
        is_query = ".objects." in loop.over or is_over_data(loop, facts)
        if not is_query and frequency_of(loop, facts) not in ("request", "message"):
            continue
        if call.is_awaited or (facts.language == "python" and has_models):
            yield Hit(call.span, f"{call.written}() sends one row at a time", POSSIBLE)


def _may_be_long(loop: Loop, facts: Facts) -> bool:
    if is_over_data(loop, facts) or is_given(loop, facts) or _is_over_query(loop, facts):
        return True
    return frequency_of(loop, facts) in ("request", "message")


def _is_over_query(loop: Loop, facts: Facts) -> bool:
    """Return whether the items are the rows that a query has found."""
    name = base_name(loop.over)
    made = [each.span for each in facts.assignments_to(name, loop)] if name else [loop.head]
    return any(
        is_within(each.call.span, span)
        for each in remote_calls(facts)
        if each.kind == "database" and each.is_read and each.through is None
        for span in made
    )


def _words(loop: Loop) -> set[str]:
    return {word for target in loop.targets for word in re.findall(r"[A-Za-z_]\w*", target)}


def _loop(call: Call, facts: Facts) -> Loop | None:
    around = facts.loops_around(call)
    if not around or not is_over_items(around[-1]) or is_in_retry_loop(call, facts):
        return None
    loop = around[-1]
    if (
        is_in_steps(loop, facts)
        or loop.is_async
        or _GROUPS.search(loop.over)
        or any(_GROUPS.search(name) for name in loop.targets)
    ):
        return None
    return loop


def _is_one_write(inner: Call, facts: Facts) -> bool:
    """Return whether a function of this text is short and only writes; otherwise it is a piece of work."""
    scope = facts.named_function_of(inner)
    if scope is None or facts.text(scope.body).count("\n") > _SHORT_LINES:
        return False
    remote = [
        each for each in remote_calls(facts) if each.through is None and is_within(each.call.span, scope.span)
    ]
    known = {each.call for each in remote}
    # Another service is asked as well: `await payments.refund(ticket.payment_ref)`.
    others = (
        call.is_awaited and call.receiver_written and call not in known and not is_sleep(call)
        for call in facts.within(facts.calls, scope.body)
        if not known & {*chain_of(call)}
    )
    return len(remote) == 1 and not any(others)


def _counts(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether it is done once in many rounds: `if n % 1000 == 0: conn.commit()`."""
    return any(
        step.kind == "branch" and step.span.start <= call.span.start and call.span.end <= step.span.end
        for step in facts.within(facts.steps, loop.body)
    )


def _is_batched(call: Call, facts: Facts) -> bool:
    owner = call.receiver_written.lower()
    prepared = () if facts.language == "java" else ("stmt",)
    if any(word in owner for word in ("pipe", "batch", "bulk", "multi", *prepared)):
        return True
    scope = facts.named_function_of(call)
    text = "" if scope is None else facts.text(scope.body)
    return (
        re.search(r"\bpipeline\(|\.addBatch\(|executemany|\.multi\(\)|COPY |Prepare(Context)?\(", text)
        is not None
    )


RULE = Rule(
    id="FK-P019",
    slug="write-per-row",
    title="Rows written one at a time",
    why="Every row pays for a round trip, and with a commit for a wait for the disk: a thousand rows take "
    "seconds instead of milliseconds.",
    fix="Write them in batches (executemany, a multi-row INSERT, saveAll) and commit once.",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    by_default=False,
)
