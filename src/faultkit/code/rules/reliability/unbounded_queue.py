"""Finds queues without a maximum size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
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
    "std.sync.mpsc.channel",
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
_SIMPLE = ("SimpleQueue", "ConcurrentLinkedQueue", "channel")

_FEW = re.compile(
    r"idle|free|avail|pool|result|repl(y|ies)|answer|response|error|(^|_)ids?$|Ids?$|count|sink|done", re.I
)


_FIXED = re.compile(r"(^|\.)Executors\.(newFixedThreadPool|newSingleThreadExecutor)$")
_BOUNDS = re.compile(
    r"semaphore|limit|tryAcquire|getQueue|remainingCapacity|backpressure|throttl", re.IGNORECASE
)


def _executors(facts: Facts) -> Iterator[Hit]:
    """Yield pools of a fixed size to which callers give work and do not wait: their queue has no end."""
    for each in facts.assignments:
        call = each.call
        if call is None or each.scope is not None or not each.targets or not _FIXED.search(call.name):
            continue
        if len(call.arguments) > 1 or _BOUNDS.search(facts.whole_text):
            continue
        name = each.targets[0].removeprefix("self.")
        given = [
            one
            for one in facts.calls_of_method("execute", "submit")
            if one.receiver_written.removeprefix("self.") == name
            and one.is_discarded
            and _is_of_caller(one, facts)
        ]
        if given:
            what = f"the queue of {name} takes any number of tasks, and {given[0].written}() never waits"
            yield Hit(call.span, what, POSSIBLE)


def _is_of_caller(call: Call, facts: Facts) -> bool:
    """Return whether a task works on what its function was given."""
    scope = facts.named_function_of(call)
    if scope is None or scope.short_name in ("start", "init", "run", "main", "close", "stop"):
        return False
    text = " ".join(each.value.text for each in call.arguments)
    return any(re.search(rf"\b{re.escape(each.name)}\b", text) for each in scope.parameters)


def _check(facts: Facts) -> Iterator[Hit]:
    if b"UNLIMITED" in facts.syntax.source:
        yield from _channels(facts)
    if facts.language in (*JAVA, *KOTLIN):
        yield from _executors(facts)
    for call in facts.calls_named(*_QUEUES):
        few = _has_few(call) or _takes_one(call, facts)
        if not _is_bounded(call) and not _only_drained(call, facts) and not few:
            # A simple queue cannot be bounded, and is often used to hand over one answer.
            sure = POSSIBLE if call.method in _SIMPLE else LIKELY
            yield Hit(call.span, f"{call.written}() takes any number of items", sure)


def _has_few(call: Call) -> bool:
    """Return whether the queue holds, by its name, no work: what is idle, or answers to what was asked."""
    return any(_FEW.search(name) for name in call.assigned)


def _takes_one(call: Call, facts: Facts) -> bool:
    """Return whether the sender is used once, and not in a loop (Rust): it hands over one value."""
    scope = facts.function_of(call)
    if facts.language != "rust" or scope is None or not call.assigned:
        return False
    sender = call.assigned[0]
    sends = [
        each
        for each in facts.within(facts.calls_of_method("send"), scope.body)
        if each.receiver_written == sender
    ]
    if len(sends) != 1 or facts.loops_around(sends[0], across=True) != facts.loops_around(call, across=True):
        return False
    later = facts.text(Span(call.span.end, scope.body.end))
    return len(re.findall(rf"(?<![\w.]){re.escape(sender)}\b", later)) == 1


def _channels(facts: Facts) -> Iterator[Hit]:
    """Yield `Channel(Channel.UNLIMITED)` (Kotlin), by its argument: the call may be read as a comparison."""
    for each in facts.accesses:
        if each.name in ("kotlinx.coroutines.channels.Channel.UNLIMITED", "Channel.UNLIMITED"):
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
