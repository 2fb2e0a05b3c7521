"""Finds consumers that only log a failure, after which the queue counts the message as done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Handler, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.acknowledgements import acknowledgements
from faultkit.code.rules.vocabulary.dropped_failures import (
    DroppedFailure,
    done_after,
    dropped_failures,
    is_failure_of_work,
    only_logs_or_counts,
)
from faultkit.code.rules.vocabulary.failures import has_comment, is_count_or_report, only_reports
from faultkit.code.rules.vocabulary.message_batches import lost_with_batch, passed_over, passed_over_by_round
from faultkit.code.rules.vocabulary.message_consumers import Consumer, message_consumers
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_SETTLES = lazy_regex(
    r"^(n?ack|term|reject|basic_(n?ack|reject)|double_ack|in_progress)(_with)?(Async)?$", re.IGNORECASE
)
_PARSES = frozenset(
    ("loads", "parse", "toString", "decode", "readValue", "get", "String", "value", "Unmarshal", "Decode",
     "Deserialize", "from_slice", "from_str", "readTree", "decodeFromString", "fromJson")
)  # fmt: skip


def _check(facts: Facts) -> Iterator[Hit]:
    found = [*_counted_as_done(facts)]
    yield from found
    for hit in _acknowledged(facts):
        if not any(is_within(each.span, hit.span) for each in found):
            yield hit


def _counted_as_done(facts: Facts) -> Iterator[Hit]:
    """Yield failures that are only logged in a function whose caller then counts the message as done."""
    seen = set[Span]()
    for consumer in message_consumers(facts):
        scope, returns_to = consumer.scope, consumer.called_by
        for each in facts.own(facts.within(facts.tries, consumer.body), scope):
            if each.span in seen or not _works(each.body, facts) or _fails_later(each, scope, facts):
                continue
            if returns_to == "the job server" and facts.loops_around(each):
                continue  # A job goes on with its other items.
            seen.add(each.span)
            sure = POSSIBLE if _is_part(each, consumer, facts) else LIKELY
            for handler in each.handlers:
                if handler.raises or not is_failure_of_work(handler) or has_comment(facts.text(handler.span)):
                    continue
                if any(map(_GIVEN_UP.search, handler.types)):
                    continue  # It has been tried again before.
                noted = _is_noted(handler, facts)
                if noted or _is_only_logged(handler, facts):
                    logs = any(map(is_logging, facts.within(facts.calls, handler.body)))
                    how = "noted" if noted else "logged" if logs else "counted"
                    what = f"the failure is only {how}, so {returns_to} counts the message as done"
                    yield Hit(handler.span, what, POSSIBLE if _is_expected(handler, facts) else sure)
        if facts.language == "kotlin":
            yield from _caught(scope, returns_to, facts)


def _is_expected(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler of every error says that failures are no errors, by the level of its log, in a
    text whose queue is not told to try again."""
    levels = {call.method for call in facts.within(facts.calls, handler.body) if is_logging(call)}
    if not handler.is_broad or not levels or not levels <= _QUIET:
        return False
    return not _TRIED_AGAIN.search(facts.whole_text)


_QUIET = frozenset(("debug", "info", "warn", "warning", "trace", "verbose", "Debug", "Info", "Warn"))
_GIVEN_UP = lazy_regex(r"Max(imum)?Retr|Retries?(Exceeded|Exhausted)|RetryError")


def _is_part(each: Try, consumer: Consumer, facts: Facts) -> bool:
    """Return whether what fails is a part that the rest of the work goes on without.

    That is an item of something else than the message, or a row that a task without a message looks up: the
    next run finds it again."""
    names = consumer.messages - {"self", "ctx", "context"}
    if facts.language == "python" and not names:
        return True  # A task that a schedule starts again.
    loops = [loop for loop in facts.loops_around(each) if loop.kind == "each"]
    if not loops or consumer.called_by == "the event source":
        return False
    return not any(facts.mentions(name, loop.head) for name in names for loop in loops)


def _is_only_logged(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler logs or counts a failure, and no more; what drops it is another finding."""
    if handler.is_empty:
        return False
    return only_reports(handler, facts) or only_logs_or_counts(handler.body, facts)


_TRIED_AGAIN = TextPattern(
    r"\battempts\b\s*[:=]|\battemptsMade\b|\bmax_retries\b|\bautoretry_for\b|RetryableTopic|\bDeliveryCount\b"
)
"""Settings and counters of queues that try a failed message again."""
_NOTES = NamePattern(
    r"^_?(record|note|track|audit|count|increment|register|store|save|log|append|write)_?\w*"
    r"(attempt|error|failure|tries|try)s?$",
    re.IGNORECASE,
)


def _is_noted(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler writes down that a try failed, in a text whose queue would try again."""
    calls = [*facts.within(facts.calls, handler.body)]
    notes = [call for call in calls if _NOTES.match(call.method) and not is_logging(call)]
    if not notes or not _TRIED_AGAIN.search(facts.whole_text):
        return False
    others = [call for call in calls if is_logging(call) or is_count_or_report(call) or call in notes]
    steps = facts.within(facts.steps, handler.body)
    return not any(step.kind in ("branch", "raise") for step in steps) and all(
        any(is_within(call.span, one.span) for one in others) for call in calls
    )


def _caught(scope: Scope, returns_to: str, facts: Facts) -> Iterator[Hit]:
    """Yield `runCatching { work(event) }.onFailure { log.error(…) }` (Kotlin)."""
    for call in facts.within(facts.calls_named("runCatching"), scope.body):
        later = [each for each in facts.calls_on(call)]
        if any(
            each.method in ("getOrThrow", "getOrElse", "fold", "isFailure", "exceptionOrNull")
            for each in later
        ):
            continue
        fails = next((each for each in later if each.method == "onFailure"), None)
        ended = call if fails is None else fails
        inside = (
            []
            if fails is None
            else [each for each in facts.within(facts.calls, Span(fails.callee.end, fails.span.end))]
        )
        if ended.is_discarded and all(map(is_logging, inside)) and not has_comment(facts.text(ended.span)):
            what = f"the failure is only logged, so {returns_to} counts the message as done"
            yield Hit(ended.span, what, LIKELY)


def _fails_later(each: Try, scope: Scope, facts: Facts) -> bool:
    """Return whether the function raises after all, for example after its last try."""
    return any(
        step.kind == "raise" and step.span.start > each.span.end for step in facts.own(facts.steps, scope)
    )


def _acknowledged(facts: Facts) -> Iterator[Hit]:
    """Yield failures that are let go, after which the message is acknowledged all the same."""
    acks = acknowledgements(facts)
    listed = [*_listed(acks, facts), *_updates(facts)]
    marks = _marks(facts)
    found = set[Span]()
    for at, commit in (*passed_over(facts), *passed_over_by_round(facts)) if acks else ():
        if at not in found:
            found.add(at)
            what = f"the failed message is not read again: {commit.written}() of a later one moves past it"
            yield Hit(_both(at, commit), what, LIKELY)
    for at, ack in lost_with_batch(facts):
        if at not in found:
            found.add(at)
            what = f"{ack.written}() counts the whole batch as done, also what failed here"
            yield Hit(_both(at, ack), what, LIKELY)
    for handler, call in _listed_before(_listed(acks, facts), facts):
        if handler.span not in found:
            found.add(handler.span)
            what = f"{call.written}() lists the message as done before this failure, which is let go"
            yield Hit(_both(handler.span, call), what, LIKELY)
    for each in dropped_failures(facts) if acks or listed or marks else ():
        if each.at in found:
            continue
        if not _works(each.work, facts) or any(is_within(call.span, each.work) for call in acks):
            continue
        if facts.handlers_around(each) or _answers(each.work, facts):
            continue
        after = next((call for call in (*acks, *listed) if done_after(call, each, facts)), None)
        after = after or _chained(each, acks, facts)
        how = "only logged" if any(map(is_logging, facts.within(facts.calls, each.at))) else "dropped"
        if after is not None:
            what = f"the failure is {how}, and {after.written}() counts the message as done"
            yield Hit(_both(each.at, after) if after in listed else each.at, what, LIKELY)
        elif (mark := _marked(each, marks, facts)) is not None:
            what = f"the failure is {how}, and {mark.targets[0]} says that the work is done"
            yield Hit(each.at, what, LIKELY)


def _both(failure: Span, ack: Call) -> Span:
    """Return the code from what drops a failure to the acknowledgement that it belongs to."""
    return Span(min(failure.start, ack.span.start), max(failure.end, ack.span.end))


def _chained(each: DroppedFailure, acks: tuple[Call, ...], facts: Facts) -> Call | None:
    """Return the acknowledgement of `work(message).catch(log).finally(() => channel.ack(message))`."""
    if facts.language not in JAVASCRIPT:
        return None
    later = [
        Span(each.span.end, call.span.end)
        for call in facts.calls_of_method("finally", "then")
        if call.span.start == each.span.start and call.span.end > each.span.end
    ]
    return next((ack for ack in acks if any(is_within(ack.span, span) for span in later)), None)


_ANSWERS = lazy_regex(
    r"^(n?ack|nak|term|reject|basic_n?ack|requeue|abandon|dead_?letter)(_with)?", re.IGNORECASE
)
_COLLECTS = frozenset(("append", "push", "add", "Add"))


def _answers(work: Span, facts: Facts) -> bool:
    """Return whether the broker is answered there: what fails is the answer, not the work."""
    return any(_ANSWERS.match(call.method) for call in facts.within(facts.calls, work))


_ENTRY = "DeleteMessageBatchRequestEntry"
"""Type of an entry in the list of messages that SQS is told to delete."""


def _listed(acks: tuple[Call, ...], facts: Facts) -> list[Call]:
    """Return the calls that put a message into the list of those which are acknowledged later."""
    given = {
        word for ack in acks for each in ack.arguments for word in re.findall(r"\w+", each.value.text)[:40]
    }
    entries = [
        call
        for call in facts.calls_of_method(_ENTRY, "builder")
        if (call.constructs or call.receiver.endswith(_ENTRY)) and facts.loops_around(call)
    ]
    return entries + [
        call
        for call in (facts.calls_of_method(*_COLLECTS) if given else ())
        if _list_of(call) in given and facts.loops_around(call)
    ]


def _list_of(call: Call) -> str:
    """Return the list that a call puts something into; in Go `done = append(done, …)` names it."""
    return call.receiver_written or (call.assigned[0] if len(call.assigned) == 1 else "")


def _listed_before(listed: list[Call], facts: Facts) -> Iterator[tuple[Handler, Call]]:
    """Yield handlers that let a failure go although the message of the round is listed as done already."""
    for call in listed:
        body = facts.loops_around(call)[-1].body
        for each in facts.within(facts.tries, Span(call.span.end, body.end)):
            if facts.are_exclusive(each, call) or not _works(each.body, facts):
                continue
            for handler in each.handlers:
                if _lets_go(handler, facts) and is_failure_of_work(handler):
                    yield handler, call


def _lets_go(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler at most logs a failure, and the loop goes on with the next message."""
    if handler.raises or has_comment(facts.text(handler.span)):
        return False
    steps = facts.within(facts.steps, handler.body)
    return only_logs_or_counts(handler.body, facts) and not any(
        step.kind in ("return", "break", "raise") for step in steps
    )


_DONE = NamePattern(
    r"(?:^|_)(?:is_?)?(?:sent|processed|published|delivered|dispatched|done|completed?|handled|synced|exported|notified"
    r"|archived|relayed|forwarded)(?:_?(?:at|on|date|time))?$",
    re.IGNORECASE,
)
_STATE = NamePattern(r"(?:^|_)(?:status|state)$", re.IGNORECASE)
_DONE_VALUE = lazy_regex(r"sent|done|processed|published|deliver|complete|success", re.IGNORECASE)
_SPLIT = lazy_regex(r"(?<=[a-z])(?=[A-Z])")
_HAS_UPDATE = lazy_regex(rb"update\s", re.IGNORECASE)
_SQL_DONE = lazy_regex(
    r"\bupdate\s+[\w.\"`]+\s+set\s+\"?(?:\w*_)?(?:sent|processed|published|delivered|dispatched|done|completed|handled"
    r"|relayed)(?:_at|_on)?\b",
    re.IGNORECASE,
)


def _updates(facts: Facts) -> list[Call]:
    """Return the statements that mark a row as done: `UPDATE outbox SET sent_at = now() WHERE id = $1`."""
    if not facts.loops or not facts.syntax.has_any(b"update "):
        return []
    # Most texts are no queries: those are not made.
    source = facts.syntax.source
    texts = facts.texts.where(lambda start, end: _HAS_UPDATE.search(source, start, end) is not None)
    spans = [each.span for each in texts if _SQL_DONE.search(each.text)]
    return [
        min(around, key=lambda call: call.span.end - call.span.start)
        for span in spans
        if (around := [call for call in facts.calls if is_within(span, call.span)])
    ]


def _marks(facts: Facts) -> tuple[Assignment, ...]:
    """Return the assignments that mark something as done, in a text with loops: `row.sent_at = now`."""
    return tuple(filter(_is_mark, facts.assignments)) if facts.loops else ()


def _is_mark(each: Assignment) -> bool:
    if len(each.targets) != 1 or "." not in each.targets[0]:
        return False
    part = _SPLIT.sub("_", each.targets[0].rpartition(".")[2])
    value = "" if each.value is None else each.value.text
    is_done = _DONE.search(part) or (_STATE.search(part) and _DONE_VALUE.search(value))
    return is_done is not None and value not in ("None", "null", "false", "False")


def _marked(each: DroppedFailure, marks: tuple[Assignment, ...], facts: Facts) -> Assignment | None:
    """Return the assignment that marks the row of this round as done, after the failure."""
    around = facts.loops_around(each) if marks else ()
    names = {name for loop in around for name in loop.targets}
    work = facts.text(each.work)
    for one in facts.within(marks, around[-1].body) if around else ():
        root = one.targets[0].rpartition(".")[0]
        if root not in names or re.search(rf"\b{re.escape(root)}\b", work) is None:
            continue
        if done_after(one, each, facts):
            return one
    return None


_READS_MESSAGE = lazy_regex(r"(?:get|read)_?(?:[bB]ody|[tT]ext|[bB]ytes|[pP]ayload|[vV]alue|UTF)\w*$")


def _works(work: Span, facts: Facts) -> bool:
    """Return whether more is tried than to parse the message: one that cannot be read never can."""
    return any(
        call.method not in _PARSES
        and not _READS_MESSAGE.match(call.method)
        and not is_count_or_report(call)
        and not call.constructs
        and not is_logging(call)
        and not _SETTLES.match(call.method)
        for call in facts.within(facts.calls, work)
    )


RULE = Rule(
    id="FK-R076",
    slug="failed-message-dropped",
    title="Failed message counted as done",
    why="The function returns as if all went well: the offset moves on or the message is deleted, and the "
    "work is lost.",
    fix="Let the error go up so that the message comes again, or send it to a dead-letter queue first.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
