"""Finds locks and permits without effect: given back at once, or made by each call for itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Place, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.lock_regions import UNWRAPS
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import is_static

_GUARDS = frozenset(
    ("acquire", "acquire_owned", "acquire_many", "acquire_many_owned", "lock", "lock_owned", "read", "write")
)
_PERMITS = frozenset(("acquire", "acquire_owned", "acquire_many", "acquire_many_owned"))
_ENDS_GUARD = frozenset((*UNWRAPS, "await", "unwrap_or_default"))
_LOCK_TYPES = lazy_regex(rb"\b(?:Mutex|RwLock|Semaphore)\b")
_DISPOSED = frozenset(
    ("LockAsync", "ReaderLockAsync", "WriterLockAsync", "ReadLockAsync", "WriteLockAsync", "AcquireAsync")
)
"""Methods whose result gives the lock back when it is disposed (C#)."""
_MAKES = NamePattern(
    r"^(threading|asyncio|multiprocessing|anyio)\.(R?Lock|(Bounded)?Semaphore|Condition|CapacityLimiter)$"
    r"|^(java\.util\.concurrent\.(locks\.)?|kotlinx\.coroutines\.sync\.|System\.Threading\.|Nito\.AsyncEx\.|async-mutex\."
    r"|async-sema\.|await-semaphore\.|\.{1,2}/[^.]+\.)?"
    r"(ReentrantLock|ReentrantReadWriteLock|StampedLock|Semaphore|SemaphoreSlim|Mutex|AsyncLock|Sema)$"
    r"|^((std|tokio|async_std|async_lock|parking_lot|futures|futures_util|spin)\.([\w.]+\.)?)?(Mutex|RwLock|Semaphore)\.new$"
)
"""Locks in the memory of one process. Others, by a file, a name or a server, are made for each use."""
_WORDS = (b"Lock", b"Mutex", b"Semaphore", b"Sema", b"CapacityLimiter", b"Condition(")
"""One of them is in each text that makes a lock."""
_GO_TYPES = frozenset(("sync.Mutex", "sync.RWMutex"))
_TAKES = frozenset(
    (
        "acquire", "lock", "Lock", "RLock", "withLock", "withPermit", "runExclusive", "WaitAsync", "Wait",
        "LockAsync", "read", "write", "tryLock", "tryAcquire", "Enter", "lockInterruptibly",
    )
)  # fmt: skip
_NEW_OBJECT = lazy_regex(r"\b(?:lock|synchronized)\s*\(\s*(?:new\s+\w+\s*\(\s*\)|Any\(\))\s*\)")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "rust":
        yield from _given_back_at_once(facts)
    elif facts.language == "csharp":
        yield from _never_disposed(facts)
    elif facts.language == "go":
        yield from _copied(facts)
    if any(word in facts.syntax.source for word in _WORDS):
        yield from _of_one_call(facts)
    yield from _of_new_objects(facts)


_AWAITS = NamePattern(
    r"^(wait|await|barrier|sync|drain|settle|flush)(_\w+)?$|_(done|idle|finished|released|drained)$"
)


def _given_back_at_once(facts: Facts) -> Iterator[Hit]:
    """Yield `let _ = slots.acquire().await?` and `slots.acquire().await?;` (Rust)."""
    if not _LOCK_TYPES.search(facts.syntax.source):
        return
    for call in facts.calls_of_method(*_GUARDS):
        if not call.receiver_written or (call.arguments and "many" not in call.method):
            continue
        scope = facts.named_function_of(call)
        if scope is not None and _AWAITS.search(scope.short_name):
            continue  # It only waits until others have given it back.
        last = _end_of_chain(call, facts)
        if last is None:
            continue
        source = facts.syntax.source
        before = source[max(0, call.span.start - 40) : call.span.start]
        is_let = re.search(rb"\blet\s+_\s*(?::[^=;]+)?=\s*&?$", before) is not None
        is_statement = call.method in _PERMITS and re.search(rb"[;{}]\s*$", before) is not None
        after = source[last : last + 60].lstrip(b"?) \n\t")
        if (is_let or is_statement) and re.match(rb"(?:\.await\s*\??\s*)?;", after):
            kept = "permit" if call.method in _PERMITS else "lock"
            what = f"the {kept} of {call.written}() is given back in the same line: nothing keeps it"
            yield Hit(call.span, what, LIKELY)


def _end_of_chain(call: Call, facts: Facts) -> int | None:
    """Return where the calls end that give the guard itself; None if one of them uses it."""
    end = call.span.end
    while True:
        later = [each for each in facts.calls_on(call) if each.span.start == call.span.start]
        if not later:
            return end
        call = min(later, key=lambda each: each.span.end)
        if call.method not in _ENDS_GUARD:
            return None
        end = call.span.end


def _never_disposed(facts: Facts) -> Iterator[Hit]:
    """Yield `await mutex.LockAsync();`, whose result nothing disposes (C#)."""
    for call in facts.calls_of_method(*_DISPOSED):
        dropped = call.is_discarded or call.assigned == ("_",)
        if not dropped or not call.is_awaited or call.is_managed:
            continue
        if call.method == "AcquireAsync" and not re.search(r"(?i)limiter|lock|mutex", call.receiver_written):
            continue
        what = f"what {call.written}() returns is dropped: nothing gives the lock back"
        yield Hit(call.span, what, LIKELY)


_RECEIVER = lazy_regex(r"func\s*\(\s*(\w+)\s+([A-Z_a-z]\w*)(?:\[[^\]]*\])?\s*\)")


def _copied(facts: Facts) -> Iterator[Hit]:
    """Yield methods that lock a copy of their object: `func (c Counter) Add()` (Go)."""
    if b"sync." not in facts.syntax.source:
        return
    for call in facts.calls_of_method("Lock", "RLock"):
        scope = facts.named_function_of(call)
        found = None if scope is None else _RECEIVER.match(facts.text(scope.head))
        if found is None or not call.written.startswith("self."):
            continue
        name = re.escape(call.receiver_written.removeprefix("self."))
        declared = re.search(
            rf"\btype\s+{found[2]}\s+struct\s*\{{[^}}]*?^\s*{name}\s+sync\.(?:RW)?Mutex\b",
            facts.whole_text,
            re.MULTILINE,
        )
        if declared is not None:
            what = f"{found[2]} is copied for this call, and with it the lock that it takes"
            yield Hit(call.span, what, LIKELY)


def _of_one_call(facts: Facts) -> Iterator[Hit]:
    """Yield locks that a function makes, takes and shares with no other task or thread."""
    for call, _ in facts.managed if facts.language == "python" else ():
        if _is_new_lock(call) and not call.assigned and call.constructs:
            what = f"{call.written}() makes a lock of its own for every call: it keeps no other out"
            yield Hit(call.span, what, LIKELY)
    for each in facts.assignments:
        scope = each.scope
        if scope is None or len(each.targets) != 1 or not _makes_lock(each) or is_static(each, facts):
            continue
        name = each.targets[0].removeprefix("mut ").strip()
        taken = _taken_alone(name, each, scope, facts) if name.isidentifier() else None
        if taken is not None and not _guards_own_names(name, taken, scope, facts):
            what = f"{name} is made anew by every call of this function: it keeps no other out"
            yield Hit(Span(each.span.start, each.span.end), what, LIKELY)


def _makes_lock(each: Assignment) -> bool:
    if each.type in _GO_TYPES and each.value is None:
        return True
    return each.call is not None and _is_new_lock(each.call)


def _is_new_lock(call: Call) -> bool:
    """Return whether a call makes a lock that has no name, by which another call would find the same one."""
    if _MAKES.search(call.name) is None:
        return False
    most = 1 if call.method == "Mutex" else 2
    return len(call.positional) <= most and all(each.value.shape != "text" for each in call.arguments)


def _taken_alone(name: str, made: Assignment, scope: Scope, facts: Facts) -> Span | None:
    """Return where a lock is taken, if nothing but this run of the function has it."""
    word = re.compile(rf"(?<![\w.$\"'`]){re.escape(name)}(?![\w$\"'`])".encode())
    taken: Span | None = None
    for found in word.finditer(facts.syntax.source, scope.body.start, scope.body.end):
        place = Place(Span(found.start(), found.end()))
        if is_within(place.span, made.span):
            continue
        if facts.function_of(place) is not scope or facts.is_launched(place):
            return None
        after = facts.syntax.source[found.end() : found.end() + 40]
        is_called = re.match(rb"\s*\.\s*(\w+)\s*[({]", after)
        if is_called is None and not re.match(rb"\s*:(?!:)", after):
            return None  # It is given to other code, or kept.
        if is_called is None or is_called[1].decode() in _TAKES:
            taken = taken or place.span
        elif is_called[1] in (b"clone", b"readLock", b"writeLock"):
            return None
    return taken


def _guards_own_names(name: str, taken: Span, scope: Scope, facts: Facts) -> bool:
    """Return whether a lock of Go is held only while names of the same call change: it is merely needless."""
    if facts.language != "go":
        return False
    after = facts.text(Span(taken.end, scope.body.end))
    held, released, _ = after.partition(f"{name}.Unlock()")
    changed = re.findall(r"^\s*([\w.]+)(?:\[[^\]]*\])?\s*(?::?=[^=]|\+\+|--)", held, re.MULTILINE)
    return bool(released and changed) and all(
        "." not in one and one not in facts.file_names for one in changed
    )


def _of_new_objects(facts: Facts) -> Iterator[Hit]:
    """Yield `lock (new object())` and `synchronized (new Object())`."""
    if facts.language not in ("java", "kotlin", "csharp"):
        return
    for found in _NEW_OBJECT.finditer(facts.whole_text):
        yield Hit(facts.syntax.place_of(found), "the lock is a new object for every call", LIKELY)


RULE = Rule(
    id="FK-R174",
    slug="lock-guards-nothing",
    title="Lock or permit without effect",
    why="Everything runs as if there were no lock: two change the same data at once, and a limit of how "
    "many run at a time limits nothing.",
    fix="Bind the guard to a name for as long as the work lasts (let _permit = …, using var …), and share "
    "one lock among all that it must keep apart.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(*_WORDS, b"new object", b"new Object", b"Any()", b"AcquireAsync"),
)
