"""Messages that failed and are counted as done with others: with their batch, or with one behind them.

    for message in messages:                        for message in consumer:
        try: handle(message)                            try: handle(message)
        except Exception: log.exception("…")            except Exception: log.exception("…"); continue
    sqs.delete_message_batch(… messages …)              consumer.commit(message)

A queue such as SQS forgets the whole list on the left. Offsets of Kafka on the right say that all messages
before the committed one are done: the next message that succeeds takes the failed one with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Loop, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT
from faultkit.code.rules.vocabulary.acknowledgements import Settled, moves_offset, settled_messages
from faultkit.code.rules.vocabulary.dropped_failures import (
    DroppedFailure,
    answering_false,
    dropped_failures,
    is_failure_of_work,
    only_logs_or_counts,
)
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_MEANT = lazy_regex(
    r"(?:#|//|/\*).*\b(?:skip|poison|drop|ignor|best.effort|intention|on purpose|deliberate|malformed)",
    re.IGNORECASE,
)
"""A comment that says that a failed message is left out on purpose."""
_READS = NamePattern(
    r"^_*(?:loads?|parse|try_?parse|decode|unmarshal|deserialize|from_?json|from_(?:slice|str)|read_?(?:value|tree|json)"
    r"|to_?(?:string|text|json)|get|string|value|key|body|headers?|payload|validate|model_validate\w*|len|size|topic"
    r"|partition|offset|error|code|poll|fetch_?message|read_?message|receive\w*|recv|next|consume|fetch|err|done"
    r"|n?ack|term|reject|basic_n?ack|double_ack|in_progress|context|with_?timeout|cancel|time|now|isoformat|items"
    r"|append|push|add|str|int|dict|list|tuple|format|sprintf|print\w*|new_?decoder|unwrap\w*|ok|some|is_\w+)"
    r"(?:Async|_with|FromString)?$",
    re.IGNORECASE,
)
"""Calls that receive, read or settle a message, and do no work on it."""


def works_on_message(work: Span, facts: Facts) -> bool:
    """Return whether more is done than to receive and to read a message."""
    return any(
        _READS.match(call.method) is None and not call.constructs and not is_logging(call)
        for call in facts.within(facts.calls, work)
    )


# One message takes those before it with it.


def passed_over(facts: Facts) -> Iterator[tuple[Span, Call]]:
    """Yield handlers after which the loop goes on, and the commit that then moves past the failed message."""
    commits = [each for each in settled_messages(facts) if moves_offset(each.ack)]
    for each in facts.tries if commits else ():
        around = facts.loops_around(each)
        if not around or facts.handlers_around(each) or not works_on_message(each.body, facts):
            continue
        for handler in each.handlers:
            commit = next(
                (one for one in commits if _comes_after(one, each, handler, around[-1], facts)), None
            )
            if commit is not None and _goes_on(handler, facts):
                yield handler.span, commit.call


def passed_over_by_round(facts: Facts) -> Iterator[tuple[Span, Call]]:
    """Yield handlers that return before the commit, in a function that a loop calls for each batch."""
    for commit in settled_messages(facts):
        scope = facts.named_function_of(commit)
        if scope is None or not moves_offset(commit.ack) or facts.loops_around(commit):
            continue
        again = [call for call in facts.callers_of(scope) if call.is_discarded and facts.loops_around(call)]
        for each in facts.own(facts.tries, scope) if again else ():
            if each.body.end > commit.span.start or not works_on_message(each.body, facts):
                continue
            for handler in each.handlers:
                steps = [*facts.within(facts.steps, handler.body)]
                returns = [step for step in steps if step.kind == "return" and not step.text.strip("; ")]
                is_quiet = only_logs_or_counts(handler.body, facts, waits=True) and len(returns) == len(steps)
                is_failure = is_failure_of_work(handler) and not _MEANT.search(facts.text(handler.span))
                if returns and is_quiet and is_failure and not handler.raises:
                    yield handler.span, commit.call


def _comes_after(commit: Settled, each: Try, handler: Handler, loop: Loop, facts: Facts) -> bool:
    """Return whether a commit follows the work in the round of a loop, and a failure skips it."""
    if is_within(commit.span, handler.span) or facts.loops_around(commit)[-1:] != (loop,):
        return False
    if any(is_within(commit.span, one.body) for one in each.handlers) or facts.is_in_finally(commit):
        return False
    if is_within(commit.span, each.body):
        return works_on_message(Span(each.body.start, commit.span.start), facts)
    if commit.span.start < each.body.end:
        return False
    leaves = any(step.kind == "continue" for step in facts.within(facts.steps, handler.body))
    return leaves or is_within(commit.span, each.span)


def _goes_on(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler only logs and waits, and the loop goes on with the next message."""
    if handler.raises or not is_failure_of_work(handler) or _MEANT.search(facts.text(handler.span)):
        return False
    kinds = {step.kind for step in facts.within(facts.steps, handler.body)}
    return kinds.isdisjoint(("break", "return", "raise", "yield")) and only_logs_or_counts(
        handler.body, facts, waits=True
    )


# A batch that is acknowledged as a whole.


def lost_with_batch(facts: Facts) -> Iterator[tuple[Span, Call]]:
    """Yield failures of single messages, and the call that acknowledges the whole batch behind them."""
    settled = (*settled_messages(facts), *_marks(facts))
    for each in _failures_of_items(facts) if settled else ():
        loop = _loop_of(each, facts)
        over, end = (_started(each, facts), each.span.end) if loop is None else (loop.over, loop.span.end)
        batch, home = _named_in(over), _home(each, facts)
        if home is None or not _is_message_work(each, loop, facts):
            continue
        for one in settled:
            if one.span.start < end or _home(one, facts) is not home or one.call.is_deferred:
                continue
            if not batch and (one.call.arguments or loop is None or not moves_offset(one.ack)):
                continue
            if _takes_whole(one, batch, each, facts) and _is_reached(one, batch, loop, facts):
                yield each.at, one.call
                break


_MARKS = NamePattern(
    r"^_?(?:mark|set|flag|record|update|delete|remove)_?(?:all_?|batch_?|rows_?|events_?|messages_?|as_?|status_?)*"
    r"(?:sent|published|processed|delivered|done|dispatched|completed?|relayed|exported|forwarded|handled|synced|acked)"
    r"(?:_?(?:batch|all|at|async|many))*$",
    re.IGNORECASE,
)
"""Names of functions that mark rows as done, as those of an outbox."""


def _marks(facts: Facts) -> Iterator[Settled]:
    """Yield the calls that mark the rows of a batch as done: `outbox.markSent(rows)`."""
    if facts.loops or facts.language in JAVASCRIPT:
        yield from (Settled(call, call) for call in marking_calls(facts) if not facts.loops_around(call))


@lru_cache(maxsize=4)
def marking_calls(facts: Facts) -> tuple[Call, ...]:
    """Return the calls that mark rows as done."""
    return tuple(call for call in facts.calls_with_method(_MARKS.match) if call.arguments)


def _is_message_work(each: DroppedFailure, loop: Loop | None, facts: Facts) -> bool:
    return loop is None or works_on_message(each.work, facts)


def _failures_of_items(facts: Facts) -> Iterator[DroppedFailure]:
    for each in facts.tries:
        for handler in each.handlers:
            if facts.loops_around(each, across=True) and _goes_on(handler, facts):
                yield DroppedFailure(each.span, handler.span, each.body)
    handled = {one.span for each in facts.tries for one in each.handlers}
    yield from (each for each in dropped_failures(facts) if each.at not in handled)
    if facts.language == "python":
        for call in facts.calls_named("asyncio.gather"):
            given = call.argument("return_exceptions")
            if given is not None and given.value.shape == "true" and call.is_awaited:
                yield DroppedFailure(call.span, call.span, call.span)

    failing = answering_false(facts)
    for call in facts.calls_named(*_ALL_OF) if failing else ():
        started = {*re.findall(r"\w+", facts.text(call.span))}
        if not started.isdisjoint(failing) and not _decides(call, facts):
            yield DroppedFailure(call.span, call.span, call.span)


_ALL_OF = ("Promise.all", "asyncio.gather", "Task.WhenAll")


def _decides(call: Call, facts: Facts) -> bool:
    """Return whether the answers of several tasks decide what is done later."""
    scope = facts.function_of(call)
    if scope is None or call.is_returned or call.is_argument:
        return True
    names = "|".join(re.escape(name) for name in call.assigned if name.isidentifier())
    steps = facts.within(facts.steps, Span(call.span.end, scope.body.end)) if names else ()
    return any(step.kind == "branch" and re.search(rf"\b(?:{names})\b", step.text) for step in steps)


def _home(place: Placed, facts: Facts) -> Scope | None:
    """Return the named function around a place, or the outermost one."""
    return facts.named_function_of(place) or next(iter(facts.functions_around(place)), None)


def _loop_of(each: DroppedFailure, facts: Facts) -> Loop | None:
    """Return the loop whose rounds fail one by one, also around the goroutine of a round."""
    home = _home(each, facts)
    around = [
        loop
        for loop in facts.loops_around(each, across=True)
        if home is not None and is_within(loop.span, home.span) and loop.kind in ("each", "comprehension")
    ]
    return around[-1] if around else None


_STARTED = lazy_regex(r"([A-Za-z_][\w.]*)\.(?:map|Select)\(|\bin\s+([A-Za-z_][\w.]*)")


_STARTING = (*JAVASCRIPT, "python", "csharp")


def _started(each: DroppedFailure, facts: Facts) -> str:
    """Return what the tasks that are waited for are made of: `messages` of `messages.map(handle)`."""
    found = _STARTED.search(facts.text(each.work)) if facts.language in _STARTING else None
    return "" if found is None else found[1] or found[2]


_BATCH = lazy_regex(r"[A-Za-z_][\w.]*")
_VIEWS = lazy_regex(
    r"\.(?:iter|into_iter|items|entries|values|stream|asSequence|withIndex|drain|forEach|iterator|chunks|map)$"
)
_FILTERS = lazy_regex(
    r"\.filter\w*\(|\bif\b|\.Where\(|\.takeIf|fulfilled|\.partition|\.Except\(|\.minus\(|difference"
)


def _named_in(over: str) -> str:
    """Return the list that a loop goes through: `out.Messages` of `out.Messages ?? []`."""
    found = _BATCH.match(over.strip().lstrip("&*(").removeprefix("await ").removeprefix("mut "))
    if found is None or (
        over.strip()[found.end() : found.end() + 1] == "(" and _VIEWS.search(found[0]) is None
    ):
        return ""
    return _VIEWS.sub("", found[0])


def _takes_whole(one: Settled, batch: str, failed: DroppedFailure, facts: Facts) -> bool:
    """Return whether an acknowledgement is given the whole list, or each of its items without a choice."""
    loop = _loop_of(failed, facts)
    if not batch:
        return True
    text = facts.text(_statement(one.call, facts))
    named = re.compile(rf"(?<![\w.]){re.escape(batch)}\b(?!\s*\.(?:size|length|Count|len)\b)")
    given = text.partition("(")[2]
    if named.search(given):
        return _FILTERS.search(given) is None
    for around in facts.loops_around(one):
        if around != loop and named.search(around.over) and not _FILTERS.search(around.over):
            return not any(
                is_within(one.span, arm.span) and is_within(arm.span, around.body) for arm in facts.arms
            )
    if not one.call.arguments and moves_offset(one.ack):
        return True
    names = set(re.findall(r"(?<![\w.\"'])[A-Za-z_]\w*\b(?!\s*[(=:])", given))
    return any(_is_made_of(name, named, one, failed, facts) for name in names)


def _statement(call: Call, facts: Facts) -> Span:
    """Return the whole chain that a call begins: `client.delete_message_batch().set_entries(…).send()`."""
    for _ in range(12):
        later = next((each for each in facts.calls_on(call) if each.span.start == call.span.start), None)
        if later is None:
            break
        call = later
    return call.span


_ITERATED = r"\bin\s+{0}|\brange\s+{0}|{0}\s*\.(?:map|Select|stream|iter|into_iter|associate)\w*\("


def _is_made_of(
    name: str, named: re.Pattern[str], one: Settled, failed: DroppedFailure, facts: Facts
) -> bool:
    """Return whether a list holds something for each item of the batch, whether it failed or not."""
    iterated = re.compile(_ITERATED.format(named.pattern))
    for made in facts.assignments_to(name, one):
        if made.value is not None and made.targets == (name,) and iterated.search(made.value.text):
            return _FILTERS.search(made.value.text) is None
    for call in facts.calls_of_method("append", "push", "add", "Add"):
        around = facts.loops_around(call)
        if call.receiver_written != name or not around or not named.search(around[-1].over):
            continue
        if not _is_chosen(call.span, around[-1], failed, facts):
            return True
    if facts.language == "go":
        for made in facts.assignments_to(name, one):
            around = facts.loops_around(made)
            is_appended = made.value is not None and made.value.text.startswith(f"append({name}")
            if is_appended and around and named.search(around[-1].over):
                return not _is_chosen(made.span, around[-1], failed, facts)
    return False


def _is_chosen(added: Span, loop: Loop, failed: DroppedFailure, facts: Facts) -> bool:
    """Return whether a round adds its item only in one arm, or leaves before that after the failure."""
    return any(
        is_within(added, arm.span)
        or (
            arm.leaves
            and arm.span.end < added.start
            and (is_within(arm.span, failed.at) or is_within(failed.at, arm.span))
        )
        for arm in facts.within(facts.arms, loop.body)
    )


_OF_SIZE = frozenset(
    ("if", "not", "len", "size", "length", "isEmpty", "is_empty", "isNotEmpty", "Count", "Any", "null", "nil",
     "None", "0", "this", "self", "empty", "count", "undefined")
)  # fmt: skip


def _is_reached(one: Settled, batch: str, loop: Loop | None, facts: Facts) -> bool:
    """Return whether an acknowledgement runs whether or not a message failed: at most if there are any."""
    known = {*re.findall(r"\w+", batch)} | _OF_SIZE
    for arm in facts.arms:
        if not is_within(one.span, arm.span) or (loop is not None and is_within(loop.span, arm.span)):
            continue
        head = facts.text(Span(arm.fork.start, arm.span.start))
        if facts.text(arm.fork).startswith("try"):
            continue
        if not {*re.findall(r"\w+", head)} <= known:
            return False
    return True
