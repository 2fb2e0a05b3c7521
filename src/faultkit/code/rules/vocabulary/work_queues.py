"""Queues that belong to something else: to an executor, a block of a data flow, a sink, a limiter of tasks.

They take any number of items unless a size is set where they are made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.groups import grouped
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.long_lives import is_long_lived
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import frequency_of
from faultkit.code.rules.vocabulary.stores import drops_when_large
from faultkit.code.rules.vocabulary.test_doubles import IS_FAKE
from faultkit.code.rules.vocabulary.waits import is_sleep


class _Maker(NamedTuple):
    """Calls that make something with a queue of its own."""

    methods: tuple[str, ...]
    name: NamePattern
    bound: re.Pattern[str]
    """What sets a size, in the arguments or in the function around them."""
    what: str


_JVM = (
    _Maker(
        ("ThreadPoolTaskExecutor", "ThreadPoolTaskExecutorBuilder", "TaskExecutorBuilder"),
        NamePattern(r"(^|\.)(ThreadPoolTaskExecutor|ThreadPoolTaskExecutorBuilder|TaskExecutorBuilder)$"),
        lazy_regex(r"[qQ]ueueCapacity|[cC]oncurrencyLimit|initializeExecutor|createQueue"),
        "has a queue without a size: it never refuses a task, and never has more than its core threads",
    ),
    _Maker(
        ("onBackpressureBuffer",),
        NamePattern(r"(?<!multicast\(\))\.onBackpressureBuffer$"),
        lazy_regex(r"onBackpressureBuffer\(\s*[^\s)]"),
        "keeps any number of items for a slow subscriber",
    ),
)
_MAKERS: dict[str, tuple[_Maker, ...]] = {
    "java": _JVM,
    "kotlin": _JVM,
    "csharp": (
        _Maker(
            ("ActionBlock", "BufferBlock", "TransformBlock", "TransformManyBlock", "BatchBlock"),
            NamePattern(r"(^|\.)\w+Block$"),
            lazy_regex(r"BoundedCapacity|[oO]ptions\s*[,)]"),
            "takes any number of items",
        ),
    ),
    "python": (
        _Maker(
            ("create_memory_object_stream", "open_memory_channel"),
            NamePattern(r"^(anyio\.create_memory_object_stream|trio\.open_memory_channel)$"),
            lazy_regex(r"^(?!.*\binf\b)", re.DOTALL),
            "takes any number of items",
        ),
    ),
}
_UNLIMITED = lazy_regex(
    r"\b(?:Channel|MutableSharedFlow|buffer|produce|actor|broadcastIn)\b(?:<[^()\n]*>)?\([^(){};]*"
    r"\b(?:UNLIMITED|Int\.MAX_VALUE)\b"
)
_POOLS = {
    "java": NamePattern(
        r"(^|\.)Executors\.(newFixedThreadPool|newSingleThreadExecutor|newWorkStealingPool)$"
    ),
    "python": NamePattern(r"^concurrent\.futures(\.thread|\.process)?\.(Thread|Process)PoolExecutor$"),
    "javascript": NamePattern(r"^(p-queue(\.default)?|PQueue|fastq(\.promise)?|async\.queue)$"),
}
_POOLS["kotlin"] = _POOLS["java"]
_GIVES = {
    "java": ("execute", "submit", "runAsync", "supplyAsync"),
    "python": ("submit", "apply_async"),
    "javascript": ("add", "push", "unshift"),
}
_GIVES["kotlin"] = _GIVES["java"]
_BOUNDS = lazy_regex(
    r"semaphore|tryAcquire|getQueue|remainingCapacity|backpressure|throttl|rate_?limit|work_queue|qsize|onSizeLessThan"
    r"|\.(?:size(?:\(\))?|length\(\)|pending|idle\(\)|saturated)\s*(?:>|<|\+)|in_?flight|\bpending\b|_full\b|isFull|too_?many"
    r"|TooMany",
    re.IGNORECASE,
)
_ONCE = frozenset(("start", "init", "run", "main", "close", "stop", "shutdown", "__init__", "constructor"))


def queues_without_size(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield what makes a queue without a size as a part of something else, and what follows."""
    for maker in _MAKERS.get(facts.language, ()):
        for call in facts.calls_of_method(*maker.methods):
            if facts.language == "csharp" and not call.constructs:
                continue  # `hash.TransformBlock(…)` is another method.
            if maker.name.search(call.name) and not maker.bound.search(_text_of_making(call, facts)):
                yield call.span, f"{call.written}() {maker.what}"
    if facts.language == "kotlin" and facts.syntax.has_any(b"unlimited", b"int.max_value"):
        for found in _UNLIMITED.finditer(facts.whole_text):
            yield facts.syntax.place_of(found), "a channel of unlimited size takes any number of items"
    yield from _pools(facts)
    if facts.language in _BUFFERS:
        yield from _buffers(facts)
    yield from _member_queues(facts)


_BUFFERS = {
    "python": (("collections.deque",), ("append", "appendleft"), ("popleft", "pop")),
    "csharp": (("ConcurrentQueue", "Queue"), ("Enqueue",), ("TryDequeue", "Dequeue")),
}
"""What makes a queue in memory, what gives to it, and what takes from it."""
_SIZE = lazy_regex(r"\.Count\b\s*(?:>|<|>=|\+)|\blen\(|maxlen|\.qsize|IsFull|[cC]apacity|MAX_|Max[A-Z]")


def _buffers(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield members that callers fill, and that a loop empties as fast as it can store or send the items."""
    makers, gives, takes = _BUFFERS[facts.language]
    made = [each for each in facts.assignments if each.call is not None and each.call.name in makers]
    if not made or _SIZE.search(facts.whole_text):
        return
    by_owner = [
        grouped(facts.calls_of_method(*methods), lambda one: one.receiver_written.removeprefix("self."))
        for methods in (gives, takes)
    ]
    for each in made:
        call = each.call
        if call is None or call.arguments or len(each.targets) != 1 or not each.owner:
            continue
        name = each.targets[0].removeprefix("self.")
        if IS_FAKE.search(each.owner):
            continue
        given = [one for one in by_owner[0].get(name, ()) if _has_caller(one, facts)]
        taken = [one for one in by_owner[1].get(name, ()) if _stores(one, facts)]
        if given and taken:
            yield (
                call.span,
                f"{name} takes any number of items while {taken[0].written}() waits for the others",
            )


class _Kept(NamedTuple):
    """Lists of a language that serve as a queue."""

    made: re.Pattern[str]
    gives: tuple[str, ...]
    takes: tuple[str, ...]


_LISTS = {
    "javascript": _Kept(lazy_regex(r"^(\[\]|new Array(<[^()]*>)?\(\))$"), ("push",), ("shift", "splice")),
    "java": _Kept(
        lazy_regex(r"^new (java\.util\.)?(ArrayDeque|LinkedList)<[^()]*>\(\)$"),
        ("add", "offer", "addLast", "push", "offerLast"),
        ("poll", "pollFirst", "remove", "removeFirst", "pop"),
    ),
    "kotlin": _Kept(
        lazy_regex(r"^(ArrayDeque|LinkedList|mutableListOf)<[^()]*>\(\)$"),
        ("add", "addLast"),
        ("removeFirst", "removeFirstOrNull", "removeAt", "poll"),
    ),
}


def _member_queues(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield lists of an object that callers fill at once, and that a loop empties as fast as it can send."""
    kept = _LISTS.get(facts.syntax.language.family)
    if kept is None:
        return
    taken = facts.calls_of_method(*kept.takes)
    names = {_member_of(one) for one in taken} & {
        _member_of(one) for one in facts.calls_of_method(*kept.gives)
    }
    if not names:
        return
    by_taken, by_given = grouped(taken, _member_of), grouped(facts.calls_of_method(*kept.gives), _member_of)
    for each in facts.assignments:
        if not each.owner or len(each.targets) != 1 or IS_FAKE.search(each.owner):
            continue
        name = each.targets[0].removeprefix("self.")
        if name not in names or each.value is None or not kept.made.match(each.value.text):
            continue
        drains = [one for one in by_taken[name] if _stores(one, facts)]
        gives = [one for one in by_given[name] if _has_caller(one, facts) and not _waits_for_room(one, facts)]
        if gives and drains and not drops_when_large(name, facts):
            what = f"{name} takes any number of items while {drains[0].written}() waits for the others"
            yield each.span, what


def _member_of(call: Call) -> str:
    return call.receiver_written.removeprefix("self.").removeprefix("this.")


def _waits_for_room(call: Call, facts: Facts) -> bool:
    """Return whether the function that adds an item waits for something: it may wait for the queue."""
    scope = facts.named_function_of(call)
    return scope is not None and any(each.is_awaited for each in facts.own(facts.calls, scope))


def _has_caller(call: Call, facts: Facts) -> bool:
    """Return whether a function adds what it was given, once."""
    scope = facts.named_function_of(call)
    if scope is None or not call.positional or facts.loops_around(call):
        return False
    return any(each.name == call.positional[0].value.text for each in scope.parameters)


def _stores(call: Call, facts: Facts) -> bool:
    """Return whether a loop awaits something for each item that it takes."""
    around = facts.loops_around(call)
    inside = around[0].span if around else call.span
    if facts.language == "java" and call.assigned:
        return bool(around) and any(
            any(one.value.text == call.assigned[0] for one in each.arguments)
            for each in facts.within(facts.calls, inside)
        )
    return bool(around) and any(
        each.is_awaited and each.arguments and not is_sleep(each)
        for each in facts.within(facts.calls, inside)
    )


def _text_of_making(call: Call, facts: Facts) -> str:
    """Return a call, the variables in it, and what is called on its result where it is made."""
    scope = facts.function_of(call)
    if not call.constructs or facts.language not in ("java", "kotlin"):
        return facts.text_with_values(call) if facts.language == "csharp" else facts.text(call.span)
    if scope is None:
        names = {each.targets[0] for each in facts.assignments if each.call is call}
        return facts.whole_text if names else facts.text(call.span)
    outer = facts.named_function_of(call)
    return facts.text((outer or scope).span)


def _pools(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield pools of a fixed size to which callers give work and do not wait: their queue has no end."""
    family = facts.syntax.language.family
    pattern = _POOLS.get(family)
    if pattern is None:
        return
    for each in facts.assignments:
        call = each.call
        if call is None or not each.targets or not pattern.search(call.name):
            continue
        if each.scope is not None and not each.targets[0].startswith("self."):
            continue
        if family in ("java", "kotlin") and len(call.arguments) > 1 and "ThreadFactory" not in call.name:
            factory = call.arguments[1].value.text
            if re.search(r"[qQ]ueue", factory):
                continue
        name = each.targets[0].removeprefix("self.")
        given = [one for one in facts.calls_of_method(*_GIVES[family]) if _is_given(one, name, facts)]
        if given and not _BOUNDS.search(facts.whole_text):
            what = f"the queue of {name} takes any number of tasks, and {given[0].written}() never waits"
            yield call.span, what


def _is_given(call: Call, name: str, facts: Facts) -> bool:
    """Return whether a task of a caller is put into a pool, and nothing waits for it."""
    on = call.receiver_written.removeprefix("self.") == name
    if call.method in ("runAsync", "supplyAsync"):
        on = any(each.value.text.removeprefix("this.") == name for each in call.positional[1:])
    if not on or not (call.is_discarded or _is_void(call, facts)) or call.is_awaited:
        return False
    return _is_of_caller(call, facts)


def _is_void(call: Call, facts: Facts) -> bool:
    before = facts.syntax.source[max(0, call.span.start - 5) : call.span.start]
    return before == b"void "


def _is_of_caller(call: Call, facts: Facts) -> bool:
    """Return whether a task works on what its function was given."""
    scope = facts.named_function_of(call) or facts.function_of(call)
    if scope is None or scope.short_name in _ONCE:
        return False
    if (
        facts.syntax.language.family not in ("java", "kotlin")
        and frequency_of(call, facts) not in ("request", "message")
        and not is_long_lived(scope.owner.rpartition(".")[2], facts)
    ):
        return False
    text = " ".join(each.value.text for each in call.arguments)
    names = {each.name for each in scope.parameters} - {"self", "cls"}
    names |= {
        target
        for each in facts.within(facts.assignments, scope.body)
        if each.value is not None
        and any(re.search(rf"\b{re.escape(one)}\b", each.value.text) for one in names)
        for target in re.findall(r"\w+", " ".join(each.targets))
    }
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in names)
