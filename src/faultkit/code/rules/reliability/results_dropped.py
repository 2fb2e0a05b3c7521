"""Finds tasks that are waited for without a look at whether they failed.

Evidence that it matters: the tasks are started here for work that counts, not told to end or clean up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Handler, Scope, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, KOTLIN, LIKELY, POSSIBLE, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.built_requests import chain
from faultkit.code.rules.vocabulary.command_lines import is_for_browser
from faultkit.code.rules.vocabulary.failures import only_reports
from faultkit.code.rules.vocabulary.rejections import handles_all
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_ENDS = lazy_regex(
    r"close|stop|shut|dispose|clean|teardown|tear_down|cancel|drain|exit|destroy|abort|unregister|unsubscribe",
    re.IGNORECASE,
)


def _check(facts: Facts) -> Iterator[Hit]:
    found = {"rust": _rust, "go": _go, "python": _gathered}.get(facts.language, _settled)(facts)
    for place, what in found:
        scope = facts.named_function_of(place)
        if scope is None or not (_ENDS.search(scope.short_name) or facts.comment_at(place)):
            # What is undone after an error, and what a page in a browser does, may be lost.
            beside = _is_after_error(place, facts) or is_for_browser(facts)
            yield Hit(place.span, what, POSSIBLE if beside else LIKELY)


_ERROR = lazy_regex(r"\berr\w*\s*!=\s*nil\b|\bis_err\(\)")


def _is_after_error(place: Placed, facts: Facts) -> bool:
    """Return whether a place is reached only after another error, which is what the caller is told."""
    if facts.handlers_around(place):
        return True
    return any(
        step.kind == "branch" and is_within(place.span, step.span) and _ERROR.search(step.text)
        for step in facts.own(facts.steps, facts.function_of(place))
    )


def _gathered(facts: Facts) -> Iterator[tuple[Call | Assignment | Handler, str]]:
    """Yield `gather(…, return_exceptions=True)` whose results are dropped (Python)."""
    for call in facts.calls_named("asyncio.gather"):
        given = call.argument("return_exceptions")
        scope = facts.function_of(call)
        if given is None or given.value.text != "True" or not call.is_discarded:
            continue
        if scope is None or not re.search(r"\.cancel\(|aclose|\.close\(|all_tasks\(", facts.text(scope.body)):
            yield call, f"{call.written}() returns the errors as results, and they are dropped"
    for call in facts.calls_named("asyncio.wait", "concurrent.futures.wait"):
        scope = facts.function_of(call)
        text = "" if scope is None else facts.text(scope.body)
        after = "" if scope is None else facts.text(Span(call.span.end, scope.body.end))
        # To cancel those that are not done says nothing of the others.
        looks = _LOOKS.search(text.replace(".cancel(", "") if call.assigned else text)
        is_unused = len(call.assigned) == 2 and not re.search(
            rf"\bin {call.assigned[0]}\b|return {call.assigned[0]}\b", after
        )
        if (call.is_discarded or is_unused) and _STARTED.search(text) and not looks:
            if scope is not None and _all_handle(scope, facts):
                continue
            yield call, f"{call.written}() does not fail with its tasks, and nothing looks at their results"


def _all_handle(scope: Scope, facts: Facts) -> bool:
    """Return whether all tasks of a function run functions of this text that handle their own errors."""
    started = [
        each
        for each in facts.within(facts.calls_of_method("create_task", "ensure_future", "submit"), scope.body)
        if each.positional
    ]
    names = [re.match(r"[\w.]+", each.positional[0].value.text) for each in started]
    own = [facts.functions_named(found[0].rpartition(".")[2]) if found else () for found in names]
    return bool(own) and all(each and all(handles_all(one, facts) for one in each) for each in own)


_STARTED = lazy_regex(r"\b(?:create_task|ensure_future|submit)\(")
_LOOKS = lazy_regex(
    r"\.(?:result|exception|cancel|cancelled|add_done_callback)\(|FIRST_EXCEPTION|FIRST_COMPLETED|gather\("
    r"|return_when"
)
"""What asks tasks how they ended, or does not care."""


def _settled(facts: Facts) -> Iterator[tuple[Call | Assignment | Handler, str]]:
    """Yield `allSettled` and `invokeAll` whose results are dropped (JavaScript, Java, Kotlin)."""
    for call in facts.calls_of_method("allSettled", "invokeAll"):
        if call.method == "invokeAll" and not _is_executor(call, facts):
            continue
        if (
            call.is_discarded
            and not _is_ending(call, facts)
            and not facts.is_in_finally(call)
            and not _is_of_others(call, facts)
            and not any(each.value.shape == "list" for each in call.positional[:1])
            and (call.method == "invokeAll" or call.name == "Promise.allSettled")
            and not re.search(r"\.catch\(|close\(|stop\(|abort\(|\btry\b", facts.text_with_values(call))
        ):
            yield (
                call,
                f"{call.written}() never fails: which of the tasks failed is dropped with its result",
            )


_EXECUTORS = lazy_regex(r"(?:^|\.)(?:\w*ExecutorService|ThreadPoolExecutor|ForkJoinPool)$")
_EXECUTOR_NAMES = lazy_regex(r"exec|pool|threads", re.IGNORECASE)


def _is_executor(call: Call, facts: Facts) -> bool:
    """Return whether the object of a call runs tasks, by its type, or by its name if that is not known."""
    made = call.origin
    if made is not None and made.name.startswith("java.util.concurrent.Executors."):
        return True
    type_ = type_of_receiver(call, facts)
    if type_:
        return _EXECUTORS.search(type_) is not None
    return _EXECUTOR_NAMES.search(call.receiver_written) is not None


_RUNNING = lazy_regex(r"running|in_?[fF]light|active|pending|open|inProgress", re.IGNORECASE)
_OF_OTHERS = lazy_regex(r"\.values\(\)|\.promise\b")
_HELD = lazy_regex(
    r"\[\s*\.\.\.(?:this\.)?#?\w+(?:\.values\(\))?\s*\]\.map\(\s*\(?(\w+)\)?\s*=>\s*\1(?:\.(?:deref\(\)|\w+))?\s*\)"
)
"""Promises that are kept in a collection: `[...refs].map(r => r.deref())`."""
_ENDING = lazy_regex(r"shutdown|stop|close|drain|exit|dispose|SIGTERM|SIGINT", re.IGNORECASE)


def _is_of_others(call: Call, facts: Facts) -> bool:
    """Return whether it waits for tasks that were started and are looked at elsewhere."""
    first = call.argument(place=0)
    text = "" if first is None else first.value.text
    if _HELD.fullmatch(text):
        return True
    scope = facts.function_of(call)
    if text.isidentifier() and not any(each.scope is scope for each in facts.assignments_of(text)):
        parameters = () if scope is None else scope.parameters
        return text not in {each.name for each in parameters}
    return _RUNNING.search(text) is not None and _OF_OTHERS.search(text) is not None


def _is_ending(call: Call, facts: Facts) -> bool:
    """Return whether the program waits before its end for work whose errors are handled where it began."""
    first = call.argument(place=0)
    if first is None or not _RUNNING.search(first.value.text):
        return False
    scope = facts.function_of(call)
    return scope is not None and _ENDING.search(facts.text(scope.span)) is not None


def _go(facts: Facts) -> Iterator[tuple[Call | Assignment | Handler, str]]:
    yield from _groups(facts)
    yield from _logged(facts)
    yield from _unread(facts)


def _groups(facts: Facts) -> Iterator[tuple[Call | Assignment | Handler, str]]:
    """Yield `group.Wait()` of an errgroup whose error is dropped (Go)."""
    for call in facts.calls_of_method("Wait"):
        if call.is_discarded and not call.is_deferred and "errgroup" in call.name:
            given = [
                each for each in facts.calls_of_method("Go") if each.receiver_written == call.receiver_written
            ]
            if any(re.search(r"return (?!nil\b)\S", facts.text(each.span)) for each in given):
                yield call, f"the error of {call.written}() is dropped: the tasks failed, and nothing says so"


_ERRORS = lazy_regex(r"make\(chan error\b")


def _unread(facts: Facts) -> Iterator[tuple[Call | Assignment | Handler, str]]:
    """Yield channels of errors that goroutines fill and nothing reads (Go)."""
    for each in facts.assignments if b"chan error" in facts.syntax.source else ():
        name = each.targets[0] if len(each.targets) == 1 else ""
        if not name.isidentifier() or each.scope is None or each.value is None:
            continue
        if not _ERRORS.match(each.value.text) or not re.search(
            rf"\b{name}\s*<-", facts.text(each.scope.body)
        ):
            continue
        used = re.sub(rf"\b{name}\s*(?:<-|:=)|close\({name}\)", "", facts.text(each.scope.body))
        if not re.search(rf"\b{name}\b", used):
            yield each, f"the tasks send their errors to {name}, and nothing reads them"


_COLLECTS = lazy_regex(
    r"errgroup|chan error|errs?\s*<-|errors\.Join|multierr|append\(\w*err|errCh|atomic\.|failed"
)


def _logged(facts: Facts) -> Iterator[tuple[Call | Assignment | Handler, str]]:
    """Yield errors of goroutines that are only logged, in a function that waits and then returns nil (Go)."""
    for each in facts.tries:
        if not facts.is_launched(each):
            continue
        outer = next((scope for scope in facts.functions_around(each) if scope.name), None)
        if outer is None or not re.search(r"\)\s*error\s*$", facts.text(outer.head)):
            continue
        text = facts.text(outer.body)
        if (
            ".Wait()" not in text
            or _COLLECTS.search(text)
            or not text.rstrip(" }\n\t").endswith("return nil")
        ):
            continue
        handler = next((one for one in each.handlers if only_reports(one, facts)), None)
        if handler is not None:
            yield (
                handler,
                "the error of a goroutine is only logged, and the caller is told that nothing failed",
            )


_IS_DRAINED = lazy_regex(
    r"join_next\(\)\s*\.await\s*\.is_some\(\)|let\s+Some\(\s*_\w*\s*\)\s*=\s*[\w.]+\.join_next\(\)"
)


_LAST = 200
_STOPPED = lazy_regex(r"\.cancel\(\)|abort_all\(\)|\.shutdown\(\)|notify_waiters\(\)|shutting down")


def _is_at_end(start: int, call: Call, facts: Facts) -> bool:
    """Return whether tasks are waited for that were just told to end (Rust)."""
    scope = facts.function_of(call)
    first = max(start - _LAST, 0 if scope is None else scope.body.start)
    return _STOPPED.search(facts.text(Span(first, start))) is not None


def _rust(facts: Facts) -> Iterator[tuple[Call | Assignment | Handler, str]]:
    """Yield tasks whose results are drained, joined or awaited into nothing."""
    for loop in facts.loops:
        if loop.kind == "while" and _IS_DRAINED.search(loop.over):
            for call in facts.within(facts.calls_of_method("join_next"), loop.head):
                if _is_at_end(loop.span.start, call, facts):
                    continue
                if not re.search(r"error!|warn!|abort", facts.text(loop.body)) and _may_fail(call, facts):
                    what = f"{call.written}() returns errors and panics of the tasks, and they are dropped"
                    yield call, what
    for each in facts.assignments:
        if each.targets != ("_",) or each.value is None or each.scope is None:
            continue
        found = re.fullmatch(r"(\w+)(\.await|\.join\(\))", each.value.text)
        around = facts.loops_around(each)
        if found is None or not around or found[1] not in around[-1].targets:
            continue
        spawned = facts.within(facts.calls_of_method("spawn", "spawn_blocking"), each.scope.body)
        if _HANDLES.search(around[-1].over) and any(_may_fail_in(one, facts) for one in spawned):
            yield each, f"an error or a panic of the task {found[1]} is dropped with its result"
    for call in facts.calls_of_method("filter_map", "flatten"):
        if _KEEPS_OK.search(facts.text(Span(call.callee.end, call.span.end))) or call.method == "flatten":
            made = [one for one in chain(call) if one.method in _RUN_AT_ONCE]
            if made and _writes(made[0], facts):
                yield call, f"{call.written}() leaves out what failed, and nothing says how much that was"
    for call in facts.calls_of_method("join_all", "spawn"):
        if not (call.is_discarded or call.assigned == ("_",)):
            continue
        if call.method == "join_all" and call.name.startswith("futures") and call.is_awaited:
            if _returns_results(call, facts):
                yield call, f"{call.written}() returns the errors of the tasks, and they are dropped"
        elif call.name in ("tokio.spawn", "tokio.task.spawn") and _passes_error(call, facts):
            yield call, f"the task of {call.written}() ends with its first error, and nothing sees that"


_NO_RESULT = lazy_regex(r"\b(?:error|warn)!\(|\bif let Err\(")


def _returns_results(joined: Call, facts: Facts) -> bool:
    """Return whether futures that are joined return results: they are made here, and log no errors."""
    given = joined.argument(place=0)
    if given is None:
        return False
    text = facts.text_with_values(joined)
    if _NO_RESULT.search(text):
        return False
    return given.value.shape != "name" or re.search(r"\.push\(|\.map\(|async\b", text) is not None


_KEEPS_OK = lazy_regex(r"\bResult::ok\b|\.ok\(\)")
_RUN_AT_ONCE = frozenset(("buffer_unordered", "buffered", "join_all", "try_buffer_unordered"))
_WRITES = lazy_regex(
    r"\.(?:insert|save|send|publish|upload|put|post|create|update|store|write|book|charge|import|apply|push)\w*\("
)


def _writes(made: Call, facts: Facts) -> bool:
    """Return whether what runs at once changes something."""
    return _WRITES.search(facts.text(made.span)) is not None


def _passes_error(spawned: Call, facts: Facts) -> bool:
    """Return whether a task returns a result for certain: it has a `?`, or ends with a call that does."""
    given = spawned.argument(place=0)
    if given is None:
        return False
    text = given.value.text
    if re.match(r"async(\s+move)?\s*\{", text):
        inner = re.sub(r"\basync(\s+move)?\s*\{[^{}]*\}", "", text.partition("{")[2])
        if re.search(r"\?\s*(;|\.|\)|$)", inner):
            return True
        called = re.search(r"(\w+)\([^()]*\)\s*\.await\s*\}$", text)
    else:
        called = re.match(r"(?:\w+(?:::|\.))*(\w+)\(", text)
    return called is not None and any(
        re.search(r"->\s*(\w+::)*Result\b", facts.text(Span(scope.span.start, scope.body.start)))
        for scope in facts.functions_named(called[1])
    )


_HANDLES = lazy_regex(r"handle|task|join|worker|thread|job|pending|set", re.IGNORECASE)


def _may_fail(call: Call, facts: Facts) -> bool:
    """Return whether a task of the set returns a result that it has not looked at."""
    spawned = [
        each
        for each in facts.calls_of_method("spawn", "spawn_blocking")
        if each.receiver_written == call.receiver_written
    ]
    return not spawned or any(_may_fail_in(each, facts) for each in spawned)


def _may_fail_in(spawned: Call, facts: Facts) -> bool:
    """Return whether the block of a task ends with a value, or passes an error on."""
    text = facts.text(spawned.span).rstrip(") \n")
    if not text.endswith("}"):
        return True
    body = text.removesuffix("}").rstrip()
    return re.search(r"\?\s*[;.)]|\?$", body) is not None or (
        not body.endswith((";", "}")) and re.search(r"\.await$|\)$", body) is not None
    )


RULE = Rule(
    id="FK-R126",
    slug="task-results-dropped",
    title="Tasks waited for without a look at their results",
    why="Tasks that failed look like tasks that are done, and what follows counts on their work.",
    fix="Look at each result: pass the first error on, or count, log and retry what failed.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *RUST, *KOTLIN),
    check=_check,
    words=(
        b"return_exceptions", b"allSettled", b"invokeAll", b"errgroup", b"join_next", b"join", b"spawn",
        b"WaitGroup", b"wait", b"chan error", b"filter_map", b"flatten",
    ),
)  # fmt: skip
