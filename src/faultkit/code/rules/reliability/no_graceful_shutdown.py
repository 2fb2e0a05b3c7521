"""Finds servers without a graceful shutdown."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.rule import GO, JAVASCRIPT, POSSIBLE, RUST, Hit, Rule

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
    signals = any("SIGTERM" in text.text or "SIGINT" in text.text for text in facts.texts)
    for call in facts.calls_named(*_NODE):
        if not signals and not _is_closed(call, facts):
            yield Hit(
                call.span,
                f"{call.written}() is cut off with its requests when the process is ended",
                POSSIBLE,
            )


def _is_aside(call: Call, facts: Facts) -> bool:
    """Return whether it runs beside the program, as a server of metrics or profiles does."""
    return any(each.is_launched and is_within(call.span, each.span) for each in facts.calls)


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
