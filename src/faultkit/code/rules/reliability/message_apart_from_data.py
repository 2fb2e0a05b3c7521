"""Finds messages and jobs that are sent apart from the change in the database that they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.brokers import is_enqueued, is_published, may_stay_inside
from faultkit.code.rules.vocabulary.locked_waits import through_functions
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.stored_writes import stored_writes
from faultkit.code.rules.vocabulary.text_pattern import TextPattern
from faultkit.code.rules.vocabulary.transactions import Transaction, transactions

_LATER = ("on_commit", "afterCommit", "registerSynchronization", "after_commit", "afterCompletion")
_OUTBOX = TextPattern(
    r"outbox|transactional\.id|transactionIdPrefix|initTransactions|executeInTransaction", re.I
)
_AFTER_COMMIT = lazy_regex(r"TransactionalEventListener")


def _check(facts: Facts) -> Iterator[Hit]:
    sent = [call for call in facts.calls if is_published(call, facts) or is_enqueued(call, facts)]
    if not sent or _OUTBOX.search(facts.whole_text):
        return
    open_ = tuple(transactions(facts))
    if open_:
        now = {call for call in sent if not _is_later(call, facts) and not may_stay_inside(call, facts)}
        sent += sorted(through_functions(now, facts), key=lambda each: each.span)
    seen: set[Span] = set()
    for call in sent:
        around = [one for one in open_ if is_within(call.span, one.span)]
        if _is_later(call, facts) or _waits_itself(call, facts):
            continue
        if around and not _is_read_only(around[-1], facts):
            if around[-1].span not in seen:
                seen.add(around[-1].span)
                opened = around[-1].opened_by
                what = f"{call.written}() sends before the transaction of {opened} has been committed"
                # What starts after a pause finds what has been committed by then.
                is_late = call.has("countdown", "eta") or may_stay_inside(call, facts)
                yield Hit(call.span, what, POSSIBLE if is_late else LIKELY)
        elif is_published(call, facts) and (write := _write_before(call, open_, facts)):
            scope = facts.named_function_of(call)
            if scope is not None and scope.span not in seen and not _is_caught(call, facts):
                seen.add(scope.span)
                what = f"{call.written}() may fail after {write} has been stored, and the message is lost"
                yield Hit(call.span, what, POSSIBLE if may_stay_inside(call, facts) else LIKELY)


def _is_later(call: Call, facts: Facts) -> bool:
    """Return whether it is sent after the commit, by a function that is given to `on_commit`."""
    if any(each.method in _LATER for each in facts.calls_around(call)):
        return True
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    if scope.short_name in _LATER or any(_AFTER_COMMIT.search(each.name) for each in scope.decorators):
        return True
    return any(
        argument.value.text == scope.short_name
        for each in facts.calls_of_method(*_LATER)
        for argument in each.arguments
    )


_REPLICA = lazy_regex(r"\(\s*using\s*=[^()]*(?:replica|read_?only|reader)", re.IGNORECASE)
"""A connection that only reads: a transaction on it changes nothing."""
_WAITS_FOR_COMMIT = lazy_regex(r"[tT]ransaction|[cC]ommit")


def _waits_itself(call: Call, facts: Facts) -> bool:
    """Return whether a task of this text is sent after the commit by its base class (Celery)."""
    return any(
        (base := each.argument("base")) is not None and _WAITS_FOR_COMMIT.search(base.value.text)
        for scope in facts.functions_named(call.receiver_written)
        for each in scope.decorators
    )


def _is_read_only(opened: Transaction, facts: Facts) -> bool:
    head = facts.text(Span(max(0, opened.span.start - 200), opened.span.start))
    return "readOnly" in head or _REPLICA.search(head.rpartition("with ")[2]) is not None


def _write_before(call: Call, open_: tuple[Transaction, ...], facts: Facts) -> str:
    """Return what the same function has stored before: the transaction, or a write; empty if nothing."""
    scope = facts.named_function_of(call)
    if scope is None or facts.loops_around(call):
        return ""
    for one in open_:
        if is_within(one.span, scope.body) and one.span.end <= call.span.start:
            return f"the transaction of {one.opened_by}"
    for each in _writes(scope, facts):
        if each.span.end <= call.span.start and not facts.are_exclusive(each, call):
            return f"{each.written}()"
    return ""


def _writes(scope: Scope, facts: Facts) -> Iterator[Call]:
    for remote in remote_calls(facts):
        if remote.kind == "database" and not remote.is_read and is_within(remote.call.span, scope.body):
            yield remote.call
    yield from (call for call in stored_writes(facts) if is_within(call.span, scope.body))


def _is_caught(call: Call, facts: Facts) -> bool:
    """Return whether a failure is handled by more than a log line, for example by a row for a later try."""
    return any(
        not handler.only_logs and not handler.raises
        for each in facts.tries_around(call)
        for handler in each.handlers
        if facts.language != "go"
    )


RULE = Rule(
    id="FK-R082",
    slug="message-apart-from-data",
    title="Message sent apart from the change in the database",
    why="Sent before the commit, a worker may not find the row, or act on a change that is rolled back; sent "
    "after it, a crash or a broker that is down loses the message for ever.",
    fix="Hand jobs over after the commit (transaction.on_commit), and write events to an outbox table in the "
    "same transaction, from which a relay sends them.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    by_default=False,
    words=(
        b"send",
        b"Send",
        b"ublish",
        b"roduce",
        b"WriteMessages",
        b"emit",
        b"delay",
        b"apply_async",
        b"nqueue",
        b"async_task",
        b"Schedule",
        b"ueue",
        b"cheduler",
        b"job",
        b"Job",
        b"_q",
        b"asynq",
    ),
)
