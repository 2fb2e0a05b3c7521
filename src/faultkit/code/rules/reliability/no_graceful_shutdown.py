"""Finds servers without a graceful shutdown."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.build import is_logging
from faultkit.code.rules.rule import GO, JAVASCRIPT, LIKELY, POSSIBLE, RUST, Hit, Rule

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
        if facts.calls_of_method("Shutdown", "GracefulStop", "ShutdownWithContext") or facts.imports_any(
            "os/signal"
        ):
            return
        for call in facts.calls_named(*_GO):
            if _is_aside(call, facts):
                continue
            yield Hit(
                call.span,
                f"nothing stops {call.written}() in order: it is cut off with its requests",
                POSSIBLE,
            )
        return
    if facts.language == "rust":
        for call in facts.calls_named("axum.serve", "hyper.Server.bind().serve", "axum.Server.bind().serve"):
            if not facts.calls_of_method("with_graceful_shutdown"):
                what = f"nothing stops {call.written}() in order: it is cut off with its requests"
                yield Hit(call.span, what, POSSIBLE)
        return
    yield from _exits_at_once(facts)
    signals = any("SIGTERM" in text.text or "SIGINT" in text.text for text in facts.texts)
    for call in facts.calls_named(*_NODE):
        if not signals and not _is_closed(call, facts):
            yield Hit(
                call.span,
                f"{call.written}() is cut off with its requests when the process is ended",
                POSSIBLE,
            )


def _exits_at_once(facts: Facts) -> Iterator[Hit]:
    """Yield handlers of SIGTERM in a server's text that end the process and wait for nothing (Node.js)."""
    if not facts.calls_of_method("listen"):
        return
    seen: set[Scope] = set()
    for call in facts.calls_named("process.on", "process.once"):
        event, given = call.argument(place=0), call.argument(place=1)
        if event is None or given is None or event.value.literal != "SIGTERM":
            continue
        for scope in facts.scopes:
            by_name = given.value.shape == "name" and scope.name and scope.short_name == given.value.text
            if (scope.span != given.value.span and not by_name) or scope in seen:
                continue
            seen.add(scope)
            inside = list(facts.within(facts.calls, scope.body))
            ends = [each for each in inside if each.name == "process.exit"]
            if ends and all(each in ends or is_logging(each) for each in inside):
                what = f"{ends[0].written}() ends the process on SIGTERM at once, with the requests that run"
                yield Hit(ends[0].span, what, LIKELY, "medium")


def _is_aside(call: Call, facts: Facts) -> bool:
    """Return whether it runs beside the program, as a server of metrics or profiles does."""
    return facts.is_launched(call)


def _is_closed(call: Call, facts: Facts) -> bool:
    """Return whether this text closes the server, or passes it on to code that may."""
    names = {*call.assigned}
    if call.origin is not None:
        names |= {*call.origin.assigned}
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
    languages=(*JAVASCRIPT, *GO, *RUST),
    check=_check,
)
