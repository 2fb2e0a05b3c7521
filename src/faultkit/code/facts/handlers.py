"""Tries and what their handlers do with an error: nothing, log it, give it on."""

from __future__ import annotations

from faultkit.code.dialects.dialect import text_of
from faultkit.code.facts.collect import Collected, span
from faultkit.code.facts.facts import Facts, is_within
from faultkit.code.facts.grammar import CatchParts, Grammar
from faultkit.code.facts.model import Call, Handler, Try
from faultkit.code.facts.resolve import Resolver
from faultkit.code.syntax import Node, Span

_LOG_METHODS = frozenset(
    [
        "debug",
        "info",
        "warning",
        "warn",
        "error",
        "exception",
        "critical",
        "log",
        "trace",
        "fatal",
        "print",
        "println",
        "printf",
        "printStackTrace",
    ]
)
_LOG_OWNERS = (
    "log",
    "logger",
    "logging",
    "console",
    "slog",
    "zap",
    "warnings",
    "system.out",
    "system.err",
    "e",
    "err",
)


def tries_of(found: Collected, facts: Facts, resolver: Resolver) -> tuple[Try, ...]:
    tries = []
    for node, parts in found.tries:
        handlers = tuple(_handler(each, facts, found.grammar, resolver) for each in parts.handlers)
        final = None if parts.finally_ is None else span(parts.finally_)
        tries.append(Try(span(node), span(parts.body), facts.syntax.line(node.start_byte), handlers, final))
    return tuple(tries)


def _handler(parts: CatchParts, facts: Facts, grammar: Grammar, resolver: Resolver) -> Handler:
    types = tuple(resolver.whole(text_of(each)) for each in parts.types)
    name = text_of(parts.name)
    body = span(parts.body)
    statements = [child for child in parts.body.named_children if not child.is_extra]
    # Go's named results are given back by a plain `return`, the error among them.
    bare_return = facts.language != "go"
    work = [each for each in statements if not _does_nothing(each, grammar, bare_return)]
    calls = list(facts.within(facts.calls, body))
    steps = list(facts.within(facts.steps, body))
    gives_on = any(call.method in grammar.gives_on for call in calls)
    rejects = any(call.name.startswith("Promise.reject") for call in calls)
    return Handler(
        types=types,
        name=name,
        span=span(parts.node),
        body=body,
        line=facts.syntax.line(parts.node.start_byte),
        is_broad=not types or any(each in grammar.broad for each in types),
        is_empty=not work,
        only_logs=bool(work) and all(_is_log(each, grammar, calls) for each in work),
        raises=any(step.kind == "raise" for step in steps)
        or gives_on
        or rejects
        or (
            facts.language == "go"
            and any(step.kind == "return" and _gives_error(step.text) for step in steps)
        ),
        uses_error=bool(name) and _uses(facts, name, body),
        exits=any(step.kind in ("return", "break", "raise") for step in steps),
    )


def _gives_error(returned: str) -> bool:
    """Go: the last value that is returned is the error."""
    last = returned.rpartition(",")[2].strip()
    return bool(last) and last not in ("nil", "true", "false")


def _does_nothing(node: Node, grammar: Grammar, bare_return: bool) -> bool:
    if node.type in grammar.empty:
        return True
    if node.type in grammar.statements:
        inner = node.named_children
        return not inner or (len(inner) == 1 and inner[0].type in ("ellipsis", "string"))
    return bare_return and grammar.steps.get(node.type) == "return" and not node.named_children


def _is_log(node: Node, grammar: Grammar, calls: list[Call]) -> bool:
    if node.type not in grammar.statements:
        return False
    place = span(node)
    inside = [call for call in calls if is_within(call.span, place)]
    return bool(inside) and is_logging(inside[0])


def is_logging(call: Call) -> bool:
    """Whether a call only tells people something."""
    owner = call.written.rpartition(".")[0].lower()
    if call.method not in _LOG_METHODS:
        return False
    if not owner:
        return call.method in ("print", "println")
    return (
        owner.rpartition(".")[2] in _LOG_OWNERS or owner in _LOG_OWNERS or owner.endswith(("logger", "log"))
    )


def _uses(facts: Facts, name: str, body: Span) -> bool:
    heads = [each.written.partition(".")[0] for each in facts.within(facts.accesses, body)]
    heads += [each.written.partition(".")[0].partition("(")[0] for each in facts.within(facts.calls, body)]
    return name in heads
