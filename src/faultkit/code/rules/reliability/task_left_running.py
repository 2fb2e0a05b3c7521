"""Finds endless tasks that a function starts for its work, and does not end with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.dropped_handles import dropped_handles
from faultkit.code.rules.vocabulary.first_of_several import left_running
from faultkit.code.rules.vocabulary.repetition import is_for_screen, runs_once
from faultkit.code.rules.vocabulary.started_tasks import StartedTask, endless_tasks

_STARTS = ("create_task", "ensure_future")
_STOPS = lazy_regex(
    r"\.(Dispose|DisposeAsync|Stop|Change|Close)\(|\busing\b[^;\n]*\b[tT]imer\b|Enabled\s*=\s*false"
)
_IN_CONNECTION = frozenset(("webSocket", "webSocketRaw", "sse", "handle", "get", "post"))
_FOR_EVER = lazy_regex(
    r"\bwhile\s*\(\s*(true|isActive)\s*\)|\.collect(Latest|Indexed)?\s*[({]|\bfor\s*\(\w+ in \w*[cC]hannel"
)


def _check(facts: Facts) -> Iterator[Hit]:
    if is_for_screen(facts):
        return
    reported = set[int]()
    kept = _tasks(facts) if facts.language == "python" else _launched(facts)
    others = (Hit(span, what, LIKELY) for span, what in left_running(facts))
    shared = _shared(facts) if facts.language == "kotlin" else ()
    dropped = (Hit(call.span, what, LIKELY) for call, what in dropped_handles(facts))
    for hit in (*others, *kept, *shared, *_left(facts), *dropped):
        if hit.span.start not in reported:
            reported.add(hit.span.start)
            yield hit


def _tasks(facts: Facts) -> Iterator[Hit]:
    """Yield tasks of an endless coroutine that are kept in a variable and not cancelled on every way out."""
    for call in facts.calls_of_method(*_STARTS):
        scope = facts.named_function_of(call)
        if scope is None or not scope.is_async or len(call.assigned) != 1 or not call.positional:
            continue
        name = call.assigned[0]
        if not name.isidentifier() or _is_whole_program(scope) or not _is_endless(call, facts):
            continue
        if name in facts.globals_in(scope):
            continue  # Another function ends it.
        uses = [
            each
            for each in re.finditer(rf"(?<![\w.]){re.escape(name)}\b", facts.text(scope.body))
            if scope.body.start + each.start() > call.span.end
        ]
        if all(_only_looks(name, each, scope, facts) for each in uses):
            yield Hit(call.span, f"{name} runs for ever, and nothing ends it with this function", LIKELY)
        elif (place := _cancelled_late(name, call, scope, facts)) is not None:
            what = f"{name} runs for ever if an error comes before {facts.text(place)}: cancel it in finally"
            yield Hit(call.span, what, LIKELY)


def _is_whole_program(scope: Scope) -> bool:
    """Return whether a function runs once: `run(name, job)` is given what it runs, and runs for each."""
    given = [each for each in scope.parameters if each.name != "self"]
    return runs_once(scope) and not (scope.short_name == "run" and given)


def _is_endless(call: Call, facts: Facts) -> bool:
    """Return whether the coroutine of a task is a function of this text that only an error ends."""
    given = call.positional[0].value
    name = given.text.partition("(")[0].rpartition(".")[2]
    for scope in facts.scopes:
        if not scope.name or scope.short_name != name or not scope.is_async or given.shape != "call":
            continue
        for loop in facts.within(facts.loops, scope.body):
            if loop.kind == "endless" and facts.function_of(loop) is scope:
                return not any(
                    step.kind in ("return", "break") and facts.loops_around(step)[:1] == (loop,)
                    for step in facts.within(facts.steps, loop.body)
                )
    return False


def _only_looks(name: str, use: re.Match[str], scope: Scope, facts: Facts) -> bool:
    """Return whether a use of the variable neither ends the task nor hands it on."""
    place = facts.syntax.place_of(use, scope.body.start).start
    after = facts.text(Span(place, min(place + len(name) + 40, scope.body.end)))
    if re.match(rf"{re.escape(name)}\.(get_name|set_name|add_done_callback|done|result|exception)\b", after):
        return True
    around = [
        call for call in facts.within(facts.calls, scope.body) if call.span.start <= place < call.span.end
    ]
    return any(is_logging(call) for call in around)


def _cancelled_late(name: str, call: Call, scope: Scope, facts: Facts) -> Span | None:
    """Return `task.cancel()` that an error before it skips."""
    ends = [
        each
        for each in facts.within(facts.calls, scope.body)
        if each.written == f"{name}.cancel" and each.span.start > call.span.end
    ]
    if not ends or re.search(rf"\b(await|gather|wait)\b[^\n]*\b{re.escape(name)}\b", facts.text(scope.body)):
        return None
    if any(facts.is_in_finally(each) or facts.handlers_around(each) for each in ends):
        return None
    way = Span(call.span.end, ends[0].span.start)
    waits = [step for step in facts.within(facts.steps, way) if step.kind == "await"]
    waits_in_loops = [loop for loop in facts.within(facts.loops, way) if loop.is_async]
    caught = any(handler.is_broad for each in facts.within(facts.tries, way) for handler in each.handlers)
    return ends[0].callee if (waits or waits_in_loops) and not caught else None


def _left(facts: Facts) -> Iterator[Hit]:
    """Yield endless tasks that nothing ends with the connection or call that they are started for."""
    for each in endless_tasks(facts):
        inline = is_within(each.body, each.call.callee)
        if _is_ended(each, facts) or (inline and each.of == "request"):
            continue  # `goroutine-leak` names those of a request.
        name = each.call.written if each.call.written != "?" else "this goroutine"
        subject = name if name == "this goroutine" else f"{name}()"
        span = each.call.span if each.loop is None else Span(each.call.span.start, each.call.callee.end)
        if inline:
            span = Span(each.call.span.start, each.body.start)
        yield Hit(span, f"{subject} runs for ever, and nothing ends it with the {each.of}", LIKELY)


def _is_ended(task: StartedTask, facts: Facts) -> bool:
    """Return whether something may end a task: what holds it, or the scope or pool that it is started in."""
    if task.call.method == "Timer":
        return _STOPS.search(facts.whole_text) is not None
    held = {*task.call.assigned} - {"_"}
    started = next((each for each in facts.calls_on(task.call) if each.method == "start"), None)
    if started is not None:
        held.update({*started.assigned} - {"_"})
    if task.call.is_returned or task.call.is_awaited or task.call.is_argument:
        return True
    if not held and not task.call.is_discarded and started is None and not task.call.is_launched:
        # Stored by `tasks[id] = spawn(…)`, or chained.
        text = facts.text(Span(max(0, task.call.span.start - 40), task.call.span.start)).rpartition("\n")[2]
        if not re.search(r"_\s*=\s*$", text):
            return True
    for name in held:
        bare = name.removeprefix("self.")
        where = (
            facts.whole_text
            if name.startswith("self.") or not name.isidentifier()
            else facts.text(task.scope.span)
        )
        uses = len(re.findall(rf"(?<!\w){re.escape(bare)}\b", where))
        if uses > 1:
            return True
    holder = task.call.receiver_written.rpartition(".")[2]
    if facts.language in ("kotlin", "java") and holder:
        return (
            re.search(rf"\b{re.escape(holder)}\??\.(cancel\w*|shutdown\w*|close)\b", facts.whole_text)
            is not None
        )
    return (
        facts.language in ("java", "csharp")
        and re.search(r"\.(interrupt|Cancel\w*|Dispose)\(", facts.text(task.scope.span)) is not None
    )


def _launched(facts: Facts) -> Iterator[Hit]:
    """Yield coroutines of a wider scope that are launched for a connection and not cancelled (Kotlin)."""
    for call in facts.calls_of_method("launch", "launchIn"):
        source = call.receiver_written
        if call.method == "launchIn":
            # The scope is given: `events.onEach { … }.launchIn(scope)`.
            source = call.positional[0].value.text if call.positional else ""
        if not source or source.startswith(("this", "self", "coroutineScope", "viewModelScope")):
            continue
        around = _connection_around(call, facts)
        if around is None or not (call.method == "launchIn" or _FOR_EVER.search(facts.text(call.span))):
            continue
        if not _is_cancelled(call, source, facts.text(around)):
            yield Hit(call.callee, f"{call.written}() goes on after the connection has ended", LIKELY)


_KEEPS = frozenset(("getOrPut", "computeIfAbsent", "lazy", "remember", "also"))


def _shared(facts: Facts) -> Iterator[Hit]:
    """Yield flows that each call of a function shares anew, in a scope that lives on (Kotlin)."""
    for call in facts.calls_of_method("stateIn", "shareIn"):
        scope = facts.named_function_of(call)
        given = call.positional[0].value.text if call.positional else ""
        if scope is None or not scope.parameters or not given.isidentifier() or given == "this":
            continue
        if any(one.name == given for one in scope.parameters) or runs_once(scope):
            continue
        if not any(each.method in _KEEPS for each in facts.calls_around(call)) and call.is_returned:
            what = f"each call of {scope.short_name}() starts a coroutine in {given} that nothing ends"
            yield Hit(call.callee, what, LIKELY)


_SESSION = lazy_regex(
    r"\bfun\s+(?:<[^>]*>\s*)?\w*(?:WebSocket\w*Session|ServerSSESession|WebSocketSession)\.\w+"
)


def _connection_around(call: Call, facts: Facts) -> Span | None:
    """Return what runs for one connection around a call: `webSocket { … }`, or a function of its session."""
    around = [each for each in facts.calls_around(call) if each.method in _IN_CONNECTION]
    if any(each.method.startswith(("webSocket", "sse")) for each in around):
        return around[0].span
    scope = facts.named_function_of(call)
    if scope is not None and _SESSION.search(facts.text(Span(scope.span.start, scope.body.start))):
        return scope.span
    return None


def _is_cancelled(call: Call, source: str, text: str) -> bool:
    """Return whether the job, or the scope that it is started in, is ended or handed on in a text."""
    if call.is_argument or call.is_returned or not (call.assigned or call.is_discarded):
        return True
    if re.search(rf"\b{re.escape(source)}\.cancel\b", text):
        return True
    return any(len(re.findall(rf"(?<![\w.]){re.escape(name)}\b", text)) > 1 for name in call.assigned)


RULE = Rule(
    id="FK-R150",
    slug="task-left-running",
    title="Endless task that does not end with its work",
    why="Each connection or call leaves a task behind that works for ever: memory and load grow until a "
    "restart.",
    fix="Cancel the task in a finally block, or start it in a scope that ends with the work.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
    words=(
        b"create_task",
        b"ensure_future",
        b"spawn",
        b"launch",
        b"Thread",
        b"submit",
        b"execute",
        b"go ",
        b"Task.",
        b"thread",
        b"WhenAny",
        b"Timer",
        b"stateIn",
        b"shareIn",
    ),
)
