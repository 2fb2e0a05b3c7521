"""Code that runs while a lock is held, in the forms of each language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.nesting import Placed
from faultkit.code.languages.syntax import Node, Span
from faultkit.code.rules.vocabulary.failures import node_at

_LOCK = lazy_regex(r"lock|mutex|mtx|(?<![^\W_])(mu|guard|gate|cond|condition)(?![^\W\d_])", re.IGNORECASE)
"""`state_lock`, `mu`, `_gate`; no `gateway`, no `seconds`."""
_LAST_WORD = lazy_regex(r"[a-z](Mu|Guard|Gate|Cond|Condition)\d*$")
_NOT_LOCK = lazy_regex(r"block|clock|unlock|multi|mute", re.IGNORECASE)
_MADE = frozenset(
    ("threading.Lock", "threading.RLock", "threading.Condition", "multiprocessing.Lock", "asyncio.Lock")
)
_TAKES = {
    "go": {"Lock": "Unlock", "RLock": "RUnlock"},
    "python": {"acquire": "release"},
    "java": {"lock": "unlock", "lockInterruptibly": "unlock", "tryLock": "unlock"},
    "kotlin": {"lock": "unlock", "tryLock": "unlock"},
    "csharp": {
        "Enter": "Exit",
        "TryEnter": "Exit",
        "TryEnterWriteLock": "ExitWriteLock",
        "TryEnterReadLock": "ExitReadLock",
        "EnterWriteLock": "ExitWriteLock",
        "EnterReadLock": "ExitReadLock",
        "WaitAsync": "Release",
        "Wait": "Release",
    },
}
_READS = frozenset(("RLock", "EnterReadLock", "TryEnterReadLock"))


LOCK_WORDS = (
    b"ock",
    b"ynchronized",
    b"utex",
    b"Monitor",
    b"emaphore",
    b"ondition",
    b"acquire",
    b"WaitAsync",
    b"runExclusive",
)
"""Words of which one stands in each text that takes a lock."""


class Region(NamedTuple):
    """Where a lock is held."""

    lock: str
    """The lock as written; `self` for that of the object."""
    span: Span
    is_shared: bool = False
    """Whether it is held for reading only, so that others may hold it, too."""
    taken: Span | None = None
    """The call or head that takes it."""


@lru_cache(maxsize=4)
def lock_regions(facts: Facts) -> list[Region]:
    """Return where locks are held, in the order of the text."""
    if not any(word in facts.syntax.source for word in LOCK_WORDS):
        return []
    found = [*_managed(facts), *_called(facts)]
    if facts.language in ("java", "kotlin"):
        found += _of_objects(facts)
    return sorted(found, key=lambda each: (each.span.start, -each.span.end))


def is_lock_name(written: str) -> bool:
    """Return whether a variable is a lock by its name."""
    last = written.replace("()", "").rpartition(".")[2]
    if _LAST_WORD.search(last) is not None:
        return True
    return _LOCK.search(last) is not None and _NOT_LOCK.search(last) is None


def is_made_as_lock(written: str, facts: Facts) -> bool:
    """Return whether a variable or field holds a lock, by what this text assigns to it (Python)."""
    return facts.language == "python" and any(
        written in each.targets and each.call is not None and each.call.name in _MADE
        for each in facts.assignments
    )


def regions_around(place: Placed, regions: list[Region]) -> list[Region]:
    """Return the regions that a place is in, in their order."""
    return [each for each in regions if is_within(place.span, each.span)]


UNWRAPS = ("unwrap", "expect", "unwrap_or_else", "map_err", "ok", "context", "with_context")
"""Methods that give the guard of a lock, or the error of one that a thread has poisoned (Rust)."""


def runs_in_lock(place: Placed, facts: Facts) -> bool:
    """Return whether a place is in a function that is given to one of this text, which runs it in a lock:
    `post { jobs.add(job) }`."""
    regions = lock_regions(facts)
    return bool(regions) and any(
        regions_around(inner, regions)
        for call in facts.calls_around(place)
        for scope in facts.functions_named(call.method)
        for inner in facts.within(facts.calls, scope.body)
        if any(inner.written == each.name for each in scope.parameters)
    )


def is_called_in_lock(scope: Scope, facts: Facts, levels: int = 2) -> bool:
    """Return whether all callers of a function in this text hold a lock, and there is one."""
    regions = lock_regions(facts)
    callers = facts.callers_of(scope) if regions else ()
    return bool(callers) and all(
        regions_around(call, regions)
        or runs_in_lock(call, facts)
        or (
            levels > 1
            and (outer := facts.named_function_of(call)) is not None
            and outer is not scope
            and is_called_in_lock(outer, facts, levels - 1)
        )
        for call in callers
    )


def guard_of(taken: Call, facts: Facts) -> tuple[str, Span] | None:
    """Return the variable that keeps a lock, and the rest of the block that it lives in (Rust).

    None if the lock is given back at the end of its statement."""
    # `self.peers.lock().unwrap()` of threads; those of tasks are awaited.
    names, call = taken.assigned, taken
    while not names:
        later = next((each for each in facts.calls_on(call) if each.method in UNWRAPS), None)
        if later is None:
            break
        names, call = later.assigned, later
    block = node_at(taken.span, facts)
    while block is not None and block.type != "block":
        block = block.parent
    if len(names) != 1 or block is None:
        return None
    return names[0].removeprefix("mut ").strip(), Span(taken.span.end, block.end_byte)


def _managed(facts: Facts) -> Iterator[Region]:
    for call, body in facts.managed:
        if facts.language == "csharp":
            head = facts.text(call.span)
            if head.startswith("lock") or facts.text(
                Span(max(0, call.span.start - 6), call.span.start)
            ).startswith("lock"):
                name = re.sub(r"^lock\s*\(|\)\s*$", "", head.partition("{")[0].strip())
                yield Region(_own(name), body, taken=call.span)
        elif facts.language == "python" and (call.name in _MADE or is_lock_name(call.written)):
            yield Region(call.written, body, taken=call.span)


def _called(facts: Facts) -> Iterator[Region]:
    """Yield regions from a call that takes a lock to the last one that gives it back."""
    pairs = _TAKES.get(facts.language, {})
    for call in facts.calls_of_method(*pairs) if pairs else ():
        scope, name = facts.function_of(call), _lock_of(call)
        if (
            scope is None
            or not name
            or (facts.language == "go" and call.arguments)
            or not _is_lock(call, name)
        ):
            continue
        ends = _ends(call, name, pairs, scope, facts)
        if not ends and facts.language != "go":
            continue
        end = max(ends, default=scope.body.end)
        yield Region(name, Span(call.span.end, end), call.method in _READS, call.span)
    if facts.syntax.language.family == "javascript":
        for call in facts.calls_of_method("runExclusive"):
            yield Region(_own(call.receiver_written), call.span, taken=call.callee)
    if facts.language == "kotlin":
        for call in facts.calls_of_method("withLock", "read", "write"):
            if call.receiver_written and (call.method == "withLock" or is_lock_name(call.receiver_written)):
                yield Region(_own(call.receiver_written), call.span, call.method == "read", call.callee)


def _ends(call: Call, name: str, pairs: dict[str, str], scope: Scope, facts: Facts) -> list[int]:
    """Return where the lock is given back before it is taken again; the end of the function if deferred."""
    after = [
        each
        for each in facts.within(facts.calls, scope.body)
        if each.span.start > call.span.start and _lock_of(each) == name
    ]
    again = min(
        (each.span.start for each in after if each.method == call.method and each is not call), default=None
    )
    ends: list[int] = []
    for each in after:
        if each.method != pairs[call.method]:
            continue
        if facts.language == "go" and (each.is_deferred or facts.is_deferred(each)):
            return [scope.body.end]
        if again is None or each.span.start < again:
            ends.append(each.span.start)
    return ends


def _lock_of(call: Call) -> str:
    """Return the lock that a call takes or gives back."""
    if call.receiver_written == "Monitor" and call.positional:
        return call.positional[0].value.text
    return call.receiver_written


def _is_lock(call: Call, name: str) -> bool:
    if call.method in ("Wait", "WaitAsync"):
        return "Semaphore" in call.name or is_lock_name(name)
    return call.method not in ("acquire", "lock", "tryLock") or call.receiver in _MADE or is_lock_name(name)


def _of_objects(facts: Facts) -> Iterator[Region]:
    """Yield `synchronized` methods and blocks."""
    if facts.language == "kotlin":
        for scope in facts.scopes:
            if any(each.method == "Synchronized" for each in scope.decorators):
                yield Region("self", scope.body, taken=scope.head)
        for call in facts.calls_of_method("synchronized"):
            if call.arguments:
                yield Region(_own(call.arguments[0].value.text), call.span, taken=call.callee)
        return
    if b"synchronized" not in facts.syntax.source:
        return
    for scope in facts.scopes:
        if re.search(r"\bsynchronized\b", facts.text(scope.head)):
            yield Region("self", scope.body, taken=scope.head)
    todo: list[Node] = [facts.syntax.root]
    while todo:
        node = todo.pop()
        if node.type == "synchronized_statement" and (body := node.child_by_field_name("body")) is not None:
            head = Span(node.start_byte, body.start_byte)
            name = facts.text(head).removeprefix("synchronized").strip().strip("()")
            yield Region(_own(name), Span(body.start_byte, body.end_byte), taken=head)
        todo += node.named_children


def _own(name: str) -> str:
    return re.sub(r"^this\b", "self", name.strip())
