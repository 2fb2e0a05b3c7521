"""Finds tasks and promises that are neither awaited nor kept, so that their errors are lost.

Evidence that it matters: the function is of this text and lets out an error of what it awaits, returns or
throws, or a method is known to return a promise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import (
    CERTAIN,
    CSHARP,
    JAVA,
    JAVASCRIPT,
    KOTLIN,
    LIKELY,
    POSSIBLE,
    PYTHON,
    RUST,
    Hit,
    Rule,
)
from faultkit.code.rules.vocabulary.command_lines import is_for_browser
from faultkit.code.rules.vocabulary.coroutine_callbacks import coroutines_never_run
from faultkit.code.rules.vocabulary.dropped_promises import awaited_elsewhere, has_callback
from faultkit.code.rules.vocabulary.http_requests import library_of
from faultkit.code.rules.vocabulary.rejections import handles_all, may_reject, returns_promise, throws
from faultkit.code.rules.vocabulary.remote_calls import remote_calls, sql_calls
from faultkit.code.rules.vocabulary.repetition import is_for_screen
from faultkit.code.rules.vocabulary.returned_values import is_of_list
from faultkit.code.rules.vocabulary.unfailing_functions import cannot_fail
from faultkit.code.rules.vocabulary.unread_tasks import unread_tasks

_TASKS = ("asyncio.create_task", "asyncio.ensure_future", "asyncio.get_event_loop().create_task",
          "asyncio.get_running_loop().create_task")  # fmt: skip

_STORES = lazy_regex(
    r"(^|\.)prisma\.\w+\.(create|update|upsert|delete)(Many)?$"
    r"|(^|\.)\w*[rR]epo(sitory)?\.(save|insert|update|delete|remove|softDelete)$"
    r"|\.(insertOne|insertMany|updateOne|updateMany|deleteOne|deleteMany|bulkWrite|findOneAndUpdate)$"
)
_IN_BULK = lazy_regex(r"\.find\(\)")
"""`bulk.find(…).updateOne(…)` adds to a bulk of MongoDB, which `execute()` sends."""
_CSHARP_WRITES = ("SaveChangesAsync", "PostAsync", "PutAsync", "DeleteAsync", "PostAsJsonAsync")
_GLOBAL = ("kotlinx.coroutines.GlobalScope.launch", "kotlinx.coroutines.GlobalScope.async")
_ASKS = ("filter", "some", "every", "find", "findIndex")
_STREAMS = lazy_regex(r"stream|readable|\(\)$", re.IGNORECASE)
_QUERIES = ("query", "execute")
_WITH_CALLBACKS = ("mysql", "sqlite3", "better-sqlite3", "node:sqlite", "sqlite")


def _check(facts: Facts) -> Iterator[Hit]:
    for span, name in unread_tasks(facts):
        yield Hit(span, f"nothing waits for the tasks in {name}, and their errors are lost", LIKELY)
    if facts.language in (*JAVA, *RUST):
        return
    for call in facts.calls_named(*_TASKS):
        if call.is_discarded:
            yield Hit(
                call.span,
                f"the task of {call.written}() is not kept, so it may be collected before it is done",
                POSSIBLE if _handles_its_errors(call, facts) else CERTAIN,
            )
    if facts.language in PYTHON:
        yield from _on_loops(facts)
        yield from (Hit(span, what, LIKELY) for span, what in coroutines_never_run(facts))
    if facts.language in CSHARP:
        yield from _tasks(facts)
        return
    if facts.language in KOTLIN:
        yield from _scopes(facts)
        for call in facts.calls_named(*_GLOBAL):
            if _begins_with_try(call) or _is_bound(call):
                continue
            what = (
                f"{call.written}() is bound to nothing: it is not cancelled, and nothing handles its errors"
            )
            # An app serves one user, who sees that it ended.
            yield Hit(call.span, what, POSSIBLE if is_for_screen(facts) else LIKELY)
        return
    if facts.language in JAVASCRIPT:
        yield from _async_callbacks(facts)
        yield from _voided(facts)
    dropped = dict.fromkeys(_queries(facts), LIKELY)
    if facts.language in JAVASCRIPT:
        dropped = awaited_elsewhere(facts) | dropped
    # A decorator may start the function when it is called.
    asynchronous = {
        scope.name for scope in facts.scopes if scope.is_async and scope.name and not scope.decorators
    }
    for call in facts.calls:
        if not call.is_discarded or call.is_awaited:
            continue
        if facts.language == "python":
            if _local(call, asynchronous, facts) and facts.is_in_async(call):
                yield Hit(call.span, f"{call.written}() is async and never awaited: it does nothing", LIKELY)
        elif _drops_promise(call, asynchronous, facts):
            # A page in a browser goes on after a rejection, and shows what it wants to show.
            confidence = POSSIBLE if is_for_browser(facts) else LIKELY
            yield Hit(call.span, f"an error of {call.written}() is not handled", confidence)
        elif call in dropped:
            what = (
                f"{call.written}() is not awaited: the next statements run before it, and its error is lost"
            )
            yield Hit(call.span, what, dropped[call])


# What stands before the word is asked last: an expression that begins with a word is found faster.
_VOID = lazy_regex(rb"void(?<![\w.:<]void)\s+(?=[\w$][\w$.]*\()")


def _voided(facts: Facts) -> Iterator[Hit]:
    """Yield `void save()`, if this text defines it as async and it handles no error of its own."""
    source = facts.syntax.source
    is_any = any(scope.is_async for scope in facts.scopes)
    places = {found.end() for found in _VOID.finditer(source)} if is_any else ()
    for call in facts.calls if places else ():
        if call.span.start not in places or facts.calls_on(call) or facts.function_of(call) is None:
            continue  # At the top of a file, programs are started so.
        named = facts.functions_named(call.method)
        own = [scope for scope in named if scope.is_async and call in facts.callers_of(scope)]
        if own and not _handles(call.method, facts) and any(_may_fail(each, facts) for each in own):
            what = f"an error of {call.written}() becomes a rejection that nothing here handles"
            # `void` says that the promise is dropped on purpose, not that it may end the process.
            asks = any(_asks_outside(each, facts) for each in own)
            yield Hit(call.span, what, LIKELY if asks else POSSIBLE)


def _asks_outside(scope: Scope, facts: Facts) -> bool:
    """Return whether a function awaits an answer of another program outside of every try."""
    return any(
        each.call.is_awaited and facts.function_of(each.call) is scope and not facts.tries_around(each.call)
        for each in remote_calls(facts)
    )


def _on_loops(facts: Facts) -> Iterator[Hit]:
    """Yield tasks that are given to a loop and not kept (Python)."""
    for call in facts.calls_of_method("create_task", "run_coroutine_threadsafe"):
        if not call.is_discarded or call.name in _TASKS:
            continue
        if call.name == "asyncio.run_coroutine_threadsafe" and not _catches(call, facts):
            yield Hit(call.span, f"an error of the task of {call.written}() is seen by nothing", LIKELY)
        elif (
            call.method == "create_task"
            and _LOOPS.search(call.receiver_written)
            and "RUF006" not in facts.comment_at(call)
        ):
            what = f"the task of {call.written}() is not kept, so it may be collected before it is done"
            yield Hit(call.span, what, LIKELY)


_LOOPS = lazy_regex(r"(^|[._])(event_)?loop$")


def _handles_its_errors(call: Call, facts: Facts) -> bool:
    """Return whether a task runs a function of this text that handles the errors of all that it awaits."""
    given = call.argument(place=0)
    name = "" if given is None else given.value.text.partition("(")[0].rpartition(".")[2]
    own = facts.functions_named(name)
    return bool(own) and all(handles_all(scope, facts) for scope in own)


def _catches(call: Call, facts: Facts) -> bool:
    """Return whether the coroutine that a call is given handles its own errors, or is of another text."""
    given = call.argument(place=0)
    name = "" if given is None else given.value.text.partition("(")[0].rpartition(".")[2]
    return _handles(name, facts) or not facts.functions_named(name)


_TRY_FIRST = lazy_regex(r"\{\s*(?:try\b|runCatching\b)")


def _begins_with_try(call: Call) -> bool:
    """Return whether the block of a coroutine handles its errors from its first line (Kotlin)."""
    return bool(call.arguments) and _TRY_FIRST.match(call.arguments[-1].value.text) is not None


_NO_JOB = lazy_regex(r"Dispatchers\b|CoroutineName\b|CoroutineStart\b")


def _is_bound(call: Call) -> bool:
    """Return whether the job of a coroutine is kept, or its context may have a parent (Kotlin)."""
    if call.assigned or call.is_returned or call.is_argument:
        return True
    given = [each.value for each in call.positional if each.value.shape != "function"]
    return any(_NO_JOB.match(each.text) is None for each in given)


_MOBILE = lazy_regex(r"^import (com\.facebook\.react|expo\.)", re.MULTILINE)


def _scopes(facts: Facts) -> Iterator[Hit]:
    """Yield coroutines that are bound to nothing, and scopes that end with their first error (Kotlin)."""
    if is_for_screen(facts) or _MOBILE.search(facts.whole_text):
        return
    for call in facts.calls_of_method("launch", "async"):
        scope = facts.named_function_of(call)
        if scope is None or scope.short_name == "main" or not call.is_discarded:
            continue
        made = call.origin
        if made is not None and made.method == "CoroutineScope" and not made.assigned:
            if _begins_with_try(call):
                continue
            what = f"{call.written}() is bound to nothing: it is not cancelled, and nothing waits for it"
            yield Hit(call.span, what, LIKELY)
        elif call.method == "async" and call.receiver_written:
            yield Hit(call.span, f"the result of {call.written}() is dropped, and its error with it", LIKELY)
    for each in facts.assignments:
        if each.scope is not None or each.call is None or each.call.method != "CoroutineScope":
            continue
        text = each.call.arguments[0].value.text if each.call.arguments else ""
        if not re.fullmatch(r"(Job\(\)\s*\+\s*)?Dispatchers\.\w+(\s*\+\s*Job\(\))?", text):
            continue
        name = each.targets[0].removeprefix("self.")
        started = [
            call
            for call in facts.calls_of_method("launch")
            if call.receiver_written.removeprefix("self.") == name
            and facts.function_of(call) is not None
            and not any(one.handlers for one in facts.within(facts.tries, call.span))
        ]
        if started:
            what = f"the first error of {started[0].written}() cancels {name}: nothing runs on it any more"
            yield Hit(each.span, what, LIKELY)


def _tasks(facts: Facts) -> Iterator[Hit]:
    """Yield calls whose task is dropped: of methods of this text, and of writes (C#)."""
    own = {
        scope.short_name
        for scope in facts.scopes
        if scope.is_async and scope.name and not re.search(r"\bvoid\s+\w+\s*[(<]", _head(scope, facts))
    }
    for call in facts.calls:
        if not call.is_discarded or call.is_awaited or call.is_decorator or _is_void(call, facts):
            continue
        if call.method == "ForEach" and any(each.value.text.startswith("async") for each in call.positional):
            what = (
                f"{call.written}() does not wait for its async function, and an error in it ends the process"
            )
            yield Hit(call.callee, what, LIKELY)
        elif call.method == "ContinueWith":
            if not _FAULTS.search(facts.text(call.span)) and _is_only_use(call, facts):
                yield Hit(call.span, f"an error before {call.written}() is seen by nothing", LIKELY)
        elif (
            (call.method in own and call.receiver in ("", "self"))
            or call.method in _CSHARP_WRITES
            or (_ASYNC.search(call.method) and (facts.is_in_async(call) or _in_request(call, facts)))
        ):
            # The warning of the compiler is switched off there.
            meant = "CS4014" in facts.comment_at(call) or _is_unknown(call, facts)
            what = f"{call.written}() is not awaited: its error is lost"
            yield Hit(call.span, what, POSSIBLE if meant else LIKELY)
    for call in facts.calls:
        is_task = call.name in ("Task.Run", "Task.Factory.StartNew")
        if not is_task and not _ASYNC.search(call.method):
            continue
        # `_ = …` says that it is meant; in a request, it outlives what it works with.
        is_dropped = not call.is_awaited and (call.assigned == ("_",) or call.is_discarded)
        if (
            is_dropped
            and (is_task or call.assigned == ("_",))
            and _in_request(call, facts)
            and not _is_guarded(call, facts)
        ):
            # What is assigned to `_` outside of a request is often meant to be dropped.
            meant = call.assigned == ("_",) and facts.route_of(call) is None
            what = f"nothing sees an error of {call.written}()"
            yield Hit(call.span, what, POSSIBLE if meant else LIKELY)


def _is_unknown(call: Call, facts: Facts) -> bool:
    """Return whether a method of the same object is declared elsewhere, and nothing here awaits it (C#).

    A base class or another part of a partial class may declare it with `void`."""
    if call.receiver not in ("", "self") or facts.functions_named(call.method):
        return False
    return not any(each.is_awaited for each in facts.calls_of_method(call.method))


_ASYNC = lazy_regex(r"[a-z0-9]Async$")
_LOGS = lazy_regex(r"^(Log|Trace|Debug|Warn)[A-Z]")
"""Methods that write to a log about something whose name ends in `Async`: they return nothing."""
_TASK_RESULT = lazy_regex(r"\b(Task|ValueTask|IAsyncEnumerable|async)\b")


def _is_void(call: Call, facts: Facts) -> bool:
    """Return whether a method may have no task as its result, whatever its name says (C#).

    Of overloads in this text, the compiler may choose one that waits: `Retry(Action)`."""
    if _LOGS.match(call.method):
        return True
    own = facts.functions_named(call.method) if call.receiver in ("", "self") else ()
    return any(not _TASK_RESULT.search(_result(each, facts)) for each in own)


def _result(scope: Scope, facts: Facts) -> str:
    """Return what stands before the name of a method: its modifiers and the type of its result (C#)."""
    return _head(scope, facts).partition(scope.short_name)[0]


def _is_only_use(call: Call, facts: Facts) -> bool:
    """Return whether nothing else has the task that `ContinueWith` goes on with.

    A task that is made here is lost with it; a field, a property or a parameter belongs to others, too."""
    name = call.receiver_written
    if call.receiver.endswith(")") and name.endswith(")"):
        return True
    scope = facts.function_of(call)
    if scope is None or not name.isidentifier():
        return False
    made = [each for each in facts.own(facts.assignments, scope) if name in each.targets]
    uses = re.findall(rf"(?<![\w.]){re.escape(name)}\b", facts.text(scope.body))
    return bool(made) and all(each.call is not None for each in made) and len(uses) == len(made) + 1


_FAULTS = lazy_regex(r"Faulted|NotOnRanToCompletion|\.Exception\b|OnlyOn|\.Result\b|\bawait\b|\.Wait\(")


def _in_request(call: Call, facts: Facts) -> bool:
    scope = facts.named_function_of(call)
    # What a hosted service starts and drops is reported by the rule about workers.
    if scope is None or scope.short_name == "StartAsync":
        return False
    return facts.route_of(call) is not None or scope.owner.endswith(("Controller", "Service", "Handler"))


def _is_guarded(call: Call, facts: Facts) -> bool:
    """Return whether the task catches its errors: its lambda, or the method of this text that it is."""
    if any(each.handlers for each in facts.within(facts.tries, call.span)):
        return True
    inside = {each.method for each in facts.within(facts.calls, call.span)}
    return any(_handles(name, facts) for name in inside)


def _head(scope: Scope, facts: Facts) -> str:
    return facts.text(Span(scope.span.start, scope.body.start))


def _async_callbacks(facts: Facts) -> Iterator[Hit]:
    """Yield `items.forEach(async …)`, and filters that take the promise for an answer."""
    for call in facts.calls_of_method("map", "flatMap"):
        given = call.argument(place=0)
        if (
            call.is_discarded
            and not call.is_awaited
            and given is not None
            and given.value.shape == "function"
        ):
            is_async = given.value.text.startswith("async")
            inside = given.value.span
            waits = any(step.kind == "await" for step in facts.within(facts.steps, inside))
            if is_async and waits and not any(each.handlers for each in facts.within(facts.tries, inside)):
                what = f"nothing waits for the promises of {call.written}(), and their errors are lost"
                yield Hit(call.callee, what, LIKELY)
    for call in facts.calls_of_method("forEach", *_ASKS):
        given = call.argument(place=0)
        if given is None or given.value.shape != "function" or not given.value.text.startswith("async"):
            continue
        if call.is_awaited or (_STREAMS.search(call.receiver_written) and not is_of_list(call, facts)):
            continue
        if call.method in _ASKS:
            what = f"{call.written}() takes the promise for an answer, and a promise is always true"
            yield Hit(call.callee, what, LIKELY)
        elif any(
            step.kind == "await" and not facts.tries_around(step)
            for step in facts.within(facts.steps, given.value.span)
        ):
            what = f"{call.written}() does not wait for its async function, and the errors of that are lost"
            yield Hit(call.callee, what, LIKELY)


def _queries(facts: Facts) -> frozenset[Call]:
    """Return JavaScript calls that return a promise of rows and have no callback."""
    if facts.language not in JAVASCRIPT or facts.imports_any(*_WITH_CALLBACKS):
        return frozenset()
    if facts.imports_any("mysql2") and not facts.imports_any("mysql2/promise"):
        return frozenset()
    sent = [each.call for each in sql_calls(facts) if each.call.method in _QUERIES]
    sent += [
        call for call in facts.calls if _STORES.search(call.written) and not _IN_BULK.search(call.written)
    ]
    return frozenset(call for call in sent if facts.function_of(call) is not None and not has_callback(call))


def _local(call: Call, asynchronous: set[str], facts: Facts) -> bool:
    if "." not in call.written:
        return call.method in asynchronous or _is_nested(call, facts)
    scope = facts.named_function_of(call)
    return call.receiver == "self" and scope is not None and f"{scope.owner}.{call.method}" in asynchronous


def _is_nested(call: Call, facts: Facts) -> bool:
    """Return whether a plain name means an async function that is declared in a function around the call."""
    around = [*facts.functions_around(call)]
    return any(
        scope.is_async
        and scope.outer in around
        and not scope.is_method
        and not scope.decorators
        and scope not in around
        for scope in facts.functions_named(call.method)
    )


def _drops_promise(call: Call, asynchronous: set[str], facts: Facts) -> bool:
    """Return whether a promise is dropped without `.catch`. At the top of a file, programs are started so."""
    if facts.function_of(call) is None:
        return False
    source = call
    if (
        call.method == "then"
        and facts.is_in_async(call)
        and len(call.positional) == 1
        and ".catch(" not in facts.text(call.span)
    ):
        return True  # Who waits for others here can wait for this, too.
    is_promise = False
    while source.method in ("then", "finally") and source.origin is not None:
        if source.method == "then" and len(source.positional) > 1:
            return False
        is_promise = is_promise or source.method == "finally"
        source = source.origin
    if is_promise and ".catch(" not in facts.text(call.span) and not facts.functions_named(source.method):
        return True
    library = library_of(source, facts.language)
    if library is not None and library.name not in ("http", "superagent"):
        return True
    if _SHOWS_ERROR.match(source.method):
        return False
    return _local(source, asynchronous, facts) and not _handles_own_errors(source, facts)


_SHOWS_ERROR = lazy_regex(r"_*(?:handle|show|report|log|notify|display|toast)\w*(?:Error|Failure)s?$")
"""Functions that show or report an error which is handled by what calls them."""


def _handles_own_errors(call: Call, facts: Facts) -> bool:
    """Return whether the called function handles its own errors, or waits only for others that do."""
    named = facts.functions_named(call.method)
    return (
        _handles(call.method, facts)
        or any(_awaits_handled_only(scope, facts) for scope in named)
        or (bool(named) and not any(_may_fail(scope, facts) for scope in named))
    )


def _may_fail(scope: Scope, facts: Facts) -> bool:
    """Return whether an error may leave a function of this text: of what it awaits, returns or throws."""
    fails = may_reject(scope, facts) or throws(scope, facts) or returns_promise(scope, facts)
    return fails and not cannot_fail(scope, facts)


def _awaits_handled_only(scope: Scope, facts: Facts) -> bool:
    """Return whether all that a function awaits are functions of this text that handle their errors."""
    awaits = [step for step in facts.own(facts.steps, scope) if step.kind == "await"]
    handled = [
        call
        for call in facts.own(facts.calls, scope)
        if call.is_awaited and call.receiver in ("", "self") and _handles(call.method, facts)
    ]
    return bool(awaits) and len(handled) == len(awaits)


def _handles(name: str, facts: Facts) -> bool:
    named = facts.functions_named(name)
    return any(
        each.handlers and not any(handler.raises for handler in each.handlers)
        for scope in named
        for each in facts.within(facts.tries, scope.body)
    )


RULE = Rule(
    id="FK-R023",
    slug="fire-and-forget",
    title="Task or promise that is never awaited",
    why="Its errors are lost, it may be garbage-collected before it is done, and a shutdown cuts it off.",
    fix="Await it, or keep it in a set and handle its errors; for work that must be done, use a queue.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA, *RUST, *KOTLIN, *CSHARP),
    check=_check,
)
