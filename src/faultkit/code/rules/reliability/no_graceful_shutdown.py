"""Finds servers without a graceful shutdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.reliability.cut_off_at_end import ends_that_cut_off
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, KOTLIN, LIKELY, POSSIBLE, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.signal_handlers import handlers_of_sigterm
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_GO = (
    "net/http.ListenAndServe",
    "net/http.ListenAndServeTLS",
    "net/http.Server.ListenAndServe",
    "net/http.Serve",
    *(f"github.com/gin-gonic/gin.{made}().{run}" for made in ("Default", "New") for run in ("Run", "RunTLS")),
    *(f"github.com/labstack/echo{version}.New().Start" for version in ("", "/v4", "/v5")),
    *(f"github.com/gofiber/fiber/{version}.New().Listen" for version in ("v2", "v3")),
    "google.golang.org/grpc.NewServer().Serve",
)
_NODE = (
    "express().listen",
    "http.createServer().listen",
    "https.createServer().listen",
    "koa.listen",
    "fastify().listen",
    "restify.createServer().listen",
)


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "go":
        yield from _go(facts)
        return
    if facts.language == "python":
        yield from _grpc_in_python(facts)
        if not facts.imports_any("signal", "asyncio", "trio", "anyio"):
            yield from _workers_of_main(facts)
        return
    if facts.language in (*JAVA, *KOTLIN):
        yield from _jvm(facts)
        return
    if facts.language == "rust":
        yield from _rust(facts)
        return
    yield from _exits_at_once(facts)
    signals = any(name in facts.syntax.source for name in (b"SIGTERM", b"SIGINT")) and any(
        "SIGTERM" in text.text or "SIGINT" in text.text for text in facts.texts
    )
    for call in () if signals else _consumers(facts):
        what = f"{call.written}() is cut off in the middle of its jobs when the process is ended"
        yield Hit(call.span, what, POSSIBLE)
    for call in facts.calls_named(*_NODE):
        if not signals and not _is_closed(call, facts):
            yield Hit(
                call.span,
                f"{call.written}() is cut off with its requests when the process is ended",
                POSSIBLE,
            )


def _grpc_in_python(facts: Facts) -> Iterator[Hit]:
    """Yield servers of gRPC that nothing stops, or that are stopped with no time left."""
    if not facts.imports_any("grpc"):
        return
    stops = [call for call in facts.calls_of_method("stop") if _GRPC_SERVERS.search(call.receiver_written)]
    for call in stops:
        grace = call.argument("grace", place=0)
        if grace is not None and grace.value.text in ("0", "None", "0.0"):
            yield Hit(
                call.span, f"{call.written}() cuts off the calls that are being answered", LIKELY, "medium"
            )
    for call in facts.calls_of_method("wait_for_termination"):
        if not stops and not facts.imports_any("signal") and not call.arguments:
            what = f"nothing stops {call.receiver_written} in order: it is cut off with its requests"
            yield Hit(call.span, what, POSSIBLE)


_GRPC_SERVERS = lazy_regex(r"server$", re.IGNORECASE)
_RUST_STOPS = (
    "with_graceful_shutdown", "serve_with_shutdown", "serve_with_incoming_shutdown",
    "bind_with_graceful_shutdown", "try_bind_with_graceful_shutdown",
)  # fmt: skip


def _consumers(facts: Facts) -> Iterator[Call]:
    """Yield consumers of queues that this text starts, keeps to itself and never closes (Node.js)."""
    made = _made_consumers(facts)
    if made and not facts.calls_of_method("close", "disconnect", "shutdown"):
        text = facts.whole_text
        yield from (
            call
            for call in made
            if not call.is_returned
            and not re.search(r"\bexport (const|let|default|class|function|async)|module\.exports", text)
        )


def _made_consumers(facts: Facts) -> list[Call]:
    made = [call for call in facts.calls_named("bullmq.Worker") if facts.function_of(call) is None]
    return made + [
        call for call in facts.calls_of_method("run") if "kafkajs" in call.name and call.is_awaited
    ]


def _is_ended(call: Call, facts: Facts) -> bool:
    """Return whether a consumer is closed by its name, or given to code that may close it."""
    names = {*call.assigned} or {call.receiver_written}
    return any(
        re.search(
            rf"\b{re.escape(name)}\.(close|disconnect|stop|shutdown)\b|[(,\[]\s*{re.escape(name)}\s*[,)\]]",
            facts.whole_text,
        )
        for name in names
        if name
    )


_JVM = lazy_regex(r"io\.grpc\..*ServerBuilder\b.*\.start$|com\.sun\.net\.httpserver\.HttpServer\b.*\.start$")
_CLOSES = frozenset(("close", "stop", "disconnect", "quit", "drain", "shutdown", "end", "destroy", "flush"))


def _rust(facts: Facts) -> Iterator[Hit]:
    if facts.calls_of_method(*_RUST_STOPS):
        return
    named = facts.calls_named("axum.serve", "hyper.Server.bind().serve", "axum.Server.bind().serve")
    tonic = [
        call
        for call in facts.calls_of_method("serve", "serve_with_incoming")
        if "Server.builder()" in call.name and facts.imports_any("tonic")
    ]
    served = (*named, *tonic, *facts.calls_named("warp.serve().run"))
    # What ends the program is the better place to report.
    for call in served if served and not any(ends_that_cut_off(facts)) else ():
        if call.is_awaited or call.name == "axum.serve":
            what = f"nothing stops {call.written}() in order: it is cut off with its requests"
            yield Hit(call.span, what, POSSIBLE)


def _go(facts: Facts) -> Iterator[Hit]:
    if facts.calls_of_method("Shutdown", "GracefulStop", "ShutdownWithContext"):
        return
    served = facts.calls_named(*_GO)
    if served and any(ends_that_cut_off(facts)):
        return  # What closes the server is the better place to report.
    notified = facts.calls_named("os/signal.Notify")
    if facts.imports_any("os/signal") and not notified:
        return  # A context that ends with the signal is given to other code.
    channels = {each.value.text for call in notified for each in call.positional[:1]}
    for call in facts.calls_named("os.Exit", "log.Fatal", "log.Fatalf") if served else ():
        scope = facts.function_of(call)
        if scope is None or not any(f"<-{name}" in facts.text(scope.body) for name in channels):
            continue
        if (
            scope.is_anonymous
            or f"<-{next(iter(channels))}" in facts.text(scope.body).partition("os.Exit")[0]
        ):
            start = scope.span.start if scope.is_anonymous else call.span.start
            what = f"{call.written}() ends the process on a signal at once, with the requests that run"
            yield Hit(Span(start, call.span.end), what, LIKELY, "medium")
    for call in served:
        # A plain function that is launched serves metrics or profiles.
        if not _is_aside(call, facts) or (notified and "Server." in call.name):
            what = f"nothing stops {call.written}() in order: it is cut off with its requests"
            yield Hit(call.span, what, POSSIBLE)


def _jvm(facts: Facts) -> Iterator[Hit]:
    """Yield servers that nothing stops, and pools whose tasks a shutdown does not wait for."""
    hooked = facts.calls_of_method("addShutdownHook", "shutdown", "stop")
    yield from _workers_of_main(facts)
    for call in facts.calls_of_method("start"):
        if _JVM.search(call.name) and not hooked:
            what = f"nothing stops {call.written}() in order: it is cut off with its requests"
            yield Hit(call.span, what, POSSIBLE)
    for call in facts.calls_of_method("ThreadPoolTaskExecutor", "ThreadPoolTaskScheduler"):
        scope = facts.named_function_of(call)
        if (
            scope is None
            or not any(each.method == "Bean" for each in scope.decorators)
            or not call.constructs
        ):
            continue
        if not re.search(r"[wW]aitForTasksToCompleteOnShutdown|awaitTermination", facts.text(scope.span)):
            what = f"the tasks of {call.written}() are interrupted, and those that wait dropped, at the end"
            yield Hit(call.span, what, LIKELY)
    for call in facts.calls_of_method("shutdown", "shutdownNow"):
        scope = facts.function_of(call)
        if scope is None or not _POOLS.search(call.receiver_written) or call.arguments:
            continue
        at_end = any(each.method == "addShutdownHook" for each in facts.calls_around(call)) or any(
            each.method == "PreDestroy" for each in scope.decorators
        )
        own = re.escape(call.receiver_written)
        waits = re.search(rf"awaitTermination|\b{own}\.close\(|\.join\(|invokeAll", facts.text(scope.span))
        given = any(
            each.is_discarded and each.receiver_written == call.receiver_written
            for each in facts.calls_of_method("execute", "submit")
        )
        if at_end and given and not waits:
            what = f"nothing waits for the tasks behind {call.written}(): the process ends before they do"
            yield Hit(call.span, what, LIKELY, "medium")


_TAKES_WORK = lazy_regex(
    r"^(take\w*|poll\w*|receive\w*|next\w*|claim\w*|fetch\w*|consume\w*|dequeue\w*|pop\w*|lease\w*|pull\w*|reserve\w*)$",
    re.I,
)
_WORK = lazy_regex(
    r"job|queue|task|work|message|inbox|outbox|consumer|batch|export|order|event|record", re.IGNORECASE
)
_HOOKS = TextPattern(
    r"addShutdownHook|SignalHandler|Signal\.handle|SpringApplication|awaitShutdown|embeddedServer|sigterm",
    re.I,
)


def _workers_of_main(facts: Facts) -> Iterator[Hit]:
    """Yield what `main` runs that takes jobs without an end, in a program that no signal stops."""
    mains = facts.functions_named("main")
    if not mains or _HOOKS.search(facts.whole_text):
        return
    for loop in facts.loops:
        endless = loop.kind == "endless" or re.fullmatch(
            r"\(?\s*(true|isActive|running|!Thread.*)\s*\)?", loop.over
        )
        if not endless:
            continue
        takes = [
            call
            for call in facts.within(facts.calls, loop.body)
            if _TAKES_WORK.match(call.method) and _WORK.search(f"{call.written} {' '.join(call.assigned)}")
        ]
        if not takes:
            continue
        runner = facts.named_function_of(loop)
        if runner is mains[0]:
            yield Hit(loop.head, "a job is cut off in its middle when the process is ended", POSSIBLE)
            return
        started = [
            call
            for call in facts.within(facts.calls, mains[0].body)
            if runner is not None
            and call.method == runner.short_name
            and (call.receiver_written or not runner.owner)
        ]
        if started:
            what = f"{started[0].written}() is cut off in the middle of a job when the process is ended"
            yield Hit(started[0].span, what, POSSIBLE)
            return


_POOLS = lazy_regex(r"(executor|pool|workers?|scheduler|threads)\w*$", re.IGNORECASE)


def _exits_at_once(facts: Facts) -> Iterator[Hit]:
    """Yield handlers of SIGTERM in a server's text that end the process and wait for nothing (Node.js)."""
    works = facts.calls_of_method("listen", "consume", "subscribe", "run", "process") or any(
        call.constructs and call.method == "Worker" for call in facts.calls
    )
    if not works:
        return
    for scope in handlers_of_sigterm(facts):
        inside = list(facts.within(facts.calls, scope.body))
        ends = [each for each in inside if each.name == "process.exit"]
        if ends and all(each in ends or is_logging(each) for each in inside):
            what = f"{ends[0].written}() ends the process on SIGTERM at once, with the requests that run"
            yield Hit(ends[0].span, what, LIKELY, "medium")
            continue
        hasty = [
            each
            for each in inside
            if each.method in _CLOSES
            and each.is_discarded
            and not each.is_awaited
            and not any(one.value.shape == "function" for one in each.arguments)
            and facts.function_of(each) is scope
            and not _ASIDE.search(each.receiver_written)
            # What is closed after a wait for the work has nothing more to do.
            and not any(one.is_awaited and one.span.end <= each.span.start for one in inside)
        ]
        leaves = [each for each in ends if facts.function_of(each) is scope]
        waits = [each for each in inside if each.is_awaited and each.method in _CLOSES]
        if waits and len(hasty) == 1:
            left = [call for call in _made_consumers(facts) if not _is_ended(call, facts)]
            if left:
                what = f"{left[0].written}() is not closed on SIGTERM: its jobs are cut off"
                yield Hit(left[0].span, what, LIKELY, "medium")
            continue  # A server beside the work, which has until the rest is closed.
        if hasty and leaves and hasty[0].span.end < leaves[-1].span.start:
            what = f"{leaves[-1].written}() ends the process before {hasty[0].written}() is done"
            yield Hit(Span(hasty[0].span.start, leaves[-1].span.end), what, LIKELY, "medium")


_ASIDE = lazy_regex(r"health|metric|probe|admin|debug|ready|liveness|prom", re.IGNORECASE)
"""Names of servers whose requests nothing is lost with."""


def _is_aside(call: Call, facts: Facts) -> bool:
    """Return whether it runs beside the program, as a server of metrics or profiles does."""
    return facts.is_launched(call)


def _is_closed(call: Call, facts: Facts) -> bool:
    """Return whether this text closes the server, or passes it on to code that may."""
    names = {*call.assigned}
    if call.origin is not None:
        names |= {*call.origin.assigned}
    scope = facts.function_of(call)
    if scope is not None and any(
        step.kind == "return" and names & {*re.findall(r"[A-Za-z_]\w*", step.text)}
        for step in facts.own(facts.steps, scope)
    ):
        return True
    closes = facts.calls_of_method("close", "closeAllConnections", "destroy", "stop")
    return call.is_returned or any(each.receiver_written in names or each.origin is call for each in closes)


RULE = Rule(
    id="FK-R030",
    slug="no-graceful-shutdown",
    title="Server without a graceful shutdown",
    why="Every deployment breaks the requests that are being answered, and clients see resets.",
    fix="Handle SIGTERM: stop accepting, finish what runs within a deadline (server.Shutdown, "
    "server.close), then exit.",
    kind="reliability",
    severity="low",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *RUST, *KOTLIN),
    check=_check,
)
