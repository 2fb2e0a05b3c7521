"""Transactions that a function begins by a statement or a call, and does not end on every way out.

Yields places and messages; whether the connection is given back is the business of others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Scope, Step, is_within
from faultkit.code.languages.syntax import Span

_BEGINS = lazy_regex(r"(?i)\s*(begin|start transaction)\b")
_ENDS = lazy_regex(r"(?i)\s*(commit|rollback|end\b|abort\b)")
_BEGIN_CALLS = frozenset(("startTransaction", "beginTransaction"))
_END_CALLS = frozenset(
    (
        "commit", "rollback", "commitTransaction", "rollbackTransaction", "abortTransaction", "destroy",
        "endSession",
    )
)  # fmt: skip


def never_rolled_back(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `client.query('BEGIN')` in a function that commits and never rolls back."""
    for call in facts.calls_of_method("query", "execute", "startTransaction"):
        first, scope = call.argument(place=0), facts.named_function_of(call)
        begins = call.method == "startTransaction" or (
            first is not None and _BEGINS.match(first.value.literal) is not None
        )
        text = "" if scope is None or not begins else facts.text(scope.body)
        commits = re.search(r"(?i)['\"`]\s*commit|commitTransaction\(", text) is not None
        if scope is None or not commits or _is_ended_with_session(call, scope, facts):
            continue
        if re.search(r"(?i)rollback|abortTransaction|destroy\(", text) is None:
            what = f"nothing rolls back what {call.written}() began when something before the commit fails"
            yield call.span, what


def _is_ended_with_session(begin: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the session ends after a failure too: MongoDB then aborts its transaction."""
    name = re.escape(begin.receiver_written)
    if re.search(rf"\bawait\s+using\s+{name}\s*[=:]", facts.text(scope.body)):
        return True
    return any(
        each.receiver_written == begin.receiver_written
        and (facts.is_in_finally(each) or facts.handlers_around(each))
        for each in facts.within(facts.calls_of_method("endSession"), scope.body)
    )


_KEPT = lazy_regex(r"^self\.\w*(?:conn|connection|db)$")


def kept_after_failure(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield handlers after which a connection that is kept stays in its failed transaction (Python)."""
    for call in facts.calls_of_method("commit"):
        scope = facts.named_function_of(call)
        if scope is None or call.arguments or _KEPT.match(call.receiver_written) is None:
            continue
        text = facts.text(scope.span)
        if any(
            each in text
            for each in ("rollback", f"with {call.receiver_written}", f"{call.receiver_written}.close(")
        ):
            continue
        handlers = [one for each in facts.tries_around(call) for one in each.handlers if not one.raises]
        if handlers and not call.is_managed and not _is_given_up(call.receiver_written, handlers[0], facts):
            what = f"what failed before {call.written}() is not rolled back, and the next commit stores it"
            yield handlers[0].span, what


_GIVES_UP = frozenset(("close", "reset", "reconnect", "terminate", "invalidate"))


def _is_given_up(connection: str, handler: Handler, facts: Facts) -> bool:
    """Return whether a handler closes a connection or sets it anew, itself or by a method of this text."""
    own = [
        scope.body
        for call in facts.within(facts.calls, handler.body)
        if call.receiver_written == "self"
        for scope in facts.functions_named(call.method)
    ]
    return any(
        any(
            call.method in _GIVES_UP and call.receiver_written == connection
            for call in facts.within(facts.calls, body)
        )
        or any(connection in each.targets for each in facts.within(facts.assignments, body))
        for body in (handler.body, *own)
    )


def never_rolled_back_in_jdbc(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield transactions of JDBC that are committed, and that nothing rolls back."""
    for call in facts.calls_of_method("setAutoCommit"):
        first, scope = call.argument(place=0), facts.named_function_of(call)
        if scope is None or first is None or first.value.shape != "false":
            continue
        if any(call.receiver_written in each.assigned for each in facts.managed_around(call)):
            continue  # The end of `try (Connection connection = …)` closes it without a commit.
        text = facts.text(scope.body)
        commits = [
            each
            for each in facts.within(facts.calls, scope.body)
            if each.method == "commit" and each.receiver_written == call.receiver_written
        ]
        if commits and "ollback" not in text and not facts.is_in_finally(commits[-1]):
            what = f"nothing rolls back when something before {commits[-1].written}() fails"
            yield Span(call.span.start, commits[-1].span.end), what


def left_open(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield returns before which a transaction is neither committed nor rolled back.

    Its connection goes back to the pool with its locks, and the next user works in it."""
    for call in facts.calls_of_method("query", "execute", "exec", "run", *_BEGIN_CALLS):
        scope = facts.function_of(call)
        if scope is None or not _begins(call) or _is_ended_with_session(call, scope, facts):
            continue
        ends = [each for each in facts.within(facts.calls, scope.body) if _is_end(each, call)]
        helpers = [
            each for each in facts.within(facts.calls, scope.body) if _ends_by_helper(each, call, facts)
        ]
        if not ends or any(facts.is_in_finally(each) for each in (*ends, *helpers)):
            continue
        for step in facts.own(facts.steps, scope):
            if step.kind == "return" and _is_left(step, call, [*ends, *helpers], facts):
                what = f"the transaction of {call.written}() is neither committed nor rolled back on this way"
                yield Span(call.span.start, step.span.end), what
                break


def _begins(call: Call) -> bool:
    if call.method in _BEGIN_CALLS:
        return bool(call.receiver_written)
    first = call.argument(place=0)
    return first is not None and _BEGINS.fullmatch(first.value.literal.strip(" ;")) is not None


def _is_end(call: Call, begin: Call) -> bool:
    if call.span.start < begin.span.end:
        return False
    if call.method in _END_CALLS:
        return call.receiver_written.partition(".")[0] == begin.receiver_written.partition(".")[0]
    first = call.argument(place=0) if call.method == begin.method else None
    return first is not None and _ENDS.match(first.value.literal) is not None


def _ends_by_helper(call: Call, begin: Call, facts: Facts) -> bool:
    """Return whether a function of this text that is given the connection ends the transaction."""
    if call.span.start < begin.span.end or not any(
        each.value.text == begin.receiver_written for each in call.positional
    ):
        return False
    return any(
        re.search(r"(?i)['\"`]\s*(rollback|commit)|\.(rollback|commit)\(", facts.text(scope.body))
        for scope in facts.functions_named(call.method)
    )


def _is_left(step: Step, begin: Call, ends: list[Call], facts: Facts) -> bool:
    if step.span.start < begin.span.end or facts.handlers_around(step) or facts.are_exclusive(begin, step):
        return False
    return not any(
        is_within(end.span, step.span)
        or (end.span.end <= step.span.start and not facts.are_exclusive(end, step))
        for end in ends
    )
