"""Finds caches that keep a result also if it failed: a rejected promise, a faulted task."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Handler, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_HANDLED = lazy_regex(r"\.catch\(|\.finally\(|\bcatch\b|\bfinally\b")
_ENDS = lazy_regex(
    r"close|stop|shut|dispos|destroy|flush|drain|loop|task|\brun|main|cleanup|teardown|finish", re.IGNORECASE
)
"""Work that is done once at most, whether it fails or not."""
_STARTS = lazy_regex(
    r"^(fetch|connect|load|get|query|request|find|list|read|search|post|lookup|download|resolve)([A-Z_]|$)"
)
_FORGETS = {
    "java": lazy_regex(r"whenComplete|exceptionally|\.handle\(|\.remove\(|invalidate"),
    "kotlin": lazy_regex(r"invokeOnCompletion|\.remove\(|catch|runCatching"),
    "csharp": lazy_regex(r"TryRemove|\bcatch\b|ContinueWith|\.Remove\("),
    "go": lazy_regex(r"sync\.Once\{\}|Forget\("),
}
_TASKS = frozenset(("create_task", "ensure_future", "async", "supplyAsync"))
_FUTURE = r"(?:CompletableFuture|ListenableFuture|Future|Deferred|Task|ValueTask|Mono|Uni)<"
_DECORATORS = lazy_regex(r"(^|\.)(lru_cache|cache|cached|memoize|ttl_cache|alru_cache)$")
_EMPTY = lazy_regex(r"^(None|\[\]|\{\}|\(\)|False|0|\"\"|'')$")
_ONCE = r"\b(?:OnceLock|OnceCell|Lazy|LazyLock)<Result<"
_CACHE = lazy_regex(r"cache|memo|lru|\bstore\b|redis", re.IGNORECASE)
_CACHE_WORDS = (b"cache", b"memo", b"lru", b"store", b"redis")
_PUTS = frozenset(("set", "put", "Set", "setex", "Add", "add", "insert", "StringSetAsync", "set_ex"))


def _check(facts: Facts) -> Iterator[Hit]:
    yield from _after_failure(facts)
    if facts.language in JAVASCRIPT:
        yield from _promises(facts)
    elif facts.language in ("java", "kotlin", "csharp"):
        yield from _futures(facts)
    elif facts.language == "python":
        yield from _tasks(facts)
        yield from failures_in_cached_functions(facts)
    elif facts.language == "go":
        yield from _once(facts)
    elif facts.language == "rust":
        yield from _cells(facts)


def _after_failure(facts: Facts) -> Iterator[Hit]:
    """Yield `cache.set(key, value)` after a try that set the value, and whose handler goes on."""
    is_cached = facts.language != "go" and facts.syntax.has_any(*_CACHE_WORDS)
    for each in facts.tries if is_cached else ():
        scope = facts.named_function_of(each)
        if scope is None or not any(
            call.is_awaited or call.receiver_written for call in facts.within(facts.calls, each.body)
        ):
            continue
        if any(one.exits or one.raises or _leaves(one, facts) for one in each.handlers):
            continue
        names = {
            name
            for one in facts.within(facts.assignments, each.body)
            for name in one.targets
            if one.call is not None
        }
        if not names or not each.handlers:
            continue
        for call in facts.within(facts.calls, scope.body):
            if (
                call.span.start < each.span.end
                or call.method not in _PUTS
                or not _CACHE.search(call.receiver_written)
            ):
                continue
            anew = {
                name
                for one in facts.own(facts.assignments, facts.function_of(call))
                if each.span.end <= one.span.start < call.span.start
                for name in one.targets
            }
            given = {one.value.text for one in call.positional}
            if given & names - anew and not _is_in_branch(call, each.span.end, facts):
                yield Hit(call.span, f"{call.written}() keeps what is there after a failure, too", LIKELY)
                break


def _leaves(handler: Handler, facts: Facts) -> bool:
    return any(
        step.kind in ("return", "raise", "continue", "break")
        for step in facts.within(facts.steps, handler.body)
    )


def _is_in_branch(call: Call, after: int, facts: Facts) -> bool:
    """Return whether it is stored only under a condition: `if (record) cache.set(…)`."""
    return any(is_within(call.span, arm.span) and arm.span.start >= after for arm in facts.arms)


# JavaScript.


_IMPORTS = lazy_regex(r"(?:Promise\.all\(\s*\[\s*)?import\(")
_IS_FIELD = lazy_regex(r"self\.#?\w+(\[.*\])?")


def _promises(facts: Facts) -> Iterator[Hit]:
    """Yield promises that are stored before they are settled, and stay if they reject."""
    for each in facts.assignments:
        if each.scope is None or len(each.targets) != 1 or each.value is None:
            continue
        target = each.targets[0]
        is_field = target.startswith("self.") and _IS_FIELD.fullmatch(target) is not None
        is_file = target.partition("[")[0] in facts.file_names and target.partition("[")[0] not in _locals(
            each, facts
        )
        if not (is_field or is_file) or not _is_pending(each.value.text, each.call, each, facts):
            continue
        if _is_guarded(each, target, facts) and not _is_handled(each, facts):
            yield Hit(each.span, f"{_shown(target)} keeps the promise also if it rejects", LIKELY)
    for call in facts.calls_of_method("set"):
        if len(call.positional) != 2 or not call.receiver_written or not _is_map(call, facts):
            continue
        value = call.positional[1].value
        made = next((one for one in facts.within(facts.calls, value.span) if one.span == value.span), None)
        if _is_pending(value.text, made, call, facts) and not _is_handled(call, facts):
            started = facts.assignments_to(value.text, call) if made is None else ()
            begin = min((each.span.start for each in started[-1:]), default=call.span.start)
            what = f"{_shown(call.receiver_written)} keeps the promise also if it rejects"
            yield Hit(Span(min(begin, call.span.start), call.span.end), what, LIKELY)


def _shown(name: str) -> str:
    return name.partition("[")[0]


def _locals(each: Assignment, facts: Facts) -> set[str]:
    return {
        name
        for one in facts.assignments
        if one.scope is not None
        and one.scope is each.scope
        and one.operator == "="
        and one is not each
        and one.type
        for name in one.targets
    }


def _is_map(call: Call, facts: Facts) -> bool:
    """Return whether a map of this file or object is meant, which the function asks first."""
    scope = facts.named_function_of(call)
    name = re.escape(call.receiver_written.replace("self.", ""))
    if scope is None or not re.search(rf"{name}\.(get|has)\(", facts.text(scope.body)):
        return False
    return call.receiver_written.startswith("self.") or call.receiver_written in facts.file_names


def _is_guarded(each: Assignment, target: str, facts: Facts) -> bool:
    """Return whether it is set once: `x ??= f()`, `if (!x) x = f()`."""
    if each.operator in ("??=", "||="):
        return True
    plain = target.replace("self.", "").removesuffix("[]")
    tests = [step.text for step in facts.steps_of("branch") if is_within(each.span, step.span)]
    tests = [text for text in tests if plain in text or "in" in text]
    if not tests:
        return False
    bare = re.escape(plain)
    if target.endswith("[]"):
        bare += r"\[[^\]]*\]"
    asked = re.compile(rf"!\s*\(?(this\.)?{bare}(?![\w.])|{bare}\s*===?\s*(null|undefined)|\bin\s")
    return any(map(asked.search, tests))


def _is_pending(text: str, call: Call | None, place: Call | Assignment, facts: Facts) -> bool:
    """Return whether a value is a promise that was just started."""
    if _IMPORTS.match(text):
        return False  # A part of the program that is missing is missing the next time, too.
    if text.startswith(("await ", "(await", "Promise.resolve")) or (
        call is not None and _ENDS.search(call.method)
    ):
        return False
    if call is None and re.fullmatch(r"\w+", text):
        made = [one for one in facts.assignments_to(text, place) if one.value is not None]
        return bool(made) and all(
            one.value is not None
            and one.call is not None
            and _is_pending(one.value.text, one.call, one, facts)
            for one in made[-1:]
        )
    if call is None or call.is_awaited:
        return re.match(r"\(\s*async\b", text) is not None
    if any(
        scope.is_async and call in facts.callers_of(scope) for scope in facts.functions_named(call.method)
    ):
        return True
    if call.name in ("fetch", "import") or call.method == "then":
        return True
    return _STARTS.match(call.method) is not None and _holds_promises(place, facts)


def _holds_promises(place: Call | Assignment, facts: Facts) -> bool:
    """Return whether the field or variable that is set is declared with a promise."""
    name = (place.targets[0] if isinstance(place, Assignment) else place.receiver_written).partition("[")[0]
    if any(each.type == "Promise" and name in each.targets for each in facts.assignments):
        return True
    bare = re.escape(name.removeprefix("self."))
    return re.search(rf"\b{bare}\b[^;\n]*\b(Map|Record)<[^;\n]*Promise<", facts.whole_text) is not None


def _is_handled(place: Call | Assignment, facts: Facts) -> bool:
    """Return whether a failure is handled here, or what is kept is taken out again by this function or by the
    one of this text that was started."""
    scope = facts.named_function_of(place)
    text = facts.text(place.span if scope is None else scope.body)
    if _HANDLED.search(text):
        return True
    name = place.targets[0] if isinstance(place, Assignment) else place.receiver_written
    kept = name.partition("[")[0]
    around = [] if scope is None else [scope]
    around += [
        each
        for call in (() if scope is None else facts.within(facts.calls, scope.body))
        for each in facts.functions_named(call.method)
        if call in facts.callers_of(each)
    ]
    return any(_takes_back(kept, each, facts) for each in around)


def _takes_back(kept: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a function deletes what is kept on a branch of its own, as after an error."""
    anew: list[Call | Assignment] = [
        call
        for call in facts.within(facts.calls_of_method("delete"), scope.body)
        if call.receiver_written == kept
    ]
    anew += [
        each
        for each in facts.within(facts.assignments, scope.body)
        if kept in each.targets and each.value is not None and each.value.text in ("undefined", "null")
    ]
    return any(is_within(each.span, arm.span) for each in anew for arm in facts.arms)


# Java, Kotlin, C#.


def _futures(facts: Facts) -> Iterator[Hit]:
    forgets = _FORGETS[facts.language]
    for call in facts.calls_of_method(
        "computeIfAbsent", "getOrPut", "GetOrAdd", "putIfAbsent", "GetOrCreate"
    ):
        scope = facts.named_function_of(call)
        name = re.escape(call.receiver_written.rpartition(".")[2])
        if scope is None or not name or _forgets_failure(scope, forgets, facts):
            continue
        if re.search(r"\bCompile\w*\(", facts.text(call.span)):
            continue  # It fails each time.
        if _is_local(call, facts) or _is_taken_out(call, facts):
            continue
        text, given = facts.whole_text, facts.text(call.span)
        is_map = TextPattern(rf"{_FUTURE}[^;=\n]*>\s*{name}\b|\b{name}\b[^;\n]*{_FUTURE}").is_in(text)
        is_started = call.method == "GetOrCreate" and re.search(r"=>\s*\w+(\.\w+)*Async\(", given)
        if (is_map or is_started) and "AsyncCache" not in text and "AsyncLoadingCache" not in text:
            yield Hit(call.span, f"{call.receiver_written} keeps what failed for every later caller", LIKELY)
    if facts.language != "csharp":
        return
    for call in facts.calls:
        if call.method.partition("<")[0] not in ("Lazy", "AsyncLazy") or not call.constructs:
            continue
        made = re.match(r"new\s+(AsyncLazy<|Lazy<(Value)?Task<)", facts.text(call.span))
        is_kept = bool(call.assigned) and not call.is_returned
        is_done = re.search(r"=>\s*(?:Task|ValueTask)\.FromResult\(", facts.text(call.span))
        if is_done or made is None:
            continue  # A task that is done already cannot fail.
        if is_kept and not re.search(r"\bcatch\b|IsFaulted", facts.whole_text):
            few = _is_of_one_request(call, facts)
            yield Hit(call.span, "a task that has failed stays in the Lazy", POSSIBLE if few else LIKELY)


def _is_of_one_request(call: Call, facts: Facts) -> bool:
    """Return whether the object that keeps a task lives for one request: a struct, or a class that is given
    what belongs to a request (C#)."""
    scope = facts.named_function_of(call)
    owner = re.escape("" if scope is None else scope.owner.rpartition(".")[2])
    if not owner:
        return False
    makers = [each for each in facts.functions_named(owner) if each.owner]
    given = {one.type.rpartition(".")[2] for each in makers for one in each.parameters}
    return (
        re.search(rf"\bstruct\s+{owner}\b", facts.whole_text) is not None
        or not given.isdisjoint(("ISession", "IHttpContextAccessor", "HttpContext"))
        or any(name.endswith("DbContext") for name in given)
    )


def _is_local(call: Call, facts: Facts) -> bool:
    """Return whether a map ends with the function that made it."""
    name = call.receiver_written
    return name.isidentifier() and any(
        name in each.targets and each.scope is not None for each in facts.assignments_to(name, call)
    )


def _is_taken_out(call: Call, facts: Facts) -> bool:
    """Return whether other code takes entries out of a map when a task ends or fails."""
    return any(
        each.receiver_written == call.receiver_written
        and (
            facts.handlers_around(each)
            or facts.is_in_finally(each)
            or any(one.method in _AT_END for one in facts.calls_around(each))
        )
        for each in facts.calls_of_method(*_REMOVES)
    )


_AT_END = frozenset(
    ("whenComplete", "whenCompleteAsync", "handle", "exceptionally", "invokeOnCompletion", "ContinueWith")
)


_AFTER_SUCCESS = frozenset(
    ("thenApply", "thenAccept", "thenRun", "thenCompose", "thenApplyAsync", "doOnNext", "doOnSuccess")
)
_REMOVES = frozenset(("remove", "invalidate", "TryRemove", "Remove", "pop"))


def _forgets_failure(scope: Scope, forgets: re.Pattern[str], facts: Facts) -> bool:
    """Return whether a function takes an entry out after a failure, too: not only after a success."""
    if not forgets.search(facts.text(scope.span)):
        return False
    words = {found[0].strip(".(") for found in forgets.finditer(facts.text(scope.span))}
    removals = [call for call in facts.within(facts.calls, scope.body) if call.method in _REMOVES]
    if words - _REMOVES or not removals:
        return True
    return not all(_is_after_success(call, facts) for call in removals)


def _is_after_success(call: Call, facts: Facts) -> bool:
    """Return whether a call runs only if what was waited for has succeeded."""
    if facts.is_in_finally(call) or facts.handlers_around(call):
        return False
    if any(each.method in _AFTER_SUCCESS for each in facts.calls_around(call)):
        return True
    scope = facts.function_of(call)
    return any(
        step.kind == "await" and step.span.end < call.span.start for step in facts.own(facts.steps, scope)
    )


# Python.


_HANDLES_FAILURE = lazy_regex(r"add_done_callback|\bexcept\b|\bfinally\b|\bsuppress\b")


def _drops_failed_task(scope: Scope, facts: Facts) -> bool:
    """Return whether a function takes a task out of the map also if it fails (Python)."""
    text = facts.text(scope.span)
    if _HANDLES_FAILURE.search(text):
        return True
    removals = [
        *(each.span for each in facts.own(facts.steps, scope) if each.kind == "delete"),
        *(each.span for each in facts.own(facts.calls, scope) if each.method == "pop"),
    ]
    awaits = [each.span for each in facts.own(facts.steps, scope) if each.kind == "await"]
    return any(not any(one.end <= each.start for one in awaits) for each in removals)


def _tasks(facts: Facts) -> Iterator[Hit]:
    for each in facts.assignments:
        call, scope = each.call, each.scope
        if scope is None or len(each.targets) != 1 or each.value is None:
            continue
        if call is None and each.value.text.isidentifier():
            # `task = create_task(…)`, then `pending[key] = task`.
            made = facts.assignments_to(each.value.text, each)
            call = next((one.call for one in reversed(made) if one.call is not None), None)
        if call is None or call.method not in _TASKS:
            continue
        found = re.fullmatch(r"((?:self\.)?\w+)\[(.*)\]", each.targets[0])
        if found is None or _drops_failed_task(scope, facts):
            continue
        if re.search(
            rf"not in {re.escape(found[1])}\b|{re.escape(found[1])}\.get\(", facts.text(scope.body)
        ) and re.search(
            rf"await\s+{re.escape(found[1])}\[|return\s+{re.escape(found[1])}\[|await \w+",
            facts.text(scope.body),
        ):
            yield Hit(each.span, f"{found[1]} keeps the task also if it fails", LIKELY)


_OF_INSTALLED = lazy_regex(
    r"^\s*(?:from\s+\S+\s+)?import\b|\bimport_module\(|\bresources\.|find_spec\(", re.MULTILINE
)
"""What is installed or not for as long as the program runs (Python)."""


def failures_in_cached_functions(facts: Facts) -> Iterator[Hit]:
    """Yield cached coroutines, and cached functions that return nothing after an error."""
    for scope in facts.scopes:
        cached = next((each for each in scope.decorators if _DECORATORS.search(each.name)), None)
        if cached is None:
            continue
        if scope.is_async and cached.name.startswith("functools."):
            yield Hit(cached.span, f"{cached.written} keeps a coroutine, which can be awaited once", CERTAIN)
            continue
        for each in facts.own(facts.tries, scope):
            if _OF_INSTALLED.search(facts.text(each.body)):
                continue
            for step in facts.own(facts.steps, scope):
                if step.kind != "return" or not _EMPTY.match(step.text.strip()):
                    continue
                if any(
                    is_within(step.span, one.body) and (one.is_broad or _fails(one.types))
                    for one in each.handlers
                ):
                    yield Hit(step.span, f"{cached.written} keeps this answer to a failure", LIKELY)


def _fails(types: tuple[str, ...]) -> bool:
    """Return whether errors of the network are caught."""
    return any(
        re.search(
            r"^(requests|httpx|aiohttp|urllib|socket|botocore|redis|psycopg)|ConnectionError|Timeout", each
        )
        for each in types
    )


# Go, Rust.


def _once(facts: Facts) -> Iterator[Hit]:
    """Yield `once.Do(func() { x, err = api.Fetch(ctx) })`, whose error stays for ever."""
    for call in facts.calls_of_method("Do"):
        given = call.argument(place=0)
        if given is None or given.value.shape != "function" or "once" not in call.receiver_written.lower():
            continue
        for each in facts.within(facts.assignments, given.value.span):
            kept = [name for name in each.targets if re.search(r"(^|\.)\w*[eE]rr$", name)]
            asked = each.call is not None and any(
                re.search(r"\bctx\b|[cC]ontext\.", one.value.text) for one in each.call.positional[:1]
            )
            if kept and asked and each.operator == "=" and not _FORGETS["go"].search(facts.whole_text):
                what = f"{call.written}() runs once, and {kept[0]} keeps an error for every later caller"
                yield Hit(call.span, what, LIKELY)
                break


_MEANT = lazy_regex(r"(?i)//[^\n]*(?:intentional|deliberate|on purpose|won't retry|not retried)")
"""A comment that says that the failure is to be kept."""


def _cells(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("get_or_init"):
        name = call.receiver_written.rpartition(".")[2]
        if re.search(rf"\b{re.escape(name)}\s*:[^;=\n]*{_ONCE}", facts.whole_text):
            scope = facts.named_function_of(call)
            is_meant = scope is not None and _MEANT.search(facts.text(scope.span)) is not None
            what = f"{name} keeps an error for every later caller"
            yield Hit(call.span, what, POSSIBLE if is_meant else LIKELY)


RULE = Rule(
    id="FK-R111",
    slug="failed-result-cached",
    title="Failed result kept in a cache",
    why="One failure of a moment is handed to every later caller, until the process is started again.",
    fix="Take the entry out when it fails (.catch(() => cache.delete(key))), or store only what succeeded.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"Promise", b"async", b".set(", b"??=", b"Future", b"Deferred", b"Lazy", b"GetOr", b"create_task",
        b"ensure_future", b"cache", b"nce", b"get_or_init",
    ),
)  # fmt: skip
