"""Finds shutdowns that end one part of a program and leave another, which holds work, as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import LIKELY, Hit
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.signal_handlers import handlers_of_sigterm

_END = (
    r"(close|Close|stop|Stop|shutdown|Shutdown|flush|Flush|drain|Drain|disconnect|quit|end|destroy|aclose"
    r"|terminate|dispose)"
)
_ENDS = lazy_regex(rf"^{_END}(Async|Gracefully|Now|_\w+|AndWait|All)?$")
_HOLDS_WORK = lazy_regex(
    r"flush|drain|await|\.join\(|\.Wait\(|wait\(|commit|writeAll|sendBatch|send_batch|submit|remaining",
    re.IGNORECASE,
)
_WORKERS = lazy_regex(r"^bullmq\.Worker$|^bull$|kafkajs.*\.consumer$|^rhea\.|^pg-boss|^@temporalio/worker")
_SERVERS = lazy_regex(
    r"^(express\(\)|koa|fastify\(\)|https?\.createServer\(\))\.listen$|^https?\.createServer$"
)


def parts_left_open(facts: Facts) -> Iterator[Hit]:
    """Yield the ends of a shutdown in which something that holds work is not ended."""
    for place, around in _shutdowns(facts):
        spans = [place, *_called_from(place, facts)]
        inside = [call for span in spans for call in facts.within(facts.calls, span)]
        by_task = facts.language == "python"
        ends = [
            call
            for call in inside
            if _ENDS.match(call.method)
            or call.name == "process.exit"
            or (by_task and call.method == "cancel")
        ]
        closes = [call for call in ends if call.receiver_written and call.name != "process.exit"]
        if not closes:
            continue
        text = "\n".join(facts.text(span) for span in spans)
        for made, name in _parts(around, facts):
            # A part that the shutdown names is ended there: `for (const part of [server, worker])`.
            if is_within(made.span, place) or re.search(rf"\b{re.escape(name)}\b", text):
                continue
            if re.search(rf"\b{re.escape(name)}\s*[?!]*\.\s*{_END}", facts.whole_text):
                continue
            one = facts.function_of(closes[0])
            there = [call.span for call in ends if facts.function_of(call) is one]
            what = f"{name} is not ended here: what it still works on, or holds, is lost with the process"
            yield Hit(Span(there[0].start, max(each.end for each in there)), what, LIKELY)
            return


def _shutdowns(facts: Facts) -> Iterator[tuple[Span, Scope | None]]:
    """Yield the code that runs at the end of a program, with the function whose variables it knows."""
    if facts.language in ("javascript", "typescript", "tsx"):
        for handler in handlers_of_sigterm(facts):
            yield handler.body, handler.outer
    elif facts.language in ("java", "kotlin"):
        for call in facts.calls_of_method("addShutdownHook"):
            yield call.span, facts.named_function_of(call)
    elif facts.language == "go":
        for call in facts.calls_of_method("Shutdown", "GracefulStop"):
            scope = facts.named_function_of(call)
            if scope is not None and scope.short_name in ("main", "run", "Run", "realMain", "serve"):
                yield Span(call.span.start, scope.body.end), scope
    elif facts.language == "python":
        for step in facts.steps:
            scope = facts.function_of(step) if step.kind == "yield" else None
            if scope is not None and any(each.method == "asynccontextmanager" for each in scope.decorators):
                yield Span(step.span.end, scope.body.end), scope


def _called_from(place: Span, facts: Facts) -> Iterator[Span]:
    """Yield the bodies of the functions of this text that a shutdown calls."""
    names = {call.method for call in facts.within(facts.calls, place) if call.receiver in ("", "self")}
    names |= {each.written for each in facts.within(facts.accesses, place) if each.written.isidentifier()}
    yield from (scope.body for scope in facts.functions_named(*names))


def _parts(around: Scope | None, facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield what holds work and can be ended, made at the top of the file or in the function of the end."""
    for each in facts.assignments:
        call = each.call
        if call is None or len(each.targets) != 1 or each.scope not in (None, around) or each.owner:
            continue
        name = each.targets[0]
        if not name.isidentifier():
            continue
        if (
            (
                facts.language in ("javascript", "typescript", "tsx")
                and (_WORKERS.search(call.name) or _SERVERS.search(call.name))
            )
            or _is_own_with_end(call, facts)
            or _is_holder(call, facts)
            or _is_flusher(call, facts)
        ):
            yield call, name


_HOLDERS = NamePattern(
    r"\w(Batcher|Buffer|Outbox|Sink|Spooler|Recorder|Flusher|Aggregator|BatchWriter|EventWriter|WriteBehind\w*"
    r"|JobRunner|JobWorker|TaskWorker|QueueWorker|QueueConsumer|Dispatcher)$"
    r"|^(New)?(Batcher|Outbox|Sink|Spooler|Recorder|Flusher|BatchWriter)$"
)
"""Names of types whose objects hold what was accepted until they have written or sent it."""


def _is_holder(call: Call, facts: Facts) -> bool:
    """Return whether a call makes an object of another file that holds work, by the name of its type."""
    makes = call.constructs or (facts.language == "go" and call.method.startswith("New"))
    if not makes or _HOLDERS.search(call.method) is None:
        return False
    own = call.method.removeprefix("New")
    return not any(scope.owner.rpartition(".")[2] == own for scope in facts.scopes if scope.owner)


def _is_flusher(call: Call, facts: Facts) -> bool:
    """Return whether a class of this text writes what it has collected from time to time (Python)."""
    if facts.language != "python" or not call.constructs:
        return False
    for loop in facts.loops:
        scope = facts.function_of(loop)
        if loop.kind != "endless" or scope is None or scope.owner.rpartition(".")[2] != call.method:
            continue
        text = facts.text(loop.body)
        emptied = re.search(
            r"self\.(\w+)\s*=\s*\[\]|,\s*self\.(\w+)\s*=\s*self\.\w+,\s*\[\]|self\.(\w+)\.clear\(\)", text
        )
        if emptied is not None and "sleep(" in text and not facts.is_in_finally(loop):
            return "finally" not in facts.text(scope.body) and "CancelledError" not in facts.text(scope.body)
    return False


def _is_own_with_end(call: Call, facts: Facts) -> bool:
    """Return whether a call makes an object of a class of this text whose end waits for work or writes it."""
    made = call.method.removeprefix("New") if facts.language == "go" else call.method
    if not call.constructs and not (facts.language == "go" and call.method.startswith("New")):
        return False
    return any(
        scope.owner.rpartition(".")[2] == made
        and _ENDS.match(scope.short_name)
        and _HOLDS_WORK.search(facts.text(scope.body))
        for scope in facts.scopes
        if scope.owner
    )


# Rust: a server in `select!`, beside a signal.

_SERVED = lazy_regex(
    r"axum::serve\(|\.serve\(|\.serve_with_incoming\(|Server::bind|warp::serve|\.into_future\(\)"
)
_GRACEFUL = lazy_regex(r"graceful|serve_with_shutdown|serve_with_incoming_shutdown|\.stop\(")
_SIGNALLED = lazy_regex(r"signal|ctrl_c|shutdown|terminat|sigterm|interrupt|stop|cancelled", re.IGNORECASE)


def servers_dropped(facts: Facts) -> Iterator[Hit]:
    """Yield `select!` with a server and a signal: when the signal comes, the server is dropped."""
    for call in facts.calls_of_method("select"):
        text = facts.text(call.span)
        scope = facts.function_of(call)
        if scope is None or _GRACEFUL.search(facts.text(scope.body)):
            continue
        arms = re.findall(r"=\s*([^=]+?)\s*=>", text, re.DOTALL)
        servers = [arm for arm in arms if _SERVED.search(arm) or _is_server(arm, call, facts)]
        if servers and any(_SIGNALLED.search(arm) for arm in arms if arm not in servers):
            what = "when the signal comes, the server is dropped with the requests that it answers"
            yield Hit(call.span, what, LIKELY)
            continue
        workers = [arm for arm in arms if _is_worker(arm, facts)]
        if workers and any(_OF_SIGNAL.search(arm) for arm in arms if arm not in workers):
            what = "when the signal comes, this worker is dropped in the middle of what it works on"
            yield Hit(call.span, what, LIKELY)


_OF_SIGNAL = lazy_regex(r"signal|ctrl_c|sigterm|terminat|\bterm\.recv", re.IGNORECASE)
_SETTLES = lazy_regex(r"\.(ack|commit|delete_message|complete|mark_\w+|xack)\w*\(")


def _is_worker(arm: str, facts: Facts) -> bool:
    """Return whether an arm runs a function of this text that works off messages and settles each."""
    found = re.match(r"(?:&mut\s+)?(?:\w+\.)?(\w+)\(", arm.strip())
    own = facts.functions_named(found[1]) if found is not None else ()
    if len(own) != 1 or "select!" in facts.text(own[0].body):
        return False
    return any(
        _SETTLES.search(facts.text(loop.body)) and facts.text(loop.body).count(".await") > 1
        for loop in facts.within(facts.loops, own[0].body)
    )


def _is_server(arm: str, place: Call, facts: Facts) -> bool:
    name = arm.removeprefix("&mut ").strip()
    return name.isidentifier() and any(
        _SERVED.search(each.value.text) and "spawn" not in each.value.text
        for each in facts.assignments_to(name, place)
        if each.value is not None
    )
