"""Ends of an object or a program that leave running what was started, or lose what is still held.

    public Task StartAsync(CancellationToken token) => _processor.StartProcessingAsync(token);
    public Task StopAsync(CancellationToken token) => Task.CompletedTask;

An object with an end of its own must end what it has started, and write what waits for its timer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

WORDS = (
    b"StartProcessing", b"startAsync", b"onsumer", b"ubscriber", b"istener", b"eceiver", b"JoinSet",
    b"robfig/cron", b"schedule", b"setInterval", b"quartz", b"apscheduler", b"IProducer", b"new Timer(",
)  # fmt: skip
_END_NAME = lazy_regex(
    r"^(close|Close|stop|Stop|shutdown|Shutdown|dispose|Dispose|destroy|aclose|end|terminate|onModuleDestroy"
    r"|onApplicationShutdown|beforeApplicationShutdown|preDestroy|tearDown|__aexit__|__exit__)(Async|Gracefully)?$"
)
_STARTS = NamePattern(
    r"^(start|Start|startAsync|StartAsync|start_?[pP]rocessing|StartProcessing|start_?[cC]onsuming|StartConsuming"
    r"|startListening|StartListening|start_consuming|StartReceiving)(Async)?$"
)
_WORKER = lazy_regex(
    r"processor|consumer|subscri|listener|receiver|worker|scheduler|dispatcher|poller", re.IGNORECASE
)
_ENDED = (
    r"\b{0}\s*[?!]*\.\s*(?:stop|Stop|close|Close|shutdown|Shutdown|dispose|Dispose|cancel|Cancel|drain|join|end"
    r"|destroy|quit|disconnect|unsubscribe|aclose|await[A-Z])"
)


def left_running(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield the ends that leave something running, and what is started and can never be ended."""
    if not any(word in facts.syntax.source for word in WORDS):
        return
    yield from _members(facts)
    yield from _of_timers(facts)
    yield from _out_of_reach(facts)
    if facts.language == "csharp":
        yield from _disposed_producers(facts)
    elif facts.language == "rust":
        yield from _dropped_sets(facts)
    yield from _schedulers(facts)


def _ends_of(owner: str, facts: Facts) -> list[Scope]:
    """Return the methods by which an object is ended."""
    return [
        scope
        for scope in facts.scopes
        if owner
        and scope.owner == owner
        and (
            _END_NAME.match(scope.short_name) or any(each.method == "PreDestroy" for each in scope.decorators)
        )
    ]


def _reached(scope: Scope, facts: Facts) -> str:
    """Return the text of a method with those of its object that it calls."""
    names = {
        call.method
        for call in facts.within(facts.calls, scope.body)
        if call.receiver_written in ("", "self", "this")
    }
    own = [each for each in facts.functions_named(*names) if each.owner == scope.owner] if names else []
    return "\n".join(facts.text(each.span) for each in (scope, *own))


def _bare(name: str) -> str:
    return name.removeprefix("self.").removeprefix("this.").rpartition(".")[2].lstrip("#")


def _members(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield ends of an object that has started a consumer and does not stop it."""
    for call in facts.calls:
        if not call.receiver_written or not _STARTS.match(call.method):
            continue
        scope, name = facts.named_function_of(call), _bare(call.receiver_written)
        if scope is None or not scope.owner or _END_NAME.match(scope.short_name):
            continue
        if not _WORKER.search(name) and not _WORKER.search(call.receiver):
            continue
        if not name.isidentifier() or not _is_member(name, call, scope, facts):
            continue
        if re.search(_ENDED.format(re.escape(name)), facts.whole_text):
            continue
        for end in _ends_of(scope.owner, facts):
            if not re.search(rf"\b{re.escape(name)}\b", _reached(end, facts)):
                what = (
                    f"{end.short_name}() does not stop {name}, which goes on taking work until it is cut off"
                )
                yield end.span, what
                break


def _is_member(name: str, call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a name is one of the object, and not of the function."""
    if call.receiver_written.startswith(("self.", "this.")):
        return True
    own = any(name in each.targets for each in facts.own(facts.assignments, scope))
    return (
        not own
        and not any(each.name == name for each in scope.parameters)
        and "." not in call.receiver_written
    )


_PERIODIC = frozenset(
    (
        "scheduleWithFixedDelay",
        "scheduleAtFixedRate",
        "setInterval",
        "Timer",
        "fixedRateTimer",
        "scheduleAtFixedDelay",
    )
)
_DRAINS = lazy_regex(
    r"\b(\w+)\s*\.\s*(?:drainTo|splice|TryTake|TryDequeue|TryRead|pollFirst)\(|\b(?:this\.)?#?(\w+)\s*=\s*(?:\[\]|new\s+\w+(?:<[^()]*>)?\(\s*\))"
    r"|\b(\w+)\.(?:clear|Clear|removeAll)\(\)"
)
_MOVES = lazy_regex(r"\b(\w+)\s*\.\s*drainTo\(\s*(\w+)\s*\).*?\b\1\s*=\s*\2\b", re.DOTALL)
"""Items that go into another queue, which takes the place of the first: nothing is written."""
_ENDS_TIMER = lazy_regex(
    r"\.(?:shutdown|shutdownNow|cancel|Cancel|Dispose|DisposeAsync|Change|close|stop|Stop)\(|clearInterval\(|clearTimeout\("
)


def _of_timers(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield ends of an object that stop the timer which writes what was collected, and write no more."""
    for call in facts.calls_of_method(*_PERIODIC):
        start = facts.named_function_of(call)
        if start is None or not start.owner:
            continue
        text = " ".join(each.value.text for each in call.positional)
        names = {*re.findall(r"[A-Za-z_]\w*", text)}
        for flush in facts.scopes:
            if flush.owner != start.owner or flush.short_name not in names or flush is start:
                continue
            body = facts.text(flush.body)
            drained = {name for found in _DRAINS.finditer(body) for name in found.groups()}
            drained -= {found[1] for found in _MOVES.finditer(body)}
            held = next((name for name in drained if name and _is_filled_elsewhere(name, flush, facts)), None)
            if held is None:
                continue
            for end in _ends_of(start.owner, facts):
                reached = _reached(end, facts)
                if (
                    _ENDS_TIMER.search(reached)
                    and not re.search(
                        rf"\b(?:{re.escape(flush.short_name)}|{re.escape(held)})\b", facts.text(end.body)
                    )
                    and not re.search(rf"\b{re.escape(held)}\b", reached)
                ):
                    what = f"{end.short_name}() ends the timer of {flush.short_name}(): {held} is lost"
                    yield end.span, what
                    return


def _is_filled_elsewhere(held: str, flush: Scope, facts: Facts) -> bool:
    """Return whether another method of the object puts items into a collection."""
    adds = facts.calls_of_method(
        "add", "Add", "push", "offer", "put", "Enqueue", "append", "TryWrite", "TryAdd", "addLast"
    )
    return any(
        _bare(call.receiver_written) == held
        and (scope := facts.named_function_of(call)) is not None
        and scope is not flush
        and scope.owner == flush.owner
        for call in adds
    )


def _out_of_reach(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield consumers that a function makes, starts and keeps to itself, so that nothing can stop them."""
    for call in facts.calls_of_method("startAsync", "StartProcessingAsync", "start_consuming"):
        scope, name = facts.function_of(call), call.receiver_written
        if scope is None or not name.isidentifier() or not _WORKER.search(f"{name} {call.receiver}"):
            continue
        if not any(name in each.targets for each in facts.own(facts.assignments, scope)):
            continue
        text = facts.text(scope.body)
        used = re.search(
            rf"[(,=]\s*{re.escape(name)}\s*[,)\n;]|\breturn\s+{re.escape(name)}\b|\b{re.escape(name)}\s*\}}?$",
            text,
        )
        if used is None and not re.search(_ENDED.format(re.escape(name)), facts.whole_text):
            what = f"nothing can stop {name}: what it works on is cut off at the end of the process"
            yield call.span, what


def _disposed_producers(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield the Dispose of a producer of Kafka whose messages were sent without a wait (C#)."""
    if "Flush(" in facts.whole_text or not facts.syntax.has_any(b"producer"):
        return
    sent = {
        _bare(call.receiver_written)
        for call in facts.calls_of_method("Produce")
        if "roducer" in call.receiver_written
    }
    for call in facts.calls_of_method("Dispose"):
        if _bare(call.receiver_written) in sent:
            yield call.span, f"{call.written}() drops the messages that are not yet sent: Flush() comes first"


_SIGNAL = lazy_regex(r"signal|terminate|ctrl_c|sigterm|cancelled\(|shutdown|stop", re.IGNORECASE)


def _dropped_sets(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield sets of tasks that are dropped behind a loop that a signal ends (Rust)."""
    for each in facts.assignments:
        if each.call is None or each.scope is None or not each.call.name.endswith("JoinSet.new"):
            continue
        name, scope = re.escape(each.targets[0].removeprefix("mut ")), each.scope
        loops = [
            loop
            for loop in facts.within(facts.loops, scope.body)
            if re.search(rf"\b{name}\.spawn\w*\(", facts.text(loop.body)) and not facts.loops_around(loop)
        ]
        if not loops or not _SIGNAL.search(facts.text(loops[-1].span)):
            continue
        rest = facts.text(Span(loops[-1].span.end, scope.body.end))
        handed = re.search(
            rf"\b{name}\s*\.\s*(?:join_next|join_all|shutdown|detach_all|abort_all)"
            rf"|[(,]\s*(?:&mut )?{name}\s*[,)]",
            rest,
        )
        breaks = re.search(r"\bbreak\b", facts.text(loops[-1].body))
        if handed is None and breaks is not None:
            what = f"{name} is dropped here, which aborts the tasks that still run"
            yield Span(loops[-1].span.end - 1, scope.body.end), what


def _schedulers(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield ends of schedulers that do not wait for the jobs that run."""
    if facts.language == "go" and "robfig/cron" in facts.whole_text:
        for call in facts.calls_of_method("Stop"):
            if "cron" in call.name.lower() and (call.is_discarded or call.is_deferred):
                waited = facts.syntax.source[max(0, call.span.start - 3) : call.span.start].strip() == b"<-"
                if not waited and not facts.calls_on(call):
                    yield call.span, f"{call.written}() does not wait for the jobs that run: its context does"
    elif facts.imports_any("org.quartz", "apscheduler"):
        for call in facts.calls_of_method("shutdown"):
            given = call.argument("wait", "waitForJobsToComplete", place=0)
            is_quartz = facts.language in ("java", "kotlin")
            at_once = given.value.shape == "false" if given is not None else is_quartz
            scope = facts.named_function_of(call)
            if scope is not None and scope.short_name == call.method:
                continue  # It passes on what its caller asked for.
            if at_once and "sched" in call.receiver_written.lower():
                yield call.span, f"{call.written}() does not wait for the jobs that run"
