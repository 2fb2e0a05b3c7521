"""Finds locks that wait for each other, or for themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.lock_regions import LOCK_WORDS, Region, guard_of, lock_regions

_ORDERS = lazy_regex(
    r"\bsort|identityHashCode|compareTo|\bmin\(|\bmax\(|[<>]=?\s*\w+(\.\w+)*\.?\w*|tryLock|try_lock",
    re.IGNORECASE,
)
"""What decides which of two locks is taken first."""


_SUBMITS = ("submit", "execute", "invokeAll", "map")
_GETS = lazy_regex(r"\.(result|get|join)\(|\binvokeAll\(|\bwait\(|as_completed\(")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language in (*PYTHON, *JAVA, *KOTLIN):
        yield from _of_pools(facts)
    regions = _guards(facts) if facts.language == "rust" else lock_regions(facts)
    if not regions:
        return
    yield from _orders(regions, facts)
    yield from _of_parameters(regions, facts)
    if facts.language in (*GO, *PYTHON):
        yield from _again(regions, facts)


def _of_pools(facts: Facts) -> Iterator[Hit]:
    """Yield tasks that a task gives to the pool that it runs on, and waits for."""
    given = [call for call in facts.calls_of_method(*_SUBMITS) if call.receiver_written and call.positional]
    for inner in given:
        scope = facts.named_function_of(inner)
        if scope is None or not _GETS.search(facts.text(Span(inner.span.start, scope.body.end))):
            continue
        if any(inner.receiver_written in each.assigned for each in facts.own(facts.calls, scope)):
            continue  # Each run of the function has a pool of its own.
        name = re.compile(rf"(^|[\s.:(>]){re.escape(scope.short_name)}(\(|$)")
        for outer in given:
            if outer.receiver_written != inner.receiver_written or facts.named_function_of(outer) is scope:
                continue
            if name.search(outer.positional[0].value.text) and _is_bounded(inner.receiver_written, facts):
                pool = facts.in_words_of(inner, inner.receiver_written)
                what = f"{scope.short_name}() runs on {pool} and waits for it: no thread may be left"
                yield Hit(inner.span, what, LIKELY)
                break


def _is_bounded(pool: str, facts: Facts) -> bool:
    """Return whether a pool has a fixed number of threads."""
    bare = pool.removeprefix("self.").removeprefix("this.")
    made = [
        each.call
        for each in facts.assignments
        if each.call is not None and (bare in each.targets or f"self.{bare}" in each.targets)
    ]
    # A function of this text may make it.
    for call in tuple(made):
        own = facts.functions_named(call.method)
        made += [each for scope in own for each in facts.within(facts.calls, scope.body) if each.is_returned]
    return any(_BOUNDED.search(call.name) for call in made)


_BOUNDED = lazy_regex(r"ThreadPoolExecutor$|ProcessPoolExecutor$|newFixedThreadPool$|newSingleThread\w*$")


def _guards(facts: Facts) -> list[Region]:
    """Return where guards of locks live: from `let a = self.a.lock()` to the end of the block (Rust)."""
    found: list[Region] = []
    for taken in facts.calls_of_method("lock", "write"):
        if taken.arguments or not taken.receiver_written:
            continue
        guard = guard_of(taken, facts)
        if guard is None or guard[0] == "_":
            continue
        name, rest = guard
        dropped = re.search(rf"\bdrop\(\s*{re.escape(name)}\b", facts.text(rest))
        end = rest.end if dropped is None else facts.syntax.place_of(dropped, rest.start).start
        found.append(Region(taken.receiver_written, Span(rest.start, end), taken=taken.span))
    return sorted(found, key=lambda each: each.span.start)


def _pairs(regions: list[Region], facts: Facts) -> Iterator[tuple[Region, Region, Scope]]:
    """Yield two locks of which the second is taken while the first is held, in one function."""
    for at, outer in enumerate(regions):
        scope = facts.named_function_of(outer)
        for inner in regions[at + 1 :]:
            if inner.span.start >= outer.span.end:
                break
            if inner.taken is None or scope is None or facts.named_function_of(inner) is not scope:
                continue
            if inner.lock != outer.lock and not (inner.is_shared and outer.is_shared):
                yield outer, inner, scope


def _orders(regions: list[Region], facts: Facts) -> Iterator[Hit]:
    """Yield locks of one object that two methods take in different orders."""
    seen: dict[tuple[str, str, str], Scope] = {}
    for outer, inner, scope in _pairs(regions, facts):
        first, second = _own(outer.lock, facts), _own(inner.lock, facts)
        if not first or not second or inner.taken is None:
            continue
        other = seen.get((scope.owner, second, first))
        if other is not None and other is not scope:
            what = f"{inner.lock} is taken while {outer.lock} is held; {other.short_name}() takes it first"
            yield Hit(Span(inner.taken.start, min(inner.taken.end, inner.span.start)), what, LIKELY)
        seen.setdefault((scope.owner, first, second), scope)


def _own(lock: str, facts: Facts) -> str:
    """Return the name of a lock that is a field or a global; empty for a parameter or local variable."""
    bare = lock.removeprefix("self.").removeprefix("this.")
    if not re.fullmatch(r"\w+", bare) or bare == "self":
        return ""
    return bare if bare != lock or lock in facts.file_names or f"self.{lock}" in facts.file_names else ""


def _of_parameters(regions: list[Region], facts: Facts) -> Iterator[Hit]:
    """Yield locks of two parameters of the same type, in the order in which they are given."""
    for outer, inner, scope in _pairs(regions, facts):
        types = {each.name: each.type for each in scope.parameters}
        first, second = (re.split(r"[.\[]", each.lock)[0] for each in (outer, inner))
        if first == second or first not in types or second not in types or types[first] != types[second]:
            continue
        if outer.lock.removeprefix(first) != inner.lock.removeprefix(second) or inner.taken is None:
            continue
        if _ORDERS.search(facts.text(Span(scope.body.start, inner.taken.start))):
            continue
        what = f"{inner.lock} is taken while {outer.lock} is held: with the two swapped, both wait for ever"
        yield Hit(Span(inner.taken.start, min(inner.taken.end, inner.span.start)), what, LIKELY)


def _again(regions: list[Region], facts: Facts) -> Iterator[Hit]:
    """Yield calls of methods that take a lock which the caller holds, and which is not one to take twice."""
    takes = {
        (scope, each.lock): each
        for each in reversed(regions)
        if (scope := facts.function_of(each)) is not None
        and scope.is_method
        and not scope.is_async
        and not any("lock" in one.name.lower() for one in scope.parameters)
        and not any(one.span.start < each.span.start for one in _given_back(each, scope, facts))
        and _is_plain(each.lock, facts)
    }
    methods = {(scope.owner, scope.short_name): scope for scope in facts.scopes if scope.is_method}
    for region in regions:
        scope = facts.function_of(region)
        if scope is None or not scope.owner or not region.lock.startswith("self."):
            continue
        for call in facts.within(facts.calls, region.span):
            if not _is_own(call) or call.is_launched or facts.function_of(call) is not scope:
                continue
            called = methods.get((scope.owner, call.method))
            other = None if called is None else takes.get((called, region.lock))
            if called is None or other is None or called is scope or (region.is_shared and other.is_shared):
                continue
            if any(
                each.span.start > region.span.start and each.span.end <= call.span.start
                for each in _given_back(region, scope, facts)
            ):
                continue
            what = f"{call.written}() takes {region.lock}, which is held here: it waits for ever"
            yield Hit(call.span, what, LIKELY)


def _is_plain(lock: str, facts: Facts) -> bool:
    """Return whether a lock is a field that cannot be taken twice by one thread."""
    if facts.language == "go":
        return lock.startswith("self.")
    return any(
        each.call is not None and each.call.name == "threading.Lock" and lock in each.targets
        for each in facts.assignments
    )


def _is_own(call: Call) -> bool:
    return call.receiver == "self" or call.receiver_written == "self"


def _given_back(region: Region, scope: Scope, facts: Facts) -> Iterator[Call]:
    """Yield calls that give the lock back before its region ends, in one of several branches."""
    for call in facts.own(facts.calls_of_method("Unlock", "RUnlock", "release"), scope):
        if call.receiver_written == region.lock and not call.is_deferred:
            yield call


RULE = Rule(
    id="FK-R123",
    slug="deadlock",
    title="Locks that wait for each other",
    why="Each of two threads holds what the other waits for: both stand still for ever, and so does all that "
    "needs either lock.",
    fix="Take locks in one order everywhere, such as that of their ids, and call no method that takes a lock "
    "which is held.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
    words=(*LOCK_WORDS, b"submit", b"invokeAll"),
)
