"""Finds queues without a maximum size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import CSHARP, JAVA, KOTLIN, LIKELY, POSSIBLE, PYTHON, RUST, Hit, Rule

_QUEUES = (
    "queue.Queue",
    "queue.LifoQueue",
    "queue.PriorityQueue",
    "queue.SimpleQueue",
    "asyncio.Queue",
    "asyncio.PriorityQueue",
    "asyncio.LifoQueue",
    "multiprocessing.Queue",
    "janus.Queue",
    "java.util.concurrent.LinkedBlockingQueue",
    "java.util.concurrent.LinkedBlockingDeque",
    "java.util.concurrent.ConcurrentLinkedQueue",
    "tokio.sync.mpsc.unbounded_channel",
    "futures.channel.mpsc.unbounded",
    "futures_channel.mpsc.unbounded",
    "crossbeam_channel.unbounded",
    "crossbeam.channel.unbounded",
    "async_channel.unbounded",
    "flume.unbounded",
    "Channel.CreateUnbounded",
    "BlockingCollection",
)
_SIMPLE = ("SimpleQueue", "ConcurrentLinkedQueue")

_FEW = re.compile(
    r"idle|free|avail|pool|result|repl(y|ies)|answer|response|error|(^|_)ids?$|Ids?$|count|sink|done", re.I
)


def _check(facts: Facts) -> Iterator[Hit]:
    if b"UNLIMITED" in facts.syntax.source:
        yield from _channels(facts)
    for call in facts.calls_named(*_QUEUES):
        if not _is_bounded(call) and not _only_drained(call, facts) and not _has_few(call):
            # A simple queue cannot be bounded, and is often used to hand over one answer.
            sure = POSSIBLE if call.method in _SIMPLE else LIKELY
            yield Hit(call.span, f"{call.written}() takes any number of items", sure)


def _has_few(call: Call) -> bool:
    """Return whether the queue holds, by its name, no work: what is idle, or answers to what was asked."""
    return any(_FEW.search(name) for name in call.assigned)


def _channels(facts: Facts) -> Iterator[Hit]:
    """Yield `Channel(Channel.UNLIMITED)` (Kotlin), by its argument: the call may be read as a comparison."""
    for each in facts.accesses:
        if each.name == "kotlinx.coroutines.channels.Channel.UNLIMITED":
            yield Hit(each.span, "a channel of unlimited size takes any number of items", LIKELY)


def _is_bounded(call: Call) -> bool:
    size = call.argument("maxsize", place=0)
    return call.spreads or (size is not None and size.value.text.strip() not in ("0", "-1"))


def _only_drained(call: Call, facts: Facts) -> bool:
    """Return whether the queue is filled and emptied in one function, so that it ends by itself."""
    scope = facts.function_of(call)
    if scope is None or not call.assigned or "." in call.assigned[0]:
        return False
    inside = [each for each in facts.calls_on(call) if facts.function_of(each) is scope]
    empties = any(each.method in ("get_nowait", "empty") for each in inside)
    return empties and len(inside) == len(facts.calls_on(call))


RULE = Rule(
    id="FK-R019",
    slug="unbounded-queue",
    title="Unbounded queue",
    why="When its readers are slower than its writers, it hides the overload until the process runs "
    "out of memory.",
    fix="Give it a size, and decide what happens when it is full: wait, drop, or refuse.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
)
