"""Finds blocking calls in async code, which stop the whole event loop.

Evidence that it matters: the call waits for another program or works on data of any size. A read or write of
a file counts as such if it is of bytes of any size, or in code that runs for each request or message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
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
from faultkit.code.rules.vocabulary.blocking_csharp import blocking_in_csharp
from faultkit.code.rules.vocabulary.blocking_java import blocking_on_loop
from faultkit.code.rules.vocabulary.blocking_javascript import blocking_in_javascript
from faultkit.code.rules.vocabulary.blocking_kotlin import blocking_in_kotlin
from faultkit.code.rules.vocabulary.blocking_python import (
    FILES,
    TO_THREADS,
    WAITS,
    WORK,
    asks,
    is_aws_call,
    is_blocking_stub,
    is_used_often,
    reads_in_parts,
)
from faultkit.code.rules.vocabulary.blocking_rust import blocking_in_rust
from faultkit.code.rules.vocabulary.call_paths import callers_of_function, callers_through
from faultkit.code.rules.vocabulary.fixed_files import is_fixed_file
from faultkit.code.rules.vocabulary.given_clients import name_by_giver
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once
from faultkit.code.rules.vocabulary.served_code import is_served

_LEVELS = 2
"""Levels of functions of the same text through which a blocking call is followed."""


def _check(facts: Facts) -> Iterator[Hit]:
    find = _FINDERS.get(facts.language, blocking_in_javascript)
    yield from find(facts)


def _python(facts: Facts) -> Iterator[Hit]:
    if not any(scope.is_async for scope in facts.scopes):
        return
    reported: set[tuple[Scope, Call | str]] = set()
    for call in facts.calls:
        waits = _is_blocking(call, facts)
        if not waits and not FILES.match(call.name):
            continue
        scope = facts.function_of(call)
        if scope is None or call.is_awaited or _is_elsewhere(call, facts) or _is_meant(call, facts):
            continue
        if call.name in WORK and runs_once(scope):
            continue
        if _does_not_wait(call, facts):
            continue
        if not scope.is_async:
            if waits:
                yield from _through(call, call, facts, _LEVELS)
            else:
                yield from _files_through(call, facts)
        elif not waits:
            what = f"{call.written}() waits for a file while the event loop stands still"
            matters = is_served(call, facts) and not is_fixed_file(call, facts)
            yield Hit(call.span, what, LIKELY if matters else POSSIBLE, "low")
        else:
            # A session or client is used many times: one finding for each function is enough.
            often = is_used_often(call.name)
            reported_as = (scope, call.written.removeprefix("self.").partition(".")[0] if often else call)
            if reported_as not in reported:
                # A client that is known by the names of its arguments alone may be an async one.
                confidence = CERTAIN if asks(call.name) or not is_aws_call(call, facts) else LIKELY
                confidence = POSSIBLE if _is_at_start(call, scope, facts) else confidence
                yield Hit(call.span, f"{call.written}() stops the event loop until it is done", confidence)
            reported.add(reported_as)


def _is_generator(scope: Scope | None, facts: Facts) -> bool:
    """Return whether to call a function does not run it: what iterates over it may be a thread."""
    return scope is not None and any(step.kind == "yield" for step in facts.own(facts.steps, scope))


def _files_through(call: Call, facts: Facts) -> Iterator[Hit]:
    """Yield calls in handlers of requests and messages of a function that reads a file."""
    if _is_generator(facts.function_of(call), facts):
        return
    for caller in callers_through(call, facts, 1):
        around = facts.function_of(caller)
        if around is None or not around.is_async or caller.is_awaited or _is_elsewhere(caller, facts):
            continue
        if frequency_of(caller, facts) in ("request", "message") and not is_fixed_file(call, facts):
            what = f"{caller.written}() waits for a file in async code (it calls {call.written}())"
            yield Hit(caller.span, what, LIKELY, "low")


def _is_blocking(call: Call, facts: Facts) -> bool:
    name = call.name
    head, dot, rest = name.partition(".")
    if head.endswith("Dep") and (alias := _alias(head, facts)):
        name = alias + dot + rest
    if (
        name in WAITS
        or name in WORK
        or asks(name)
        or is_blocking_stub(call, facts)
        or is_aws_call(call, facts)
        or (reads_in_parts(call, facts) and not is_fixed_file(call, facts))
    ):
        return True
    given = name_by_giver(call, facts)
    return bool(given) and (given in WAITS or asks(given))


def _does_not_wait(call: Call, facts: Facts) -> bool:
    """Return whether a lock is only tried, or a file is opened for others: `acquire(blocking=False)`."""
    if call.method == "acquire":
        given = call.argument("blocking", place=0)
        return given is not None and given.value.shape == "false"
    if call.name != "open":
        return False
    for_thread = any(each.written.endswith((".read", ".write")) for each in facts.accesses_on(call))
    return for_thread or call.is_argument or call.is_returned


def _is_meant(call: Call, facts: Facts) -> bool:
    """Return whether a linter's rule for blocking calls is switched off there: `# noqa: ASYNC251`."""
    return re.search(r"noqa:[\w\s,]*\bASYNC", facts.comment_at(call)) is not None


def _alias(name: str, facts: Facts) -> str:
    """Return the type of `SessionDep = Annotated[Session, Depends(…)]`."""
    for each in facts.assignments:
        found = re.match(r"Annotated\[(\w+)", each.value.text) if each.value is not None else None
        if each.scope is None and name in each.targets and found is not None:
            return facts.imports.names.get(found[1], found[1])
    return ""


def _is_at_start(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a call is made once, when the program or an object starts: nothing else waits then."""
    return runs_once(scope) and not facts.loops_around(call) and not is_served(call, facts)


def _is_elsewhere(call: Call, facts: Facts) -> bool:
    """Return whether a thread runs it: `to_thread(lambda: get(url))`."""
    return any(each.method in TO_THREADS for each in facts.calls_around(call))


def _through(inner: Call, blocking: Call, facts: Facts, levels: int) -> Iterator[Hit]:
    """Yield calls in async code of functions of this text that contain a blocking call."""
    scope = facts.named_function_of(inner)
    if scope is None or scope.is_async or facts.function_of(inner) is not scope or levels == 0:
        return
    if _is_generator(scope, facts):
        return
    for caller in callers_of_function(scope, facts):
        around = facts.function_of(caller)
        if around is None or around is scope or caller.is_awaited or _is_elsewhere(caller, facts):
            continue
        if blocking.name in WORK and runs_once(around):
            continue
        if around.is_async:
            what = f"{caller.written}() stops the event loop until it is done (it calls {blocking.written}())"
            yield Hit(caller.span, what, POSSIBLE if _is_at_start(caller, around, facts) else LIKELY)
        else:
            yield from _through(caller, blocking, facts, levels - 1)


_FINDERS = {
    "python": _python,
    "rust": blocking_in_rust,
    "csharp": blocking_in_csharp,
    "kotlin": blocking_in_kotlin,
    "java": blocking_on_loop,
}


RULE = Rule(
    id="FK-P001",
    slug="blocking-call-in-async-code",
    title="Blocking call in async code",
    why="While it waits, no other request of the process is served: one slow call makes all of them slow.",
    fix="Await an async client or API instead, or hand the call to a thread (asyncio.to_thread).",
    kind="performance",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
)
