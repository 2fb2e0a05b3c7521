"""Finds workers that take items for ever and end with the first one that fails.

Evidence that it matters: the failing call depends on the item, or on another program, and not on own data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.reliability.periodic_work_ends import (
    SAFE,
    failing_call,
    is_dropped,
    is_thread,
    left_by_error,
    runs_aside,
)
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.loop_conditions import goes_on
from faultkit.code.rules.vocabulary.short_lives import repeated_around
from faultkit.code.rules.vocabulary.waits import is_sleep

_TAKEN = frozenset(
    ("get", "take", "recv", "receive", "poll", "blpop", "brpop", "get_message", "Take", "Dequeue")
)
_QUEUES = lazy_regex(r"queue|jobs?$|inbox|channel|tasks?$|pubsub|\bq$|events?$|messages?$", re.IGNORECASE)
_DEADLY = frozenset(("panic", "log.Fatal", "log.Fatalf", "log.Fatalln", "log.Panic", "log.Panicf"))
_KNOWN = frozenset(
    (
        "lock", "read", "write", "recv", "join", "send", "try_recv", "elapsed", "new", "get", "as_ref",
        "as_mut", "get_mut", "duration_since", "acquire_owned", "acquire_many", "acquire_many_owned",
    )
)  # fmt: skip
"""What fails only when the program is ending or wrong (Rust)."""


def _check(facts: Facts) -> Iterator[Hit]:
    """Yield workers that take items for ever and die of the first one that fails."""
    if facts.language == "rust":
        yield from _accepting(facts)
    for loop in facts.loops:
        scope = facts.function_of(loop)
        if scope is None or loop.kind in ("count", "comprehension"):
            continue
        if facts.language == "go":
            found = _panics(loop, scope, facts) or _returns(loop, scope, facts)
        elif facts.language == "rust":
            found = _unwraps(loop, scope, facts) or _leaves(loop, scope, facts)
        elif facts.language == "kotlin" and loop.kind == "each":
            found = _fails_for_received(loop, scope, facts)
        elif goes_on(loop, facts) and _is_thread(loop, scope, facts):
            found = _fails_for_item(loop, facts)
        elif facts.language == "csharp" and loop.is_async and runs_aside(loop, scope, facts):
            found = failing_call(loop.body, facts)  # `await foreach` over a channel.
            if found is not None and _is_kept_task(found, facts):
                found = None
        else:
            found = None
        if found is not None:
            yield Hit(
                found.span,
                f"{found.written}() ends this worker when one item fails, and the rest waits",
                LIKELY,
            )


def _is_kept_task(call: Call, facts: Facts) -> bool:
    """Return whether an async method is started and its task kept: its error comes where it is awaited."""
    if call.is_awaited:
        return False
    return call.method.endswith("Async") or any(each.is_async for each in facts.functions_named(call.method))


_ACCEPTED = lazy_regex(r"\.accept\(\)\s*\.await\s*\?")
_KEPT = lazy_regex(r"(\w+)\s*=\s*[\w.]+\.accept\(\)(?:\.await)?\s*(?:=>|;)")


def _accepting(facts: Facts) -> Iterator[Hit]:
    """Yield `listener.accept().await?` in a loop: one client that has gone again ends it for all (Rust)."""
    for loop in facts.loops:
        if loop.kind not in ("endless", "while"):
            continue
        text = facts.text(loop.body)
        found = _ACCEPTED.search(text)
        if found is None and (kept := _KEPT.search(text)) is not None:
            found = re.compile(rf"=\s*{kept[1]}\s*\?").search(text, kept.end())
        if found is not None:
            what = "one failed accept ends this loop, and no client is served any more"
            yield Hit(facts.syntax.place_of(found, loop.body.start), what, LIKELY)


def _panics(loop: Loop, scope: Scope, facts: Facts) -> Call | None:
    launched = facts.is_launched(loop) or any(call.is_launched for call in facts.callers_of(scope))
    if not launched or loop.kind == "count" or "recover()" in facts.text(scope.span):
        return None
    if any("recover()" in facts.text(each.span) for each in facts.functions_around(loop)):
        return None
    return next(
        (
            call
            for call in facts.within(facts.calls, loop.body)
            if call.name in _DEADLY
            and facts.function_of(call) is scope
            # A text alone is about a mistake of the program itself.
            and any(each.value.shape != "text" for each in call.arguments)
        ),
        None,
    )


def _unwraps(loop: Loop, scope: Scope, facts: Facts) -> Call | None:
    if not any(call.method in ("spawn", "spawn_blocking") for call in facts.calls_around(loop)):
        return None
    if loop.kind == "each" and not _RECEIVER.search(loop.over):
        return None  # Its items are those of one task.
    for call in facts.within(facts.calls, loop.body):
        made = call.origin
        if call.method not in ("unwrap", "expect") or made is None or facts.function_of(call) is not scope:
            continue
        if made.method in _KNOWN or made.constructs or _is_fixed(made) or _is_permit(made, facts):
            continue
        if made.is_awaited or _FALLIBLE.search(made.method):
            return call
    return None


_RECEIVER = lazy_regex(
    r"\b\w*(rx|recv|receiver|incoming|consumer|queue)\b|\.(recv|incoming|iter)\(", re.IGNORECASE
)
"""What a loop takes items from for ever."""
_FALLIBLE = lazy_regex(
    r"parse|decode|deserial|from_(?:str|slice|utf8|reader|bytes|json|value)|try_(?:into|from)|open|connect|execute|query"
    r"|fetch|write_|read_|load|save|insert|publish|request|process|handle|apply|run|convert|valid"
)
"""Calls that fail for some items, or with others outside; own data is meant to be as it is unwrapped."""


def _is_permit(made: Call, facts: Facts) -> bool:
    """Return whether a call takes a permit of a semaphore, and no connection of a pool (Rust)."""
    if made.method != "acquire" or b"Semaphore" not in facts.syntax.words:
        return False
    return re.search(r"pool|db|conn", made.receiver_written, re.IGNORECASE) is None


def _returns(loop: Loop, scope: Scope, facts: Facts) -> Call | None:
    """Return a call for an item of a channel after whose error a goroutine returns (Go)."""
    if loop.kind != "each" or not is_dropped(scope, facts) or repeated_around(loop, facts) is not None:
        return None
    text = facts.whole_text
    name = loop.over.rpartition(".")[2]
    is_channel = re.search(rf"\b{re.escape(name)}\b[^\n]{{0,40}}\bchan\b", text) is not None
    return left_by_error(loop, scope, facts) if is_channel and name else None


_RECEIVES = lazy_regex(r"\.(recv|next)\(\)")
_FAILED = lazy_regex(r"if\s+let\s+Err\(\s*(\w+)\s*\)\s*=\s*([^{]+?)\s*\{([^{}]*)\}")


def _leaves(loop: Loop, scope: Scope, facts: Facts) -> Call | None:
    """Return a call for an item after whose error a spawned task ends (Rust)."""
    if not _RECEIVES.search(loop.over) or "socket" in loop.over or "stream" in loop.over:
        return None
    if not any(call.method == "spawn" for call in facts.calls_around(loop)):
        return None
    text = facts.text(loop.body)
    for call in facts.within(facts.calls, loop.body):
        after = facts.text(Span(call.span.end, min(call.span.end + 16, loop.body.end)))
        if call.is_awaited and re.match(r"\s*\.await\s*\?", after) and facts.function_of(call) is scope:
            return call
    for found in _FAILED.finditer(text):
        # An outer loop begins anew after a `break`.
        leaves = r"\breturn\b" if facts.loops_around(loop) else r"\b(return|break)\b"
        if re.search(leaves, found[3]) and "send" not in found[2]:
            place = facts.syntax.place_of(found, loop.body.start)
            return next((call for call in facts.within(facts.calls, place)), None)
    return None


def _fails_for_received(loop: Loop, scope: Scope, facts: Facts) -> Call | None:
    """Return a call that is given the item of a channel, in a coroutine of no single client (Kotlin)."""
    if not _is_channel(loop.over, facts) or not runs_aside(loop, scope, facts):
        return None
    found = failing_call(loop.body, facts) if repeated_around(loop, facts) is None else None
    given = "" if found is None else " ".join(each.value.text for each in found.arguments)
    return found if {*loop.targets} & {*re.findall(r"\w+", given)} else None


def _is_channel(over: str, facts: Facts) -> bool:
    """Return whether a loop takes from a channel (Kotlin)."""
    name = re.escape(over.rpartition(".")[2])
    return (
        bool(name)
        and re.search(rf"\b{name}\s*(:\s*(Receive)?Channel<|=\s*Channel[<(])", facts.whole_text) is not None
    )


def _is_fixed(made: Call) -> bool:
    """Return whether a call always does the same, so that it would have failed at the first try."""
    return bool(made.arguments) and all(each.value.shape in ("text", "number") for each in made.arguments)


def _is_thread(loop: Loop, scope: Scope, facts: Facts) -> bool:
    if facts.language not in ("java", "python"):
        return facts.language != "csharp" and runs_aside(loop, scope, facts)
    return is_thread(loop, scope, facts) or (facts.language == "python" and runs_aside(loop, scope, facts))


_WATCHED = lazy_regex(r"asyncio\.wait\(|gather\(|add_done_callback|TaskGroup|\.result\(\)")


def _collected(take: Call, loop: Loop, facts: Facts) -> Iterator[str]:
    """Yield the list of a round that begins with an item: `rows = [await queue.get()]`."""
    for each in facts.within(facts.assignments, loop.body):
        if each.value is not None and is_within(take.span, each.value.span) and each.value.text[:1] == "[":
            yield from () if _WATCHED.search(facts.whole_text) else each.targets


def _fails_for_item(loop: Loop, facts: Facts) -> Call | None:
    """Return a call that is given the item of a round, and whose exception nothing catches."""
    inside = list(facts.within(facts.calls, loop.body))
    if any(is_sleep(call) for call in inside):
        return None
    items = {
        name
        for call in inside
        if call.method in _TAKEN and _QUEUES.search(call.receiver_written)
        for name in call.assigned or _collected(call, loop, facts)
    }
    for call in inside if items else ():
        given = {*re.findall(r"\w+", " ".join(each.value.text for each in call.arguments))}
        if not items & given or is_logging(call) or call.constructs or SAFE.match(call.method):
            continue
        if facts.is_in_finally(call):
            continue
        if call.method in (
            "isinstance",
            "len",
            "str",
            "print",
            "put",
            "task_done",
            "equals",
            "discard",
            "append",
        ):
            continue
        around = [
            each
            for each in facts.tries
            if is_within(call.span, each.body) and is_within(each.span, loop.body)
        ]
        only_stop = all(
            name.rpartition(".")[2] in ("InterruptedException", "CancelledError", "Empty")
            for each in around
            for handler in each.handlers
            for name in handler.types or ("any",)
        )
        if not only_stop or any(
            is_within(call.span, handler.body) for each in facts.tries for handler in each.handlers
        ):
            continue
        own = facts.functions_named(call.method)
        if any(one.handlers and is_within(one.span, each.body) for each in own for one in facts.tries):
            continue
        return call
    return None


RULE = Rule(
    id="FK-R127",
    slug="worker-ends-with-one-item",
    title="Worker that one bad item ends",
    why="The thread or the whole process dies of one message that it cannot handle: the others wait, and "
    "when it comes again, the next worker dies of it, too.",
    fix="Catch and log the error of one item inside the loop, put the item aside, and go on with the next.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
    words=(
        b"go ",
        b"spawn",
        b"Thread",
        b"thread",
        b"create_task",
        b"Runnable",
        b"launch",
        b"execute(",
        b"submit(",
        b"accept()",
        b"BackgroundService",
    ),
)
