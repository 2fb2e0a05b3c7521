"""Finds programs whose end cuts off the work that they should finish first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.reliability.left_open_at_end import parts_left_open, servers_dropped
from faultkit.code.rules.reliability.workers_not_awaited import tasks_cut_off
from faultkit.code.rules.rule import CSHARP, GO, JAVA, JAVASCRIPT, KOTLIN, LIKELY, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.left_running import WORDS, left_running

_SERVES = frozenset(("ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS", "Start", "StartTLS"))
_WAITS_IN_GO = lazy_regex(r"<-|\.Wait\(|\bselect\s*\{|\.Shutdown\(|\.Sleep\(|[wW]ait\w*\(")
_TERMS = lazy_regex(r"SIGTERM|SIGINT|\"TERM\"")


def ends_that_cut_off(facts: Facts) -> Iterator[Hit]:
    """Yield what ends the program, or stops a server, without a wait for the work that runs."""
    yield from parts_left_open(facts)
    yield from (Hit(span, what, LIKELY) for span, what in left_running(facts))
    if facts.language in JAVASCRIPT:
        return
    if facts.language == "go":
        yield from _left_early(facts)
        yield from _closed_hard(facts)
    elif facts.language == "python":
        yield from _python(facts)
    elif facts.language == "rust":
        yield from _rust(facts)
        yield from servers_dropped(facts)
    elif facts.language == "csharp":
        yield from _csharp(facts)
    else:
        yield from _jvm(facts)


def _left_early(facts: Facts) -> Iterator[Hit]:
    """Yield functions that return from serving while a goroutine still shuts the server down (Go)."""
    for stops in facts.calls_of_method("Shutdown"):
        around = [call for call in facts.calls if call.is_launched and is_within(stops.span, call.span)]
        launched = around[-1] if around else None
        inner = facts.function_of(stops)
        outer = None if launched is None else facts.function_of(launched)
        if launched is None:
            # The goroutine may be a named function of this text: `go stopOnSignal(srv)`.
            starts = () if inner is None or not inner.name else facts.callers_of(inner)
            launched = next((call for call in starts if call.is_launched), None)
            if launched is None:
                # `go func() { <-ctx.Done(); drain(srv) }()`
                launched = next(
                    (
                        call
                        for call in facts.calls
                        if call.is_launched and any(is_within(each.span, call.span) for each in starts)
                    ),
                    None,
                )
            outer = None if launched is None else facts.function_of(launched)
        if launched is None or outer is None or not _is_server(stops, facts):
            continue
        for serves in facts.own(facts.calls, outer):
            if serves.method not in _SERVES or serves.is_launched or serves.span.start < launched.span.end:
                continue
            if not _is_server(serves, facts) or facts.is_deferred(serves):
                continue
            end = max((loop.span.end for loop in facts.loops_around(serves)), default=serves.span.end)
            rest = facts.syntax.text(Span(end, outer.body.end))
            before = facts.syntax.text(Span(outer.body.start, serves.span.start))
            if _WAITS_IN_GO.search(rest) or re.search(
                r"defer\s+(func\(\)\s*\{[^}]*)?(\w+\.)*(Wait\(|<-)", before
            ):
                continue
            what = f"{serves.written}() returns as soon as {stops.written}() begins, which nothing waits for"
            yield Hit(Span(min(stops.span.start, launched.span.start), serves.span.end), what, LIKELY)


def _is_server(call: Call, facts: Facts) -> bool:
    """Return whether a call is one of a server of net/http or of echo."""
    if "net/http.Server" in call.name or "labstack/echo" in call.name:
        return True
    if call.method == "Start":
        return False
    return (
        facts.imports_any("net/http")
        and re.search(r"(srv|server|http)\w*$", call.receiver_written, re.I) is not None
    )


def _closed_hard(facts: Facts) -> Iterator[Hit]:
    """Yield servers that a signal closes together with their open requests (Go)."""
    if not facts.imports_any("os/signal") or facts.calls_of_method("Shutdown", "GracefulStop"):
        return
    for call in facts.calls_of_method("Close", "Stop"):
        hard = (
            "net/http.Server.Close",
            "google.golang.org/grpc.NewServer().Stop",
            "google.golang.org/grpc.Server.Stop",
        )
        if call.name in hard and not call.is_deferred and not facts.is_deferred(call):
            what = f"{call.written}() cuts off the requests that are being answered"
            yield Hit(call.span, what, LIKELY)


_EXITS = {
    "python": ("sys.exit", "os._exit", "exit", "quit", "os.kill"),
    "csharp": ("Environment.Exit", "Environment.FailFast"),
}
_WORKS = lazy_regex(
    r"while True|while not|for \w+ in \w*(consumer|messages|subscription)|\.run\(|serve_forever"
    r"|start_consuming|run_forever|wait_for_termination|\.start\("
)


def _python(facts: Facts) -> Iterator[Hit]:
    """Yield handlers of a signal that end the process, or drop what waits in a pool."""
    for call in facts.calls_of_method("signal", "add_signal_handler"):
        if call.method == "signal" and call.name != "signal.signal":
            continue
        event, given = call.argument(place=0), call.argument(place=1)
        if event is None or given is None:
            continue
        # `for sig in (SIGTERM, SIGINT): …`
        if not any(
            _TERMS.search(text)
            for text in (event.value.text, *(each.over for each in facts.loops_around(call)))
        ):
            continue
        for scope in facts.scopes:
            is_given = (
                scope.span == given.value.span or scope.short_name == given.value.text.rpartition(".")[2]
            )
            if not is_given or not (scope.short_name or scope.span == given.value.span):
                continue
            yield from _ends_in(scope, facts)
        stops = re.fullmatch(r"(self\.)?_?loop\.stop", given.value.text) is not None
        if stops and not re.search(r"\.cancel\(|gather\(|run_until_complete\(", facts.whole_text):
            what = f"{given.value.text}() leaves the tasks where they are: nothing lets them finish"
            yield Hit(call.span, what, LIKELY)
        if given.value.text in ("sys.exit", "os._exit", "exit"):
            yield Hit(
                call.span,
                f"{given.value.text}() ends the process on a signal, in the middle of its work",
                LIKELY,
            )


def _ends_in(scope: Scope, facts: Facts) -> Iterator[Hit]:
    inside = list(facts.within(facts.calls, scope.body))
    dropped = next(
        (each for each in inside if each.has("cancel_futures") and "True" in facts.text(each.span)), None
    )
    if dropped is not None:
        yield Hit(dropped.span, f"{dropped.written}() drops the tasks that wait in the pool", LIKELY)
        return
    ends = [each for each in inside if each.name in _EXITS["python"] and each.name != "os.kill"]
    raised = [
        step
        for step in facts.within(facts.steps, scope.body)
        if step.kind == "raise" and "SystemExit" in step.text
    ]
    hard = any(each.name == "os._exit" for each in ends)
    others = [each for each in inside if each not in ends and not is_logging(each) and not _is_talk(each)]
    if not (ends or raised) or any(not _is_hasty(each) for each in others):
        return
    rest = facts.whole_text.replace(facts.text(scope.span), "")
    if not _WORKS.search(rest) or (
        not hard and re.search(r"\bfinally:|SystemExit|KeyboardInterrupt|atexit", rest)
    ):
        return
    place = ends[0].span if ends else raised[0].span
    yield Hit(place, "the process ends on a signal at once, in the middle of its work", LIKELY)


def _is_talk(call: Call) -> bool:
    return call.name in ("print", "signal.Signals", "sys.stdout.flush", "sys.stderr.write")


def _is_hasty(call: Call) -> bool:
    """Return whether a call closes a connection without a wait for the work that uses it."""
    return call.method in ("close", "disconnect", "cancel") and not call.is_awaited


_RUST_SIGNALS = lazy_regex(r"signal\.ctrl_c$|signal\.unix\.signal$|^ctrlc\.set_handler$|signal_hook")
_RUST_WORKS = lazy_regex(
    r"axum|hyper|tonic|actix|warp|listener|consumer|rdkafka|lapin|worker|mpsc|queue", re.I
)


def _rust(facts: Facts) -> Iterator[Hit]:
    exits = facts.calls_named("std.process.exit", "process.exit")
    if not exits or not _RUST_WORKS.search(facts.whole_text):
        return
    # The rule about workers names the task that is cut off.
    named = {facts.named_function_of(each) for each in tasks_cut_off(facts)}
    for call in exits:
        scope = facts.function_of(call)
        if scope is None or facts.named_function_of(call) in named:
            continue
        waits = [each for each in facts.own(facts.calls, scope) if _RUST_SIGNALS.search(each.name)]
        given = [each for each in facts.calls_around(call) if _RUST_SIGNALS.search(each.name)]
        if not given and not any(each.span.end < call.span.start for each in waits):
            continue
        start = max((each.span.end for each in waits), default=scope.body.start)
        between = list(facts.within(facts.calls, Span(start, call.span.start)))
        if not any(each.is_awaited or each.method in ("join", "wait", "sleep") for each in between):
            yield Hit(
                call.span, f"{call.written}() ends the process on a signal, in the middle of its work", LIKELY
            )


_SECOND = lazy_regex(r"Interlocked\.Increment|\+\+|\b\w*(?:[cC]ount|[aA]lready|[tT]wice|[fF]orced?)\w*\b")
"""A handler of signals that ends the process only when the signal comes again."""
_CSHARP_SIGNALS = lazy_regex(r"CancelKeyPress|ProcessExit|\.Unloading$")


def _csharp(facts: Facts) -> Iterator[Hit]:
    lambdas = [
        each.value.span
        for each in facts.assignments
        if each.operator == "+=" and each.value is not None and _CSHARP_SIGNALS.search("".join(each.targets))
    ]
    lambdas += [call.span for call in facts.calls_named("PosixSignalRegistration.Create")]
    for call in facts.calls_named(*_EXITS["csharp"]):
        if any(is_within(call.span, span) for span in lambdas):
            span = next(span for span in lambdas if is_within(call.span, span))
            if not re.search(r"\bawait\b|\.Wait\(|\.Join\(|WaitAll", facts.text(span)) and not _SECOND.search(
                facts.text(span)
            ):
                yield Hit(
                    call.span,
                    f"{call.written}() ends the process on a signal, in the middle of its work",
                    LIKELY,
                )


def _jvm(facts: Facts) -> Iterator[Hit]:
    """Yield shutdown hooks that halt, or stop a server without a wait for its requests (Java, Kotlin)."""
    for call in facts.calls_of_method("halt", "exitProcess", "exit", "stop", "shutdownNow"):
        hook = next((each for each in facts.calls_around(call) if each.method == "addShutdownHook"), None)
        handled = next(
            (each for each in facts.calls_around(call) if each.name.endswith("Signal.handle")), None
        )
        if call.method in ("halt", "exit", "exitProcess"):
            if hook is not None and call.method == "halt":
                yield Hit(call.span, f"{call.written}() ends the process before its work is done", LIKELY)
            elif handled is not None and not re.search(
                r"await|join\(|close\(|stop\(|shutdown", facts.text(handled.span)
            ):
                yield Hit(
                    call.span,
                    f"{call.written}() ends the process on a signal, in the middle of its work",
                    LIKELY,
                )
            continue
        if hook is None or facts.loops_around(call):
            continue
        text = facts.text(hook.span)
        if (
            call.method == "stop"
            and call.positional
            and all(_IS_ZERO.fullmatch(each.value.text) for each in call.positional)
        ):
            yield Hit(
                call.span, f"{call.written}() leaves no time for the requests that are being answered", LIKELY
            )
        elif (
            call.method == "shutdownNow"
            and _SERVERS.search(call.receiver_written)
            and "awaitTermination" not in text
        ):
            yield Hit(call.span, f"{call.written}() cuts off what is being worked on", LIKELY)


_IS_ZERO = lazy_regex(r"0L?|Duration\.ZERO|TimeUnit\.\w+|Duration\.ofMillis\(0\)")
_SERVERS = lazy_regex(r"server|executor|pool|workers?|scheduler", re.IGNORECASE)


RULE = Rule(
    id="FK-R120",
    slug="work-cut-off-at-the-end",
    title="End of the program that does not wait for its work",
    why="Each deployment cuts off requests and jobs: clients see resets, and work is left half done.",
    fix="On the signal stop taking work, wait with a deadline for what runs, and end after that.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=ends_that_cut_off,
    words=(
        b"Shutdown",
        b"os/signal",
        b"signal",
        b"addShutdownHook",
        b"Signal.handle",
        b"CancelKeyPress",
        b"ProcessExit",
        b"Unloading",
        b"PosixSignal",
        b"ctrlc",
        b"SIGTERM",
        b"select!",
        b"asynccontextmanager",
        *WORDS,
    ),
)
