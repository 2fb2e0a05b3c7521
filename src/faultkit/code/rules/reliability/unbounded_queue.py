"""Finds queues without a maximum size.

Evidence: an executor takes its tasks from the queue; or the file also answers requests, streams to clients,
uses a client of a store, or waits for something else between two items that it takes from a queue. Other
queues may hold a few commands of the program itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.stores import has_size_check
from faultkit.code.rules.vocabulary.text_pattern import TextPattern
from faultkit.code.rules.vocabulary.work_queues import queues_without_size

_QUEUES = (
    "queue.Queue",
    "queue.LifoQueue",
    "queue.PriorityQueue",
    "queue.SimpleQueue",
    "asyncio.Queue",
    "asyncio.PriorityQueue",
    "asyncio.LifoQueue",
    "multiprocessing.Queue",
    "multiprocessing.JoinableQueue",
    "multiprocessing.SimpleQueue",
    "janus.Queue",
    "java.util.concurrent.LinkedBlockingQueue",
    "java.util.concurrent.LinkedBlockingDeque",
    "java.util.concurrent.ConcurrentLinkedQueue",
    "java.util.concurrent.ConcurrentLinkedDeque",
    "java.util.concurrent.LinkedTransferQueue",
    "java.util.concurrent.PriorityBlockingQueue",
    "java.util.concurrent.DelayQueue",
    "std.sync.mpsc.channel",
    "tokio.sync.mpsc.unbounded_channel",
    "futures.channel.mpsc.unbounded",
    "futures_channel.mpsc.unbounded",
    "crossbeam_channel.unbounded",
    "crossbeam.channel.unbounded",
    "async_channel.unbounded",
    "flume.unbounded",
    "kanal.unbounded",
    "kanal.unbounded_async",
    "postage.mpsc.unbounded",
    "Channel.CreateUnbounded",
    "BlockingCollection",
    "System.Threading.Channels.Channel.CreateUnbounded",
)
_SIMPLE = (
    "SimpleQueue", "ConcurrentLinkedQueue", "ConcurrentLinkedDeque", "channel", "PriorityBlockingQueue",
    "DelayQueue", "LinkedTransferQueue",
)  # fmt: skip
_NEVER_BOUNDED = frozenset(
    ("CreateUnbounded", "PriorityBlockingQueue", "DelayQueue", "LinkedTransferQueue", "SimpleQueue")
)
"""Their arguments are options, or a first size that grows."""
_KEPT_IN = lazy_regex(r"^new\s+Concurrent(Queue|Bag|Stack)\b")

_FEW = lazy_regex(
    r"idle|free|avail|pool|result|repl(y|ies)|answer|response|error|(^|_)ids?$|Ids?$|count|stats|sink|done",
    re.I,
)


_FLOW = (b"prefetch", b"flow_control", b"flowcontrol", b"basic_qos", b"max_messages", b"maxoutstanding")
"""One of them is in each text whose broker sends no more until what it sent before has been answered."""


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.syntax.has_any(*_FLOW):
        return
    for span, what in queues_without_size(facts):
        yield Hit(span, what, POSSIBLE)
    for call in facts.calls_named(*_QUEUES):
        few = _has_few(call) or _takes_one(call, facts) or _is_measured(call, facts)
        if not _is_bounded(call) and not _only_drained(call, facts) and not few:
            # A simple queue cannot be bounded, and is often used to hand over one answer.
            sure = call.method not in _SIMPLE and (_may_be_flooded(facts) or _may_pile_up(call, facts))
            what = f"{call.written}() takes any number of items"
            yield Hit(call.span, what, LIKELY if sure else POSSIBLE)


_SLOW = NamePattern(
    r"sqlx|diesel|sea_orm|tokio_postgres|postgres|clickhouse|mongo|mysql|redis|reqwest|lettre|smtp|mail|kafka|mqtt|scylla"
    r"|cassandra|elasticsearch|influx|dynamo|aws_sdk|boto|httpx|aiohttp|requests|psycopg|asyncpg|sqlalchemy|motor|Npgsql"
    r"|EntityFramework|Dapper|SqlClient|System\.Net\.Http|java\.sql|javax\.sql|jakarta\.persistence|springframework\.jdbc"
    r"|springframework\.web|java\.net\.http|okhttp",
    re.IGNORECASE,
)
"""Modules of clients of stores and services, which are slower than memory."""
_STREAMS = TextPattern(
    r"StreamingResponse|EventSourceResponse|text/event-stream|SseEmitter|WebSocketSession|ServerEndpoint|WebSocketServer|websocket\.accept"
)
_TAKES = frozenset(("recv", "recv_many", "recv_async", "get", "take", "poll", "Take", "ReadAsync", "receive"))


def _may_pile_up(call: Call, facts: Facts) -> bool:
    """Return whether a pool takes its tasks from the queue, and callers give it any number of them.

    A pool that is to grow when the queue is full does not, as that never is. One with a single size is a
    queue with workers, as `newFixedThreadPool` makes them: then the text must show who gives it tasks."""
    names = {name.removeprefix("self.").removeprefix("this.") for name in call.assigned}
    for each in facts.calls_with_method(_EXECUTOR.search):
        if any(
            argument.value.span == call.span or argument.value.text.removeprefix("this.") in names
            for argument in each.arguments
        ):
            sizes = [argument.value.text for argument in each.positional[:2]]
            if len({*sizes}) > 1 or _is_fed(each, facts):
                return True
    return False


def _is_fed(pool: Call, facts: Facts) -> bool:
    """Return whether a function that is given something has the pool work on it."""
    names = {name.removeprefix("self.").removeprefix("this.") for name in pool.assigned}
    for each in facts.calls_of_method("submit", "execute", "supplyAsync", "runAsync"):
        scope, used = facts.named_function_of(each), {each.receiver_written.removeprefix("this.")}
        # `CompletableFuture.runAsync(task, pool)`
        used.update(argument.value.text.removeprefix("this.") for argument in each.positional[1:])
        if scope is None or not each.arguments or names.isdisjoint(used):
            continue
        text = each.arguments[0].value.text
        if any(re.search(rf"\b{re.escape(one.name)}\b", text) for one in scope.parameters):
            return True
    return False


_EXECUTOR = lazy_regex(r"ThreadPool(Task)?Executor$")


@lru_cache(maxsize=4)
def _may_be_flooded(facts: Facts) -> bool:
    """Return whether the file shows that items come from outside, or that their reader is slow."""
    if facts.routes() or _STREAMS.search(facts.whole_text):
        return True
    return any(map(_SLOW.search, facts.imports.all_modules)) or _has_slow_reader(facts)


def _has_slow_reader(facts: Facts) -> bool:
    """Return whether a loop that takes items from a queue waits for something else in each round."""
    for taken in facts.calls_of_method(*_TAKES):
        for loop in facts.loops_around(taken) or _loops_over(taken, facts):
            inside = facts.within(facts.calls, loop.body)
            if taken.is_awaited and any(
                each.is_awaited and each.method not in _TAKES and not _PAUSES.search(each.method)
                for each in inside
            ):
                return True
    return False


_PAUSES = lazy_regex(r"sleep|tick|delay|timeout|wait|notified|lock|join|send|emit", re.IGNORECASE)


def _loops_over(taken: Call, facts: Facts) -> tuple[Loop, ...]:
    """Return the loop whose condition takes the items: `while let Some(item) = queue.recv().await`."""
    return tuple(
        loop
        for loop in facts.loops
        if is_within(taken.span, loop.span) and not is_within(taken.span, loop.body)
    )


def _has_few(call: Call) -> bool:
    """Return whether the queue holds, by its name, no work: what is idle, or answers to what was asked."""
    return any(_FEW.search(name) for name in call.assigned)


def _is_measured(call: Call, facts: Facts) -> bool:
    """Return whether its size is compared with a limit: `if (queue.size() > most) queue.poll()`."""
    names = [name.removeprefix("self.").removeprefix("this.") for name in call.assigned]
    return any(name.isidentifier() and has_size_check(name, facts.whole_text) for name in names)


def _takes_one(call: Call, facts: Facts) -> bool:
    """Return whether the sender is used once, and not in a loop (Rust): it hands over one value."""
    scope = facts.function_of(call)
    if facts.language != "rust" or scope is None or not call.assigned:
        return False
    if re.search(r",\s*_\w*\s*\)\s*=\s*$", facts.text(Span(scope.body.start, call.span.start))):
        return True  # There is no receiver, so that nothing can be sent.
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


def _is_bounded(call: Call) -> bool:
    if call.method in _NEVER_BOUNDED:
        return False
    # A collection of C# that is given is what the items are kept in: its size is another argument.
    sizes = [each for each in call.arguments if not _KEPT_IN.search(each.value.text)]
    size = call.argument("maxsize", place=0)
    if call.method == "BlockingCollection":
        return bool(sizes)
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
    languages=EVERY_LANGUAGE,
    check=_check,
)
