"""Finds locks that stay held when an error occurs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.channel_slots import slots_kept
from faultkit.code.rules.vocabulary.exits import (
    call_that_fails_before,
    exit_without_release,
    hardly_fails,
    is_done_before,
    is_error_returned,
    left_before,
    skipped_round,
)
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.own_releases import is_on_way
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_PAIRS = {
    "acquire": "release", "tryAcquire": "release", "Acquire": "Release", "TryAcquire": "Release",
    "Lock": "Unlock", "TryLock": "Unlock", "RLock": "RUnlock", "TryRLock": "RUnlock",
    "lock": "unlock", "tryLock": "unlock", "lockInterruptibly": "unlock",
    "WaitAsync": "Release", "Wait": "Release", "WaitOne": "ReleaseMutex",
    "EnterReadLock": "ExitReadLock", "EnterWriteLock": "ExitWriteLock", "TryEnterReadLock": "ExitReadLock",
    "TryEnterWriteLock": "ExitWriteLock", "EnterUpgradeableReadLock": "ExitUpgradeableReadLock",
    "Enter": "Exit", "TryEnter": "Exit",
}  # fmt: skip
_TAKES = NamePattern(
    r"^(?:try_?|Try)?(acquire|lock|check_?out|borrow|take|pause|claim|hold|obtain)(_?\w*?)"
    r"(?:Async|Uninterruptibly)?$|^Lock(Take)(?:Async)?$",
    re.IGNORECASE,
)
_GIVES = {
    "acquire": ("release", "relinquish"), "lock": ("unlock", "release"),
    "checkout": ("checkin", "return"), "borrow": ("return", "giveback"),
    "take": ("giveback", "putback", "release"),
    "pause": ("resume", "abort", "cancel", "destroy", "close", "stop", "end"),
    "claim": ("release", "unclaim"), "hold": ("release", "unhold"),
    "obtain": ("release",),
}  # fmt: skip
"""Verbs of methods that take something, and of those that give it back, in small letters without `_`."""
_LOCKS = ("lock", "mutex", "mu", "sem", "semaphore")
_TYPES = lazy_regex(
    r"(^|[./])(\w*Lock|Mutex|RWMutex|Semaphore|SemaphoreSlim|BoundedSemaphore|Weighted|Condition"
    r"|ReaderWriterLockSlim|SynchronizedObject|(read|write)Lock\(\))$"
)
_ON_TYPES_ONLY = frozenset(("Acquire", "TryAcquire", "Wait", "WaitAsync", "WaitOne"))
"""Methods that other things have, too: pools, tasks, events."""
_NEGATED = lazy_regex(r"^\W*(!|not\b)|(==|is)\s*(false|False)\W*$")


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Span]()
    for hit in (*_advisory(facts), *(_known(facts) if facts.language != "rust" else _forgotten(facts))):
        seen.add(hit.span)
        yield hit
    for hit in _by_inverse(facts):
        if not any(hit.span.start == each.start for each in seen):
            yield hit


def _by_inverse(facts: Facts) -> Iterator[Hit]:
    """Yield what a function takes from an object and gives back to it by the opposite method.

    `bulkhead.acquirePermission()` and `bulkhead.releasePermission()`, `locks.claim(key)` and
    `locks.release(key)`: that the function gives it back shows that it has to, whatever the object is."""
    if not facts.syntax.has_any(
        b"release", b"unlock", b"resume", b"giveback", b"give_back", b"checkin", b"unclaim"
    ):
        return
    for call in facts.calls_with_method(_TAKES.match):
        found = _TAKES.match(call.method)
        scope = facts.function_of(call) if found is not None and call.receiver_written else None
        if found is None or scope is None or call.is_managed or call.is_returned:
            continue
        if is_error_returned(call, facts) or _is_handed_on(found, call, scope, facts):
            continue
        if facts.language != "rust" and call.method in _PAIRS and _is_lock(call, facts):
            continue  # A lock, which has been looked at.
        made = call.origin
        is_new = made is not None and (
            made.constructs or made.method.lower().startswith(("new", "make", "create"))
        )
        if made is not None and is_new and facts.function_of(made) is scope:
            continue  # It ends with this function.
        given = [
            each
            for each in facts.within(facts.calls, scope.body)
            if each.receiver_written == call.receiver_written and _is_opposite(found, each, call)
        ]
        ends = [each for each in given if each.span.start >= call.span.end]
        if not ends or any(facts.are_exclusive(call, each) for each in ends):
            continue
        if any(is_done_before(each, call, facts) for each in given):
            continue  # Given back for a while, and taken again: what was to give it back still does.
        if not any(is_on_way(each, call, facts) for each in ends):
            continue  # It is kept if all goes well.
        begin = _held_from(call, facts)
        if begin is None and facts.language == "rust":
            begin = call.span.end
        if begin is not None and (how := left_before(_end_of_statement(begin, facts), ends, scope, facts)):
            what = f"{ends[0].written}() is skipped when {how}"
            yield Hit(Span(call.span.start, ends[0].span.end), what, LIKELY)


def _is_handed_on(found: re.Match[str], call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the method that gives it back is given to other code: `source.resume.bind(source)`."""
    owner = re.escape(call.receiver_written)
    gives = "|".join(_GIVES.get((found[1] or "").lower().replace("_", ""), ())) or "release"
    word = rf"\b{owner}\.(?:{gives})\w*\b(?!\s*\()"
    return re.search(word, facts.text(scope.body), re.IGNORECASE) is not None


_CHAIN = lazy_regex(r"(?:\s*\.await|\s*\.\w+\([^()]*\)|\s*\?)*\s*;")


def _end_of_statement(begin: int, facts: Facts) -> int:
    """Return the offset behind what belongs to the call itself: `.await?;` of Rust."""
    found = _CHAIN.match(facts.text(Span(begin, begin + 120)))
    return begin if found is None else begin + len(found[0].encode())


def _is_opposite(found: re.Match[str], end: Call, call: Call) -> bool:
    if found[3]:
        return end.method.lower().startswith("lockrelease")
    name = end.method.lower().replace("_", "")
    verb, rest = found[1].lower().replace("_", ""), found[2].lower().replace("_", "")
    if not any(name.removesuffix("async") in (gives + rest, gives) for gives in _GIVES[verb]):
        return False
    given = [each.value.text for each in end.positional]
    taken = {each.value.text for each in call.positional}
    # What is given back by another name was taken by another call, or is the result of this one.
    return not given or given[0] in taken or given[0].isdigit()


def _forgotten(facts: Facts) -> Iterator[Hit]:
    """Yield permits that are forgotten, and given back by `add_permits` only at the end (Rust)."""
    for call in facts.calls_of_method("forget"):
        scope, made = facts.function_of(call), call.origin
        while made is not None and not made.method.removeprefix("try_").startswith("acquire"):
            made = made.origin
        if scope is None or made is None:
            continue
        ends = [
            each
            for each in facts.own(facts.calls_of_method("add_permits"), scope)
            if each.receiver_written == made.receiver_written and each.span.start > call.span.end
        ]
        if ends and (how := left_before(_end_of_statement(call.span.end, facts), ends, scope, facts)):
            yield Hit(Span(made.span.start, ends[0].span.end), f"{ends[0].written}() is skipped when {how}")


def _by_helpers(facts: Facts) -> Iterator[Hit]:
    """Yield locks that a helper of this text takes for its caller, which gives them back too late."""
    for taken in facts.calls_of_method(*_PAIRS):
        helper = facts.named_function_of(taken) if _is_lock(taken, facts) else None
        if helper is None or "." not in f"{taken.receiver_written}." or _holds_release(taken, helper, facts):
            continue
        for call in facts.callers_of(helper):
            scope = facts.function_of(call)
            if scope is None or not call.is_discarded:
                continue
            ends = [each for each in facts.within(facts.calls, scope.span) if _releases(each, taken)]
            if ends and (how := left_before(call.span.end, ends, scope, facts)):
                what = f"{ends[0].written}() is skipped when {how}, though {call.written}() takes it"
                yield Hit(Span(call.span.start, ends[-1].span.end), what, LIKELY)


def _holds_release(taken: Call, helper: Scope, facts: Facts) -> bool:
    return any(_releases(each, taken) for each in facts.within(facts.calls, helper.span))


def _known(facts: Facts) -> Iterator[Hit]:
    yield from _by_helpers(facts)
    if facts.language == "go":
        for span, back in slots_kept(facts):
            yield Hit(span, f"the slot is kept where the function returns before {back}", LIKELY)
    for call in facts.calls_of_method(*_PAIRS):
        if not _is_lock(call, facts) or is_error_returned(call, facts):
            continue
        scope = facts.function_of(call)
        if scope is None or _TYPES.search(scope.owner):
            continue  # A lock that is made of others gives them back in its other methods.
        begin = _held_from(call, facts)
        if begin is None:
            continue
        release = f"{call.receiver_written}.{_PAIRS[call.method]}"
        ends = [each for each in facts.within(facts.calls, scope.span) if _releases(each, call)]
        if ends and all(_is_in_returned(each, call, scope, facts) for each in ends):
            continue
        if not ends:
            if call.is_discarded and not _is_released_elsewhere(call, facts):
                yield Hit(call.span, f"{call.written}() is never followed by {release}()", LIKELY)
        elif (early := exit_without_release(begin, ends, scope, facts)) is not None:
            what = f"{release}() is skipped when the function returns earlier"
            yield Hit(Span(call.span.start, early.span.end), what, LIKELY)
        elif (skipped := skipped_round(begin, ends, scope, facts)) is not None:
            what = f"{release}() is skipped where the loop goes on with its next round"
            yield Hit(Span(call.span.start, skipped.span.end), what, LIKELY)
        elif (failing := call_that_fails_before(begin, ends, scope, facts)) is not None:
            what = f"{release}() is skipped when {failing.written}() fails, before the try that releases it"
            yield Hit(Span(call.span.start, failing.span.end), what, LIKELY)
        elif not any(_is_sure(each, facts) for each in ends) and _may_fail(call, begin, ends, facts):
            what = f"{release}() is left out when something in between fails or returns"
            late = [each.span.end for each in ends if each.span.start > begin]
            yield Hit(Span(call.span.start, min(late, default=call.span.end)), what, LIKELY)


_ADVISORY = lazy_regex(r"\b(?:pg_(?:try_)?advisory_lock(?:_shared)?|GET_LOCK|sp_getapplock)\b", re.IGNORECASE)
_UNLOCKS = lazy_regex(
    r"\b(?:pg_advisory_unlock\w*|RELEASE_LOCK|RELEASE_ALL_LOCKS|sp_releaseapplock)\b", re.IGNORECASE
)


def _advisory(facts: Facts) -> Iterator[Hit]:
    """Yield locks of a database session that a function keeps when it leaves early or fails."""
    if not facts.syntax.has_any(b"advisory_lock", b"get_lock", b"getapplock"):
        return
    taken = [call for call in facts.calls if _sends(_ADVISORY, call, facts)]
    given = [call for call in facts.calls if _sends(_UNLOCKS, call, facts)]
    taken, given = [*taken, *_of_callers(taken, given, facts)], [*given, *_of_callers(given, taken, facts)]
    reported = set[Scope]()
    for call in taken:
        scope = facts.function_of(call)
        ends = [each for each in given if facts.function_of(each) is scope]
        if scope is None or scope in reported or not ends:
            continue
        begin = _held_from(call, facts) or call.span.end
        early = exit_without_release(begin, ends, scope, facts)
        if early is not None:
            what = "the lock of the session is kept where the function leaves before it is given back"
            yield Hit(Span(call.span.start, early.span.end), what, LIKELY)
            reported.add(scope)
        elif facts.language == "rust":
            if left_before(_end_of_statement(begin, facts), ends, scope, facts):
                what = "the lock of the session is kept when something in between fails"
                yield Hit(Span(call.span.start, ends[0].span.end), what, LIKELY)
                reported.add(scope)
        elif not any(_is_sure(each, facts) for each in ends) and _may_fail(call, begin, ends, facts):
            what = "the lock of the session is kept when something in between fails or returns"
            yield Hit(call.span, what, LIKELY)
            reported.add(scope)


def _of_callers(sent: list[Call], opposite: list[Call], facts: Facts) -> list[Call]:
    """Return calls of helpers of this text that only take, or only give back, such a lock."""
    both = {facts.named_function_of(call) for call in opposite}
    helpers = {facts.named_function_of(call) for call in sent} - both - {None}
    return [call for helper in helpers if helper is not None for call in facts.callers_of(helper)]


def _sends(pattern: re.Pattern[str], call: Call, facts: Facts) -> bool:
    """Return whether a query is given to a call, as text or as a constant of this file."""
    for each in call.arguments:
        if each.value.shape == "text":
            text = each.value.text
        elif each.value.shape == "name":
            values = facts.assignments_to(each.value.text, call)
            text = " ".join(one.value.text for one in values if one.value is not None)
        else:
            continue
        if pattern.search(text):
            return True
    return False


def _releases(end: Call, call: Call) -> bool:
    if call.receiver_written == "Monitor":
        same = [each.value.text for each in end.positional[:1]] == [
            each.value.text for each in call.positional[:1]
        ]
        return end.written == "Monitor.Exit" and same
    ends = (_PAIRS[call.method], "Release") if call.method == "WaitOne" else (_PAIRS[call.method],)
    return end.receiver_written == call.receiver_written and end.method in ends


def _held_from(call: Call, facts: Facts) -> int | None:
    """Return the offset from which the lock is held; None if this does not show.

    That is behind the call, or behind `if (!lock.tryLock()) return` and `if err := s.Acquire(…); err != nil`.
    """
    if call.is_discarded:
        return call.span.end
    for step in facts.steps:
        if step.kind != "branch" or not is_within(call.span, step.span):
            continue
        written = facts.text(call.callee).removeprefix("await ")
        if written in step.text:
            is_negated = _NEGATED.search(step.text) or re.search(
                rf"(?:!|\bnot\s)\s*(?:await\s+)?{re.escape(written)}", step.text
            )
            return step.span.end if is_negated and _leaves(step.span, facts) else call.span.end
    name = call.assigned[-1] if call.assigned else _name_of_chain(call, facts)
    if not name.isidentifier():
        return None
    tested = [
        step.span.end
        for step in facts.steps
        if step.kind == "branch"
        and step.span.end > call.span.start
        and re.search(rf"\b{re.escape(name)}\b", step.text)
        and _leaves(step.span, facts)
    ]
    return min(tested) if tested else None


def _name_of_chain(call: Call, facts: Facts) -> str:
    """Return the variable of what is made of the result: `got = conn.execute("…").fetchone()[0]`."""
    for each in facts.assignments:
        if each.value is not None and each.targets and is_within(call.span, each.value.span):
            return each.targets[-1]
    return ""


def _leaves(branch: Span, facts: Facts) -> bool:
    """Return whether an `if` leaves the function or the round."""
    return any(each.leaves for each in facts.arms if each.fork == branch)


def _is_released_elsewhere(call: Call, facts: Facts) -> bool:
    """Return whether other code may release it: another method, a callback, or the caller that gets it."""
    method = _PAIRS[call.method]
    if facts.calls_of_method(method) or any(each.written.endswith(f".{method}") for each in facts.accesses):
        return True
    name = call.receiver_written
    if "." in name:
        # A member: in Go and Java, other files of the package have its other methods.
        return facts.language != "python"
    scope = facts.function_of(call)
    return scope is not None and any(
        step.kind in ("return", "yield") and re.search(rf"\b{re.escape(name)}\b", step.text)
        for step in facts.within(facts.steps, scope.body)
    )


def _is_in_returned(end: Call, call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the caller gets a function that releases what the call returned."""
    if not call.assigned or call.assigned[0] not in {each.value.text for each in end.positional}:
        return False
    inner = facts.function_of(end)
    return (
        inner is not None
        and inner is not scope
        and any(is_within(inner.span, step.span) for step in facts.own(facts.steps_of("return"), scope))
    )


def _is_lock(call: Call, facts: Facts) -> bool:
    if call.method in ("Enter", "TryEnter"):
        return call.written.startswith("Monitor.")
    if _TYPES.search(call.receiver) or _TYPES.search(type_of_receiver(call, facts)):
        return True
    if call.method in _ON_TYPES_ONLY:
        return False
    name = call.receiver_written.rpartition(".")[2].lower().strip("_")
    if name.endswith("wakelock") and call.arguments:
        return False  # It ends by itself (Android).
    return any(name == word or name.endswith(word) for word in _LOCKS)


_AT_END = frozenset(
    (
        "invokeOnCompletion", "whenComplete", "finally", "doFinally", "doOnTerminate", "ContinueWith",
        "handle", "add_done_callback", "addListener", "onCompletion", "callback", "push_async_callback",
        "whenCompleteAsync",
    )
)  # fmt: skip
"""Functions that run what they are given at the end of a task, whether it failed or not."""


def _is_sure(end: Call, facts: Facts) -> bool:
    if facts.is_deferred(end) or facts.is_in_finally(end):
        return True
    return any(each.method in _AT_END for each in facts.calls_around(end))


def _may_fail(call: Call, begin: int, ends: list[Call], facts: Facts) -> bool:
    """Return whether the function may be left before the first release behind the lock."""
    after = [each for each in ends if each.span.start > begin]
    if not after or len(after) < len(ends):
        # Released first and taken again: the caller holds it and releases it.
        return False
    if facts.language != "go" and any(facts.handlers_around(each) for each in ends):
        return False  # Released after an error; without one it is kept, or released as well.
    scope, between = facts.function_of(call), Span(begin, after[0].span.start)
    leaves = any(
        step.kind in ("return", "raise") and facts.function_of(step) is scope
        for step in facts.within(facts.steps, between)
    )
    calls = any(
        facts.function_of(each) is scope and not is_logging(each) and not hardly_fails(each)
        for each in facts.within(facts.calls, between)
    )
    return leaves or (calls and facts.language != "go")


RULE = Rule(
    id="FK-R041",
    slug="lock-not-released",
    title="Lock not released on every way out",
    why="After one error the lock is held for ever, and everything that needs it stops.",
    fix="Use with (Python), defer mu.Unlock() right after Lock() (Go), finally (Java, C#), or withLock "
    "(Kotlin).",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
