"""Finds thread pools and event loops that are created for one call.

Evidence that it matters: it is started for each request, by the handler or by what it calls. A pool for a few
items, or in a function whose decorator may run it elsewhere, is `POSSIBLE`.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import JAVA, JAVASCRIPT, KOTLIN, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.long_lives import is_long_lived
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once

_POOLS = frozenset(
    (
        "concurrent.futures.ThreadPoolExecutor", "concurrent.futures.ProcessPoolExecutor",
        "multiprocessing.Pool", "java.util.concurrent.Executors.newFixedThreadPool",
        "java.util.concurrent.Executors.newCachedThreadPool",
        "java.util.concurrent.Executors.newSingleThreadExecutor",
        "java.util.concurrent.Executors.newWorkStealingPool", "asyncio.run", "asyncio.new_event_loop",
        "piscina", "piscina.Piscina", "tinypool", "tinypool.Tinypool", "workerpool.pool",
        "kotlinx.coroutines.newFixedThreadPoolContext", "kotlinx.coroutines.newSingleThreadContext",
    )
)  # fmt: skip


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_POOLS):
        frequency = frequency_of(call, facts)
        if call.is_returned or any("." in name for name in call.assigned):
            continue
        if frequency == "item" and not facts.loops_around(call) and _has_many_tasks(call, facts):
            continue  # Of a batch.
        if frequency is not None:
            scope = facts.named_function_of(call)
            is_moved = scope is not None and scope.route is None and scope.decorators
            sure = LIKELY if frequency == "request" and not is_moved else POSSIBLE
            yield Hit(call.span, f"{call.written}() is started and ended again for every {frequency}", sure)
        elif facts.language in JAVA and _is_for_one_call(call, facts):
            yield Hit(call.span, f"{call.written}() is started and ended again in each call", POSSIBLE)


def _has_many_tasks(call: Call, facts: Facts) -> bool:
    """Return whether a pool gets a task for each item of a list in the function that makes it."""
    scope = facts.named_function_of(call)
    given = (
        facts.within(facts.calls_of_method("submit", "map", "starmap", "invokeAll"), scope.body)
        if scope
        else ()
    )
    return any(
        each.receiver_written in call.assigned and (each.method != "submit" or facts.loops_around(each))
        for each in given
    )


def _is_for_one_call(call: Call, facts: Facts) -> bool:
    """Return whether a method of a long-lived object starts a pool for its arguments, and shuts it down."""
    scope = facts.named_function_of(call)
    if scope is None or not scope.parameters or runs_once(scope):
        return False
    names = {*call.assigned}
    ends = facts.within(facts.calls_of_method("shutdown", "shutdownNow", "close"), scope.body)
    is_ended = call.is_managed or any(each.receiver_written in names for each in ends)
    return is_ended and is_long_lived(scope.owner.rpartition(".")[2], facts)


RULE = Rule(
    id="FK-P021",
    slug="pool-per-call",
    title="Thread pool or event loop for each call",
    why="Threads are expensive to start, and a pool in each request is no limit for the process: load adds "
    "threads without end.",
    fix="Make one pool for the process and submit to it; run one event loop around the whole program.",
    kind="performance",
    severity="medium",
    languages=(*PYTHON, *JAVA, *KOTLIN, *JAVASCRIPT),
    check=_check,
)
