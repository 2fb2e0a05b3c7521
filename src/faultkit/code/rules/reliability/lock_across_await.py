"""Finds locks of threads that are held while a task waits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import KOTLIN, LIKELY, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.failures import node_at
from faultkit.code.rules.vocabulary.lock_regions import UNWRAPS, guard_of, lock_regions
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_TAKES = ("lock", "read", "write")
_OF_THREADS = lazy_regex(r"^threading\.(Lock|RLock|Semaphore|BoundedSemaphore|Condition)$")
_JAVA_LOCKS = lazy_regex(r"(^|\.)(ReentrantLock|ReentrantReadWriteLock|StampedLock|Semaphore)$")
_SUSPENDS = frozenset(
    ("delay", "await", "awaitAll", "withContext", "join", "receive", "send", "collect", "yield")
)
_SERVICES = lazy_regex(r"(Client|Repository|Store|Gateway|Api|Service|Dao|Publisher|Mailer|Provider)$")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "python":
        yield from _python(facts)
    elif facts.language == "kotlin":
        yield from _kotlin(facts)
    else:
        yield from _rust(facts)


def _rust(facts: Facts) -> Iterator[Hit]:
    yield from _of_maps(facts)
    for taken in facts.calls_of_method(*_TAKES):
        scope = facts.function_of(taken)
        if taken.arguments or taken.is_awaited or scope is None or not scope.is_async:
            continue
        unwrapped = next((each for each in facts.calls_on(taken) if each.method in UNWRAPS), None)
        if unwrapped is None and not _is_parking_lot(taken, facts):
            continue
        guard = guard_of(taken, facts)
        if guard is None or guard[0] == "_" or (unwrapped is not None and unwrapped.is_awaited):
            continue
        if "await_holding_lock" in facts.text(Span(max(0, scope.span.start), scope.body.start)):
            continue
        waits = _first_wait(guard[0], guard[1], scope, facts)
        if waits is not None:
            what = f"{guard[0]} holds the lock {taken.receiver_written} while {waits.written}() is awaited"
            yield Hit(taken.span if unwrapped is None else unwrapped.span, what, LIKELY)


_OF_MAPS = ("get", "get_mut", "entry", "iter", "iter_mut")
_ENTRIES = frozenset(
    ("or_insert", "or_insert_with", "or_default", "or_try_insert_with", "ok_or", "ok_or_else", *UNWRAPS)
)
"""Methods after which the part of the map is still locked."""


def _of_maps(facts: Facts) -> Iterator[Hit]:
    """Yield references into a map of dashmap, each of which keeps a part of that locked."""
    if not facts.imports_any("dashmap"):
        return
    maps = {
        name.removeprefix("self.")
        for each in facts.assignments
        for name in each.targets
        if re.search(r"\bDashMap\b", facts.text(each.span))
    }
    for taken in facts.calls_of_method(*_OF_MAPS):
        scope, owner = facts.function_of(taken), taken.receiver_written.rpartition(".")[2]
        if scope is None or not scope.is_async or owner not in maps:
            continue
        held = taken
        while not held.assigned and (
            later := next((one for one in facts.calls_on(held) if one.method in _ENTRIES), None)
        ):
            held = later
        rest = _block_of(held, facts)
        names = re.findall(r"\w+", held.assigned[0]) if len(held.assigned) == 1 else []
        if rest is None or not names or names[-1] == "_":
            continue
        waits = _first_wait(names[-1], rest, scope, facts)
        if waits is not None and not _is_value(names[-1], held, facts):
            kept = f"{names[-1]} keeps a part of {taken.receiver_written} locked"
            what = f"{kept} while {waits.written}() is awaited"
            yield Hit(Span(taken.span.start, waits.span.end), what, LIKELY)


_COPIES = lazy_regex(r"\.(clone|copied|cloned|map)\(|=\s*\*")


def _is_value(name: str, held: Call, facts: Facts) -> bool:
    """Return whether a copy was made of what the map holds."""
    made = [each for each in facts.assignments_to(name, held) if is_within(held.span, each.span)]
    return any(
        re.search(r"\.(clone|copied|cloned|map|value\(\)\.clone)\(|=\s*\*", facts.text(each.span))
        for each in made
    )


def _block_of(call: Call, facts: Facts) -> Span | None:
    """Return where a guard lives: the rest of its block, or the body of `if let` and `while let`."""
    node = node_at(call.span, facts)
    while node is not None and node.type not in ("block", "if_expression", "while_expression"):
        node = node.parent
    return None if node is None else Span(call.span.end, node.end_byte)


def _is_parking_lot(taken: Call, facts: Facts) -> bool:
    return taken.method == "lock" and facts.imports_any("parking_lot")


def _first_wait(name: str, rest: Span, scope: Scope, facts: Facts) -> Call | None:
    """Return the first awaited call between the lock and the end of its block, or of its guard."""
    for each in facts.within(facts.calls, rest):
        if each.method == "drop" and re.search(rf"\b{re.escape(name)}\b", facts.text(each.span)):
            return None
        if each.is_awaited and facts.function_of(each) is scope:
            return each
    return None


def _python(facts: Facts) -> Iterator[Hit]:
    """Yield locks of threading that a coroutine holds while it waits."""
    made = {
        name
        for each in facts.assignments
        if each.call is not None and _OF_THREADS.match(each.call.name)
        for name in each.targets
    }
    for region in lock_regions(facts) if made else ():
        scope = facts.function_of(region)
        if region.lock not in made or scope is None or not scope.is_async or region.taken is None:
            continue
        for step in facts.within(facts.steps, region.span):
            if step.kind == "await" and facts.function_of(step) is scope:
                what = f"{region.lock} is a lock of threads, and is held while this coroutine waits"
                yield Hit(region.taken, what, LIKELY)
                break


def _kotlin(facts: Facts) -> Iterator[Hit]:
    """Yield locks of java.util.concurrent that a suspended function holds while it calls another."""
    made = {
        name.removeprefix("self.")
        for each in facts.assignments
        if each.call is not None
        and _JAVA_LOCKS.search(each.call.name)
        and not each.call.name.startswith("kotlinx.")
        for name in each.targets
    }
    suspended = {scope.short_name for scope in facts.scopes if scope.is_async and scope.name}
    for region in lock_regions(facts) if made else ():
        scope = facts.named_function_of(region)
        if region.lock.removeprefix("self.") not in made or region.taken is None:
            continue
        if scope is None or not scope.is_async:
            continue
        for call in facts.within(facts.calls, region.span):
            own = call.method in suspended and call.receiver in ("", "self")
            asks = _SERVICES.search(type_of_receiver(call, facts) or call.receiver) is not None
            if own or asks or (call.method in _SUSPENDS and call.receiver_written != region.lock):
                what = f"{region.lock} is a lock of threads, and is held while {call.written}() is suspended"
                yield Hit(region.taken, what, LIKELY)
                break


RULE = Rule(
    id="FK-R071",
    slug="lock-held-across-await",
    title="Lock of threads held across an await",
    why="Other tasks that need the lock block their threads while this one waits: with few threads, all of "
    "them stand still, and the task that could go on has none to run on.",
    fix="End the guard before the await, in a block of its own or by drop(), or use the lock of the runtime.",
    kind="reliability",
    severity="high",
    languages=(*RUST, *PYTHON, *KOTLIN),
    check=_check,
    words=(b"lock", b"Lock", b"Semaphore", b"Condition", b".read()", b".write()", b"DashMap"),
)
