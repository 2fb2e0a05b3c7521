"""Finds work that is repeated for ever and ends with its first exception.

Evidence that it matters: a call in the round may fail, nothing catches that, and nothing waits for the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Loop, Place, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, POSSIBLE, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.connections import is_of_connection
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.repetition import is_for_screen
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver
from faultkit.code.rules.vocabulary.short_lives import repeated_around
from faultkit.code.rules.vocabulary.tried_work import leaves_process
from faultkit.code.rules.vocabulary.waits import is_sleep

_SCHEDULES = frozenset(("scheduleAtFixedRate", "scheduleWithFixedDelay"))
_TASKS = frozenset(
    (
        "asyncio.create_task", "asyncio.ensure_future", "asyncio.TaskGroup.create_task", "threading.Thread",
        "asyncio.get_running_loop().create_task", "asyncio.get_event_loop().create_task", "create_task",
    )
)  # fmt: skip
_BROAD = frozenset(
    ("Exception", "Throwable", "RuntimeException", "BaseException", "Error", "System.Exception")
)
_PAUSES = frozenset(("delay", "tick", "Delay", "WaitForNextTickAsync", "sleep", "wait_for", "wait"))
_HARMLESS = lazy_regex(
    r"^(java\.(util|time|lang)|kotlin\.|kotlinx\.coroutines\.(delay|yield|isActive)|System\.|Math\.|Objects\.|String"
    r"|Instant|Duration|TimeSpan|DateTime|Stopwatch|Interlocked|Thread\.|time\.|datetime\.|random\.|math\.|len$"
    r"|print$|asyncio\.(Event|sleep)|threading\.Event|std\.(time|sync)|tokio\.time)"
)
SAFE = lazy_regex(
    r"^(get|set|add|incrementAndGet|isActive|ensureActive|yield|is_set|isInterrupted|interrupted|now|close|Dispose"
    r"|currentThread|interrupt|stop|cancel|start|append|info|warn|error|debug|put|clear|size|isEmpty|toString|format"
    r"|LogInformation|LogDebug|CreateScope|CreateAsyncScope|GetRequiredService|clone|unwrap|expect|ok|monotonic"
    r"|(get|is|set|has|should|can)[A-Z]\w*|try(Receive|Send|Emit|Acquire|Lock)|(first|last)OrNull)$"
)
_OF_COLLECTIONS = lazy_regex(
    r"(remove|add|poll|peek|offer|take|pop|push|contains|iterator|stream|entrySet|keySet|values|hasNext|next|forEach"
    r"|setPoolSize|schedule|submit|subscribe|doOn[A-Z]|onError[A-Z])\w*$"
)


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "go":
        yield from _left_by_error(facts)
        return
    # On a screen, an error ends the app, and the work starts again with the screen.
    if facts.language in KOTLIN and is_for_screen(facts):
        return
    if facts.language in (*JAVA, *KOTLIN):
        yield from _scheduled(facts)
    if facts.language == "python":
        yield from _set_again(facts)
    for loop in facts.loops:
        scope = facts.function_of(loop)
        if loop.kind not in ("endless", "while") or scope is None or not runs_aside(loop, scope, facts):
            continue
        calls = list(facts.within(facts.calls, loop.body))
        pauses = [call for call in calls if is_sleep(call) or call.method in _PAUSES]
        if not pauses and not any(word in loop.over for word in _PAUSES):
            continue
        failing, sure = _failing([loop.body], facts)
        if facts.language == "rust":
            failing, sure = _passed_on(loop, scope, facts), LIKELY
        if failing is None or (facts.language == "java" and not _is_tried(failing, loop, facts)):
            continue
        what = f"an error of {failing.written}() ends this loop, and nothing starts it again"
        yield Hit(Span(loop.span.start, failing.span.end), what, sure)


def _failing(bodies: list[Span], facts: Facts) -> tuple[Call | None, float]:
    """Return a call that nothing catches, and how sure it is that it may fail while the program is right."""
    for known in (True, False):
        for body in bodies:
            if (found := failing_call(body, facts, known=known)) is not None:
                return found, LIKELY if known else POSSIBLE
    return None, POSSIBLE


def _is_tried(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether a handler in the loop shows that a round may fail, and the loop is to go on (Java)."""
    return any(
        each.handlers and is_within(call.span, each.body) for each in facts.within(facts.tries, loop.body)
    )


def _scheduled(facts: Facts) -> Iterator[Hit]:
    """Yield tasks of a ScheduledExecutorService that let exceptions out: it never runs them again."""
    for call in facts.calls_of_method(*_SCHEDULES, "schedule", "fixedRateTimer"):
        first = call.argument(place=0)
        if call.method == "fixedRateTimer":
            first = call.positional[-1] if call.positional else None
        elif len(call.arguments) < (2 if facts.language == "kotlin" else 3):
            continue
        if first is None or (call.method == "schedule" and not _is_timer_task(first.value.text, facts)):
            continue
        bodies = list(_bodies(first.value.text, first.value.span, facts))
        failing, sure = _failing(bodies, facts)
        if failing is not None:
            what = f"an exception of {failing.written}() ends the runs of {call.written}() for ever"
            yield Hit(call.span, what, sure)


_TICKS = lazy_regex(r"<-\s*[\w.]*\.C\b|\btime\.(Sleep|After|Tick)\(")


def _left_by_error(facts: Facts) -> Iterator[Hit]:
    """Yield loops with a clock in a goroutine that is dropped, which return after one error (Go)."""
    for loop in facts.loops:
        scope = facts.function_of(loop)
        if scope is None or not (loop.kind == "endless" or loop.over.endswith(".C")):
            continue
        if not (loop.over.endswith(".C") or _TICKS.search(facts.text(loop.body))):
            continue
        if not is_dropped(scope, facts) or repeated_around(loop, facts) is not None:
            continue
        failing = left_by_error(loop, scope, facts)
        if failing is not None:
            what = f"an error of {failing.written}() ends this loop, and nothing starts it again"
            yield Hit(Span(loop.span.start, failing.span.end), what, LIKELY)


def left_by_error(loop: Loop, scope: Scope, facts: Facts) -> Call | None:
    """Return a call in a loop after whose error the function returns, and gives the error to nothing (Go)."""
    if _OF_CONNECTION.search(facts.text(scope.span)):
        return None
    for tried in facts.within(facts.tries, loop.body):
        handler = tried.handlers[0] if tried.handlers else None
        if handler is None or not handler.exits or facts.function_of(tried) is not scope:
            continue
        failing = next(
            (call for call in facts.within(facts.calls, tried.body) if "err" in call.assigned), None
        )
        text = facts.text(handler.body)
        if failing is None or not re.search(r"\breturn\b", text) or "<-" in text:
            continue
        if _STOPPED.search(facts.text(tried.span)) or _hands_on(handler, facts):
            continue
        if facts.loops_around(failing)[-1:] == (loop,):
            return failing
    return None


def _hands_on(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler gives the error to more than a log."""
    return any(
        not is_logging(call) and any(each.value.text == handler.name for each in call.arguments)
        for call in facts.within(facts.calls, handler.body)
    )


_OF_CONNECTION = lazy_regex(r"\b[cC]onn\b|[sS]ocket|\bws\b|[sS]tream\b")
_STOPPED = lazy_regex(
    r"\bctx\.Err\(|context\.(Canceled|DeadlineExceeded)|ErrClosed|io\.EOF|ErrShutdown|[cC]onn\b|[sS]ocket"
)
"""Errors after which a loop should end."""


def is_dropped(scope: Scope, facts: Facts) -> bool:
    """Return whether a function runs as a goroutine, and nothing sees what it returns."""
    if scope.is_anonymous:
        return any(call.is_launched and call.callee == scope.span for call in facts.calls)
    callers = facts.callers_of(scope)
    return bool(callers) and all(call.is_launched for call in callers)


def _set_again(facts: Facts) -> Iterator[Hit]:
    """Yield functions that set their own next run after work that may fail (Python)."""
    for call in facts.calls:
        if call.name != "threading.Timer" and call.method != "call_later":
            continue
        scope = facts.named_function_of(call)
        given = call.argument("function", place=1)
        if scope is None or given is None or facts.is_in_finally(call):
            continue
        if re.fullmatch(rf"(self\.)?{re.escape(scope.short_name)}", given.value.text) is None:
            continue
        failing = failing_call(Span(scope.body.start, call.span.start), facts)
        if failing is not None:
            what = f"an error of {failing.written}() ends the runs: the next one is set after it"
            yield Hit(Span(failing.span.start, call.span.end), what, LIKELY)


def _is_timer_task(text: str, facts: Facts) -> bool:
    """Return whether a task is one of java.util.Timer, whose thread ends with the first exception."""
    made = re.match(r"(?:new\s+|object\s*:\s*)?(\w+)", text)
    name = "" if made is None else made[1]
    return name == "TimerTask" or any(
        base.rpartition(".")[2] == "TimerTask" for base in facts.classes.get(name, ())
    )


def _bodies(text: str, span: Span, facts: Facts) -> Iterator[Span]:
    """Yield the code of a task: a lambda, `this::reload`, or `new Job()` of this text."""
    if (scope := facts.function_at(span)) is not None:
        yield scope.body
        return
    if "::" in text:
        name = text.rpartition("::")[2]
        owner = text.rpartition("::")[0]
        if owner in ("this", ""):
            yield from (each.body for each in facts.functions_named(name) if each.is_method)
        return
    made = re.match(r"(?:new\s+)?(\w+)\s*\(", text)
    if made is not None:
        for each in facts.functions_named("run"):
            inside = is_within(each.span, span)
            if inside or each.owner.rpartition(".")[2] == made[1]:
                yield each.body


_OF_SESSION = lazy_regex(r"Session|Socket|Connection")
"""Names of methods and types that there is one of for every client."""


def runs_aside(loop: Loop, scope: Scope, facts: Facts) -> bool:
    """Return whether nothing waits for a function with a loop, so that its error goes nowhere."""
    if facts.language == "kotlin":
        named = facts.named_function_of(loop)
        if named is not None and (is_of_connection(named) or _OF_SESSION.search(named.name)):
            return False
        return any(
            call.method in ("launch", "async") and not facts.text(call.span).startswith("viewModelScope")
            for call in facts.calls_around(loop)
        )
    if facts.language == "csharp":
        bases = facts.classes.get(scope.owner, ())
        if scope.short_name == "ExecuteAsync" and "BackgroundService" in bases:
            return True
        return any(
            call.name in ("Task.Run", "Task.Factory.StartNew")
            and (call.is_discarded or call.assigned == ("_",))
            for call in facts.calls_around(loop)
            if not call.is_awaited
        )
    if facts.language == "java":
        return is_thread(loop, scope, facts)
    if facts.language == "rust":
        return any(
            call.method == "spawn"
            # The block of the task itself: what an inner block returns is seen by the task.
            and facts.text(Span(call.callee.end, loop.span.start)).count("async ") < 2
            for call in facts.calls_around(loop)
        )
    named = facts.named_function_of(loop)
    # What works for one connection ends with it.
    return (
        named is not None
        and not is_of_connection(named)
        and any(
            re.search(rf"(?<!\w){re.escape(named.short_name)}\b", argument.value.text)
            for call in facts.calls
            if call.name in _TASKS or call.method == "create_task"
            for argument in call.arguments
        )
    )


def is_thread(loop: Loop, scope: Scope, facts: Facts) -> bool:
    """Return whether a loop is what a thread runs (Java, Python)."""
    if scope.short_name == "run" and any(
        base.rpartition(".")[2] in ("Runnable", "Thread") for base in facts.classes.get(scope.owner, ())
    ):
        return True
    return facts.language == "java" and any(
        each.method in ("Thread", "execute", "submit", "startVirtualThread")
        for each in facts.calls_around(loop)
    )


_STORED = lazy_regex(r"(Repository|Repo|Dao|Mapper|Storage|Store|Client|Api|API|Gateway)$")
_USES_ROWS = lazy_regex(
    r"(create|update|save|delete|remove|find|list|load|insert|sync|refresh|query|upsert|persist)"
)


def _is_of_others(call: Call, facts: Facts) -> bool:
    """Return whether a call asks a store or another process, by its object or its verb."""
    last = call.receiver_written.rpartition(".")[2]
    type_ = type_of_receiver(call, facts) or last[:1].upper() + last[1:]
    if type_.endswith("Service") and _USES_ROWS.match(call.method):
        return True
    return _STORED.search(type_) is not None or leaves_process(call, facts)


def failing_call(body: Span, facts: Facts, levels: int = 2, *, known: bool = False) -> Call | None:
    """Return a call in a body whose exception nothing in the body catches.

    `known`: only one that is known to wait for others, so that it fails without a mistake of the program."""
    remote = {each.call for each in remote_calls(facts)}
    for call in facts.within(facts.calls, body):
        if is_logging(call) or call.constructs or call.is_decorator or is_sleep(call):
            continue
        if call not in remote and is_harmless(call):
            continue
        if _is_caught(call, body, facts) or _is_subscribed(call, facts) or _is_handed_on(call, body, facts):
            continue
        if own := _own_functions(call, facts):
            inner = (failing_call(each.body, facts, levels - 1, known=known) for each in own)
            if levels and any(each is not None for each in inner):
                return call
            continue
        is_blocking = facts.language in ("java", "kotlin") and not _OF_COLLECTIONS.match(call.method)
        if call in remote or (call.is_awaited and call.receiver_written):
            return call
        if is_blocking and call.receiver_written and (not known or _is_of_others(call, facts)):
            return call
    return None


def _own_functions(call: Call, facts: Facts) -> list[Scope]:
    """Return the functions of this text that a call may run, also those of a member whose class is here."""
    named = facts.functions_named(call.method)
    type_ = type_of_receiver(call, facts).rpartition(".")[2] if named else ""
    return [
        each
        for each in named
        if call.receiver in ("", "self", each.owner) or (type_ and each.owner.rpartition(".")[2] == type_)
    ]


_EXECUTOR = lazy_regex(r"exec|pool|worker|threads", re.IGNORECASE)


def _is_handed_on(call: Call, body: Span, facts: Facts) -> bool:
    """Return whether a call gives work to an executor, or is the work that one runs (Java, Kotlin)."""
    return facts.language in ("java", "kotlin") and any(
        each.method in ("execute", "submit")
        and _EXECUTOR.search(each.receiver_written) is not None
        and (each is call or is_within(each.span, body))
        for each in (call, *facts.calls_around(call))
    )


def _is_subscribed(call: Call, facts: Facts) -> bool:
    """Return whether errors of a chain go to its subscriber: `jobs.process().doOnError(…).subscribe()`."""
    return any(
        each.span.start == call.span.start and is_within(call.span, each.span)
        for each in facts.calls_of_method("subscribe")
    )


def is_harmless(call: Call) -> bool:
    """Return whether a call fails only if the program is wrong, by its name."""
    return (
        call.method in _PAUSES
        or _HARMLESS.match(call.name) is not None
        or SAFE.match(call.method) is not None
    )


def _is_caught(call: Call, body: Span, facts: Facts) -> bool:
    """Return whether a handler in the body catches nearly everything that a call may throw."""
    if any(
        is_within(each.span, body)
        and is_within(call.span, each.body)
        and any(
            handler.is_broad or any(name.rpartition(".")[2] in _BROAD for name in handler.types)
            for handler in each.handlers
        )
        for each in facts.tries
    ):
        return True
    chosen = [
        each
        for each in facts.tries
        if is_within(call.span, each.body) and is_within(each.span, body) and each.handlers
    ]
    own = facts.function_of(Place(body))
    if chosen and not all(_catches_few(each, facts) and facts.function_of(each) is own for each in chosen):
        # Handlers of chosen errors: what the call can raise is known to the author.
        return True
    if any(is_within(call.span, handler.body) for each in facts.tries for handler in each.handlers):
        return True
    around = facts.calls_around(call)
    return any("runCatching" in each.written or "supervis" in each.method.lower() for each in around)


_CHECKED = frozenset(
    ("IOException", "InterruptedException", "SQLException", "TimeoutException", "ExecutionException",
     "URISyntaxException", "ParseException", "GeneralSecurityException", "CloneNotSupportedException",
     "JsonProcessingException", "UnknownHostException", "ConnectException", "SocketTimeoutException",
     "HttpTimeoutException", "SocketException", "FileNotFoundException", "ClassNotFoundException")
)  # fmt: skip
"""Exceptions of Java that must be caught; those of mistakes in data and code are others."""
_OF_ONE_LIBRARY = {
    "kotlin": _CHECKED,
    "csharp": frozenset(
        ("HttpRequestException", "SqlException", "NpgsqlException", "DbException", "JsonException",
         "RedisConnectionException", "SocketException", "RpcException", "DbUpdateException")
    ),
    "python": frozenset(
        ("ClientError", "HTTPError", "RequestException", "ConnectionError", "RedisError", "HTTPStatusError",
         "RequestError", "OperationalError", "SQLAlchemyError", "JSONDecodeError", "ClientConnectionError")
    ),
}  # fmt: skip
"""Exceptions that one kind of call raises, and the calls beside it do not."""


def _is_own_checked(name: str, facts: Facts) -> bool:
    """Return whether this text declares an exception that must be caught (Java)."""
    return any(
        owner.rpartition(".")[2] == name
        and any(base.rpartition(".")[2] in ("Exception", *_CHECKED) for base in bases)
        for owner, bases in facts.classes.items()
    )


_REMOTE = lazy_regex(r"client|api|http|gateway|service|session|source|feed|upstream", re.IGNORECASE)


def _catches_few(tried: Try, facts: Facts) -> bool:
    """Return whether the handlers of a try leave errors of most calls in it alone."""
    types = {name.rpartition(".")[2] for handler in tried.handlers for name in handler.types}
    if any(not handler.types for handler in tried.handlers):
        return False
    if facts.language == "java":
        return all(name in _CHECKED or _is_own_checked(name, facts) for name in types)
    if not types - _STOPS <= _OF_ONE_LIBRARY.get(facts.language, frozenset()):
        return False
    made = {name for each in facts.within(facts.assignments, tried.body) for name in each.targets}
    others = {
        call.receiver_written
        for call in facts.within(facts.calls, tried.body)
        if call.is_awaited or call.is_managed or facts.language == "kotlin"
        if not is_logging(call) and not call.constructs and not is_sleep(call)
        if call.is_managed or not is_harmless(call) or _REMOTE.search(call.receiver_written)
        if call.receiver_written[:1].islower() or call.receiver_written[:1] == "_"
        if call.receiver_written.partition(".")[0] not in made
    }
    return len(others) > 1


_STOPS = frozenset(
    ("InterruptedException", "CancelledError", "CancellationException", "OperationCanceledException")
)


def _passed_on(loop: Loop, scope: Scope, facts: Facts) -> Call | None:
    """Return a call in a loop of a spawned task whose error ends the task by `?` (Rust)."""
    for call in facts.within(facts.calls, loop.body):
        if facts.function_of(call) is not scope or not call.is_awaited:
            continue
        after = facts.text(Span(call.span.end, min(call.span.end + 16, loop.body.end)))
        if re.match(r"\s*\.await\s*\?", after):
            return call
    return None


RULE = Rule(
    id="FK-R093",
    slug="periodic-work-ends-with-first-error",
    title="Periodic work that ends with its first error",
    why="After one failed round nothing is refreshed, sent or cleaned any more, and no log says so: the "
    "process looks healthy.",
    fix="Catch and log errors inside the task or inside the loop, so that the next round runs.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
)
