"""Queues and channels that hold idle objects: one is taken, used, and put back by the same function."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.exits import exit_without_release

_GIVES = (
    "put", "put_nowait", "offer", "add", "Add", "WriteAsync", "TryWrite", "Enqueue", "push", "send", "append",
)  # fmt: skip
_TAKES = frozenset(
    (
        "get", "get_nowait", "take", "poll", "ReadAsync", "TryRead", "pop", "popleft", "receive", "Take",
        "Dequeue", "shift", "recv",
    )
)  # fmt: skip
_END = lazy_regex(r"\.(?:Reader|Writer)$")


def returned_on_success_only(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield where an object is taken that is not put back when something fails, with what is left out.

    An item that is put back only after a failure, or in a loop, is work that is tried again."""
    seen: set[Call] = set()
    for give in facts.calls_of_method(*_GIVES) if facts.calls_of_method(*_TAKES) else ():
        scope, queue = facts.function_of(give), _END.sub("", give.receiver_written)
        if scope is None or not queue or not _is_member(queue, facts) or facts.loops_around(give):
            continue
        name = give.positional[0].value.text if give.positional else ""
        if not name.isidentifier() or facts.handlers_around(give):
            continue
        take = _taken(name, queue, give, scope, facts)
        if take is None or take in seen or not _is_used(name, take, give, facts):
            continue
        seen.add(take)
        ends = [
            each
            for each in facts.within(facts.calls, scope.body)
            if each.method in _GIVES and each.positional and each.positional[0].value.text == name
            and _END.sub("", each.receiver_written) == queue
        ]  # fmt: skip
        if any(facts.is_in_finally(each) for each in ends):
            left = exit_without_release(take.span.end, ends, scope, facts)
            if left is not None:
                what = f"{give.written}({name}) is skipped when the function returns earlier"
                yield Span(take.span.start, left.span.end), what
        elif not _is_in_arm(give, take, scope, facts):
            what = f"{give.written}({name}) is left out when something between it and {take.written}() fails"
            yield take.span, what


def _is_member(queue: str, facts: Facts) -> bool:
    return "." in queue or not facts.file_names.isdisjoint((queue, f"self.{queue}"))


def _is_in_arm(give: Call, take: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether an object is put back on one of several ways only."""
    rest = Span(take.span.end, scope.body.end)
    return any(is_within(give.span, arm.span) for arm in facts.within(facts.arms, rest))


def _taken(name: str, queue: str, give: Call, scope: Scope, facts: Facts) -> Call | None:
    """Return the call that took an object out of a queue, also by a helper that returns it."""
    for each in facts.own(facts.calls, scope):
        if each.span.start > give.span.start or name not in each.assigned:
            continue
        if each.method in _TAKES and _END.sub("", each.receiver_written) == queue:
            return each
        for helper in facts.functions_named(each.method):
            if each in facts.callers_of(helper) and any(
                one.method in _TAKES and one.is_returned and _END.sub("", one.receiver_written) == queue
                for one in facts.within(facts.calls, helper.body)
            ):
                return each
    return None


def _is_used(name: str, take: Call, give: Call, facts: Facts) -> bool:
    """Return whether methods of the object are called while it is out."""
    between = Span(take.span.end, give.span.start)
    return any(each.receiver_written == name for each in facts.within(facts.calls, between))
