"""Finds locks that are held during I/O.

A finding is likely if threads wait for the lock, and the call is one of another service or a sleep, or other
functions hold the lock for short, or it is static. Few wait for the lock of a key, an iterator or a screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.facts import is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.held_for_clients import is_written_elsewhere, written_to_clients
from faultkit.code.rules.vocabulary.held_for_one import (
    is_asked_before,
    is_lock_of_one,
    is_short_for_others,
    is_short_sleep,
    loads_for_all,
    without_meant,
)
from faultkit.code.rules.vocabulary.held_in_rust import held_in_rust
from faultkit.code.rules.vocabulary.held_otherwise import given_work, in_maps, in_serial_work, serial_runners
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.lock_regions import (
    LOCK_WORDS,
    is_made_as_lock,
    lock_regions,
    regions_around,
)
from faultkit.code.rules.vocabulary.locked_waits import (
    awaited_in_short_locks,
    gate_that_others_need,
    is_held_for_short,
    is_left_running,
    sends_by_name,
    through_functions,
    waits_in_locks,
)
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import remote_calls, sql_calls
from faultkit.code.rules.vocabulary.service_clients import is_service_call, service_calls, type_of_receiver

_LOCK = lazy_regex(r"(^|[._])\w*(lock|mutex|mu)\w*$", re.IGNORECASE)
_NOT_LOCK = lazy_regex(r"block|clock|unlock|multi|mute", re.IGNORECASE)
_DRIVERS = lazy_regex(r"Connection|Protocol|Statement|Driver|Pool|Session|Listener|Conn$", re.IGNORECASE)
_OF_FIELD = NamePattern(r"self\.\w+\.\w+")
_SLEEPS = frozenset(
    (
        "time.sleep", "time.Sleep", "Thread.sleep", "Thread.Sleep", "java.lang.Thread.sleep",
        "subprocess.run", "subprocess.check_output", "os/exec.Command().Run", "os/exec.Command().Output",
        "os/exec.Command().CombinedOutput", "os/exec.CommandContext().Run", "os/exec.CommandContext().Output",
        "os/exec.CommandContext().CombinedOutput",
    )
)  # fmt: skip


def _check(facts: Facts) -> Iterator[Hit]:
    if not _takes_locks(facts):
        return
    http = {request.call for request in http_requests(facts)}
    http |= {each.call for each in remote_calls(facts) if each.kind == "http"}
    # Functions of this text that make such a call are followed below.
    http |= {
        call
        for call in service_calls(facts)
        if is_service_call(call, facts) and not _is_local(call, facts) and not _is_of_driver(call, facts)
    }
    if facts.language == "go":
        http |= {call for call in facts.calls if _takes_context(call, facts) or _is_written(call, facts)}
        http |= {*written_to_clients(facts)}
        yield from _sent_in_go(facts)
    sleeps = {call for call in facts.calls_named(*_SLEEPS) if not is_short_sleep(call, facts)}
    waits = http | sleeps | {*waits_in_locks(facts)}
    if facts.language == "rust":
        known = waits | {each.call for each in remote_calls(facts)}
        for span, what, is_meant in held_in_rust(known, facts):
            yield Hit(span, what, POSSIBLE if is_meant else LIKELY, "medium")
        return
    if facts.language != "python":
        waits |= {sql.call for sql in sql_calls(facts) if not _is_of_driver(sql.call, facts)}
    if facts.language == "kotlin":
        asked = [
            each.call for each in remote_calls(facts) if each.kind == "database" and each.through is None
        ]
        waits |= {call for call in asked if not _is_of_driver(call, facts)}
    yield from _of_items(facts)
    yield from _of_each(facts)
    waits |= through_functions(waits - sleeps, facts)
    waits |= {*given_work(waits, facts)}
    held = [
        (call, *found)
        for call in sorted(waits, key=lambda each: each.span)
        if (found := _lock_around(call, facts)) is not None
        and not is_asked_before(found[0], call, facts)
        and (found[1] or not loads_for_all(call, facts))
        and not is_left_running(call, facts)
    ]
    for call, lock in in_serial_work(waits, facts):
        what = f"{call.written}() waits in {lock}, which runs nothing else meanwhile for any caller"
        yield Hit(call.span, what, LIKELY, "medium")
    for call, lock in in_maps(waits, facts):
        yield Hit(call.span, f"{call.written}() waits while {lock} is locked for other keys, too", LIKELY)
    if facts.language in ("python", "csharp", *JAVASCRIPT):
        seen = {call for call, _, _ in held}
        held += [
            (call, lock, False)
            for call, lock in awaited_in_short_locks(facts)
            if call not in seen and not is_asked_before(lock, call, facts) and not _is_of_driver(call, facts)
        ]
    http |= through_functions(http, facts) if held else set()
    held = without_meant(held, http, facts)
    told_of = set[tuple[Scope | None, str]]()
    for call, lock, is_shared in held:
        if (facts.named_function_of(call), lock) in told_of:
            continue
        told_of.add((facts.named_function_of(call), lock))
        what = f"{call.written}() waits while {lock} is held"
        # Tasks that wait for a lock cost little, and a query is short if the database is well.
        mild: Severity | None = None if is_shared and call in http else "medium"
        matters = is_shared and (call in http or call in sleeps or is_short_for_others(call, waits, facts))
        is_likely = (
            matters and not is_lock_of_one(call, lock, facts) and not _is_meant_in_go(call, lock, facts)
        )
        yield Hit(call.span, what, LIKELY if is_likely else POSSIBLE, mild)


_SHORT_ANSWER = NamePattern(r"(^|[a-z_])[eE]rror(Response)?$")
_PROGRAMS = NamePattern(r"^(Run|Output|CombinedOutput)$")


def _is_meant_in_go(call: Call, lock: str, facts: Facts) -> bool:
    """Return whether few wait for long: an error is a short answer, a lock of another package excludes other
    work, and one of this package that is held over a program lets one run at a time (Go)."""
    if facts.language != "go":
        return False
    root = lock.partition(".")[0]
    is_of_package = "." in lock and root in facts.imports.names
    runs_one = _PROGRAMS.match(call.method) is not None and lock in facts.file_names
    return is_of_package or runs_one or _SHORT_ANSWER.search(call.method) is not None


def _takes_locks(facts: Facts) -> bool:
    """Return whether a text may hold a lock: most do not, and to find what waits takes long."""
    if facts.language == "rust":
        return bool(facts.calls_of_method("lock", "write", "read"))
    if any(word in facts.syntax.source for word in (*LOCK_WORDS, b"ConcurrentHashMap")):
        return True
    if serial_runners(facts):
        return True
    return any(
        _is_lock(call.written or call.name, call.name) or is_made_as_lock(call.written, facts)
        for call, _ in facts.managed
    )


_TALKS = frozenset(
    (
        "write", "flush", "readLine", "sendall", "recv", "drain", "readexactly", "readuntil", "readline",
        "Write", "Read", "ReadLine", "WriteLine", "Flush", "WriteAsync", "ReadAsync", "FlushAsync", "send",
        "sendMessage", "getOutputStream", "getInputStream", "SendAsync", "Send", "send_bytes", "send_text",
        "send_json", "WriteString", "sendText", "sendBinary", "sendObject", "WriteMessage",
    )
)  # fmt: skip
_LINES = lazy_regex(
    r"conn(ection)?\d*$|sock(et)?$|stream$|session$|^ws$|peer$|writer$|reader$|link$|client$|device$", re.I
)
"""Names of connections."""
_ITEM = lazy_regex(
    r"^(await )?(self\.|this\.|\w+\.)?\w+\s*"
    r"(\[[^\]]+\]|\.(get|Get|getValue|GetValueOrDefault)\([^()]*\)(!!)?)$"
)


def _of_items(facts: Facts) -> Iterator[Hit]:
    """Yield a lock of all connections that is held while one of them is written to or read."""
    if facts.language not in ("python", "java", "go", "csharp", "kotlin"):
        return
    for region in lock_regions(facts):
        scope = facts.named_function_of(region)
        inside = list(facts.within(facts.assignments, region.span))
        taken = {
            name
            for each in inside
            if each.value is not None and _ITEM.match(each.value.text.strip())
            for name in re.findall(r"\w+", " ".join(each.targets))
            if _LINES.search(name)
        }
        if scope is None or not taken or re.split(r"[.\[]", region.lock)[0] in taken:
            continue
        for call in facts.within(facts.calls, region.span):
            root = re.split(r"[.\[(]", call.written)[0]
            if call.method in _TALKS and root in taken and "." in call.written:
                lock = "the lock of this object" if region.lock == "self" else region.lock
                what = f"{call.written}() waits for one connection while {lock} is held, which all need"
                start = call.span.start if region.taken is None else region.taken.start
                yield Hit(Span(start, call.span.end), what, LIKELY, "medium")
                break


def _of_each(facts: Facts) -> Iterator[Hit]:
    """Yield a lock of a collection that is held while each of its items is awaited or written to in turn."""
    if facts.language == "rust":
        return
    by_awaits = facts.language in ("python", "csharp", *JAVASCRIPT)
    regions = [each for each in lock_regions(facts) if not each.is_shared]
    for region in regions if len(regions) > 1 else ():
        for loop in facts.within(facts.loops, region.span):
            if loop.kind not in ("each", "comprehension") or not loop.targets:
                continue
            of_lines = not by_awaits and _OF_LINES.search(loop.over) is not None
            if not of_lines and not (by_awaits and loop.kind == "each" and _OF_MEMBERS.search(loop.over)):
                continue
            item = re.compile(rf"\b(?:{'|'.join(map(re.escape, loop.targets))})\b")
            sent = [
                call
                for call in facts.within(facts.calls, loop.body)
                if (call.method in _TALKS if of_lines else call.is_awaited)
                and item.search(call.receiver_written if of_lines else facts.text(call.span))
                and region.lock not in call.written
            ]
            if sent and is_held_for_short(region, regions, facts):
                lock = "the lock of this object" if region.lock == "self" else region.lock
                what = f"{sent[0].written}() waits for one item after the other while {lock} is held"
                yield Hit(Span(loop.span.start, sent[0].span.end), what, LIKELY, "medium")


_OF_MEMBERS = lazy_regex(r"\b(?:self|this)\.\w|\b_[a-z]\w*")
_OF_LINES = lazy_regex(r"(?i:sess|sock|conn|client|peer|subs|subscriber|emitter|viewer|member|listeners?)\w*")
_OTHERS = lazy_regex(
    r"^(context|log|log/slog|errors|fmt|sync|time)\.|otel|trace|metric|[lL]og(ger)?\b|errgroup|semaphore|singleflight"
)


def _is_written(call: Call, facts: Facts) -> bool:
    """Return whether a call writes to a websocket, or sends mail (Go)."""
    if call.name == "net/smtp.SendMail":
        return True
    return call.method in ("WriteJSON", "WriteMessage", "WritePreparedMessage") and any(
        "websocket" in module for module in facts.imports.modules
    )


_SENT = lazy_regex(r"^[ \t]*(?!case\b)[\w.\[\]]+\s*<-\s*(?!\s*$).+$", re.MULTILINE)


def _sent_in_go(facts: Facts) -> Iterator[Hit]:
    """Yield sends of all subscribers' channels while a lock is held: one that does not read stops all."""
    if "<-" not in facts.whole_text:
        return
    for loop in facts.loops:
        if loop.kind != "each" or "select" in facts.text(loop.body):
            continue
        scope = facts.function_of(loop)
        around = (
            [] if scope is None else [each for each in lock_regions(facts) if is_within(loop.span, each.span)]
        )
        sent = _SENT.search(facts.text(loop.body)) if around else None
        if sent is None or not any(
            name in re.findall(r"\w+", sent[0].partition("<-")[0]) for name in loop.targets
        ):
            continue
        what = f"a receiver that does not read stops this while {around[0].lock} is held"
        yield Hit(facts.syntax.place_of(sent, loop.body.start), what, LIKELY, "medium")


def _takes_context(call: Call, facts: Facts) -> bool:
    """Return whether a call of a field is given a context and returns an error, as one that waits (Go)."""
    if _OF_FIELD.fullmatch(call.written) is None:
        return False
    first = call.argument(place=0)
    if first is None or not re.fullmatch(r"ctx|\w*Ctx|context\.(Background|TODO)\(\)", first.value.text):
        return False
    # `s.rdb.Get(ctx, key).Bytes()` returns the error at the end of its chain.
    later = [each for each in facts.calls_on(call) if each.span.start == call.span.start]
    ends = [each.assigned for each in (call, *later) if each.assigned]
    if not ends or not ends[0][-1].lower().endswith("err"):
        return False
    if len(ends[0]) < 2 and not later and not sends_by_name(call.method):
        return False
    return not _OTHERS.search(call.name) and not _is_of_driver(call, facts)


def _is_local(call: Call, facts: Facts) -> bool:
    """Return whether a call of a client sends nothing: it only reads a property or begins something, or the
    class of the client is in this text, where what its method does is seen."""
    if not call.arguments and _PROPERTY.match(call.method):
        return True
    own = type_of_receiver(call, facts).rpartition(".")[2]
    return bool(own) and any(name.rpartition(".")[2] == own for name in facts.classes)


_PROPERTY = NamePattern(r"^(get|Get|is|has)[A-Z]\w*$|^(init|start|stop)$")


def _is_of_driver(call: Call, facts: Facts) -> bool:
    """Return whether the lock is that of a connection, which can do one thing at a time anyway."""
    scope = facts.named_function_of(call)
    return scope is not None and _DRIVERS.search(scope.owner) is not None


def _lock_around(call: Call, facts: Facts) -> tuple[str, bool] | None:
    """Return the lock, and whether threads wait for it; tasks wait more cheaply, and often on purpose."""
    scope = facts.function_of(call)
    while scope is not None and scope.is_anonymous and _runs_here(scope, facts):
        scope = scope.outer
    if scope is None:
        return None
    for each in facts.managed_around(call):
        if facts.language == "csharp":
            head = facts.text(each.span)
            if head.startswith("lock") and is_within(each.span, scope.span):
                return each.written, True
            continue
        if is_within(each.span, scope.span) and (
            _is_lock(each.written or each.name, each.name) or is_made_as_lock(each.written, facts)
        ):
            return each.written, not call.is_awaited
    if facts.language == "kotlin":
        return _kotlin(call, facts)
    if facts.language in JAVASCRIPT:
        # async-mutex: `mutex.runExclusive(async () => …)`
        around = [each for each in facts.calls_around(call) if each.method == "runExclusive"]
        if around and call.is_awaited:
            return around[-1].receiver_written, False
    if facts.language == "go":
        return _go(call, scope, facts)
    if facts.language == "csharp" and (gate := gate_that_others_need(call, facts)) is not None:
        return gate, False
    return _java(call, scope, facts) if facts.language == "java" else _acquired(call, scope, facts)


_INLINE = frozenset(
    ("computeIfAbsent", "compute", "forEach", "map", "orElseGet", "ifPresent", "merge", "stream")
)


def _runs_here(scope: Scope, facts: Facts) -> bool:
    """Return whether a lambda of Java runs where it stands: `cache.computeIfAbsent(key, k -> …)`."""
    return facts.language == "java" and any(
        argument.value.span == scope.span
        for call in facts.calls_of_method(*_INLINE)
        for argument in call.arguments
    )


def _kotlin(call: Call, facts: Facts) -> tuple[str, bool] | None:
    """Return the lock of `synchronized(x) { … }`, `lock.withLock { … }` or `@Synchronized` around a call."""
    outer, around = facts.named_function_of(call), facts.calls_around(call)
    # What a coroutine or a thread does, it does after the lock was given back.
    held = next((at for at, each in enumerate(around) if each.method in ("synchronized", "withLock")), 0)
    if any(each.method in ("launch", "async", "thread", "submit", "execute") for each in around[held:]):
        return None
    if outer is not None and any(each.method == "Synchronized" for each in outer.decorators):
        return "this", True
    for each in around:
        if each.method == "synchronized" and len(each.arguments) == 2:
            return each.arguments[0].value.text, True
        if each.method == "withLock" and each.receiver_written:
            # A coroutine that waits for a `Mutex` stops no thread.
            is_of_tasks = facts.imports_any("kotlinx.coroutines.sync.Mutex", "kotlinx.coroutines.sync")
            is_async = is_of_tasks or any(scope.is_async for scope in facts.functions_around(call))
            return each.receiver_written, not is_async
    return None


def _is_lock(written: str, name: str) -> bool:
    last = written.replace("()", "").rpartition(".")[2]
    return name in ("threading.Lock", "threading.RLock") or (
        _LOCK.search(last) is not None and _NOT_LOCK.search(last) is None
    )


def _go(call: Call, scope: Scope, facts: Facts) -> tuple[str, bool] | None:
    if call.is_launched:
        return None
    for lock in facts.own(facts.calls_of_method("Lock", "RLock"), scope):
        if lock.span.start > call.span.start or lock.arguments:
            continue
        if (
            lock.method == "RLock"
            and not _is_written(call, facts)
            and not _stops_readers(lock, call, facts)
            and not (is_written_elsewhere(lock, facts) and call in written_to_clients(facts))
        ):
            continue  # Others may read meanwhile.
        name = lock.receiver_written
        ends = [
            each.span.start
            for each in facts.own(facts.calls_of_method("Unlock", "RUnlock"), scope)
            if each.receiver_written == name and not each.is_deferred and each.span.start > lock.span.start
        ]
        if not ends or call.span.start < min(ends):
            return name, True
    return None


def _stops_readers(lock: Call, call: Call, facts: Facts) -> bool:
    """Return whether readers wait, too: a writer that waits for this one lets no more of them in, and each
    item is asked in turn (Go)."""
    return bool(facts.loops_around(call)) and is_written_elsewhere(lock, facts)


def _acquired(call: Call, scope: Scope, facts: Facts) -> tuple[str, bool] | None:
    for lock in facts.own(facts.calls_of_method("acquire", "lock"), scope):
        name = lock.receiver_written
        if lock.span.start > call.span.start or not _is_lock(name, ""):
            continue
        ends = [
            each.span.start
            for each in facts.own(facts.calls_of_method("release", "unlock"), scope)
            if each.receiver_written == name and each.span.start > lock.span.start
        ]
        if ends and call.span.start < max(ends):
            return name, not call.is_awaited
    return None


def _java(call: Call, scope: Scope, facts: Facts) -> tuple[str, bool] | None:
    if re.search(r"\bsynchronized\b", facts.text(scope.head)):
        return "this", True
    for region in regions_around(call, lock_regions(facts)):
        head = "" if region.taken is None else facts.text(region.taken)
        if head.startswith("synchronized") and is_within(region.span, scope.body):
            return facts.in_words_of(call, region.lock), True
    return _acquired(call, scope, facts)


RULE = Rule(
    id="FK-P017",
    slug="lock-held-over-io",
    title="Lock held over I/O",
    why="All threads that need the lock wait for the slowest dependency; one that hangs stops them all.",
    fix="Do the call without the lock, and take it only to read or store the result.",
    kind="performance",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
