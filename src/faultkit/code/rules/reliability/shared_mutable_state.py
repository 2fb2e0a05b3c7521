"""Finds global state that concurrent request handlers change without a lock.

A finding is likely if requests or threads share the object by its kind. In Python one call of a collection is
a single step: it is likely harmful only if other code goes through the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.reliability.loaded_by_every_caller import loads_by_every_caller
from faultkit.code.rules.reliability.unguarded_access import uses_without_lock
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.compound_actions import claimed_in_go, compound_actions
from faultkit.code.rules.vocabulary.lock_regions import is_called_in_lock, runs_in_lock
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.singletons import singletons

_CHANGES = frozenset(
    [
        "append",
        "add",
        "update",
        "pop",
        "remove",
        "insert",
        "extend",
        "setdefault",
        "clear",
        "discard",
        "popitem",
    ]
)
_GUARDS = lazy_regex(
    r"\block|_lock\b|mutex|\.Lock\(\)|synchronized|atomic|sync\.Map|RLock|acquire", re.IGNORECASE
)


_PLAIN = lazy_regex(
    r"(^|\.)(HashMap|ArrayList|HashSet|LinkedList|TreeMap|LinkedHashMap|ArrayDeque|StringBuilder"
    r"|(mutable|hash|linked|sorted|array)(Map|List|Set)Of)$"
)
_PLAIN_CSHARP = lazy_regex(r"^(Dictionary|List|HashSet|SortedDictionary|SortedList|SortedSet|Queue|Stack)$")
_FIELD_CHANGES = frozenset(
    ("put", "add", "remove", "computeIfAbsent", "merge", "putIfAbsent", "clear", "addAll", "putAll", "append",
     "compute", "poll", "push", "getOrPut", "set", "removeIf",
     "Add", "Remove", "Clear", "TryAdd", "AddRange", "RemoveAll", "RemoveAt", "Insert", "Enqueue", "Dequeue",
     "Push", "Pop")
)  # fmt: skip
_SERVES = lazy_regex(
    r"(Controller|Middleware|Hub|Handler|Filter|Service|Endpoint|Consumer|Limiter|Store|Cache)s?$"
)
"""Classes of C# whose static members all requests share, by their names."""
_GO_NUMBERS = frozenset(("int", "int32", "int64", "uint", "uint32", "uint64", "float64"))
_STARTS = (
    "run",
    "start",
    "init",
    "initialize",
    "close",
    "stop",
    "shutdown",
    "Start",
    "StartAsync",
    "Dispose",
)
"""Methods that the owner of an object calls once."""
_AT_START = frozenset(("PostConstruct", "Autowired", "Inject", "PreDestroy", "EventListener"))


def _check(facts: Facts) -> Iterator[Hit]:
    found = tuple(_found(facts))
    if not found:
        return
    # Two rules know more: which lock guards the field elsewhere, and that a value is made several times.
    guarded = {
        facts.named_function_of(each) for each in uses_without_lock(facts) if each.confidence >= LIKELY
    }
    loaded = {each.span for each in loads_by_every_caller(facts)}
    for hit in found:
        if hit.span not in loaded and facts.named_function_of(hit) not in guarded:
            yield hit


def _found(facts: Facts) -> Iterator[Hit]:
    if facts.language in (*JAVA, *CSHARP, *KOTLIN):
        yield from _fields(facts)
        for span, what in compound_actions(facts):
            yield Hit(span, what, LIKELY)
    if facts.language == "go":
        yield from _go_fields(facts)
        for span, what in claimed_in_go(facts):
            yield Hit(span, what, LIKELY)
    shared = _shared(facts)
    if not shared:
        return
    for scope in _serving(facts):
        if scope.is_async and facts.language == "python":
            # One at a time between awaits; a change that spans an await is rare and hard to see.
            continue
        if _GUARDS.search(facts.text(scope.span)):
            continue
        for span, name in _changes(scope, shared, facts):
            what = f"{name} is shared by all requests and changed here without a lock"
            yield Hit(span, what, POSSIBLE if _is_one_step(span, name, facts) else LIKELY)


def _is_one_step(span: Span, name: str, facts: Facts) -> bool:
    """Return whether a collection is changed in one step of the interpreter, and nothing goes through it."""
    if facts.language != "python" or re.search(r"[-+*|&/]=|\bdel\b", facts.text(span)):
        return False
    return not any(re.search(rf"\b{re.escape(name)}\b", loop.over) for loop in facts.loops)


def _serving(facts: Facts) -> list[Scope]:
    """Return the functions that run for each request: handlers, hooks, and functions that they call."""
    found = [
        scope
        for scope in facts.scopes
        if scope.route is not None
        or any(each.method in ("before_request", "after_request", "middleware") for each in scope.decorators)
    ]
    called = [
        scope
        for scope in facts.scopes
        if scope.name
        and not scope.owner
        and scope not in found
        and any(facts.named_function_of(call) in found for call in facts.callers_of(scope))
    ]
    return [*found, *called]


def _fields(facts: Facts) -> Iterator[Hit]:
    """Yield changes of plain collections in classes of which all requests share one object."""
    classes = {*singletons(facts)}
    if facts.language == "csharp":
        classes |= {scope.owner.rpartition(".")[2] for scope in facts.routes() if scope.owner}
        classes |= {name.rpartition(".")[2] for name in facts.classes if _SERVES.search(name)}
        classes |= {
            scope.owner.rpartition(".")[2]
            for scope in facts.scopes
            if scope.owner
            and any(each.type.endswith(("HttpContext", "HubCallerContext")) for each in scope.parameters)
        }
    if facts.language == "kotlin" and facts.imports_any("io.ktor.server"):
        # One object of a class serves all connections, on several threads.
        classes |= {
            scope.owner.rpartition(".")[2]
            for scope in facts.scopes
            if scope.owner and scope.is_async and scope.name and facts.classes.get(scope.owner) is not None
        }
    if not classes:
        return
    plain = _PLAIN_CSHARP if facts.language == "csharp" else _PLAIN
    fields = {
        each.targets[0].removeprefix("self.")
        for each in facts.assignments
        if each.scope is None
        and each.owner.rpartition(".")[2] in classes
        and _is_shared(each, facts)
        and each.call is not None
        and (each.call.constructs or facts.language == "kotlin")
        and plain.search(each.call.name)
    }
    numbers = {
        each.targets[0].removeprefix("self.")
        for each in facts.assignments
        if each.scope is None
        and each.owner.rpartition(".")[2] in classes
        and _is_shared(each, facts)
        and each.type in ("int", "long", "double")
    }
    for each in facts.assignments:
        name, scope = each.targets[0].removeprefix("self."), each.scope
        item = name.removesuffix("[]")
        is_late = scope is not None and item != name and item in fields and _is_late(scope, classes, facts)
        if is_late and not runs_in_lock(each, facts):
            yield Hit(each.span, f"{item} is shared by all requests and changed here without a lock", LIKELY)
        if name not in numbers or scope is None or scope.route is None:
            continue
        if each.operator in ("++", "--", "+=", "-=") and not _GUARDS.search(facts.text(scope.span)):
            yield Hit(each.span, f"{name} is shared by all requests and changed here without a lock", LIKELY)
    for call in facts.calls_of_method(*_FIELD_CHANGES):
        name = call.receiver_written.removeprefix("self.")
        scope = facts.named_function_of(call)
        if name in fields and scope is not None and _is_late(scope, classes, facts):
            if runs_in_lock(call, facts):
                continue
            what = f"{name} is shared by all requests and changed here without a lock"
            yield Hit(call.span, what, POSSIBLE if _is_registered(call, scope) else LIKELY)


_REGISTERS = NamePattern(
    r"^_?(register|subscribe|install|bind|provide|attach)"
    r"|^_?add\w*(Listener|Observer|Handler|Filter|Interceptor|Provider|Processor|Plugin|Factory|Hook|Callback|Converter)s?$",
    re.IGNORECASE,
)


def _is_registered(call: Call, scope: Scope) -> bool:
    """Return whether a method keeps a part of the program that it is given, as others do when they start."""
    given = {each.name for each in scope.parameters}
    return _REGISTERS.match(scope.short_name) is not None and any(
        each.value.text in given for each in call.positional[-1:]
    )


def _is_called_at_start(scope: Scope, facts: Facts, levels: int = 2) -> bool:
    """Return whether all callers of a function in this text run once, and there is one."""
    callers = {facts.named_function_of(call) for call in facts.callers_of(scope)} - {scope}
    return bool(callers) and all(
        each is not None
        and (_runs_at_start(each) or (levels > 1 and _is_called_at_start(each, facts, levels - 1)))
        for each in callers
    )


def _runs_at_start(scope: Scope) -> bool:
    """Return whether the owner of an object, or what makes it, calls a method once."""
    return (
        scope.short_name in (scope.owner.rpartition(".")[2], "constructor", "afterPropertiesSet", *_STARTS)
        or re.match(r"_?init(iali[sz]e)?([A-Z]|$)", scope.short_name) is not None
        or any(each.method in _AT_START for each in scope.decorators)
    )


def _go_fields(facts: Facts) -> Iterator[Hit]:
    """Yield changes of maps and numbers in fields of the object whose methods answer requests (Go)."""
    kinds = {
        (each.owner, each.targets[0]): each.type
        for each in facts.assignments
        if each.scope is None and each.owner and each.targets
    }
    for scope in facts.routes():
        if not scope.owner or _GUARDS.search(facts.text(scope.span)):
            continue
        changed: list[tuple[Assignment | Call, str, str]] = [
            (each, each.targets[0], each.operator) for each in facts.own(facts.assignments, scope)
        ]
        changed += [
            (call, f"{_in_self(call, facts)}[]", "=")
            for call in facts.own(facts.calls, scope)
            if call.name in ("delete", "clear") and call.arguments
        ]
        for place, target, operator in changed:
            kind = kinds.get((scope.owner, target.removesuffix("[]")), "")
            counts = kind in _GO_NUMBERS and operator in ("++", "--", "+=", "-=")
            if counts or (kind == "map" and target.endswith("[]")):
                name = facts.in_words_of(place, target.removesuffix("[]"))
                what = f"{name} is shared by all requests and changed here without a lock"
                yield Hit(place.span, what, LIKELY)


def _in_self(call: Call, facts: Facts) -> str:
    """Return the first argument, with `self` for the receiver of the method: `self.seen` for `t.seen`."""
    written = call.arguments[0].value.text
    owner = facts.in_words_of(call, "self.")
    return f"self.{written.removeprefix(owner)}" if written.startswith(owner) else written


def _is_late(scope: Scope, classes: set[str], facts: Facts) -> bool:
    """Return whether a method of these classes runs after the start, and takes no lock."""
    return (
        scope.owner.rpartition(".")[2] in classes
        and not _runs_at_start(scope)
        and not _GUARDS.search(facts.text(scope.span))
        and not _is_called_at_start(scope, facts)
        and not is_called_in_lock(scope, facts)
    )


def _is_shared(field: Assignment, facts: Facts) -> bool:
    """Return whether all requests see a field: a controller of C# is made for each, so only a static one."""
    if facts.language != "csharp" or "static" in facts.syntax.line_text(field.line).split():
        return True
    return field.owner.rpartition(".")[2] in singletons(facts)


def _shared(facts: Facts) -> set[str]:
    """Return global names that hold a mutable value."""
    names = set()
    for each in facts.assignments:
        if each.scope is None and not each.owner and each.value is not None and len(each.targets) == 1:
            changeable = each.value.shape in ("object", "list") or each.value.text in (
                "dict()",
                "list()",
                "set()",
            )
            is_container = each.call is not None and each.call.name in (
                "collections.defaultdict",
                "collections.deque",
                "map",
            )
            if facts.language == "kotlin" and each.call is not None:
                is_container = _PLAIN.search(each.call.name) is not None
            if changeable or is_container or each.value.shape == "number":
                names.add(each.targets[0])
    return names


def _changes(scope: Scope, shared: set[str], facts: Facts) -> Iterator[tuple[Span, str]]:
    declared = facts.globals_in(scope)
    local = {
        target
        for each in facts.within(facts.assignments, scope.body)
        if each.operator in ("=", ":=") and declared.isdisjoint(each.targets)
        for target in each.targets
    } | {each.name for each in scope.parameters}
    for each in facts.within(facts.assignments, scope.body):
        for target in each.targets:
            name = target.removesuffix("[]")
            is_shared = name in shared and name not in local
            if is_shared and (
                target.endswith("[]") or each.operator in ("+=", "-=", "++", "--") or "[" in target
            ):
                yield each.span, name
    for call in facts.within(facts.calls, scope.body):
        name = call.receiver_written
        changes = {"python": _CHANGES, "kotlin": _FIELD_CHANGES}.get(facts.language, frozenset())
        if name in shared and name not in local and call.method in changes:
            yield call.span, name


RULE = Rule(
    id="FK-R024",
    slug="shared-mutable-state",
    title="Shared state changed without a lock",
    why="Requests run side by side: updates are lost, maps break (Go ends the process), and a "
    "restart forgets all of it.",
    fix="Keep it in a database or cache, or guard every use with the same lock.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *GO, *JAVA, *CSHARP, *KOTLIN),
    check=_check,
)
