"""Loops that try one thing again after it failed, in contrast to those that go on to the next thing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.fact_values import Arm
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.changed_values import (
    COUNTED,
    ROUND,
    changed_in,
    is_given,
    made_of,
    moved_in,
)
from faultkit.code.rules.vocabulary.go_retries import go_retries
from faultkit.code.rules.vocabulary.http_requests import library_of
from faultkit.code.rules.vocabulary.read_again import is_local, waits_for_next
from faultkit.code.rules.vocabulary.retry_limits import is_limited
from faultkit.code.rules.vocabulary.waits import LEAVES_SELECT, is_constant, select_with_wait, waits_in

_FAILURES = ("Error", "Exception", "Timeout", "Failure", "Fault", "Failed", "Unavailable", "Reset")
_SIZE = lazy_regex(r"\.length\b|\.size\b|\blen\(")
_NUMBERED = lazy_regex(r"attempt|retr|tr(y|ies)|round|^_", re.IGNORECASE)
"""Names of counters of tries; a counter with another name is one of items, if the tried call is given it."""
_COUNTER = lazy_regex(r"\b(\w+)\s*:?=[^=]")
_NEXT = lazy_regex(r"next|^_*(pop|poll|shift|dequeue|take|borrow|readline)", re.IGNORECASE)
"""Calls that go on to something else: the next host, item or page."""
_READS = lazy_regex(
    r"^(Read|Decode|Recv|Receive|Scan|Next|Accept|Unwrap|read|recv|receive|next|accept|get)"
    r"(_?([Oo]ne|[Mm]essage|[Ff]rame|[Ll]ine|[Ee]vent|[Rr]ecord|[Pp]acket|[Kk]ey|ch|Delimited|From|Msg|Full|nowait))?$"
    r"|[uU]nwrap"
)
"""Calls that read the next part of a stream, a queue or a keyboard."""
_CONFLICTS = lazy_regex(
    r"(Watch|Conflict|Duplicate\w*|Concurren\w*|Interrupted\w*|Integrity|Unique\w*)(Error|Exception)$"
)
_OF_KIND = lazy_regex(r"!\s*\(\s*\w+ instanceof ([\w.]+)\s*\)\s*(?:\|\||\))")
"""`if (!(error instanceof UniqueConstraintError)) throw error`: all others are thrown."""
_ANY_CONFLICTS = lazy_regex(
    rf"{_CONFLICTS.pattern}|(Stale|Optimistic|TransactionCancel|Contested)\w*(Error|Exception)$"
)
"""Errors of two that did the same at once: the next try is expected to work."""
_DECIDES = lazy_regex(r"retr(y|ies|ier|ying)|backoff", re.IGNORECASE)
_RETRYABLE = lazy_regex(r"\b\w*[rR]etr(?:y|i)able\w*\(\s*\w+\s*\)")
"""A question about an error alone, which does not count the tries."""
_NO_FAILURES = frozenset(
    ("BlockingIOError", "EOFError", "IndexError", "InterruptedError", "KeyError", "KeyboardInterrupt",
     "SSLWantReadError", "SSLWantWriteError", "StopIteration", "TypeError", "UnicodeDecodeError",
     "ValueError")
)  # fmt: skip
_ANSWERS = frozenset(
    {"BlockingIOError", "FileExistsError", "InterruptedError", "SSLWantReadError", "SSLWantWriteError"}
)
"""Errors that mean "not yet", or "not under this name"."""
_OF_DATA = lazy_regex(r"(Header|Parse|Syntax|Decode|Format|Validation|Attribute|Lookup)Error$")
"""Errors of data, which will fail again."""
_CONVERTS = lazy_regex(r"raise|throw|convert|translate|(^|_)fail", re.IGNORECASE)
"""Names of functions that convert an error into another one and do not return."""
_WAITS = frozenset(
    (
        "result", "wait", "wait_for", "get", "join", "recv", "accept", "poll", "acquire", "input", "int",
        "upper", "lower", "strip", "prompt", "question", "run_forever",
    )
)  # fmt: skip
"""Calls that wait: waiting once more for something under way is no retry."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Code that is tried again after a failure."""

    how: Literal["loop", "decorator", "helper", "recursion"]
    span: Span
    """The head of the loop, the decorator, or the call of the helper or of the function itself: where a
    finding points."""
    body: Span
    """The code that is tried again."""
    call: Call | None
    """The decorator or helper."""
    loop: Loop | None
    waits: bool | None
    """Whether it waits between tries; None if a helper decides."""
    waits_longer: bool | None
    limited: bool | None

    @property
    def place(self) -> Span:
        """The whole loop, or else the decorator or helper."""
        return self.span if self.loop is None else self.loop.span


def retry_of_loop(loop: Loop, facts: Facts) -> Retry | None:
    """Return what a loop tries again, or None if it is no retry."""
    if loop.kind == "comprehension":
        return None
    if facts.language == "rust" and loop.kind == "while" and loop.over.startswith("let Err("):
        return _while_it_fails(loop, facts)
    again = _retried_body(loop, facts)
    if again is None:
        return None
    stoppable = loop.kind == "while" and _UNTIL_STOPPED.search(loop.over) is not None
    is_counted = stoppable or COUNTED.search(loop.over) is not None
    if loop.kind in ("each", "while") and not is_counted and not _flag(loop):
        return None
    if loop.kind in ("count", "while") and _SIZE.search(loop.over) and not ROUND.search(loop.over):
        return None
    if facts.language == "rust" and re.search(r"let Some\(\w+\) = \w+\.next\(\)", facts.text(loop.body)):
        return None  # Each round has an item of its own.
    head = Span(loop.span.start, min(loop.body.start, loop.span.end))
    if _is_decided_elsewhere(loop, facts):
        return Retry("loop", head, again, None, loop, None, None, None)
    waits = waits_in(loop, facts)
    longer = not waits or not all(map(is_constant, waits))
    selected = select_with_wait(loop, facts) if facts.language == "rust" else ""
    stoppable = stoppable or LEAVES_SELECT.search(selected) is not None
    pauses = bool(waits or selected) or (facts.language == "go" and "<-" in facts.text(loop.body))
    # What goes on until the program stops may try for ever, as long as it waits.
    limited = None if stoppable and pauses else is_limited(loop, bool(_flag(loop)), facts)
    return Retry("loop", head, again, None, loop, pauses, longer or stoppable, limited)


_UNTIL_STOPPED = lazy_regex(
    r"^\W*(?:!|not\b)[^&|]*\b_?(?:stop\w*|shut_?down\w*|clos(?:ed|ing)\w*|cancel\w*|quit\w*|\w*CancellationRequested|isInterrupted)\b"
    r"(?:\.(?:is_set|get|load|isSet)\([^)]*\)|\.IsCancellationRequested|\(\))?\W*$"
    r"|^\W*(?:self\.|this\.)?_?(?:running|is_?[rR]unning|alive|isActive)(?:\.get\(\)|\(\))?\W*$",
)
_ASKED = lazy_regex(r"(api|client|http|axios|rest)$", re.IGNORECASE)
"""Objects whose `get` asks another service, and does not wait for what is under way."""
_FLAG = lazy_regex(
    r"\(?\s*(?:!|not\s+)\s*(\w*(?:done|ok|sent|success\w*|succeeded|saved|published|finished|uploaded"
    r"|delivered|connected|acked|stored))\s*\)?",
    re.IGNORECASE,
)


def _flag(loop: Loop) -> str:
    """Return the variable of `while (!done)`, which the success of a try sets; empty if there is none."""
    found = _FLAG.fullmatch(loop.over) if loop.kind == "while" else None
    return "" if found is None else found[1]


def _sets_flag(loop: Loop, each: Try, facts: Facts) -> bool:
    name = _flag(loop)
    return bool(name) and any(
        assigned.targets == (name,) and assigned.value is not None and assigned.value.shape == "true"
        for assigned in facts.within(facts.assignments, each.body)
    )


def _is_decided_elsewhere(loop: Loop, facts: Facts) -> bool:
    """Return whether a policy decides: `if (retryHandler.retryRequest(error, count))`."""
    return any(
        step.kind == "branch"
        and _DECIDES.search(_RETRYABLE.sub("", step.text))
        and "(" in step.text.strip("() ")
        for step in facts.within(facts.steps, loop.body)
    )


def _while_it_fails(loop: Loop, facts: Facts) -> Retry | None:
    """Return `while let Err(error) = f().await { … }` of Rust as a retry."""
    if any(_READS.search(call.method) for call in facts.within(facts.calls, loop.head)):
        return None
    waits = waits_in(loop, facts)
    selected = not waits and re.search(r"\bsleep(?:_until)?\(\w+\)\s*=>", facts.text(loop.body)) is not None
    leaves = LEAVES_SELECT.search(select_with_wait(loop, facts)) is not None
    leaves |= any(step.kind in ("return", "break") for step in facts.within(facts.steps, loop.body))
    longer = not waits or not all(map(is_constant, waits))
    return Retry("loop", loop.head, loop.head, None, loop, bool(waits) or selected, longer, leaves)


def _is_directly_in(loop: Loop, facts: Facts, place: Span) -> bool:
    if not is_within(place, loop.body):
        return False
    return not any(
        is_within(place, each.body) for each in facts.within(facts.loops, loop.body) if each != loop
    )


def _retried_body(loop: Loop, facts: Facts) -> Span | None:
    """Return what is tried, if a failure leads to the next round and a success out of the loop."""
    if facts.language == "go":
        return loop.body if any(go_retries(call, loop, facts) for call in _go_tried(loop, facts)) else None
    if facts.language == "rust":
        return _rust_body(loop, facts)
    function = facts.function_of(loop)
    for each in facts.within(facts.tries, loop.body):
        if (
            not each.handlers
            or not _is_directly_in(loop, facts, each.span)
            or facts.function_of(each) is not function
        ):
            continue
        if (
            _tries_each_item(loop, each, facts)
            or _tries_another(loop, each, facts)
            or _is_answer(each)
            or is_local(each.body, facts)
            or waits_for_next(each.body, facts)
        ):
            continue
        if any(
            _continues_loop(loop, each, place, facts)
            and (_success_ends_loop(loop, each, place, facts) or _sets_flag(loop, each, facts))
            for place in range(len(each.handlers))
        ):
            return each.body
    return None


_WORKS = lazy_regex(r"Ok\(|(?!_)([a-z]\w*)\s*=>\s*(?:\{\s*)?(?:return|break)\s+\1\b")
"""An arm for a success: also `other => return other`, where errors to try again have arms of their own."""


def _rust_body(loop: Loop, facts: Facts) -> Span | None:
    """Return what is tried, if the arm `Ok(…)` of a match leaves the loop and no arm `Err(…)` does."""
    function = facts.function_of(loop)
    parsed = [each.span for each in facts.within(facts.tries, loop.body) if is_local(each.body, facts)]
    for each in facts.within(facts.tries, loop.body):
        if not _is_directly_in(loop, facts, each.span) or facts.function_of(each) is not function:
            continue
        if any(is_within(each.span, span) for span in parsed):
            continue  # Each round has the next command of a text.
        if facts.text(each.body).rstrip().endswith("?"):
            continue  # A failure leaves the loop: `match f().await? { Ok(x) => …, Err(full) => … }`
        arms = [arm for arm in facts.within(facts.arms, each.span) if arm.fork == each.span]
        works = [arm for arm in arms if _WORKS.match(facts.text(arm.span))]
        body = _value_of(each.body, loop, facts)
        calls = list(facts.within(facts.calls, body))
        reads = all(call.method in _WAITS or _READS.search(call.method) for call in calls)
        if not works or not calls or reads or is_local(body, facts) or _tries_each_item(loop, each, facts):
            continue
        if waits_for_next(body, facts):
            continue
        # Of `Err(e) if tries < 5 => …` and `Err(e) => return Err(e)` the first tries again.
        if _success_leaves(works, facts) and not all(handler.exits for handler in each.handlers):
            return body
    return _until_done(loop, facts)


def _success_leaves(works: list[Arm], facts: Facts) -> bool:
    """Return whether a success leaves the loop; an answer with a bad status may only be logged (Rust)."""
    others = [arm for arm in works if not _ends_loop(arm, facts)]
    return len(others) < len(works) and all(
        is_logging(call) or call.is_argument or call.method in ("Ok", "status")
        for arm in others
        for call in facts.within(facts.calls, arm.span)
    )


_IF_OK = lazy_regex(r"let\s+Ok\(")


def _until_done(loop: Loop, facts: Facts) -> Span | None:
    """Return what `if let Ok(x) = f().await { return x; }` tries in a loop whose next round a failure is."""
    function = facts.function_of(loop)
    for step in facts.within(facts.steps, loop.body):
        if step.kind != "branch" or not _IF_OK.match(step.text) or facts.function_of(step) is not function:
            continue
        arms = [arm for arm in facts.within(facts.arms, step.span) if arm.fork == step.span]
        if len(arms) != 1 or not _ends_loop(arms[0], facts) or not _is_directly_in(loop, facts, step.span):
            continue
        head = Span(step.span.start, arms[0].span.start)
        calls = [call for call in facts.within(facts.calls, head) if call.method != "Ok"]
        names = {name for target in loop.targets for name in re.findall(r"\w+", target)}
        is_of_item = bool(names & {*re.findall(r"\w+", facts.text(head))}) and loop.kind == "each"
        reads = all(call.method in _WAITS or _READS.search(call.method) for call in calls)
        if any(call.is_awaited for call in calls) and not is_of_item and not reads:
            return head
    return None


def _value_of(matched: Span, loop: Loop, facts: Facts) -> Span:
    """Return the call whose result a variable holds: of `let sent = f(); match sent { … }` that of `f()`."""
    name = facts.text(matched).strip()
    if not name.isidentifier():
        return matched
    made = [
        each.value.span
        for each in facts.within(facts.assignments, Span(loop.body.start, matched.start))
        if each.value is not None and each.targets == (name,)
    ]
    return made[-1] if made else matched


def _ends_loop(arm: Arm, facts: Facts) -> bool:
    """Return whether an arm leaves the loop, and not only the round."""
    if arm.leaves == "loop":
        return not facts.text(arm.span).rstrip(" ,;}\n").endswith("continue")
    return arm.leaves == "function"


def _tries_each_item(loop: Loop, each: Try, facts: Facts) -> bool:
    """Return whether each round tries another item: that is a search, not a retry."""
    listed = [word for target in loop.targets for word in re.findall(r"\w+", target)]
    items = [name for name in listed if not ROUND.search(name)]
    before = Span(loop.body.start, each.body.end)
    if any(facts.mentions(name, before) for name in items):
        return True
    counter = _counter(loop, facts)
    return bool(counter) and not _NUMBERED.search(counter) and is_given(counter, before, facts)


def _counter(loop: Loop, facts: Facts) -> str:
    """Return the variable of a loop that counts, or that goes from one thing to the next."""
    if loop.kind not in ("count", "endless"):
        return ""
    if loop.targets:
        return loop.targets[0]
    found = _COUNTER.search(facts.text(loop.head))
    return "" if found is None else found[1]


def _tries_another(loop: Loop, each: Try, facts: Facts) -> bool:
    """Return whether the next round tries something else, as after `path = path.parent`."""
    if any(
        _NEXT.search(call.method) and not is_logging(call)
        for call in facts.within(facts.calls, Span(loop.body.start, each.body.end))
    ):
        return True
    after = Span(each.body.end, loop.body.end)
    fields = {
        name
        for assigned in facts.within(facts.assignments, after)
        for name in assigned.targets
        if "." in name and not name.startswith("self.") and name in facts.text(each.body)
    }
    if fields:
        return True  # `form.name = other` is sent next.
    moved = made_of(moved_in(after, facts), Span(loop.body.start, each.body.end), facts)
    return any(facts.mentions(name, each.body) for name in changed_in(after, facts)) or any(
        is_given(name, each.body, facts) for name in moved
    )


def _is_answer(each: Try) -> bool:
    """Return whether nothing failed, as in `except FileExistsError: continue`."""
    return any(
        handler.types and all(name.rpartition(".")[2] in _ANSWERS for name in handler.types)
        for handler in each.handlers
    )


def _continues_loop(loop: Loop, each: Try, place: int, facts: Facts) -> bool:
    """Return whether the handler lets the loop continue, at least sometimes."""
    handler = each.handlers[place]
    conflicts = _CONFLICTS if loop.kind == "endless" else _ANY_CONFLICTS
    if handler.types and all(
        name.rpartition(".")[2] in _NO_FAILURES or conflicts.search(name) for name in handler.types
    ):
        return False
    if handler.types and not any(map(_is_failure, handler.types)):
        return False
    if (asked := _OF_KIND.search(facts.text(handler.body))) is not None and conflicts.search(asked[1]):
        return False
    inside = list(facts.within(facts.calls, handler.body))
    if handler.uses_error and len(inside) == 1 and _CONVERTS.search(inside[0].method):
        return False
    if not handler.exits:
        return True
    leaving = [
        step
        for step in facts.within(facts.steps, handler.body)
        if step.kind in ("return", "break", "raise") and step.span.end <= handler.body.end
    ]
    guards = [step for step in facts.within(facts.steps, handler.body) if step.kind == "branch"]
    return all(any(is_within(step.span, guard.span) for guard in guards) for step in leaving)


def _is_failure(name: str) -> bool:
    """Return whether an error type is a failure: `InvalidResponse` of a prompt is none."""
    last = name.rpartition(".")[2]
    if _OF_DATA.search(last):
        return False
    return not last[:1].isupper() or last.endswith(_FAILURES) or len(last) < 3


_SUCCEEDED = lazy_regex(
    r"\b(status\w*|code|statusCode)\b\W*(\(\))?\W*(<=?\s*[23]\d\d|===?\s*20\d|in 200)"
    r"|\.ok\b|IsSuccess|isSuccess|is_success|2xx",
)


def _success_ends_loop(loop: Loop, each: Try, place: int, facts: Facts) -> bool:
    """Return whether success ends the loop, and an error that the handler takes does not."""
    calls = list(facts.within(facts.calls, each.body))
    if calls and all(
        (call.method in _WAITS or _READS.search(call.method))
        and library_of(call, facts.language) is None
        and not (call.arguments and _ASKED.search(call.receiver_written))
        for call in calls
    ):
        return False
    handlers = [handler.span for handler in each.handlers]
    goes_on = facts.text(each.handlers[place].body).rstrip(" ;}\n").endswith("continue")
    branches = [step for step in facts.within(facts.steps, loop.body) if step.kind == "branch"]
    for step in facts.within(facts.steps, loop.body):
        if step.kind not in ("return", "break") or step.span.start < each.span.start:
            continue
        if any(is_within(step.span, handler) for handler in handlers):
            continue
        if step.span.start > each.span.end and not goes_on:
            # After an error, too.
            continue
        # A conditional exit belongs to a loop that continues on success, except a `return answer` inside the
        # tried body.
        under = [branch for branch in branches if is_within(step.span, branch.span)]
        gives = (
            step.kind == "return"
            and is_within(step.span, each.body)
            # In a function without a result, the condition shows that it was a success.
            and (bool(step.text) or (bool(under) and _SUCCEEDED.search(under[-1].text) is not None))
        )
        if (gives or not under) and facts.function_of(step) is facts.function_of(loop):
            return True
    return False


# Go: no try, but errors as values.


_EVENT = lazy_regex(r"\bcase\s+[\w, ]+:?=\s*<-")


def _go_tried(loop: Loop, facts: Facts) -> list[Call]:
    """Return the calls in a Go loop whose errors are looked at, without those of streams and events."""
    if loop.kind == "each":
        return []
    scope, counter = facts.function_of(loop), _counter(loop, facts)
    selects = [
        step.span
        for step in facts.within(facts.steps, loop.body)
        if step.kind == "branch" and facts.syntax.source.startswith(b"select", step.span.start)
    ]
    changed = changed_in(loop.body, facts)
    if any(_EVENT.search(facts.text(each)) for each in selects):
        return []  # Each round has an event of its own.
    if any(
        _READS.search(call.method) and call.method != "get" and _is_directly_in(loop, facts, call.span)
        for call in facts.within(facts.calls, loop.body)
        if library_of(call, "go") is None
    ):
        return []  # Each round has a connection, message or event of its own.
    return [
        call
        for call in facts.within(facts.calls, loop.body)
        if call.assigned
        and call.assigned[-1].lower().endswith("err")
        and facts.function_of(call) is scope
        and _is_directly_in(loop, facts, call.span)
        and not any(is_within(call.span, each) for each in selects)
        and not (counter and not _NUMBERED.search(counter) and is_given(counter, call.span, facts))
        and not any(is_given(name, call.span, facts) for name in changed - {*call.assigned})
        and not _goes_on(call, loop, facts)
        and not _is_on_another(call, loop, facts)
    ]


def _is_on_another(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether an error chooses the object of the next round: `disk := fallback(err)`."""
    name = call.receiver_written.partition(".")[0]
    return bool(name) and any(
        name in each.targets
        and each.call is not None
        and any(argument.value.text == call.assigned[-1] for argument in each.call.arguments)
        for each in facts.within(facts.assignments, loop.body)
    )


def _goes_on(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether the next round gives a call something else, as after `folder = filepath.Dir(folder)`."""
    after = Span(call.span.end, loop.body.end)
    made = made_of(changed_in(after, facts), Span(loop.body.start, call.span.start), facts)
    return any(is_given(name, call.span, facts) for name in made - {*call.assigned})
