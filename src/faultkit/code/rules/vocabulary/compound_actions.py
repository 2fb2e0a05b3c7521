"""Steps on shared state that look like one and are two: ask and then set, read and then add."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.live_objects import is_changed_later
from faultkit.code.rules.vocabulary.lock_regions import (
    Region,
    is_called_in_lock,
    lock_regions,
    regions_around,
)
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.singletons import singletons
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_CONCURRENT = NamePattern(r"(^|\.)Concurrent(Hash|SkipList)?(Map|Dictionary)$|^Collections\.synchronizedMap$")
_ASKS = frozenset(("containsKey", "ContainsKey", "contains"))
_SETS = frozenset(("put", "set", "replace"))
_TWICE = lazy_regex(
    r"if\s*\(\s*(?:this\.)?(\w+)\s*==\s*null\s*\)\s*\{\s*synchronized\b[^{]*\{\s*if\s*\(\s*(?:this\.)?\1\s*==\s*null"
)
_THREADS = TextPattern(rb"\bRunnable\b|\bThread\b|\bthread\s*\(")
_FLAG = lazy_regex(r"^\(?\s*!?\s*(?:this\.)?(\w+)\s*\)?$")


def compound_actions(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield places where two threads can come between two steps, with what goes wrong (Java, Kotlin, C#)."""
    regions = lock_regions(facts)
    yield from _asked_and_set(facts, regions)
    yield from _counted(facts, regions)
    if facts.language != "csharp":
        yield from _flags(facts)
    if facts.language == "java":
        yield from _made_twice(facts)


def _asked_and_set(facts: Facts, regions: list[Region]) -> Iterator[tuple[Span, str]]:
    maps = {
        each.targets[0].removeprefix("self.")
        for each in facts.assignments
        if each.scope is None
        and each.owner
        and (_CONCURRENT.search(each.type) or (each.call is not None and _CONCURRENT.search(each.call.name)))
    }
    if not maps:
        return
    yield from _claimed(maps, facts, regions)
    yield from _asked_by_index(maps, facts, regions)
    for asked in facts.calls_of_method(
        *_ASKS, "get", "TryGetValue", "getOrDefault", "GetOrAdd", "GetValueOrDefault"
    ):
        name, scope, key = (
            asked.receiver_written.removeprefix("self."),
            facts.named_function_of(asked),
            asked.argument(place=0),
        )
        if name not in maps or scope is None or key is None or regions_around(asked, regions):
            continue
        if is_called_in_lock(scope, facts):
            continue
        if asked.method in _ASKS:
            depends = ""
        elif asked.assigned and asked.method != "TryGetValue":
            depends = asked.assigned[0]
        else:
            continue
        rest = Span(asked.span.end, scope.body.end)
        later = _set_later(name, key.value.text, depends, rest, facts)
        if later is not None and not depends and _is_same_for_all(asked, later, facts):
            continue
        if later is not None and not any(each.span.start <= later.start < each.span.end for each in regions):
            yield later, f"another thread may set {name}[{key.value.text}] between the question and this"


def _is_same_for_all(asked: Call, later: Span, facts: Facts) -> bool:
    """Return whether it does not matter which of two threads sets a key: both go on, and what is set is no
    object that is made here. Two objects made for one key are used side by side."""
    refused = any(
        step.kind == "branch"
        and is_within(asked.span, step.span)
        and not is_within(later, step.span)
        and _REFUSES.search(facts.text(step.span))
        for step in facts.steps
    )
    if refused:
        return False
    names = {*re.findall(r"[A-Za-z_]\w*", facts.text(later))}
    made = [one.call for name in names for one in facts.assignments_to(name, asked) if name in one.targets]
    made += facts.within(facts.calls, later)
    return not any(call is not None and call.constructs and is_changed_later(call.method) for call in made)


_IS_THERE = lazy_regex(
    r"^\(?\s*(?:this\.)?(\w+)\[([^\]]+)\]\s*!=\s*null|^\(?\s*([\w.]+)\s+in\s+(?:this\.)?(\w+)\s*\)?$"
)


def _asked_by_index(maps: set[str], facts: Facts, regions: list[Region]) -> Iterator[tuple[Span, str]]:
    """Yield keys that are set after a branch that refuses if they are there (Kotlin)."""
    for step in facts.steps_of("branch") if facts.language == "kotlin" else ():
        found = _IS_THERE.match(step.text.strip())
        scope = facts.named_function_of(step)
        if found is None or scope is None or regions_around(step, regions):
            continue
        name, key = found[1] or found[4], found[2] or found[3]
        if name not in maps or not _REFUSES.search(facts.text(step.span)):
            continue
        later = _set_later(name, key, "", Span(step.span.end, scope.body.end), facts)
        if later is not None and not any(each.span.start <= later.start < each.span.end for each in regions):
            what = f"another thread may set {name}[{key}] between the question and this"
            yield Span(step.span.start, later.end), what


_INDEXED = lazy_regex(r"^(?:this\.|self\.)?(\w+)(?:\[(.+)\]|\.get\(([^()]+)\))$")
_REFUSES = lazy_regex(
    r"\b(?:throw|error\()|\breturn(?:@\w+)?\s+(?:false|null|None|Optional\.empty\(\)|[A-Z]\w*[.(])"
)


def _claimed(maps: set[str], facts: Facts, regions: list[Region]) -> Iterator[tuple[Span, str]]:
    """Yield keys that are taken after a look at who holds them: the loser of two threads is not refused."""
    for each in facts.assignments:
        found = None if each.value is None or each.scope is None else _INDEXED.match(each.value.text.strip())
        scope = facts.named_function_of(each)
        if found is None or scope is None or found[1] not in maps or regions_around(each, regions):
            continue
        held, key = re.escape(each.targets[0]), found[2] or found[3]
        refused = [
            step
            for step in facts.within(facts.steps, Span(each.span.end, scope.body.end))
            if step.kind == "branch"
            and re.search(rf"\b{held}\s*(?:!=|is not)\s*null|\b{held}\s+is\s+not\b", step.text)
            and _REFUSES.search(facts.text(step.span))
            and not re.search(rf"\b(?:return|throw)\s+{held}\b", facts.text(step.span))
        ]
        if not refused:
            continue
        later = _set_later(found[1], key, "", Span(refused[0].span.end, scope.body.end), facts)
        if later is not None and not any(one.span.start <= later.start < one.span.end for one in regions):
            what = f"another thread may set {found[1]}[{key}] between the question and this"
            yield Span(each.span.start, later.end), what


_LOOKED_UP = lazy_regex(r"\b(\w+)\s*,\s*(\w+)\s*:?=\s*([\w.]+)\[([^\]\n]+)\]")


def claimed_in_go(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield keys that are looked up under a lock, and set under it again without another look (Go)."""
    regions = lock_regions(facts) if facts.language == "go" else []
    for first in regions:
        scope = facts.named_function_of(first)
        found = _LOOKED_UP.search(facts.text(first.span))
        if scope is None or found is None:
            continue
        value, known, name, key = found.groups()
        for later in regions:
            if later.span.start < first.span.end or facts.named_function_of(later) is not scope:
                continue
            between, inside = facts.text(Span(first.span.end, later.span.start)), facts.text(later.span)
            refused = re.search(rf"\bif\s+{known}\b[^{{]*\{{([^}}]*\breturn\b[^}}]*)\}}", between)
            if refused is None or (value != "_" and re.search(rf"\b{value}\b", refused[1])):
                continue
            item = re.escape(f"{name}[{key}]")
            if re.search(rf"^\s*{item}\s*=[^=]", inside, re.MULTILINE) and len(re.findall(item, inside)) == 1:
                yield later.span, f"another goroutine may set {name}[{key}] between the question and this"
                break


def _set_later(name: str, key: str, depends: str, rest: Span, facts: Facts) -> Span | None:
    """Return where the same key is set after it was asked for, with what the answer was if `depends`."""
    for call in facts.within(facts.calls, rest):
        first, second = call.argument(place=0), call.argument(place=1)
        if call.method not in _SETS or call.receiver_written.removeprefix("self.") != name or first is None:
            continue
        if first.value.text == key and (
            not depends or (second is not None and _mentions(depends, second.value.text))
        ):
            return call.span
    for each in facts.within(facts.assignments, rest):
        text = facts.text(each.span)
        if each.targets[0].removeprefix("self.") != f"{name}[]" or each.value is None:
            continue
        if f"[{key}]" in text and (not depends or _mentions(depends, each.value.text)):
            return each.span
    return None


def _mentions(name: str, text: str) -> bool:
    return (
        re.search(rf"\b{re.escape(name)}\b\s*(\.\w+\(\))?\s*[+\-*]|[+\-*]\s*\b{re.escape(name)}\b", text)
        is not None
    )


def _counted(facts: Facts, regions: list[Region]) -> Iterator[tuple[Span, str]]:
    """Yield `count++` of a volatile field."""
    volatile = {
        each.targets[0].removeprefix("self.")
        for each in facts.assignments
        if each.scope is None and each.owner and _is_volatile(each, facts)
    }
    if not facts.syntax.has_any(b"Thread", b"Executor", b"synchronized", b"Concurrent", b"Atomic", b"Lock"):
        # Nothing here shows that several threads write it.
        volatile &= {
            each.targets[0].removeprefix("self.")
            for each in facts.assignments
            if each.owner.rpartition(".")[2] in singletons(facts)
        }
    for each in facts.assignments if volatile else ():
        name = each.targets[0].removeprefix("self.")
        if each.scope is None or name not in volatile or each.operator not in ("++", "--", "+=", "-="):
            continue
        if _is_of_loop(each.scope, facts):
            continue  # The loop of its own thread alone may change it; others read it.
        if not regions_around(each, regions) and not is_called_in_lock(each.scope, facts):
            yield each.span, f"{name} is read and written in two steps: volatile does not make them one"


def _is_of_loop(scope: Scope, facts: Facts, levels: int = 2) -> bool:
    """Return whether a function is the loop of a thread, or only such a loop calls it."""
    if scope.short_name in ("run", "Run"):
        return True
    callers = {facts.named_function_of(call) for call in facts.callers_of(scope)} - {scope}
    return (
        bool(callers)
        and levels > 0
        and all(each is not None and _is_of_loop(each, facts, levels - 1) for each in callers)
    )


def _is_volatile(field: Assignment, facts: Facts) -> bool:
    text = facts.syntax.line_text(field.line)
    above = facts.syntax.line_text(field.line - 1) if field.line > 1 else ""
    return re.search(r"\bvolatile\b|@Volatile\b", text) is not None or above.strip() == "@Volatile"


def _flags(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield flags that end the loop of a thread and are not volatile (Java, Kotlin)."""
    source = facts.syntax.source
    if b"Executor" not in source and not (
        any(word in source for word in (b"Runnable", b"Thread", b"thread")) and _THREADS.search(source)
    ):
        return
    for loop in facts.loops:
        found = _FLAG.match(loop.over.strip()) if loop.kind == "while" else None
        scope = facts.named_function_of(loop)
        if found is None or scope is None or scope.is_async:
            continue
        declared = [
            each
            for each in facts.assignments
            if each.scope is None and each.owner == scope.owner and each.targets[0] == f"self.{found[1]}"
        ]
        if not declared or _is_volatile(declared[0], facts) or not _is_flag(declared[0]):
            continue
        if any(
            _sets(each, found[1], scope) for each in facts.assignments
        ) and "synchronized" not in facts.text(scope.span):
            yield (
                declared[0].span,
                f"{found[1]} ends a loop of another thread, which may never see that it changed",
            )


def _is_flag(field: Assignment) -> bool:
    return field.type in ("boolean", "Boolean") or (
        field.value is not None and field.value.text in ("true", "false")
    )


def _sets(each: Assignment, name: str, reader: Scope) -> bool:
    return (
        each.scope is not None
        and each.scope is not reader
        and each.owner == reader.owner
        and each.targets[0].removeprefix("self.") == name
        and each.scope.short_name not in ("start", "run", reader.owner.rpartition(".")[2])
    )


def _made_twice(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield double-checked initialisation of a field that is not volatile (Java)."""
    text = facts.whole_text
    for found in _TWICE.finditer(text) if "synchronized" in text else ():
        name = found[1]
        if re.search(rf"\bvolatile\b[^;=(]*\b{re.escape(name)}\b\s*[;=]", text):
            continue
        if re.search(rf"\b(static|private|protected)\b[^;=(){{]*\b{re.escape(name)}\b\s*[;=]", text):
            what = f"{name} is not volatile: another thread may see it half made"
            yield facts.syntax.place_of(found), what
