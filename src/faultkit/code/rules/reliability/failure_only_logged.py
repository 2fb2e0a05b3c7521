"""Finds requests that are answered with success although what they asked for has failed.

It is shown if the function then answers, records the work as done, commits, or tells its caller that it
worked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.answered_failures import (
    COMMITS,
    answered_failures,
    is_beside,
    is_commit,
    is_webhook,
    is_write,
    takes_in,
)
from faultkit.code.rules.vocabulary.answers import responder_of
from faultkit.code.rules.vocabulary.dropped_failures import (
    dropped_failures,
    is_failure_of_work,
)
from faultkit.code.rules.vocabulary.failures import is_for_one_code, only_reports
from faultkit.code.rules.vocabulary.thrown_away import MEANT, REPORTS, TIDIES, is_second, thrown_away
from faultkit.code.rules.vocabulary.transactions import transactions


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "rust":
        for span, what, is_little in thrown_away(facts):
            yield Hit(span, what, POSSIBLE if is_little else LIKELY)
    if facts.language in JAVASCRIPT:
        yield from _promises(facts)
    if facts.language == "python":
        yield from _suppressed(facts)
    if facts.language == "kotlin":
        yield from _left_out(facts)
    failures = [*answered_failures(facts)]
    answered = {one.let_go for one in failures}
    tries = [each for each in facts.tries if MEANT.search(facts.comment_at(each))] if failures else []
    meant = {handler.span for each in tries for handler in each.handlers}
    for one in failures:
        if one.let_go in meant:
            continue
        what = f"when {one.work.written}() fails, the request is still answered with success"
        yield Hit(one.span, what, POSSIBLE if is_second(one.work, one.let_go, facts) else LIKELY)
    for each in facts.tries:
        scope = facts.function_of(each)
        if scope is None or any(handler.span in answered for handler in each.handlers):
            continue
        if facts.language == "rust" or not (scope.route is not None or responder_of(scope, facts)):
            yield from _gone_on(each, scope, facts)


_DONE = lazy_regex(
    r"^_?(?i:mark|complete|finish|confirm|set_?status|update_?status|set_?state|commit|advance|checkpoint|save|update|delete"
    r"|put|insert|record)(?![a-z])"
)
_SENDS = lazy_regex(
    r"^_?(?i:send|notify|deliver|upload|push|sync|post|export|import|process|handle|dispatch|forward|submit|call|transmit"
    r"|archive|copy|migrate|index)(?![a-z])"
)
"""Work that is marked as done afterwards, besides writes."""
_MARKS = lazy_regex(
    r"^_?(?i:mark|complete|finish|confirm|set_?status|update_?status|set_?state|commit|advance|checkpoint)(?![a-z])"
    r"(?!\w*(?i:fail|error))"
)
"""Calls that say themselves that something is done; other writes may be steps of their own."""
_WORDS = lazy_regex(r"[A-Za-z_]\w*")
_NO_SUBJECT = frozenset(
    ("self", "this", "ctx", "context", "cancellationToken", "ct", "token", "true", "false", "await", "new",
     "None", "null", "nil", "clone", "id", "Id", "ID", "now", "Background")
)  # fmt: skip


def _gone_on(each: Try, scope: Scope, facts: Facts) -> Iterator[Hit]:
    """Yield handlers that only log a failed write, after which the work counts as done."""
    yield from _not_committed(each, scope, facts)
    handler = next((one for one in each.handlers if _lets_go(one, facts)), None)
    if handler is None or facts.handlers_around(each) or re.search(r"//|#|/\*", facts.text(handler.span)):
        return
    guarded = list(_guarded(each, facts))
    write = next((call for call in guarded if is_write(call, facts)), None)
    if write is None:
        sent = next(
            (
                call
                for call in guarded
                if _SENDS.match(call.method) and call.arguments and not REPORTS.search(call.receiver_written)
            ),
            None,
        )
        done = None if sent is None or handler.exits else _done_after(sent, each, handler, scope, facts)
        if sent is not None and done is not None and not _leaves_round(handler, facts):
            what = f"when {sent.written}() fails, {done.written}() follows as if it had worked"
            yield Hit(handler.span, what, LIKELY if _MARKS.match(done.method) else POSSIBLE)
        return
    if facts.language == "go" and handler.exits:
        if _returns_nil(handler, scope, facts):
            what = f"when {write.written}() fails, the caller is told that nothing did"
            yield Hit(handler.span, what, LIKELY)
        return
    if handler.exits or _leaves_round(handler, facts):
        return
    done = _done_after(write, each, handler, scope, facts)
    if done is not None:
        what = f"when {write.written}() fails, {done.written}() follows as if it had worked"
        yield Hit(handler.span, what, LIKELY if _MARKS.match(done.method) else POSSIBLE)
    elif _says_true(scope, facts) or _is_returned(write, handler, scope, facts):
        what = f"when {write.written}() fails, the caller is told that it worked"
        yield Hit(handler.span, what, LIKELY)
    elif _is_in_transaction(each, facts) and _is_kept(each, scope, facts):
        what = f"when {write.written}() fails, the transaction is still committed without it"
        yield Hit(handler.span, what, LIKELY)


def _lets_go(handler: Handler, facts: Facts) -> bool:
    failures = handler.is_broad or any(name.endswith(("Exception", "Error")) for name in handler.types)
    if not is_failure_of_work(handler) or is_for_one_code(handler, facts):
        return False
    return failures and (only_reports(handler, facts) or (handler.is_empty and facts.language == "rust"))


def _returns_nil(handler: Handler, scope: Scope, facts: Facts) -> bool:
    """Return whether a function of Go whose only result is an error returns none."""
    returns = [step.text for step in facts.within(facts.steps, handler.body) if step.kind == "return"]
    return (
        returns == ["nil"]
        and re.search(r"\)\s*\(?(?:err\s+)?error\)?\s*$", facts.text(scope.head)) is not None
    )


_LAST_TIME = lazy_regex(r"last_?(?:seen|used|active|login|access|visit)", re.IGNORECASE)
"""Notes of when something was used, without which the work is done all the same."""
_ENDS = frozenset(("rollback", "Rollback", "RollbackAsync", "close", "Close", "expunge_all"))


def _not_committed(each: Try, scope: Scope, facts: Facts) -> Iterator[Hit]:
    """Yield handlers that only log a failed commit, before the function returns a result."""
    named = facts.calls_of_method(*COMMITS)
    commits = [call for call in facts.within(named, each.body) if is_commit(call)]
    if commits and _LAST_TIME.search(facts.text(each.body)):
        return
    for handler in each.handlers if commits and not facts.loops_around(each) else ():
        calls = [*facts.within(facts.calls, handler.body)]
        logs = [call for call in calls if is_logging(call) or call.method in _ENDS]
        is_quiet = bool(logs) and all(any(is_within(call.span, one.span) for one in logs) for call in calls)
        if handler.raises or handler.exits or not is_quiet or (not handler.types and not handler.is_broad):
            continue
        if is_failure_of_work(handler) and _gives_result(max(each.span.end, handler.span.end), scope, facts):
            what = f"when {commits[0].written}() fails, the caller is told that nothing did"
            yield Hit(handler.span, what, LIKELY)


_RESULT = lazy_regex(r"(?!None\b|null\b|nil\b|false\b|False\b)\S")


def _gives_result(end: int, scope: Scope, facts: Facts) -> bool:
    """Return whether a function returns a value behind a place, and raises nothing there."""
    rest = [step for step in facts.own(facts.steps, scope) if step.span.start >= end]
    if any(step.kind == "raise" for step in rest):
        return False
    if facts.language == "rust":
        return (
            re.search(r"\bOk\((?!\(\)\))[^;]*\)\s*\}?$", facts.text(Span(end, scope.body.end)).rstrip())
            is not None
        )
    return any(step.kind == "return" and _RESULT.match(step.text) for step in rest)


_FINDS = lazy_regex(
    r"_?(?i:get|load|fetch|find|read|try|ensure|cached?|log|audit|track|notify|render|lookup)(?![a-z])"
)


_STORES = lazy_regex(
    r"_?(?i:save|insert|persist|upsert|publish|charge|book|transfer|debit|credit|create|update)(?:_?(?i:all|one|many|async))*$"
)


def _is_returned(write: Call, handler: Handler, scope: Scope, facts: Facts) -> bool:
    """Return whether a function returns what it was given to write, as if it were written."""
    given = {each.name for each in scope.parameters} & _subjects(write)
    if not given or _FINDS.match(scope.short_name) or not write.receiver_written:
        return False
    if _STORES.match(write.method) is None:
        return False
    return any(
        step.kind == "return"
        and step.span.start > handler.span.end
        and given & {*_WORDS.findall(step.text)}
        and "[" not in step.text
        for step in facts.own(facts.steps, scope)
    )


def _says_true(scope: Scope, facts: Facts) -> bool:
    """Return whether all that a function returns is that its work is done."""
    returns = [step.text.strip("; ") for step in facts.own(facts.steps, scope) if step.kind == "return"]
    return bool(returns) and all(each in ("True", "true") for each in returns)


def _leaves_round(handler: Handler, facts: Facts) -> bool:
    return any(step.kind in ("continue", "break") for step in facts.within(facts.steps, handler.body))


def _subjects(call: Call) -> set[str]:
    return {word for each in call.arguments for word in _WORDS.findall(each.value.text)} - _NO_SUBJECT


def _done_after(write: Call, each: Try, handler: Handler, scope: Scope, facts: Facts) -> Call | None:
    """Return the call behind a failed write that records it as done: it is about the same thing."""
    loops = facts.loops_around(each)
    body = loops[-1].body if loops else scope.body
    end = handler.span.end if each.finally_ is not None else max(each.span.end, handler.span.end)
    subjects = _subjects(write)
    for call in facts.within(facts.calls, Span(end, body.end)):
        if facts.function_of(call) is not scope or is_beside(call) or is_logging(call):
            continue
        if not _DONE.match(call.method) or not subjects & _subjects(call) or facts.are_exclusive(each, call):
            continue
        if not _is_of_same_kind(write, call, facts) and not _is_left_between(each, call, facts):
            return call
    return None


def _is_left_between(each: Try, later: Call, facts: Facts) -> bool:
    """Return whether the branch of a write ends with `break`, `continue` or `return` before a later call."""
    return any(
        step.kind in ("break", "continue", "return") and is_within(step.span, arm.span)
        for arm in facts.arms
        if is_within(each.span, arm.span) and arm.span.end <= later.span.start
        for step in facts.within(facts.steps, Span(each.span.end, arm.span.end))
        if not any(
            is_within(step.span, inner.span) and not is_within(each.span, inner.span)
            for inner in facts.within(facts.arms, arm.span)
        )
    )


_VERB = lazy_regex(r"_*[A-Za-z][a-z]*")


def _is_of_same_kind(write: Call, later: Call, facts: Facts) -> bool:
    """Return whether each of two calls is one of several steps that are tried on their own."""
    one, other = _VERB.match(write.method), _VERB.match(later.method)
    return (
        one is not None
        and other is not None
        and one[0] == other[0]
        and any(_lets_go(handler, facts) for each in facts.tries_around(later) for handler in each.handlers)
    )


def _is_in_transaction(place: Placed, facts: Facts) -> bool:
    """Return whether a transaction is open around a place that has no part of its own, as a savepoint."""
    if _SAVEPOINT.search(facts.text(place.span)):
        return False
    return any(is_within(place.span, one.span) for one in transactions(facts))


_SAVEPOINT = lazy_regex(r"(?i:savepoint|begin_nested|nested)|\batomic\(|\.begin\(|REQUIRES_NEW")


def _is_kept(each: Placed, scope: Scope, facts: Facts) -> bool:
    """Return whether other writes are kept although this one failed, by a commit or by the block."""
    return any(
        is_write(call, facts)
        and not is_within(call.span, each.span)
        and not (isinstance(each, Try) and is_within(call.span, each.body))
        for call in facts.own(facts.calls, scope)
    )


def _left_out(facts: Facts) -> Iterator[Hit]:
    """Yield `runCatching { stock.take(…) }.onFailure { log.error(…) }` in a transaction (Kotlin)."""
    for each in dropped_failures(facts) if facts.calls_named("runCatching") else ():
        scope = facts.named_function_of(each)
        if scope is None or not facts.text(each.work).startswith("runCatching"):
            continue
        write = next((call for call in facts.within(facts.calls, each.work) if is_write(call, facts)), None)
        if write is not None and _is_in_transaction(each, facts) and _is_kept(each, scope, facts):
            what = f"when {write.written}() fails, the transaction is still committed without it"
            yield Hit(each.span, what, LIKELY)


def _guarded(each: Try, facts: Facts) -> Iterator[Call]:
    return (call for call in facts.within(facts.calls, each.body) if not is_logging(call))


def _promises(facts: Facts) -> Iterator[Hit]:
    """Yield `await save(order).catch((err) => log.error(err))` in a function that answers requests."""
    yield from _said_only(facts)
    for call in facts.calls_of_method("catch"):
        given, write = call.argument(place=0), call.origin
        scope = facts.function_of(call)
        if given is None or given.value.shape != "function" or write is None or scope is None:
            continue
        if not call.is_awaited and not (call.is_discarded and is_webhook(scope)):
            continue
        if not (scope.route is not None or responder_of(scope, facts)) or call.assigned:
            continue
        if facts.handlers_around(call):
            continue  # What ends the work after another error, such as a rollback.
        inside = list(facts.within(facts.calls, given.value.span))
        is_work = is_write(write, facts) or (is_webhook(scope) and takes_in(write))
        if inside and all(map(is_logging, inside)) and is_work and not facts.comment_at(call):
            what = f"when {write.written}() fails, the request is still answered with success"
            yield Hit(call.span, what, LIKELY)


def _said_only(facts: Facts) -> Iterator[Hit]:
    """Yield `done = await apply(event).then(() => true, (err) => { log.error(err); return false; })` in a
    webhook whose status does not depend on it."""
    for call in facts.calls_of_method("then", "catch"):
        given = call.argument(place=1 if call.method == "then" else 0)
        scope, write = facts.function_of(call), call.origin
        if given is None or write is None or scope is None or not call.is_awaited or not call.assigned:
            continue
        if not is_webhook(scope) or not responder_of(scope, facts) or not takes_in(write):
            continue
        inside = [*facts.within(facts.calls, given.value.span)]
        name = call.assigned[0]
        later = facts.within(facts.steps, Span(call.span.end, scope.body.end))
        decides = any(
            step.kind in ("branch", "raise") and name in _WORDS.findall(step.text) for step in later
        )
        if inside and all(map(is_logging, inside)) and name.isidentifier() and not decides:
            what = f"when {write.written}() fails, the request is still answered with success"
            yield Hit(call.span, what, LIKELY)


_ALL_ERRORS = lazy_regex(r"\b(?:Base)?Exception\b|\w*(?:Database|Operational|SQLAlchemy|DB)Error\b")


def _suppressed(facts: Facts) -> Iterator[Hit]:
    """Yield `with suppress(Exception): session.commit()` (Python)."""
    for call, body in facts.managed:
        if call.method != "suppress" or not any(
            _ALL_ERRORS.search(each.value.text) for each in call.arguments
        ):
            continue
        for each in facts.within(facts.calls, body):
            is_lost = each.method == "commit" or (is_write(each, facts) and not _is_tidying(each, facts))
            if is_lost and not facts.comment_at(call):
                yield Hit(each.span, f"the error of {each.written}() is thrown away", LIKELY)
                break


def _is_tidying(call: Call, facts: Facts) -> bool:
    """Return whether a call takes something away at an end, which a later run may do as well."""
    scope = facts.named_function_of(call)
    return TIDIES.match(call.method) is not None or (
        scope is not None and TIDIES.search(scope.short_name) is not None
    )


RULE = Rule(
    id="FK-R097",
    slug="failure-only-logged",
    title="Failed write that is only logged, or dropped",
    why="The client learns that its data is stored, does not try again, and the data is gone.",
    fix="Answer with a failure and return, or pass the error on.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
