"""Finds tasks and promises that are neither awaited nor kept, so that their errors are lost."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, CSHARP, JAVASCRIPT, KOTLIN, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import library_of
from faultkit.code.rules.vocabulary.remote_calls import sql_calls

_TASKS = ("asyncio.create_task", "asyncio.ensure_future", "asyncio.get_event_loop().create_task",
          "asyncio.get_running_loop().create_task")  # fmt: skip

_STORES = re.compile(
    r"(^|\.)prisma\.\w+\.(create|update|upsert|delete)(Many)?$"
    r"|(^|\.)\w*[rR]epo(sitory)?\.(save|insert|update|delete|remove|softDelete)$"
    r"|\.(insertOne|insertMany|updateOne|updateMany|deleteOne|deleteMany|bulkWrite|findOneAndUpdate)$"
)
_CSHARP_WRITES = ("SaveChangesAsync", "PostAsync", "PutAsync", "DeleteAsync", "PostAsJsonAsync")
_GLOBAL = ("kotlinx.coroutines.GlobalScope.launch", "kotlinx.coroutines.GlobalScope.async")
_ASKS = ("filter", "some", "every", "find", "findIndex")
_STREAMS = re.compile(r"stream|readable|\(\)$", re.IGNORECASE)
_QUERIES = ("query", "execute")
_WITH_CALLBACKS = ("mysql", "sqlite3", "better-sqlite3", "node:sqlite", "sqlite")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_TASKS):
        if call.is_discarded:
            yield Hit(
                call.span,
                f"the task of {call.written}() is not kept, so it may be collected before it is done",
                CERTAIN,
            )
    if facts.language in CSHARP:
        yield from _tasks(facts)
        return
    if facts.language in KOTLIN:
        for call in facts.calls_named(*_GLOBAL):
            what = (
                f"{call.written}() is bound to nothing: it is not cancelled, and nothing handles its errors"
            )
            yield Hit(call.span, what, LIKELY)
        return
    if facts.language in JAVASCRIPT:
        yield from _async_callbacks(facts)
    dropped = _queries(facts)
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
            yield Hit(call.span, f"an error of {call.written}() is not handled", LIKELY)
        elif call in dropped:
            what = (
                f"{call.written}() is not awaited: the next statements run before it, and its error is lost"
            )
            yield Hit(call.span, what, LIKELY)


def _tasks(facts: Facts) -> Iterator[Hit]:
    """Yield calls whose task is dropped: of methods of this text, and of writes (C#)."""
    own = {
        scope.short_name
        for scope in facts.scopes
        if scope.is_async and scope.name and not re.search(r"\bvoid\s+\w+\s*[(<]", _head(scope, facts))
    }
    for call in facts.calls:
        if not call.is_discarded or call.is_awaited or call.is_decorator:
            continue
        if call.method == "ForEach" and any(each.value.text.startswith("async") for each in call.positional):
            what = (
                f"{call.written}() does not wait for its async function, and an error in it ends the process"
            )
            yield Hit(call.callee, what, LIKELY)
        elif (call.method in own and call.receiver in ("", "self")) or call.method in _CSHARP_WRITES:
            yield Hit(call.span, f"{call.written}() is not awaited: its error is lost", LIKELY)


def _head(scope: Scope, facts: Facts) -> str:
    return facts.text(Span(scope.span.start, scope.body.start))


def _async_callbacks(facts: Facts) -> Iterator[Hit]:
    """Yield `items.forEach(async …)`, and filters that take the promise for an answer."""
    for call in facts.calls_of_method("forEach", *_ASKS):
        given = call.argument(place=0)
        if given is None or given.value.shape != "function" or not given.value.text.startswith("async"):
            continue
        if call.is_awaited or _STREAMS.search(call.receiver_written):
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
    sent += [call for call in facts.calls if _STORES.search(call.written)]
    return frozenset(call for call in sent if facts.function_of(call) is not None and not _has_callback(call))


def _has_callback(call: Call) -> bool:
    last = call.positional[-1].value if call.positional else None
    return last is not None and (
        last.shape == "function" or last.text in ("cb", "callback", "done", "next", "fn", "resolve")
    )


def _local(call: Call, asynchronous: set[str], facts: Facts) -> bool:
    if not call.receiver:
        return call.method in asynchronous
    scope = facts.named_function_of(call)
    return call.receiver == "self" and scope is not None and f"{scope.owner}.{call.method}" in asynchronous


def _drops_promise(call: Call, asynchronous: set[str], facts: Facts) -> bool:
    """Return whether a promise is dropped without `.catch`. At the top of a file, programs are started so."""
    if facts.function_of(call) is None:
        return False
    source = call
    while source.method in ("then", "finally") and source.origin is not None:
        if source.method == "then" and len(source.positional) > 1:
            return False
        source = source.origin
    library = library_of(source, facts.language)
    if library is not None and library.name not in ("http", "superagent"):
        return True
    return _local(source, asynchronous, facts) and not _handles_own_errors(source, facts)


def _handles_own_errors(call: Call, facts: Facts) -> bool:
    """Return whether the called function handles its own errors."""
    named = [scope for scope in facts.scopes if scope.short_name == call.method]
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
    languages=(*PYTHON, *JAVASCRIPT, *KOTLIN, *CSHARP),
    check=_check,
)
