"""Finds variables and objects that tasks of one function change at the same time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, PYTHON, Hit, Rule

_GUARDS = lazy_regex(
    r"\.Lock\(\)|\.lock\(\)|\block\s*\(|synchronized|withLock|[aA]tomic|Interlocked|mutex|Concurrent|sync\.Map"
)
_PARALLEL = lazy_regex(r"^Parallel\.(For|ForEach|Invoke|ForEachAsync)$|\.AsParallel\(\)\.ForAll$")
_ADDS = frozenset(
    ("Add", "AddRange", "Remove", "Enqueue", "Push", "Insert", "add", "addAll", "put", "remove", "append")
)
_PLAIN = lazy_regex(
    r"^(List|Dictionary|HashSet|Queue|Stack|SortedDictionary)$"
    r"|(^|\.)(ArrayList|HashMap|HashSet|LinkedList|TreeMap|(mutable|array|hash)(List|Map|Set)Of)$"
)


def _check(facts: Facts) -> Iterator[Hit]:
    for started, body in _parallel(facts):
        if _GUARDS.search(facts.text(body.span)):
            continue
        yield from _changed(started, body, facts)
    if facts.language == "csharp":
        yield from _contexts(facts)
    if facts.language == "python":
        yield from _sessions(facts)


def _parallel(facts: Facts) -> Iterator[tuple[Call, Scope]]:
    """Yield calls that run a lambda several times at once, each with the lambda."""
    # Which loops stand around a call is asked last: that takes longest.
    for call in facts.calls if facts.language in ("go", "csharp", "java", "kotlin") else ():
        alone = False
        if facts.language == "go":
            starts = call.is_launched or (call.method == "Go" and "errgroup" in call.name)
        elif facts.language == "csharp":
            alone = _PARALLEL.search(call.name) is not None
            starts = call.name == "Task.Run"
        elif facts.language == "java":
            alone = call.method == "forEach" and "parallelStream()" in call.name
            starts = call.method in ("submit", "execute", "runAsync", "supplyAsync")
        else:
            starts = call.method in ("launch", "async")
        if not alone and not (starts and facts.loops_around(call)):
            continue
        if facts.language == "kotlin" and not _on_threads(call, facts):
            continue
        spans = [call.callee] if call.is_launched else [each.value.span for each in call.arguments]
        for span in spans:
            scope = facts.function_at(span)
            if scope is not None:
                yield call, scope


def _on_threads(call: Call, facts: Facts) -> bool:
    """Return whether coroutines run on several threads (Kotlin)."""
    outer = facts.named_function_of(call)
    text = facts.text(call.callee) + " ".join(each.value.text.partition("{")[0] for each in call.arguments)
    head = "" if outer is None else facts.text(Span(outer.span.start, call.span.start))
    return re.search(r"Dispatchers\.(IO|Default)", text + head) is not None


def _changed(started: Call, body: Scope, facts: Facts) -> Iterator[Hit]:
    """Yield variables of the function around a lambda that the lambda changes."""
    outer = facts.named_function_of(started)
    if outer is None or outer is body:
        return
    inside = list(facts.within(facts.assignments, body.body))
    own = {name for each in inside if each.operator == ":=" or each.type for name in each.targets}
    own |= {each.name for each in body.parameters}
    # What a lambda between the two declares is new for each of its runs.
    own |= {
        name
        for each in facts.within(facts.assignments, outer.body)
        if each.scope is not None and each.scope is not outer and not is_within(each.span, body.span)
        if is_within(body.span, each.scope.span) and each.scope.is_anonymous and facts.language != "kotlin"
        for name in each.targets
    }
    before = {
        name: each
        for each in facts.within(facts.assignments, outer.body)
        if not is_within(each.span, body.span) and facts.function_of(each) is not body
        for name in each.targets
        if name.isidentifier()
    }
    loops = [loop for loop in facts.loops_around(started) if is_within(loop.span, outer.span)]
    fresh = {name for name, each in before.items() if any(is_within(each.span, loop.body) for loop in loops)}
    for each in inside:
        for target in each.targets:
            name = target.removesuffix("[]")
            bare = name.removeprefix("self.")
            counts = each.operator in ("+=", "-=", "++", "--")
            if counts and name not in own and _is_field(bare, facts) and name not in before:
                yield Hit(each.span, f"{name} is changed by several tasks at once, without a lock", LIKELY)
            if name not in before or name in own or name in fresh:
                continue
            is_changed = target == name and (counts or _appends(name, facts.text(each.span)))
            is_set = target != name and facts.language == "go"
            if is_changed or (is_set and _is_map(name, before[name].type, facts, outer)):
                yield Hit(each.span, f"{name} is changed by several tasks at once, without a lock", LIKELY)
    for call in facts.within(facts.calls, body.body):
        made = before.get(call.receiver_written)
        if (
            made is None
            or call.method not in _ADDS
            or call.receiver_written in own | fresh
            or made.call is None
        ):
            continue
        if _PLAIN.search(made.call.name):
            what = f"{call.receiver_written} is changed by several tasks at once, without a lock"
            yield Hit(call.span, what, LIKELY)


def _is_field(name: str, facts: Facts) -> bool:
    return f"self.{name}" in facts.file_names


def _appends(name: str, text: str) -> bool:
    return (
        re.match(rf"{re.escape(name)}\s*=\s*(append\(\s*{re.escape(name)}\b|{re.escape(name)}\s*[+-])", text)
        is not None
    )


def _is_map(name: str, kind: str, facts: Facts, outer: Scope) -> bool:
    made = rf"\b{re.escape(name)}\s*(:=|=)\s*(make\(map\[|map\[)|\bvar {re.escape(name)} map\["
    return kind == "map" or re.search(made, facts.text(outer.body)) is not None


_CONTEXTS = lazy_regex(r"(^|\.)_?\w*([dD]b|[cC]ontext|[dD]bContext)\.")
_ASKS = lazy_regex(
    r"(ToListAsync|FirstOrDefaultAsync|FirstAsync|SingleAsync|SingleOrDefaultAsync|CountAsync|AnyAsync|SumAsync"
    r"|ToArrayAsync|FindAsync|SaveChangesAsync)$"
)


def _contexts(facts: Facts) -> Iterator[Hit]:
    """Yield queries of one DbContext that run at the same time (C#)."""
    for call in facts.calls_named("Task.WhenAll"):
        scope = facts.function_of(call)
        if scope is None or not re.search(r"DbContext|EntityFrameworkCore", facts.whole_text):
            continue
        names = {each.value.text for each in call.positional}
        asked = [
            each.call
            for each in facts.own(facts.assignments, scope)
            if each.call is not None
            and not each.call.is_awaited
            and names & {*each.targets}
            and _ASKS.search(each.call.method)
            and _CONTEXTS.match(each.call.written)
        ]
        inside = [
            each
            for each in facts.within(facts.calls, call.span)
            if _ASKS.search(each.method) and _CONTEXTS.match(each.written)
        ]
        roots: dict[str, list[Call]] = {}
        for each in (*asked, *inside):
            roots.setdefault(re.split(r"[.(]", each.written.removeprefix("self."))[0], []).append(each)
        for root, several in roots.items():
            mapped = "Select(" in facts.text(call.span)
            if len(several) > 1 or (mapped and several):
                what = f"{root} is used by several tasks at once, which it does not allow"
                yield Hit(Span(min(each.span.start for each in several), call.span.end), what, LIKELY)


def _sessions(facts: Facts) -> Iterator[Hit]:
    """Yield `gather` of queries by one AsyncSession (Python)."""
    if not facts.imports_any("sqlalchemy"):
        return
    for call in facts.calls_named("asyncio.gather"):
        asked: dict[str, int] = {}
        for each in facts.within(facts.calls, call.span):
            if each.method in ("execute", "scalars", "scalar", "get") and "AsyncSession" in each.name:
                asked[each.receiver_written] = asked.get(each.receiver_written, 0) + 1
            for name in _given_sessions(each, facts):
                asked[name] = asked.get(name, 0) + 1
        looped = " for " in facts.text(call.span)
        for name, count in asked.items():
            if count > 1 or looped:
                what = f"{name} is used by several tasks at once, which it does not allow"
                yield Hit(call.span, what, LIKELY)


def _given_sessions(call: Call, facts: Facts) -> Iterator[str]:
    """Yield the sessions that a function of this text is given, by the types of its parameters."""
    for scope in facts.functions_named(call.method):
        if scope.is_async and call in facts.callers_of(scope):
            taken = [each for each in scope.parameters if each.name not in ("self", "cls")]
            for place, each in enumerate(taken):
                given = call.argument(each.name, place=place)
                if each.type.endswith("AsyncSession") and given is not None and given.value.shape == "name":
                    yield given.value.text


RULE = Rule(
    id="FK-R122",
    slug="race-between-tasks",
    title="Variable changed by several tasks at once",
    why="Two tasks read the old value and both write theirs: counts are too low, entries get lost, and "
    "collections break.",
    fix="Let each task return its part and join the parts, or guard the variable with a lock or an atomic.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *GO, *JAVA, *CSHARP, *KOTLIN),
    check=_check,
    words=(
        b"go func",
        b".Go(",
        b"Parallel",
        b"Task.Run",
        b"WhenAll",
        b"submit(",
        b"execute(",
        b"Async(",
        b"launch",
        b"async",
        b"gather",
        b"arallelStream",
    ),
)
