"""Ways out of a function between a call that takes something and the code that is sure to give it back.

`lock.acquire()`, an early `return`, and only then the `try` whose `finally` releases the lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Step, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.facts.nesting import Place
from faultkit.code.languages.syntax import Span


def exit_without_release(begin: int, ends: Iterable[Call], scope: Scope, facts: Facts) -> Step | None:
    """Return the first `return` or `raise` behind an offset that no release comes before, and none is sure
    to follow: neither `finally`, `defer` nor the end of a managed block."""
    ends = tuple(ends)
    sure = tuple(_protected(ends, scope, facts))
    if not sure or min(each.start for each in sure) <= begin:
        return None
    return exit_between(begin, min(each.start for each in sure), ends, scope, facts)


def _first_protected(ends: Iterable[Placed], scope: Scope, facts: Facts) -> int | None:
    """Return where the first code begins after or in which a release is sure; None if there is none."""
    return min((each.start for each in _protected(ends, scope, facts)), default=None)


_AT_ONCE = frozenset(
    (
        "add", "append", "get", "put", "size", "len", "isEmpty", "containsKey", "contains", "has", "set",
        "clear", "pop", "poll", "delete", "remove", "keys", "values", "items", "copy", "push", "shift",
        "count", "list", "nanoTime", "currentTimeMillis", "monotonic", "time", "now", "instant", "start",
        "perf_counter", "timer", "GetTimestamp", "StartNew", "startTimer", "labels", "inc", "observe",
        "time_ns", "incrementAndGet", "sleep", "Delay", "Yield", "acquire", "lock", "WaitAsync", "tryLock",
        "tryAcquire", "Wait", "Add", "Remove", "Clear", "ContainsKey", "TryGetValue", "length", "dict",
        "peek",
    )
)  # fmt: skip
"""Methods of collections, clocks, metrics and locks, which hardly fail."""


_READS = lazy_regex(r"^(get|is|has|size|length|count|max|min|abs)([A-Z_]|$)", re.IGNORECASE)
_FOR_OTHERS = frozenset(("release", "unlock", "signal", "signalAll", "notify", "notifyAll", "Release"))
"""Methods that let others go on."""


def hardly_fails(call: Call) -> bool:
    """Return whether a call is one of a collection, a clock, a number or a lock, makes an object, or only
    reads a property of one."""
    if call.method in _AT_ONCE or call.method in _FOR_OTHERS or call.constructs:
        return True
    return call.receiver_written == "Math" or (not call.arguments and _READS.match(call.method) is not None)


def call_that_fails_before(
    begin: int, ends: Iterable[Call], scope: Scope, facts: Facts, held: str = ""
) -> Call | None:
    """Return a call that may fail between an offset and the code in which a release is sure.

    It waits, or it is one of a member whose result is used. Calls of `held`, the variable that is released,
    do not count."""
    ends = tuple(ends)
    first = None if facts.language == "go" else _first_protected(ends, scope, facts)
    if first is None or first <= begin:
        return None
    for each in facts.within(facts.calls, Span(begin, first)):
        if facts.function_of(each) is not scope or each.method in _AT_ONCE or facts.tries_around(each):
            continue
        if held and (each.written.partition(".")[0] == held or held in facts.text(each.span)):
            continue
        may_fail = each.is_awaited or _is_of_member(each, facts)
        if may_fail and not any(facts.are_exclusive(each, end) for end in ends[-1:]):
            return each
    return None


def _is_of_member(call: Call, facts: Facts) -> bool:
    if not call.assigned or call.constructs or call.method.startswith(("get", "is", "has", "Get", "Is")):
        return False
    owner = call.receiver_written.removeprefix("this.").removeprefix("self.")
    if call.receiver_written in ("self", "this") or not call.receiver_written:
        return bool(facts.functions_named(call.method)) and bool(call.arguments)
    return bool(call.arguments) and owner.isidentifier() and f"self.{owner}" in facts.assigned_names


def exit_between(begin: int, first: int, ends: Iterable[Placed], scope: Scope, facts: Facts) -> Step | None:
    """Return the first `return` or `raise` between two offsets that no release comes before."""
    for step in facts.own(facts.steps, scope):
        if step.kind not in ("return", "raise") or step.span.start < begin or step.span.end > first:
            continue
        if facts.tries_around(step) and step.kind == "raise" and facts.language != "go":
            continue  # A handler of this function may release it.
        if any(_is_before(end, step, facts) for end in ends) or _is_of_failed(begin, step, facts):
            continue
        if facts.are_exclusive(Place(Span(begin, begin + 1)), step):
            continue  # Nothing was taken on the way to it.
        return step
    return None


def skipped_round(begin: int, ends: Sequence[Placed], scope: Scope, facts: Facts) -> Step | None:
    """Return a `continue` behind an offset before which nothing is released or given to other code.

    The next round takes another one. What is released in tasks that a round starts is kept by a round that
    starts none."""
    last = max((each.span.start for each in ends), default=begin)
    taken = Place(Span(begin, begin + 1))
    loops = facts.loops_around(taken)
    sure = (*_protected(ends, scope, facts),) if loops else ()
    for step in facts.own(facts.steps_of("continue"), scope) if loops and last > begin else ():
        if not begin <= step.span.start < last or facts.loops_around(step)[-1:] != loops[-1:]:
            continue
        arm = next((each for each in reversed(facts.arms) if is_within(step.span, each.span)), None)
        if arm is None or arm.span.start < begin or any(_is_before(end, step, facts) for end in ends):
            continue
        if facts.handlers_around(step) or any(is_within(step.span, each) for each in sure):
            continue
        if not _is_in_block_of(taken, step, facts):
            continue
        passed = facts.within(facts.calls, Span(arm.span.start, step.span.start))
        if all(is_logging(call) or hardly_fails(call) or call.is_argument for call in passed):
            return step
    return None


def _is_in_block_of(taken: Place, step: Step, facts: Facts) -> bool:
    """Return whether a step comes only after a place: each branch around the place is around the step."""
    forks = {each.span for each in facts.steps_of("branch") if is_within(taken.span, each.span)}
    arms = [each for each in facts.arms if is_within(taken.span, each.span)]
    return forks <= {each.fork for each in arms} and all(is_within(step.span, each.span) for each in arms)


def _is_of_failed(begin: int, step: Step, facts: Facts) -> bool:
    """Return whether a step stands in the handler of the try that takes the thing: then it was not taken."""
    handlers = {each.span for each in facts.handlers_around(step)}
    return (
        any(
            each.body.start <= begin <= each.body.end and any(one.span in handlers for one in each.handlers)
            for each in facts.tries
        )
        if handlers
        else False
    )


def _protected(ends: Iterable[Placed], scope: Scope, facts: Facts) -> Iterator[Span]:
    """Yield the parts of a function after or in which a release is sure."""
    for end in ends:
        if facts.is_deferred(end):
            yield Span(end.span.start, scope.body.end)
        for each in facts.tries:
            if each.finally_ is not None and is_within(end.span, each.finally_):
                yield each.span


def _is_before(end: Placed, step: Step, facts: Facts) -> bool:
    if is_within(end.span, step.span):
        return True
    return end.span.end <= step.span.start and not facts.are_exclusive(end, step)


_PASSED_ON = lazy_regex(r"\?\s*(?:[;,).\n}]|$)")
"""`?` of Rust, which returns the error."""
_THROWS = frozenset(("java", "kotlin", "csharp", "python"))
"""Languages in which whatever is called may throw."""


def left_before(begin: int, ends: Sequence[Placed], scope: Scope, facts: Facts) -> str:
    """Return how a function may be left behind an offset without any of the releases; empty if it is not.

    The releases are all those of one thing; one in `finally`, deferred, in a callback or in a handler is sure
    from where that begins."""
    if not all(_is_of(end, scope, facts) for end in ends):
        return ""
    if any(facts.handlers_around(end) for end in ends) and facts.language not in ("go", "rust"):
        return ""
    behind = [end for end in ends if end.span.start > begin]
    first = _first_protected(behind, scope, facts)
    limit = max((end.span.start for end in behind), default=begin) if first is None else first
    if limit <= begin:
        return ""
    step = exit_between(begin, limit, behind, scope, facts)
    if step is not None and not _is_missing(begin, step, facts):
        return "the function returns earlier" if step.kind == "return" else "the function throws"
    if facts.language == "rust":
        before = Span(begin, min(limit, min(end.span.start for end in behind)))
        return "something before it fails" if _passes_on(before, scope, facts) else ""
    for call in facts.within(facts.calls, Span(begin, limit)):
        if facts.function_of(call) is not scope or is_logging(call) or hardly_fails(call):
            continue
        if call.span.end > limit or any(is_within(end.span, call.span) for end in ends):
            continue
        may_fail = call.is_awaited or (
            facts.language in _THROWS and ("." in call.written or _is_given(call, facts))
        )
        if (
            may_fail
            and not is_survived(call, facts)
            and not facts.are_exclusive(Place(Span(begin, begin + 1)), call)
            and not any(is_done_before(end, call, facts) for end in behind)
        ):
            return f"{call.written}() fails"
    return ""


def _passes_on(span: Span, scope: Scope, facts: Facts) -> bool:
    """Return whether a `?` in a span leaves the function itself, and not a closure or `async` block in it."""
    start = span.start
    for inner in facts.scopes:
        if inner.outer is scope and start <= inner.span.start < span.end:
            if _PASSED_ON.search(facts.text(Span(start, inner.span.start))):
                return True
            start = inner.span.end
    return start < span.end and _PASSED_ON.search(facts.text(Span(start, span.end))) is not None


def _is_given(call: Call, facts: Facts) -> bool:
    """Return whether a function is called that another has been given, as by a decorator."""
    return any(
        call.written == each.name for scope in facts.functions_around(call) for each in scope.parameters
    )


def _is_of(end: Placed, scope: Scope, facts: Facts) -> bool:
    """Return whether a release belongs to a function: no callback, task or goroutine does it later."""
    own = facts.function_of(end)
    if own is scope:
        return True
    return own is not None and own.outer is scope and facts.is_deferred(end) and not facts.is_launched(end)


_CATCHES = lazy_regex(
    r"^(tryCatch|try_catch|attempt|safely|allSettled|runCatching|settle|ignoreErrors?)$", re.I
)


def is_error_returned(call: Call, facts: Facts) -> bool:
    """Return whether a function around a call returns its error as a value: `await tryCatch(f())`."""
    return any(_CATCHES.match(each.method) for each in facts.calls_around(call))


def is_survived(call: Call, facts: Facts) -> bool:
    """Return whether a function goes on after a call has failed: in a handler, by `.catch(…)` of a promise,
    or since a function around it returns errors as values."""
    if call.method == "catch" and not re.search(r"\bthrow\b|reject", facts.text(call.span)):
        return True
    if _CATCHES.match(call.method) or is_error_returned(call, facts):
        return True
    return any(
        handler.is_broad and not handler.raises
        for each in facts.tries_around(call)
        for handler in each.handlers
    )


def is_done_before(end: Placed, place: Placed, facts: Facts) -> bool:
    """Return whether what ends something stands before a place, and not on another branch."""
    return end.span.end <= place.span.start and not facts.are_exclusive(end, place)


def _is_missing(begin: int, step: Step, facts: Facts) -> bool:
    """Return whether a function leaves because it got nothing: `slots.tryTake() ?: return null`."""
    return (
        re.fullmatch(r"\)*\s*(\?:|\?\?|\|\|)\s*", facts.text(Span(begin, max(begin, step.span.start))))
        is not None
    )


def refuses_caller(step: Step, facts: Facts) -> bool:
    """Return whether an arm of a branch tells the caller that it cannot have the thing: it raises, or
    returns something. A plain `return` skips work that has been done, as jobs do that run again."""
    for arm in facts.arms:
        if arm.fork != step.span or arm.leaves != "function":
            continue
        inside = [each for each in facts.within(facts.steps, arm.span) if each.kind in ("return", "raise")]
        if not inside or any(each.kind == "raise" or each.text.strip(" ;\n") for each in inside):
            return True
    return False


def is_exit_with_nothing(step: Step, name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a function leaves because nothing was taken: `if (!conn) return`, `open() ?: return`."""
    before = facts.text(Span(max(scope.body.start, step.span.start - 4), step.span.start))
    if before.rstrip().endswith(("?:", "??")) or _is_of_failed_take(step, name, facts):
        return True
    word = re.escape(name)
    return any(
        branch.kind == "branch"
        and is_within(step.span, branch.span)
        and re.search(
            rf"(?:!|not |=\s*)\(?{word}\b(?!\.(?!is|Is|ok\b|Has|try|acquire|lock|connect|begin|Wait|Try))"
            rf"|\b{word}\s*(?:==|is)|^\W*[\w.]*\b(?:is|Is|has|Has)\w+\(\s*{word}\s*\)",
            branch.text,
        )
        for branch in facts.within(facts.steps, scope.body)
    )


_TAKES = lazy_regex(r"acquire|lock|connect|open|begin", re.IGNORECASE)


def _is_of_failed_take(step: Step, name: str, facts: Facts) -> bool:
    """Return whether a step handles that the object itself could not be taken: `lock.acquire()` failed."""
    handlers = {each.span for each in facts.handlers_around(step)}
    return bool(handlers) and any(
        call.receiver_written == name and _TAKES.match(call.method)
        for each in facts.tries
        if any(one.span in handlers for one in each.handlers)
        for call in facts.within(facts.calls, each.body)
    )
