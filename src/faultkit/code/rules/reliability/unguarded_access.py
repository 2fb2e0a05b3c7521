"""Finds uses of a collection without the lock that guards it elsewhere.

A finding is likely if two threads can break the collection or lose a change. In Python, one call of a method
of a list or dict is a single step, and without the lock only possible harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Facts, Loop, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.lock_regions import LOCK_WORDS, Region, lock_regions, regions_around

_CHANGING = frozenset(
    (
        "append", "add", "update", "pop", "remove", "insert", "extend", "setdefault", "clear", "discard",
        "popitem", "appendleft", "popleft", "put", "computeIfAbsent", "compute", "merge", "putIfAbsent",
        "addAll", "putAll", "removeIf", "removeAll", "poll", "offer", "push", "getOrPut", "addFirst",
        "addLast", "removeFirst", "Add", "Remove", "Clear", "TryAdd", "AddRange", "RemoveAll", "RemoveAt",
        "RemoveWhere", "Insert", "Enqueue", "Dequeue", "TryDequeue", "Push", "Pop",
    )
)  # fmt: skip
_COLLECTIONS = lazy_regex(
    r"(^|\.)(HashMap|ArrayList|HashSet|LinkedList|TreeMap|TreeSet|LinkedHashMap|LinkedHashSet|ArrayDeque|EnumMap"
    r"|PriorityQueue|Dictionary|List|SortedDictionary|SortedList|SortedSet|Queue|Stack"
    r"|(mutable|hash|linked|sorted|array)(Map|List|Set)Of|dict|list|set|defaultdict|deque|OrderedDict|Counter)$"
)
_STARTS = lazy_regex(
    r"^(__init__|__new__|__post_init__|__del__|~\w+|[fF]inalize|__enter__|__repr__|constructor|[nN]ew\w*|String"
    r"|[tT]oString|Dispose(Async|Core|AsyncCore)?|load|shut_?down|destroy|tear_?down|(de)?activate)$"
    r"|^_?(init|initiali[sz]e|configure|set_?up|recover|restore|replay|load_?(all|pref|conf|setting))",
    re.IGNORECASE,
)
"""Methods that run before other threads know the object, or when none has it any more."""
_HELD = lazy_regex(r"[lL]ocked$|_?unlocked$|Unlocked$|WithLock$|NoLock$|_nolock$|[uU]nsafe|^_?test")
_SAID = lazy_regex(
    r"lock|mutex|hold|single.?thread|not thread.?safe|guarded|\bstart-?up\b"
    r"|(on|for|during) (recovery|restart|boot)",
    re.IGNORECASE,
)
_TASKS = lazy_regex(r"asyncio\.|anyio\.|trio\.")


_SIZE = lazy_regex(r"\.(size|isEmpty|isNotEmpty|count|Count|length|Length)(\(\))?$")
_STREAM = lazy_regex(r"(Stream|Reader|Writer)$")
"""Classes that one thread reads or writes, with methods that their base declares as synchronized."""


class _Use(NamedTuple):
    """A use of a field."""

    span: Span
    scope: Scope
    changes: bool


def uses_without_lock(facts: Facts) -> Iterator[Hit]:
    """Yield uses of a field without the lock that is held elsewhere, the first of each function."""
    regions = [each for each in lock_regions(facts) if not _is_of_tasks(each, facts)]
    if not regions:
        return
    seen: set[Scope] = set()
    for owner, fields in _fields(facts).items():
        if any(_STREAM.search(base) for base in (owner, *facts.classes.get(owner, ()))):
            continue
        methods = [scope for scope in facts.scopes if scope.owner == owner and scope.name]
        if not any(regions_around(_Body(scope.body), regions) or _holds(scope, regions) for scope in methods):
            continue
        for field, kind in fields.items():
            changes = [each for each in _changes(field, owner, facts) if _is_late(each, owner)]
            yield from _for_readers(field, changes, regions)
            if not changes:
                continue
            reads = [*_reads(field, owner, changes, facts)]
            guarded = [*changes, *(reads if facts.language == "go" and kind == "map" else ())]
            if not any(_is_held(each, regions) for each in guarded):
                continue
            late = [*changes, *(each for each in reads if _is_late(each, owner))]
            held = [each for each in late if _is_held(each, regions)]
            unheld = [
                each
                for each in late
                if each not in held
                and not regions_around(each, regions)
                and not _is_head(each, regions)
                and not _is_called_with_lock(each.scope, regions, facts)
            ]
            loose = [each for each in unheld if _matters(each, kind, facts)]
            if len(loose) > len(held) or (facts.language != "go" and _most_change(unheld, held)):
                continue  # The lock may be there for something else.
            for each in sorted(loose, key=lambda use: _is_size(use, facts)):
                if each.scope in seen:
                    continue
                seen.add(each.scope)
                lock = next(iter(_locks(held[0], regions)), "a lock")
                doing = "changed" if each.changes else "read"
                what = f"{field} is {doing} here without {lock}, which guards it elsewhere"
                harmless = _is_one_step(each, facts) or _is_size(each, facts)
                yield Hit(each.span, what, POSSIBLE if harmless else LIKELY)


def _most_change(unheld: list[_Use], held: list[_Use]) -> bool:
    """Return whether more changes are made without the lock than with it."""
    return sum(each.changes for each in unheld) > sum(each.changes for each in held)


def _is_size(use: _Use, facts: Facts) -> bool:
    """Return whether a use, and its function, only reads how many items there are: that may be a little
    old."""
    text = facts.text(use.span)
    found = None if use.changes else _SIZE.search(text)
    if found is None:
        return False
    field = re.escape(text[: found.start()].rpartition(".")[2])
    sizes = r"(?:size|isEmpty|isNotEmpty|count|Count|length|Length)\b"
    return re.search(rf"\b{field}\b(?!\s*\??\.{sizes})", facts.text(use.scope.body)) is None


def _is_one_step(use: _Use, facts: Facts) -> bool:
    """Return whether the interpreter changes a collection in one step: `append`, `d[k] = v` (Python)."""
    is_counted = re.search(r"[-+*|&/]=", facts.text(use.span)) is not None
    return facts.language == "python" and use.changes and not is_counted


def _for_readers(field: str, uses: list[_Use], regions: list[Region]) -> Iterator[Hit]:
    """Yield changes while a lock of this object is held for reading."""
    for each in uses:
        around = regions_around(each, regions)
        if each.changes and around and all(one.is_shared and one.lock.count(".") == 1 for one in around):
            what = f"{field} is changed here with a lock that others may hold, too: it is one for readers"
            yield Hit(each.span, what, LIKELY)


def _is_head(use: _Use, regions: list[Region]) -> bool:
    """Return whether the field is itself the lock: `synchronized (jobs) { … }`."""
    return any(
        each.taken is not None and each.taken.start <= use.span.start < each.taken.end for each in regions
    )


class _Body(NamedTuple):
    span: Span


def _holds(scope: Scope, regions: list[Region]) -> bool:
    return any(scope.body.start <= each.span.start < scope.body.end for each in regions)


def _is_of_tasks(region: Region, facts: Facts) -> bool:
    """Return whether the lock is one of asyncio: between awaits, tasks do not disturb each other."""
    if facts.language == "python" and facts.is_in_async(region):
        return True
    return facts.language == "python" and any(
        each.call is not None and region.lock in each.targets and _TASKS.search(each.call.name)
        for each in facts.assignments
    )


def _fields(facts: Facts) -> dict[str, dict[str, str]]:
    """Return fields that hold a plain collection or a number, by class, each with what it is."""
    found: dict[str, dict[str, str]] = {}
    for each in facts.assignments:
        if not each.owner or len(each.targets) != 1 or not re.fullmatch(r"self\.\w+", each.targets[0]):
            continue
        kind = _kind(each, facts)
        if kind and (each.scope is None or _STARTS.match(each.scope.short_name)):
            found.setdefault(each.owner, {}).setdefault(each.targets[0].removeprefix("self."), kind)
    return found


def _kind(field: Assignment, facts: Facts) -> str:
    if facts.language == "go":
        if field.type == "map":
            return "map"
        return "number" if re.fullmatch(r"u?int(32|64)?|float64", field.type) else ""
    if field.value is not None and facts.language == "python" and field.value.shape in ("object", "list"):
        return "collection"
    if field.value is not None and field.value.shape == "number" and facts.language == "python":
        return "number"
    if field.call is not None and _COLLECTIONS.search(field.call.name) and "oncurrent" not in field.call.name:
        return "collection"
    if field.type in ("int", "long", "Int", "Long", "double"):
        return "number"
    return ""


def _is_late(use: _Use, owner: str) -> bool:
    """Return whether a use runs when other threads may know the object."""
    return not _STARTS.match(use.scope.short_name) and not _is_maker(use.scope, owner)


def _names(field: str, facts: Facts) -> set[str]:
    return {f"self.{field}"} | (set() if facts.language in ("go", "python") else {field})


def _changes(field: str, owner: str, facts: Facts) -> Iterator[_Use]:
    """Yield changes of a field in methods of its class."""
    names = _names(field, facts)
    items = {f"{name}[]" for name in names}
    changed: list[Span] = []
    for each in facts.assignments:
        if each.scope is None or each.owner != owner or not ({*each.targets} & (names | items)):
            continue
        changed.append(each.span)
    for call in facts.calls:
        on = call.method in _CHANGING and call.receiver_written in names
        drops = (
            call.name in ("delete", "clear")
            and call.positional
            and _same(call.positional[0].value.text, field, facts)
        )
        if on or drops:
            changed.append(call.span)
    changed += [
        step.span
        for step in facts.steps_of("delete")
        if any(f"{name}[" in step.text or f"{name}[" in facts.text(step.span) for name in names)
    ]
    for span in changed:
        scope = facts.named_function_of(_Body(span))
        if scope is not None and scope.owner == owner and not _is_shadowed(field, scope, names, facts):
            yield _Use(span, scope, True)


def _reads(field: str, owner: str, changes: list[_Use], facts: Facts) -> Iterator[_Use]:
    """Yield uses of a field that change nothing."""
    names = _names(field, facts)
    for loop in facts.loops if facts.language == "python" else ():
        scope = facts.named_function_of(loop)
        if (
            scope is not None
            and scope.owner == owner
            and re.fullmatch(rf"self\.{field}(\.\w+\(\))?", loop.over)
        ):
            yield _Use(loop.head, scope, False)
    source, word = facts.syntax.source, field.encode()
    for access in facts.accesses.where(lambda start, end: source.find(word, start, end) >= 0):
        if access.written in names or any(access.written.startswith(f"{name}.") for name in names):
            scope = facts.named_function_of(access)
            if scope is None or scope.owner != owner or _is_shadowed(field, scope, names, facts):
                continue
            if not any(each.span.start <= access.span.start < each.span.end for each in changes):
                yield _Use(access.span, scope, False)


def _same(text: str, field: str, facts: Facts) -> bool:
    return facts.language == "go" and re.fullmatch(rf"\w+\.{re.escape(field)}", text) is not None


def _is_shadowed(field: str, scope: Scope, names: set[str], facts: Facts) -> bool:
    """Return whether a parameter or a variable of the function has the name of the field."""
    if field not in names:
        return False
    if any(each.name == field for each in scope.parameters):
        return True
    declared = (
        rf"(?:\b(?:val|var|int|long|double)|[A-Z][\w.]*(?:<[^;=()]*>)?(?:\[\])?)\s+{re.escape(field)}\s*[=:;]"
    )
    return re.search(declared, facts.text(scope.body)) is not None


def _is_maker(scope: Scope, owner: str) -> bool:
    return scope.short_name == owner.rpartition(".")[2] or not scope.is_method


def _is_held(use: _Use, regions: list[Region]) -> bool:
    """Return whether a lock is held at a use; to change something, one for readers does not do."""
    return any(not (use.changes and each.is_shared) for each in regions_around(use, regions))


def _locks(use: _Use, regions: list[Region]) -> Iterator[str]:
    for each in regions_around(use, regions):
        yield "the lock of its object" if each.lock == "self" else each.lock


def _matters(use: _Use, kind: str, facts: Facts) -> bool:
    """Return whether a use without the lock can break something in this language."""
    if _HELD.search(use.scope.short_name) or _SAID.search(_said_of(use.scope, facts)):
        return False
    text, head = facts.text(use.span), facts.text(Span(use.scope.span.start, use.scope.body.start))
    if facts.language == "java" and (not re.search(r"\b(public|protected)\b", head) or "holdsLock" in text):
        return False
    if "holdsLock" in facts.text(use.scope.body):
        return False
    if use.changes:
        counts = re.search(r"\+\+|--|[+-]=", text) is not None
        # `self.jobs = {}` begins anew, often before other threads know the object.
        return counts or (kind != "number" and not re.match(r"[\w.]+\s*:?=[^=]", text))
    if kind == "number":
        return False
    if facts.language == "python":
        return any(re.fullmatch(r"self\.\w+(\.\w+\(\))?", loop.over) for loop in _looped(use, facts))
    after = facts.text(Span(use.span.end, min(use.span.end + 1, len(facts.syntax.source))))
    is_looped = any(loop.over == text for loop in _looped(use, facts))
    if facts.language == "go":
        return after == "[" or is_looped
    return "." in text.removeprefix("this.") or after in ("[", ".") or is_looped


def _looped(use: _Use, facts: Facts) -> Iterator[Loop]:
    """Yield loops over what is used."""
    return (loop for loop in facts.loops if is_within(use.span, loop.head))


def _said_of(scope: Scope, facts: Facts) -> str:
    """Return the comments above a function."""
    lines: list[str] = []
    line = scope.line - 1
    while line > 0 and len(lines) < 8:
        text = facts.syntax.line_text(line).strip()
        if not text.startswith(("#", "//", "*", "/*")):
            break
        lines.append(text)
        line -= 1
    return " ".join(lines)


def _is_called_with_lock(scope: Scope, regions: list[Region], facts: Facts, levels: int = 3) -> bool:
    """Return whether a caller holds the lock, or is not known: a private method may have others elsewhere."""
    if levels == 0:
        return True
    callers = [call for call in facts.callers_of(scope) if facts.named_function_of(call) is not scope]
    if any(regions_around(call, regions) for call in callers):
        return True
    if _holds(scope, regions):
        return False
    if any(call.is_launched for call in callers) or _is_given(scope, facts):
        return False  # A thread begins with it, and holds nothing.
    if facts.language == "go":
        is_private = scope.short_name[:1].islower()
    elif facts.language == "python":
        is_private = scope.short_name.startswith("_")
    else:
        is_private = "private" in facts.text(Span(scope.span.start, scope.body.start)).split()
    if not is_private:
        return False
    named = {each for call in callers if (each := facts.named_function_of(call)) is not None}
    return not named or any(
        _STARTS.match(each.short_name)
        or _HELD.search(each.short_name)
        or _is_called_with_lock(each, regions, facts, levels - 1)
        for each in named
    )


def _is_given(scope: Scope, facts: Facts) -> bool:
    """Return whether the method is given to a thread: `Thread(target=self._work)`, `submit(this::work)`."""
    own = re.compile(rf"\b(self\.|this::|this\.|::)?{re.escape(scope.short_name)}$")
    return any(
        own.fullmatch(argument.value.text)
        for call in facts.calls
        if call.method in ("Thread", "submit", "execute", "Timer", "Run", "StartNew", "thread")
        for argument in call.arguments
    )


RULE = Rule(
    id="FK-R121",
    slug="unguarded-access",
    title="Collection used without the lock that guards it elsewhere",
    why="Two threads change it at once: entries get lost, and Go ends the process for a map that is read and "
    "written at the same time.",
    fix="Take the same lock around every use, also for reading.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *GO, *JAVA, *CSHARP, *KOTLIN),
    check=uses_without_lock,
    by_default=False,
    words=LOCK_WORDS,
)
